"""Random graphs of quantized layers, whose values and memory are shared in all ways: the bits of the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.amounts import amount
from support.lowering import groups

import irexec
from irexec import Model
from irexec.runtime.engine import CompiledModel, memory
from irexec.runtime.lowering.backend import Backend, Mode
from irexec.runtime.lowering.checked import CheckedBackend
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.whole import Quantized, Whole

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15


class Graph:
    """Values in f32 and in bytes, all with two axes and the same rows."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.rows = self.below(8) + 1
        self.inputs = [
            ops.parameter([self.rows, 16], np.float32, name="x"),
            ops.parameter([self.rows, 8], np.uint8, name="y"),
        ]
        self.floats, self.bytes = self.inputs[:1], self.inputs[1:]
        for _ in range(3 + self.below(9)):
            self.choose(self.quantize, self.dequantize, self.multiply, self.multiply, self.add)
        more = [value for value in self.floats[1:-1] if not self.below(4)]
        self.model = Model([self.floats[-1], self.bytes[-1], *more], self.inputs)

    def below(self, count: int) -> int:
        return int(self.rng.integers(count))

    def choose(self, *functions: Any) -> Any:
        return functions[self.below(len(functions))]()

    def recent(self, values: list[Any]) -> Any:
        return values[-1 - self.below(min(3, len(values)))]

    def number(self) -> Any:
        """Return a positive number: a constant, or a number that depends on a value."""
        if not self.below(3):
            return ops.constant(np.float32(self.rng.uniform(0.05, 0.5)))
        largest = ops.reduce_max(ops.abs(self.recent(self.floats)), np.array([0, 1]), keep_dims=False)
        largest = ops.add(largest, np.float32(1))
        return largest if self.below(2) else ops.divide(largest, np.float32(127))

    def stored(self, x: Any) -> None:
        """Store integers, limited to the range of bytes."""
        dtype = np.dtype([np.uint8, np.int8][self.below(2)])
        low, high = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
        self.bytes.append(ops.convert(ops.clamp(x, low, high), irexec.Type(dtype)))

    def point(self, type: str) -> Any:
        """Return a computed zero point."""
        return ops.convert(
            ops.convert(ops.clamp(self.number(), 0.0, 100.0), self.choose(lambda: "u8", lambda: "i8")), type
        )

    def quantize(self) -> None:
        x = ops.round(ops.divide(self.recent(self.floats), self.number()), "half_to_even")
        self.stored(self.choose(lambda: x, lambda: ops.add(x, np.float32(9)), lambda: ops.add(x, self.point("f32"))))

    def dequantize(self) -> None:
        x = ops.subtract(ops.convert(self.recent(self.bytes), "f32"), np.float32(self.below(9)))
        self.floats.append(ops.multiply(x, self.number()))

    def multiply(self) -> None:
        x = self.recent(self.bytes)
        width, columns = int(x.shape[1]), int(self.rng.choice([8, 16, 64]))
        x = ops.convert(x, "f64")
        zero = float(self.rng.integers(-20, 100))
        x = self.choose(lambda: x, lambda: ops.subtract(x, zero), lambda: ops.subtract(x, self.point("f64")))
        weights = self.rng.integers(-128, 128, (width, columns)).astype(np.int8)
        x = ops.matmul(x, ops.convert(ops.constant(weights), "f64"), False, False)
        if not self.below(3):
            x = ops.add(x, ops.constant(self.rng.integers(-99, 99, (1, columns)).astype(np.float64)))
        x = ops.convert(ops.convert(x, "i32") if self.below(2) else x, "f32")
        row = ops.constant(self.rng.standard_normal((1, columns)).astype(np.float32))
        for _ in range(self.below(3)):
            x = self.choose(
                lambda x=x: ops.multiply(x, self.number()), lambda x=x: ops.add(x, row), lambda x=x: ops.relu(x)
            )
        if self.below(2):
            self.stored(ops.round(ops.multiply(x, np.float32(0.01)), "half_to_even"))
        else:
            self.floats.append(x)

    def add(self) -> None:
        x = self.recent(self.floats)
        self.floats.append(ops.add(x, self.recent([y for y in self.floats if y.shape == x.shape])))


def test_the_bits_are_those_of_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_MIN_BYTES", 1)  # small results share buffers, too
    found: set[type] = set()
    for seed in range(amount(60, 12)):
        graph = Graph(seed)
        lowered = CompiledModel(graph.model, Backend(Mode.AT_ONCE))
        checked = CompiledModel(graph.model, CheckedBackend())
        kernels, *others = (c.create_infer_request() for c in (CompiledModel(graph.model), lowered, checked))
        for run in range(3):
            rng = np.random.default_rng(run)
            x = rng.standard_normal((graph.rows, 16)) * 10.0 ** rng.uniform(-1, 2)
            given = [x.astype(np.float32), rng.integers(0, 256, (graph.rows, 8)).astype(np.uint8)]
            expected = [array.copy() for array in kernels.infer(given).to_tuple()]
            for request in others:
                for one, other in zip(request.infer(given).to_tuple(), expected, strict=True):
                    np.testing.assert_array_equal(one, other, err_msg=f"seed {seed}")
        found |= {type(group.form) for group in groups(lowered)}
    assert {Quantized, Whole} <= found or not compiler().has_bytes
