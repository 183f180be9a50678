"""Programs: sequences of compiled layers have the same results as the layers one by one."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.graphs import RandomGraph, candidates, difference
from support.lowering import entries, lowered_engine
from support.nets import Net
from support.ownership import unheld
from support.waiting import PATIENCE

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.engine import CompiledModel, InferRequest, memory
from irexec.runtime.lowering import program
from irexec.runtime.lowering.backend import Backend, Mode

ops: Any = irexec.opset15
rng = np.random.default_rng(0)
RUNS = 6


pytestmark = pytest.mark.usefixtures("small_layers_too")


def constant(*shape: int) -> Any:
    return ops.constant(rng.standard_normal(shape).astype(np.float32))


def i64(*values: int) -> Any:
    return ops.constant(np.array(values, np.int64))


def numbers(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def checked(model: Model, *shape: int) -> InferRequest:
    """Return a request after some runs, whose results were those of plain kernels."""
    request = lowered_engine(model).create_infer_request()
    for _ in range(RUNS):
        given = [numbers(*shape)]
        expected = CompiledModel(model)(given).to_tuple()
        for found, wanted in zip(request.infer(given).to_tuple(), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
    assert unheld(request) == []
    return request


def projected(x: Any, width: int) -> Any:
    """Return a product with small weights: scores that differ much would amplify rounding errors."""
    weights = ops.constant(numbers(width, width) / np.float32(4))
    return ops.add(ops.matmul(x, weights, False, False), constant(width))


def heads(x: Any) -> Any:
    return ops.transpose(ops.reshape(x, i64(1, 20, 4, 8), False), i64(0, 2, 1, 3))


def attention(x: Any) -> Any:
    query, key, value = (heads(projected(x, 32)) for _ in range(3))
    found = ops.transpose(ops.scaled_dot_product_attention(query, key, value, causal=False), i64(0, 2, 1, 3))
    added = ops.add(x, projected(ops.reshape(found, i64(1, 20, 32), False), 32))
    return ops.mvn(added, i64(2), True, 1e-5, "inside_sqrt")


def convolution(x: Any) -> Any:
    """Return a convolution with small weights: sums that grow from layer to layer would amplify rounding errors."""
    weights = ops.constant(numbers(6, 6, 3, 3) / np.float32(8))
    sums = ops.convolution(x, weights, [1, 1], [1, 1], [1, 1], [1, 1])
    return ops.swish(ops.add(sums, constant(1, 6, 1, 1)), ops.constant(np.float32(1)))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_small_transformer_is_one_sequence(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.parameter([1, 20, 32], np.float32, name="x")
    parallel.set_num_threads(threads)
    try:
        model = Model([attention(attention(projected(x, 32)))], [x])
        assert entries(checked(model, 1, 20, 32)) == ["sequence"]
        with monkeypatch.context() as without:
            for module in (memory, program):
                without.setattr(module, "MOST_COPIED", 0)
            assert entries(checked(model, 1, 20, 32)) == ["MatMul", "sequence", "MVN"]
    finally:
        parallel.set_num_threads(None)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_convolutions_with_views_and_residuals(threads: int) -> None:
    x = ops.parameter([1, 6, 40, 42], np.float32, name="x")
    first = convolution(x)
    left, right = ops.split(convolution(first), ops.constant(np.int64(1)), num_splits=2).outputs
    joined = ops.concat([ops.sigmoid(right), left], axis=1)
    pooled = ops.max_pool(convolution(ops.add(joined, first)), [1, 1], [1, 1], [0, 0], [0, 0], [2, 2])
    parallel.set_num_threads(threads)
    try:
        request = checked(Model([ops.exp(pooled.output(0)), ops.exp(joined)], [x]), 1, 6, 40, 42)
        assert entries(request).count("sequence") == 1
    finally:
        parallel.set_num_threads(None)


def test_random_graphs() -> None:
    pool, wrong = candidates(), {}
    for seed in range(10_000, 10_000 + amount(80, 12)):
        graph = RandomGraph(pool, seed, dynamic=seed % 3 == 0)
        if (found := difference(graph.model, graph.inputs, 5, 1e-4, Backend(Mode.AT_ONCE))) is not None:
            wrong[seed] = found
    assert wrong == {}


def test_a_layer_of_numpy_stays_in_its_place() -> None:
    x = ops.parameter([1, 6, 20, 20], np.float32, name="x")
    between = ops.reverse_sequence(convolution(convolution(x)), i64(20), batch_axis=0, seq_axis=2)
    request = checked(Model([ops.exp(convolution(convolution(between)))], [x]), 1, 6, 20, 20)
    assert "ReverseSequence" in entries(request)


def test_another_number_of_threads_and_another_thread() -> None:
    x = ops.parameter([1, 6, 40, 40], np.float32, name="x")
    model = Model([ops.exp(convolution(convolution(convolution(x))))], [x])
    request = lowered_engine(model).create_infer_request()
    given = numbers(1, 6, 40, 40)
    expected = CompiledModel(model)([given])[0]
    try:
        for threads in (1, 3, 2):
            parallel.set_num_threads(threads)
            for _ in range(RUNS):
                np.testing.assert_allclose(request.infer([given])[0], expected, rtol=1e-3, atol=1e-4)
            with ThreadPoolExecutor(1) as pool:
                found = pool.submit(lambda: request.infer([given])[0]).result(PATIENCE)
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    finally:
        parallel.set_num_threads(None)


def test_several_requests_at_the_same_time() -> None:
    x = ops.parameter([1, 20, 32], np.float32, name="x")
    compiled = lowered_engine(Model([ops.exp(attention(attention(projected(x, 32))))], [x]))
    given = [numbers(1, 20, 32) for _ in range(3)]
    expected = [CompiledModel(compiled.model)([array])[0] for array in given]
    wrong: list[int] = []

    def run(number: int) -> None:
        request = compiled.create_infer_request()
        for _ in range(40):
            if not np.allclose(request.infer([given[number]])[0], expected[number], rtol=1e-3, atol=1e-4):
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert wrong == []


def test_an_error_after_a_sequence_is_that_of_its_layer() -> None:
    x, lengths = ops.parameter([1, 6, 20, 20], np.float32, name="x"), ops.parameter([1], np.int64, name="lengths")
    last = ops.reverse_sequence(convolution(convolution(x)), lengths, batch_axis=0, seq_axis=2)
    request = lowered_engine(Model([ops.exp(last)], [x, lengths])).create_infer_request()
    for _ in range(RUNS):
        request.infer([numbers(1, 6, 20, 20), np.int64([3])])
    assert "sequence" in entries(request)
    with pytest.raises(irexec.IRError) as caught:
        request.infer([numbers(1, 6, 20, 20), np.int64([70])])
    assert caught.value.report.diagnostics[0].layer.type == "ReverseSequence"


def test_a_mean_that_overflows_is_seen_in_every_run() -> None:
    x = ops.parameter([1, 6, 20, 20], np.float32, name="x")
    whole = ops.multiply(ops.relu(x), ops.constant(np.float32(1e38)))
    pooled = ops.avg_pool(whole, [2, 2], [0, 0], [0, 0], [2, 2], True, "floor")
    request = lowered_engine(Model([ops.relu(pooled)], [x])).create_infer_request()
    for number in range(RUNS):
        given = np.full((1, 6, 20, 20), 1 if number < 4 else 3, np.float32)
        assert np.allclose(request.infer([given])[0], given[:, :, ::2, ::2] * np.float32(1e38))


def test_the_number_of_a_scalar_mask_is_seen_in_every_run() -> None:
    x, mask = ops.parameter([1, 20, 32], np.float32, name="x"), ops.parameter([1], np.float32, name="mask")
    scalar = ops.squeeze(ops.relu(mask), i64(0))
    parts = [heads(projected(x, 32)) for _ in range(3)]
    model = Model([ops.exp(ops.scaled_dot_product_attention(*parts, scalar, causal=False))], [x, mask])
    request = lowered_engine(model).create_infer_request()
    for _ in range(RUNS):
        request.infer([numbers(1, 20, 32), np.float32([0])])
    with pytest.raises(irexec.IRError, match="attention_mask"):
        request.infer([numbers(1, 20, 32), np.float32([1])])


def test_a_program_holds_the_memory_that_it_reads() -> None:
    """The forms of layers may drop code that they compiled for a shape, while the program still runs it."""
    x = ops.parameter([1, 6, 20, 20], np.float32, name="x")
    compiled = lowered_engine(Model([ops.exp(convolution(convolution(x)))], [x]))
    request, given = compiled.create_infer_request(), numbers(1, 6, 20, 20)
    expected = request.infer([given])[0]
    (own,) = request._runners.values()
    convolutions = [form.first for form, _ in compiled.backend.replacements(own.plan).values()]
    made = [weakref.ref(sized.compiled) for form in convolutions for sized in form._known.values()]
    assert len(made) == 2 and unheld(request) == []
    for form in convolutions:
        form._known.clear()
    gc.collect()
    assert [code() for code in made] == [None, None]
    np.testing.assert_array_equal(request.infer([given])[0], expected)


@pytest.mark.parametrize("wrong", ["follows", "viewed", "alone"])
def test_declared_dims_are_held_in_strict_mode(wrong: str) -> None:
    """Dims of layers that no call computes are also checked."""
    net = Net()
    last = net.parameter("x", "-1,40")
    for type, name in (("ReLU", "leads"), ("Abs", "follows"), ("SoftMax", "alone"), ("Identity", "viewed")):
        version = "opset16" if type == "Identity" else "opset1"
        data = 'axis="1"' if type == "SoftMax" else ""
        last = net.layer(type, [last], "5,40" if name == wrong else "-1,40", name=name, version=version, data=data)
    net.result(net.layer("Exp", [last], "-1,40", name="last"))
    model = irexec.read_model(net.text.encode(), mode="strict")
    request = lowered_engine(model).create_infer_request()
    for _ in range(4):
        assert request.infer([numbers(5, 40)])[0].shape == (5, 40)
        with pytest.raises(irexec.IRError) as caught:
            request.infer([numbers(4, 40)])
        assert [(f.code, f.layer and f.layer.name) for f in caught.value.report] == [("O006", wrong)]
