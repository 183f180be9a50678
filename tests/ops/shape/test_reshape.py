"""Reshape-1, and changes of the shape for every element type."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import dims, infer, openvino, run, tensor

from irexec.core.types import F32, I64

reshape, unsqueeze = the("Reshape", 1), the("Unsqueeze", 1)

squeeze_1, squeeze_15 = the("Squeeze", 1), the("Squeeze", 15)

shape_1, shape_3 = the("ShapeOf", 1), the("ShapeOf", 3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 2, 3)
    assert run(reshape, table, ints(3, -1), special_zero="false")[0].tolist() == table.reshape(3, 2).tolist()
    assert run(unsqueeze, table, ints(0, -1))[0].tolist() == table[None, :, :, None].tolist()
    assert run(squeeze_15, table[None], ints(0))[0].tolist() == table.tolist()
    assert run(shape_3, table)[0].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("shape", "pattern", "special_zero", "expected"),
    [
        ("2,5,5,0", [0, 4], "false", "[0,4]"),
        ("2,5,5,24", [0, -1, 4], "true", "[2,150,4]"),
        ("2,2,3", [0, 0, 1, -1], "true", "[2,2,1,3]"),
        ("3,1,1", [-1, 0], "true", "[3,1]"),
        ("3,1,1", [0, -1], "true", "[3,1]"),
        ("0,3", [0, -1], "false", "[0,0]"),
        ("?,12,64", [0, 0, -1], "true", "[?,12,64]"),
        ("?,12,64", [0, -1, 768], "true", "[?,1,768]"),
        ("?,12,64", [-1, 768], "false", "[?,768]"),
        ("2..4,12", [-1, 6], "false", "[4..8,6]"),
        ("?,3", [4, 3], "false", "[4,3]"),
        ("?,?", [0, 0, 1, -1], "true", "[?,?,1,1]"),
        ("...", [0, -1], "true", "[?,?]"),
        ("2,3", [], "false", None),
    ],
)
def test_reshape_shapes(shape: str, pattern: list, special_zero: str, expected: str | None) -> None:
    inputs = [tensor(F32, shape), tensor(I64, str(len(pattern)), pattern)]
    (out,), breaches = infer(reshape, inputs, special_zero=special_zero)
    assert (str(out.shape), breaches) == (expected, []) if expected else {b.constraint for b in breaches} == {"C1"}


def test_reshape_of_a_partly_known_pattern() -> None:
    """One unknown extent follows from the number of elements."""
    (known,), _ = infer(shape_3, [tensor(F32, "?,4")])
    assert dims(reshape, tensor(F32, "6,2"), known, special_zero="false") == "[3,4]"
    assert dims(reshape, tensor(F32, "6,2,5"), tensor(I64, "2"), special_zero="false") == "[?,?]"
    assert dims(reshape, tensor(F32, "6,2,5"), tensor(I64, "?"), special_zero="false") == "[...]"


def test_reshape_agrees_with_openvino() -> None:
    rng = np.random.default_rng(1)
    for _ in range(amount(10, 3)):
        shape = rng.integers(1, 5, rng.integers(2, 5))
        pattern = np.array([shape[0], *rng.permutation(shape[1:])])
        pattern[rng.integers(len(pattern))] = -1
        if rng.integers(2) and pattern[0] > 0:
            pattern[0] = 0
        arrays = (data(rng, "f32", *shape), pattern)
        ours = run(reshape, *arrays, special_zero="true")[0]
        np.testing.assert_array_equal(ours, openvino(reshape, *arrays, fixed=[1], special_zero="true")[0])


@pytest.mark.parametrize(
    ("shape", "pattern"),
    [
        ([2, 0, 24], [0, 0, 3, -1]),
        ([0, 24], [0, -1, 8]),
        ([2, 0, 4], [-1, 0, 4]),
        ([0, 4], [0, 4, -1]),
        ([0, 6], [-1, 6]),
    ],
)
def test_what_is_left_beside_copied_extents_of_nothing(shape: list[int], pattern: list[int]) -> None:
    arrays = (np.zeros(shape, np.float32), np.int64(pattern))
    theirs = openvino(reshape, *arrays, fixed=[1], special_zero="true")[0]
    assert run(reshape, *arrays, special_zero="true")[0].shape == theirs.shape
    types = [tensor(F32, ",".join(map(str, shape))), tensor(I64, str(len(pattern)), pattern)]
    inferred, breaches = infer(reshape, types, special_zero=True)
    assert (inferred[0].shape.to_shape(), breaches) == (theirs.shape, [])
    refuses(reshape, "C1", np.zeros((0, 24), np.float32), ints(0, 5, -1), special_zero="true")


def test_reshape_is_a_view_where_it_can_be() -> None:
    table = np.ones((2, 3))
    assert np.shares_memory(reshape(table, ints(6), special_zero=False), table)
    assert run(reshape, table.T, ints(6), special_zero="false")[0].shape == (6,)
    assert run(reshape, np.array(1.0), ints(1, -1), special_zero="false")[0].shape == (1, 1)
    assert run(reshape, np.zeros((2, 0)), ints(-1, 0), special_zero="false")[0].shape == (0, 0)


def test_reshape_constraints() -> None:
    table = np.ones((2, 3))
    refuses(reshape, "C1", table, ints(4, 2), special_zero=False)
    refuses(reshape, "C1", table, ints(4, -1), special_zero=False)
    refuses(reshape, "C1", table, ints(0, -1), special_zero=False)
    refuses(reshape, "C2", table, ints(-1, -1), special_zero=False)
    refuses(reshape, "C3", table, ints(2, 3, 0), special_zero=True)
    assert "C4" in broken(reshape, table, scalar(6), special_zero=False)
    refuses(reshape, "C5", table, ints(-2, 3), special_zero=False)
    assert broken(reshape, tensor(F32, "?,3"), ints(4, 3), special_zero=False) == set()
    assert broken(reshape, tensor(F32, "?,3"), ints(4, 2), special_zero=False) == {"C1"}
    assert broken(reshape, tensor(F32, "?,3,?"), ints(0, 3, 7), special_zero=True) == set()
    assert broken(reshape, tensor(F32, "?,3,?"), ints(0, 2, 7), special_zero=True) == {"C1"}
