"""When a model is lowered: one decision per compiled model, and the same bits in every call of the explicit modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import kernels, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering import backend

ops: Any = irexec.opset15


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def model_of(seed: int = 0, rows: int = 30) -> Model:
    """Return a model with convolution, product, normalization, attention and elementwise layers."""
    x = ops.parameter([1, 4, rows, 32], np.float32, name="x")
    convolved = ops.convolution(x, ops.constant(numbers(4, 4, 3, 3, seed=seed)), [1, 1], [1, 1], [1, 1], [1, 1])
    biased = ops.relu(ops.add(convolved, ops.constant(numbers(1, 4, 1, 1, seed=seed))))
    product = ops.matmul(biased, ops.constant(numbers(32, 32, seed=seed)), False, False)
    normal = ops.mvn(product, ops.constant(np.int64([-1])), True, 1e-5, "inside_sqrt")
    attended = ops.scaled_dot_product_attention(normal, product, ops.sigmoid(product), causal=True)
    return Model([ops.softmax(attended, axis=-1), product], [x])


def dynamic_model() -> Model:
    """Return layers that are computed with a preceding layer if the shapes are known, and alone otherwise."""
    x = ops.parameter([-1, 48], np.float32, name="x")
    last, axes = x, ops.constant(np.int64([-1]))
    functions = [
        lambda y: ops.gelu(y, approximation_mode="erf"),
        lambda y: ops.gelu(y, approximation_mode="tanh"),
        lambda y: ops.swish(y, ops.constant(np.float32(1.5))),
        lambda y: ops.subtract(y, ops.reduce_mean(y, axes, True)),
        lambda y: ops.divide(y, ops.reduce_l2(y, axes, True)),
        lambda y: ops.power(ops.sqrt(ops.abs(y)), ops.constant(np.float32(2))),
        *(ops.sigmoid, ops.tanh, ops.mish, ops.hswish, ops.hsigmoid),
    ]
    for seed, function in enumerate(functions):
        made = function(ops.matmul(last, ops.constant(numbers(48, 48, seed=seed)), False, False))
        last = ops.add(made, ops.constant(numbers(48, seed=seed)))
    return Model([last, ops.gelu(last, approximation_mode="erf")], [x])


def images_of(seed: int) -> Model:
    """Return convolutions with padding, pooling, a resized image, and rows of bytes."""
    x = ops.parameter([1, 3, 24, 20], np.float32, name="x")
    convolved = ops.convolution(x, ops.constant(numbers(8, 3, 3, 3, seed=seed)), [1, 1], [1, 1], [1, 1], [1, 1])
    pooled = irexec.opset1.max_pool(ops.relu(convolved), [2, 2], [0, 0], [0, 0], [2, 2])
    twice = ops.interpolate(pooled, np.float32([2, 2]), "nearest", "scales", axes=np.int64([2, 3]))
    low, high = np.float32(0), np.float32(4)
    quantized = ops.fake_quantize(ops.concat([twice, convolved], 1), low, high, low, high, 256)
    return Model([ops.softmax(quantized, axis=1)], [x])


def bits(compiled: Any, *given: np.ndarray) -> list[bytes]:
    return [result.tobytes() for result in compiled(list(given)).to_tuple()]


@pytest.mark.parametrize("compile", [kernels, lowered], ids=["ACCURACY", "PERFORMANCE"])
def test_the_same_bits_in_many_calls_whatever_happens_in_between(compile: Any) -> None:
    """Other models, other numbers of threads, other inputs, other shapes, other requests."""
    model, x = model_of(), numbers(1, 4, 30, 32)
    compiled, changing, drawing = compile(model), compile(dynamic_model()), compile(images_of(0))
    rows, image = numbers(9, 48), numbers(1, 3, 24, 20)
    expected, of_rows, of_image = bits(compiled, x), bits(changing, rows), bits(drawing, image)
    try:
        for call in range(amount(30, 12)):
            parallel.set_num_threads(1 + call % 3)
            compile_other = (kernels, lowered, irexec.compile_model)[call % 3]
            others = [(model_of(call + 1), (1, 4, 30, 32)), (images_of(call + 1), (1, 3, 24, 20))]
            for other, shape in others[call % 2 :]:
                made = compile_other(other)
                for _ in range(call % 4):
                    made([numbers(*shape, seed=call)])
            compiled([numbers(1, 4, 30, 32, seed=call)])
            changing([numbers(call % 5 + 1, 48, seed=call)])
            assert bits(compiled.create_infer_request().infer if call % 2 else compiled, x) == expected
            assert bits(changing, rows) == of_rows
            assert bits(drawing, image) == of_image
    finally:
        parallel.set_num_threads(None)
    # Another compiled model, as in another process.
    assert bits(compile(model), x) == expected
    assert bits(compile(images_of(0)), image) == of_image


def test_a_model_without_a_hint_is_lowered_after_its_own_calls_and_work(monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = model_of(), numbers(1, 4, 30, 32)
    work = backend.work_of(irexec.compile_model(model)._plans.general)
    monkeypatch.setattr(backend, "MUCH_WORK", 7 * work)
    other = irexec.compile_model(model_of(1))
    for _ in range(20):
        other([x])
    assert other.is_lowered
    compiled = irexec.compile_model(model)
    by_kernels, by_code = bits(kernels(model), x), bits(lowered(model), x)
    assert by_kernels != by_code
    found = []
    for call in range(1, 11):
        found.append(bits(compiled, x))
        assert compiled.is_lowered == (call >= 7)
    assert found == [by_kernels] * 6 + [by_code] * 4


def test_a_model_that_was_called_twice_is_not_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "MUCH_WORK", 1)
    compiled, x = irexec.compile_model(model_of()), numbers(1, 4, 30, 32)
    states = []
    for _ in range(4):
        compiled([x])
        states.append(compiled.is_lowered)
    assert states == [False, False, True, True]


def test_without_llvmlite_no_model_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "is_available", lambda: False)
    model, x = model_of(), numbers(1, 4, 30, 32)
    compiled = irexec.compile_model(model, config={"EXECUTION_MODE_HINT": "PERFORMANCE"})
    for _ in range(4):
        assert bits(compiled, x) == bits(kernels(model), x)
    assert not compiled.is_lowered


def test_a_request_with_listeners_runs_the_kernels() -> None:
    model, x = model_of(), numbers(1, 4, 30, 32)
    seen: list[str] = []

    class Listening:
        def before(self, node: Any, inputs: Any) -> None: ...

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None:
            seen.append(node.type)

    compiled = lowered(model)
    request = compiled.create_infer_request([Listening()])
    assert bits(request.infer, x) == bits(kernels(model), x)
    assert len(seen) == compiled.layer_count


def test_bodies_run_as_their_model_does() -> None:
    """The body of a loop has all layers with lowered forms."""
    total, weights = ops.parameter([8, 32], np.float32, name="total"), ops.constant(numbers(32, 32) / 8)
    rows = ops.softmax(ops.tanh(ops.matmul(total, weights, False, False)), axis=-1)
    body = Model([ops.abs(rows), ops.constant(np.array(True))], [total])
    x = ops.parameter([8, 32], np.float32, name="x")
    loop = ops.loop(ops.constant(np.int64(5)), ops.constant(np.array(True)))
    loop.set_function(body)
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(total, x.output(0), body.results[0].output(0))
    model = Model([loop.get_iter_value(body.results[0].output(0), -1)], [x])
    given = numbers(8, 32)
    by_kernels, compiled = bits(kernels(model), given), lowered(model)
    first = bits(compiled, given)
    assert first != by_kernels
    for _ in range(3):
        assert bits(compiled, given) == first
        assert bits(kernels(model), given) == by_kernels
