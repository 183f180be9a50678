"""Arrays of every element type, and constraints that must be rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irexec.core.types import ElementType, TensorType
from irexec.model.inference.propagate import propagate
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Breach, ConstraintError, Operator

# One type of each kind that NumPy treats differently.
KINDS = ("f32", "f16", "bf16", "f64", "i8", "u16", "i64", "u64", "boolean", "string", "f8e4m3", "i4")


def the(type: str, version: int) -> Operator:
    """Return an operator that must exist."""
    op = find(type, f"opset{version}")
    assert op is not None and op.opset == f"opset{version}"
    return op


def data(rng: np.random.Generator, kind: str, *shape: int) -> np.ndarray:
    """Return random small values of an element type."""
    dtype = ElementType.by_name[kind].dtype
    if kind == "string":
        return rng.integers(0, 1000, shape).astype("U").astype(dtype).reshape(shape)
    if kind == "boolean":
        return rng.integers(0, 2, shape).astype(bool)
    low = 0 if kind.startswith("u") else -7
    return rng.integers(low, 8, shape).astype(np.float32).astype(dtype)


def ints(*values: Any, dtype: Any = np.int64) -> np.ndarray:
    """Return a 1-D integer array."""
    return np.array(values, dtype)


def scalar(value: Any, dtype: Any = np.int64) -> np.ndarray:
    return np.array(value, dtype)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether arrays have the same type, shape and bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def broken(op: Operator, *inputs: np.ndarray | TensorType | None, **attributes: Any) -> set[str | None]:
    """Return the constraints that the shape rule reports as violated; arrays are constants."""
    types = [TensorType.of(x) if isinstance(x, np.ndarray) else x for x in inputs]
    values, problems = op.parse_attributes(attributes)
    assert not problems, problems
    breaches: list[Breach] = []
    op.infer(types, values, breaches)
    return {b.constraint for b in breaches}


def refuses(op: Operator, constraint: str, *arrays: np.ndarray | None, **attributes: Any) -> None:
    """Check that the shape rule, for constants, and the kernel reject the arrays by this constraint."""
    assert constraint in broken(op, *arrays, **attributes)
    values, _ = op.parse_attributes(attributes)
    with pytest.raises(ConstraintError) as error:
        op(*arrays, **values)
    assert error.value.constraint == constraint


def chain(op: Operator, *inputs: TensorType | np.ndarray | None, **attributes: Any) -> TensorType:
    """Return the first output type with the values known to inference, as the next operator receives it."""
    types = [TensorType.of(x) if isinstance(x, np.ndarray) else x for x in inputs]
    values, problems = op.parse_attributes(attributes)
    breaches: list[Breach] = []
    outputs = op.infer(types, values, breaches)
    assert not problems and not breaches, (problems, breaches)
    return propagate(op, types, values, outputs)[0]
