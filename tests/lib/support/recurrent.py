"""Helpers for the tests of recurrent operators: the operator, random arrays of its shapes, comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import F32, I64
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator
from support.oracle import infer, tensor

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}
ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}


def op_of(type: str) -> Operator:
    opset = {"LSTMCell": 4, "GRUCell": 3, "RNNCell": 1}.get(type, 5)
    op = find(type, f"opset{opset}")
    assert op is not None
    return op


def assert_close(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def cell_arrays(
    rng: Any, kind: str, batch: int, size: int, hidden: int, bias: int, dtype: Any = np.float32
) -> list[Any]:
    gates = GATES[kind] * hidden
    shapes = [(batch, size), *[(batch, hidden)] * STATES[kind], (gates, size), (gates, hidden), (bias * hidden,)]
    return [rng.normal(size=s).astype(dtype) for s in shapes]


def sequence_arrays(
    rng: Any, kind: str, batch: int, steps: int, size: int, hidden: int, directions: int, lengths: Any, bias: int
) -> list[Any]:
    gates = GATES[kind] * hidden
    shapes = [(batch, steps, size), *[(batch, directions, hidden)] * STATES[kind]]
    weights = [(directions, gates, size), (directions, gates, hidden), (directions, bias * hidden)]
    f32 = [rng.normal(size=s).astype(np.float32) for s in shapes]
    return [*f32, np.asarray(lengths, np.int64), *[rng.normal(size=s).astype(np.float32) for s in weights]]


def cell_shapes(kind: str) -> list[str]:
    gates = GATES[kind] * 4
    return ["2,3", *["2,4"] * STATES[kind], f"{gates},3", f"{gates},4", f"{gates}"]


def sequence_shapes(kind: str) -> list[str]:
    gates = GATES[kind] * 4
    return ["2,5,3", *["2,1,4"] * STATES[kind], "2", f"1,{gates},3", f"1,{gates},4", f"1,{gates}"]


def breaches(type: str, shapes: list[str], lengths: Any = None, **attributes: Any) -> set[str | None]:
    types = [tensor(F32, s) for s in shapes]
    if "Sequence" in type:
        index = 1 + STATES[type.removesuffix("Sequence")]
        types[index] = tensor(I64, shapes[index], lengths)
    return {b.constraint for b in infer(op_of(type), types, **attributes)[1]}
