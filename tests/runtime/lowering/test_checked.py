"""The back end that checks itself: correct models run, and a wrong layer is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.graphs import RandomGraph, candidates, difference

import irexec
from irexec import Model
from irexec.runtime.engine import CompiledModel
from irexec.runtime.lowering import convolution, matmul, rows
from irexec.runtime.lowering.checked import CheckedBackend

ops: Any = irexec.opset15
rng = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("small_layers_too")


def constant(*shape: int) -> Any:
    return ops.constant(rng.standard_normal(shape).astype(np.float32))


def model_of() -> Model:
    x = ops.parameter([1, 4, 12, 10], np.float32, name="x")
    sums = ops.convolution(x, constant(4, 4, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    flat = ops.reshape(ops.add(sums, constant(1, 4, 1, 1)), ops.constant(np.int64([1, 48, 10])), False)
    # Other layers that read the values which the groups read.
    gated = ops.multiply(ops.relu(flat), ops.reshape(ops.exp(x), ops.constant(np.int64([1, 48, 10])), False))
    product = ops.add(ops.matmul(gated, constant(10, 16), False, False), constant(16))
    limits = [ops.constant(np.float32(limit)) for limit in (-3, 3, -3, 3)]
    levels = ops.fake_quantize(ops.tanh(product), *limits, 256)
    return Model([ops.softmax(ops.concat([levels, product], axis=-1), axis=-1), ops.exp(x)], [x])


def test_a_right_model_runs() -> None:
    model = model_of()
    request = CompiledModel(model, CheckedBackend()).create_infer_request()
    for _ in range(3):
        given = [rng.standard_normal((1, 4, 12, 10)).astype(np.float32)]
        for found, expected in zip(
            request.infer(given).to_tuple(), CompiledModel(model)(given).to_tuple(), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


def test_numbers_below_the_smallest_normal_number_may_differ() -> None:
    x = ops.parameter([64], np.float32, name="x")
    model = Model([ops.gelu(ops.negative(x), "erf")], [x])
    request = CompiledModel(model, CheckedBackend()).create_infer_request()
    results = request.infer([np.linspace(15.5, 16, 64, dtype=np.float32)])
    assert 0 < -results[0].min() < 2.0**-126


@pytest.mark.parametrize(
    ("place", "layer"),
    [
        (matmul.CompiledProduct, "MatMul"),
        (convolution.CompiledConvolver, "Convolution"),
        (rows.CompiledRows, "SoftMax"),
    ],
)
def test_a_wrong_layer_is_named(place: Any, layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = place.tasks

    def wrong(self: Any, work: Any, data: np.ndarray, *given: Any) -> None:
        """Compute the correct result in another place."""
        out = next(array for array in given if isinstance(array, np.ndarray))
        out[...] = 7
        right(self, work, data.copy(), *[np.empty_like(out) if one is out else one for one in given])

    monkeypatch.setattr(place, "tasks", wrong)
    request = CompiledModel(model_of(), CheckedBackend()).create_infer_request()
    with pytest.raises(irexec.IRError) as caught:
        request.infer([rng.standard_normal((1, 4, 12, 10)).astype(np.float32)])
    (finding,) = caught.value.report
    assert finding.layer is not None and finding.layer.type == layer
    assert "differ from the kernels'" in finding.message


def test_random_graphs() -> None:
    pool, wrong = candidates(), {}
    for seed in range(20_000, 20_000 + amount(120, 16)):
        graph = RandomGraph(pool, seed, dynamic=seed % 3 == 0)
        if (found := difference(graph.model, graph.inputs, 3, 1e-4, CheckedBackend())) is not None:
            wrong[seed] = found
    assert wrong == {}
