"""Elementwise layers that compiled code computes alone, with operands of any broadcast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import groups, kernels, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.core.types import F32, PartialShape, TensorType
from irexec.runtime.lowering import follow, pointwise
from irexec.runtime.lowering.elementwise import CompiledPointwise
from irexec.runtime.lowering.work import Work

ops: Any = irexec.opset15
SHAPE = [2, 6, 19, 21]
rng = np.random.default_rng(0)


def constant(*shape: int) -> Any:
    return ops.constant(rng.standard_normal(shape).astype(np.float32))


POINTWISE: dict[str, Callable[[Any], Any]] = {
    "slopes by channel": lambda x: ops.prelu(x, constant(6)),
    "slopes by NumPy's rules": lambda x: ops.prelu(x, constant(19, 1)),
    "quantized": lambda x: ops.fake_quantize(
        x, *(ops.constant(np.float32(limit)) for limit in (-1, 2.5, -1, 2.5)), 256
    ),
    "normalized by channel": lambda x: ops.batch_norm_inference(
        x, constant(6), constant(6), constant(6), ops.abs(constant(6)), 0.1
    ),
    "swish": lambda x: ops.multiply(x, ops.sigmoid(x)),
    "hswish": ops.hswish,
    "hsigmoid": ops.hsigmoid,
    "mish": ops.mish,
    "tanh": ops.tanh,
    "leaky": lambda x: ops.prelu(x, ops.constant(np.float32([-0.3]))),
    "subtract": lambda x: ops.subtract(x, constant(1, 6, 1, 1)),
    "subtracted": lambda x: ops.subtract(constant(), x),
    "divide": lambda x: ops.divide(x, constant(2, 1, 1, 1)),
    "divided": lambda x: ops.divide(constant(19, 21), x),
    "maximum": lambda x: ops.maximum(x, constant(1, 6, 1, 1)),
    "minimum": lambda x: ops.minimum(constant(19, 21), ops.abs(x)),
    "square and root": lambda x: ops.sqrt(ops.power(x, ops.constant(np.float32(2)))),
    "negative": lambda x: ops.relu(ops.negative(x)),
    "gate": lambda x: ops.multiply(x, ops.reduce_mean(x, ops.constant(np.int64([2, 3])), True)),
    "gate on the left": lambda x: ops.swish(
        ops.multiply(ops.reduce_mean(x, ops.constant(np.int64([0, 2, 3])), True), x)
    ),
    "batch": lambda x: ops.add(x, ops.reduce_max(x, ops.constant(np.int64([1, 2, 3])), True)),
    "columns": lambda x: ops.relu(ops.add(ops.multiply(x, constant(21)), constant(1, 1, 21))),
    "rows": lambda x: ops.add(ops.sigmoid(x), constant(19, 1)),
    "mask": lambda x: ops.add(ops.multiply(x, constant()), constant(2, 1, 19, 21)),
    "channels and all": lambda x: ops.add(ops.multiply(x, constant(6, 1, 1)), ops.exp(x)),
    "not of rows": lambda x: ops.hswish(ops.add(x, constant(1, 6, 1, 21))),
    "twice itself": lambda x: ops.multiply(ops.exp(x), x),
}


@pytest.mark.parametrize("name", POINTWISE)
def test_layers_of_single_elements_are_compiled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each layer has the result of its kernel: up to rounding, and the same bits for any number of threads."""
    monkeypatch.setattr(pointwise, "LEAST_WORK", 1)
    x = ops.parameter(SHAPE, np.float32, name="x")
    model = Model([ops.exp(POINTWISE[name](ops.floor(x)))], [x])
    compiled = lowered(model)
    given = (3 * rng.standard_normal(SHAPE)).astype(np.float32)
    expected = kernels(model)([given])[0]
    assert groups(compiled) if name != "not of rows" else len(groups(compiled)) == 1
    found = [compiled([given])[0] for _ in range(3)]
    np.testing.assert_allclose(found[-1], expected, rtol=2e-5, atol=1e-6)
    for threads in (1, 2, 8):
        parallel.set_num_threads(threads)
        assert np.array_equal(compiled([given])[0], found[-1])
    parallel.set_num_threads(None)


@pytest.mark.parametrize("seed", range(amount(60, 20)))
def test_operands_of_any_broadcast(seed: int) -> None:
    """Rows of the result read the elements that NumPy broadcasts to them, whenever the compiled form accepts
    the layer.
    """
    draw = np.random.default_rng(seed)
    shape = tuple(int(n) for n in draw.choice([1, 2, 3, 5, 17], draw.integers(1, 5)))
    source = draw.standard_normal(shape).astype(np.float32)
    expected, links, coming = source, [], []
    for _ in range(draw.integers(1, 4)):
        own = tuple(int(n) if draw.random() < 0.5 else 1 for n in shape[draw.integers(0, len(shape) + 1) :])
        operand = draw.standard_normal(own).astype(np.float32)
        is_constant = draw.random() < 0.5
        type = TensorType(F32, PartialShape(own))
        links.append(follow.Link(follow.Follow(np.add, 1), operand if is_constant else None, type))
        coming += [] if is_constant else [operand]
        layout = pointwise.lay_out(links, shape)
        if len(layout.after) < len(links):
            return
        expected = expected + operand
        found = np.full(shape, np.nan, np.float32)
        work = Work()
        CompiledPointwise(layout, found.size, 1).tasks(work, source, found, coming)
        work.run()
        np.testing.assert_array_equal(found, expected)
