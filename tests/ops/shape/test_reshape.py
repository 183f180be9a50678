"""Reshape-1, Squeeze-1 and -15, Unsqueeze-1, ShapeOf-1 and -3."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.types import F32, I32, I64

reshape, unsqueeze = the("Reshape", 1), the("Unsqueeze", 1)
squeeze_1, squeeze_15 = the("Squeeze", 1), the("Squeeze", 15)
shape_1, shape_3 = the("ShapeOf", 1), the("ShapeOf", 3)


def dims(op: object, *inputs: object, **attributes: object) -> str:
    (out,), breaches = infer(op, list(inputs), **attributes)
    assert not breaches, breaches
    return str(out.shape)


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
    for _ in range(10):
        shape = rng.integers(1, 5, rng.integers(2, 5))
        pattern = np.array([shape[0], *rng.permutation(shape[1:])])
        pattern[rng.integers(len(pattern))] = -1
        if rng.integers(2) and pattern[0] > 0:
            pattern[0] = 0
        arrays = (data(rng, "f32", *shape), pattern)
        ours = run(reshape, *arrays, special_zero="true")[0]
        np.testing.assert_array_equal(ours, openvino(reshape, *arrays, fixed=[1], special_zero="true")[0])


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


def test_squeeze_page_examples() -> None:
    assert dims(squeeze_1, tensor(F32, "1,3,1,2"), tensor(I64, "2", [0, 2])) == "[3,2]"
    assert dims(squeeze_1, tensor(F32, "1"), tensor(I64, "1", [0])) == "[]"
    assert dims(unsqueeze, tensor(F32, "2,3"), tensor(I64, "2", [0, 3])) == "[1,2,3,1]"
    assert dims(unsqueeze, tensor(F32, ""), tensor(I64, "1", [0])) == "[1]"


@pytest.mark.parametrize("op", [squeeze_1, squeeze_15])
def test_squeeze(op: object) -> None:
    table = np.ones((1, 3, 1, 2))
    assert run(op, table)[0].shape == (3, 2)
    assert run(op, table, ints())[0].shape == (3, 2)
    assert run(op, table, scalar(-2))[0].shape == (1, 3, 2)
    assert run(op, table, ints(0, 0))[0].shape == (3, 1, 2)
    assert run(op, table, ints(1))[0].shape == (1, 3, 1, 2), "a named dimension that is not 1 stays"
    assert run(op, table, ints(0, 1))[0].shape == (3, 1, 2)
    assert np.shares_memory(op(table), table)
    refuses(op, "C1", table, ints(4))
    assert "C2" in broken(op, table, np.zeros((1, 1), int))


@pytest.mark.parametrize(
    ("shape", "axes", "skip", "expected"),
    [
        ("1,?,3", None, "false", "[...]"),
        ("1,2..,3", None, "false", "[2..,3]"),
        ("1,?,3", [1], "false", "[1,3]"),
        ("1,?,3", [1], "true", "[...]"),
        ("1,?,3", [0], "true", "[?,3]"),
        ("1,2..5,3", [1], "true", "[1,2..5,3]"),
        ("...", [1], "false", "[...]"),
    ],
)
def test_squeeze_dynamic_shapes(shape: str, axes: list | None, skip: str, expected: str) -> None:
    inputs = [tensor(F32, shape)] + ([] if axes is None else [tensor(I64, str(len(axes)), axes)])
    assert dims(squeeze_15, *inputs, allow_axis_skip=skip) == expected


def test_squeeze_and_unsqueeze_agree_with_openvino() -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        table = data(rng, "f32", *rng.integers(1, 3, rng.integers(1, 5)))
        axes = rng.integers(-table.ndim, table.ndim, rng.integers(1, 3))
        np.testing.assert_array_equal(run(squeeze_15, table, axes)[0], openvino(squeeze_15, table, axes, fixed=[1])[0])
        count = int(rng.integers(1, 4))
        axes = rng.permutation(table.ndim + count)[:count]
        np.testing.assert_array_equal(run(unsqueeze, table, axes)[0], openvino(unsqueeze, table, axes, fixed=[1])[0])


def test_unsqueeze() -> None:
    table = np.ones((2, 3))
    assert run(unsqueeze, table, ints(0, 0))[0].shape == (1, 2, 3)
    assert run(unsqueeze, table, scalar(-1))[0].shape == (2, 3, 1)
    assert dims(unsqueeze, tensor(F32, "?,3"), tensor(I64, "1", [1])) == "[?,1,3]"
    assert dims(unsqueeze, tensor(F32, "?,3"), tensor(I64, "")) == "[?,?,?]"
    refuses(unsqueeze, "C1", table, ints(3))
    refuses(unsqueeze, "C1", table, ints(-4))
    refuses(unsqueeze, "C1", table, ints(3, 3))
    assert "C2" in broken(unsqueeze, table, np.zeros((1, 1), int))
    refuses(unsqueeze, "C3", table, ints())


def test_shape_of() -> None:
    assert run(shape_1, np.ones((2, 0)))[0].dtype == np.int64
    (result,) = run(shape_3, np.ones((2, 0)), output_type="i32")
    assert (result.tolist(), result.dtype) == ([2, 0], np.dtype(np.int32))
    assert run(shape_1, np.array(1.0))[0].shape == (0,)
    (known,), _ = infer(shape_3, [tensor(F32, "2,3")], output_type="i32")
    assert known.element_type is I32 and known.value is not None and known.value.dtype == np.int32
    (known,), _ = infer(shape_1, [tensor(F32, "?,3,1..4")])
    assert [str(v) for v in known.known or []] == ["?", "3", "1..4"]
    (known,), _ = infer(shape_1, [tensor(F32, "...")])
    assert str(known) == "i64[?]" and known.known is None
    _, problems = shape_3.parse_attributes({"output_type": "f32"})
    assert [p.code for p in problems] == ["D005"]
