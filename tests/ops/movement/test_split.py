"""Split-1 and VariadicSplit-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

split, variadic, concat = the("Split", 1), the("VariadicSplit", 1), the("Concat", 1)


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 4, 6)
    for axis in (0, 1, -1):
        parts = run(split, table, scalar(axis), num_splits=2)
        assert [p.tolist() for p in parts] == [p.tolist() for p in np.split(table, 2, axis)]
        assert np.shares_memory(split(table, scalar(axis), num_splits=2)[1], table)
        parts = run(variadic, table, ints(axis), ints(1, -1, 2))
        assert [p.shape[axis] for p in parts] == [1, table.shape[axis] - 3, 2]
        assert run(concat, *parts, axis=axis)[0].tolist() == table.tolist()


def test_split_page_shapes() -> None:
    parts, _ = infer(split, [tensor(F32, "6,12,10,24"), tensor(I64, "", 1)], num_splits=3)
    assert [str(p.shape) for p in parts] == ["[6,4,10,24]"] * 3
    parts, _ = infer(variadic, [tensor(F32, "6,12,10,24"), tensor(I64, "", 1), tensor(I64, "3", [1, 2, 9])])
    assert [str(p.shape) for p in parts] == ["[6,1,10,24]", "[6,2,10,24]", "[6,9,10,24]"]
    parts, _ = infer(variadic, [tensor(F32, "6,12"), tensor(I64, "", 0), tensor(I64, "2", [-1, 2])])
    assert [str(p.shape) for p in parts] == ["[4,12]", "[2,12]"]


def test_pieces_without_number_cost_no_memory() -> None:
    _, problems = split.parse_attributes({"num_splits": "1000000007"})
    assert [(p.code, p.attribute) for p in problems] == [("D005", "num_splits")]


def test_split_dynamic_shapes() -> None:
    parts, _ = infer(split, [tensor(F32, "?,5..9"), tensor(I64, "", 1)], num_splits=2)
    assert [str(p.shape) for p in parts] == ["[?,3..4]"] * 2
    parts, _ = infer(split, [tensor(F32, "2,3"), tensor(I64, "")], num_splits=2)
    assert [str(p.shape) for p in parts] == ["[?,?]"] * 2
    parts, _ = infer(variadic, [tensor(F32, "?,3"), tensor(I64, "", 0), tensor(I64, "2", [-1, 2])])
    assert [str(p.shape) for p in parts] == ["[?,3]", "[2,3]"]
    parts, _ = infer(variadic, [tensor(F32, "7,3"), tensor(I64, "", 0), tensor(I64, "2")])
    assert [str(p.shape) for p in parts] == ["[..7,3]"] * 2


def test_split_agrees_with_openvino() -> None:
    rng = np.random.default_rng(1)
    for _ in range(amount(6, 2)):
        shape = rng.integers(1, 5, rng.integers(1, 5))
        axis, count = int(rng.integers(-len(shape), len(shape))), int(rng.integers(1, 4))
        shape[axis] *= count
        arrays = (data(rng, "f32", *shape), scalar(axis))
        theirs = openvino(split, *arrays, fixed=[1], num_splits=count)
        for a, b in zip(run(split, *arrays, num_splits=count), theirs, strict=True):
            np.testing.assert_array_equal(a, b)
        lengths = rng.multinomial(shape[axis], [1 / count] * count)
        if count > 1:
            lengths[rng.integers(count)] = -1
        arrays = (*arrays, lengths)
        for a, b in zip(run(variadic, *arrays), openvino(variadic, *arrays, fixed=[1, 2]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_split_constraints() -> None:
    table = np.zeros((4, 3))
    refuses(split, "C1", table, scalar(1), num_splits=2)
    assert "C2" in broken(split, table, ints(0, 1), num_splits=2)
    assert "C2" in broken(split, table, ints(1), num_splits=1)
    refuses(split, "C3", table, scalar(2), num_splits=1)
    _, problems = split.parse_attributes({"num_splits": "0"})
    assert [p.attribute for p in problems] == ["num_splits"]


def test_variadic_constraints() -> None:
    table = np.zeros((4, 3))
    refuses(variadic, "C1", table, scalar(0), ints(1, 2))
    refuses(variadic, "C1", table, scalar(0), ints(5, -1))
    refuses(variadic, "C2", table, scalar(2), ints(1, 2))
    assert "C3" in broken(variadic, table, scalar(0), np.ones((1, 1), int))
    refuses(variadic, "C4", table, scalar(0), ints(-1, -1))
    refuses(variadic, "C4", table, scalar(0), ints(6, -2))
    assert "C5" in broken(variadic, table, ints(0, 1), ints(4))
