"""Concat-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import broken, data, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32

split, variadic, concat = the("Split", 1), the("VariadicSplit", 1), the("Concat", 1)


def test_concat_agrees_with_openvino() -> None:
    rng = np.random.default_rng(2)
    for kind in ("f32", "i32", "u8"):
        for _ in range(3):
            shape = rng.integers(1, 4, rng.integers(1, 5))
            axis = int(rng.integers(-len(shape), len(shape)))
            arrays = []
            for _ in range(rng.integers(1, 4)):
                shape[axis] = rng.integers(0 if len(arrays) == 1 else 1, 4)
                arrays.append(data(rng, kind, *shape))
            np.testing.assert_array_equal(run(concat, *arrays, axis=axis)[0], openvino(concat, *arrays, axis=axis)[0])


@pytest.mark.parametrize(
    ("shapes", "axis", "expected"),
    [
        (("1,8,50,50", "1,16,50,50", "1,32,50,50"), 1, "[1,56,50,50]"),
        (("1,8,50,50", "1,16,50,50", "1,32,50,50"), -3, "[1,56,50,50]"),
        (("?,3", "2..4,3"), 0, "[2..,3]"),
        (("?,3", "2..4,?", "4,5"), 1, "[4,8..]"),
        (("...", "2,3"), 0, "[?,3]"),
        (("...", "..."), 0, "[...]"),
    ],
)
def test_concat_shapes(shapes: tuple[str, ...], axis: int, expected: str) -> None:
    (out,), breaches = infer(concat, [tensor(F32, s) for s in shapes], axis=axis)
    assert (str(out.shape), breaches) == (expected, [])


def test_concat_constraints() -> None:
    table = np.zeros((4, 3))
    refuses(concat, "C1", table, table, axis=2)
    refuses(concat, "C2", table, table[0], axis=0)
    refuses(concat, "C2", np.array(1.0), axis=0)
    refuses(concat, "C3", table, table[:, :2], axis=0)
    assert broken(concat, tensor(F32, "2,?"), tensor(F32, "3,?"), axis=1) == {"C3"}
