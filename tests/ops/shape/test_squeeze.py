"""Squeeze-1 and -15, Unsqueeze-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, data, ints, refuses, scalar, the
from support.oracle import dims, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64

reshape, unsqueeze = the("Reshape", 1), the("Unsqueeze", 1)

squeeze_1, squeeze_15 = the("Squeeze", 1), the("Squeeze", 15)

shape_1, shape_3 = the("ShapeOf", 1), the("ShapeOf", 3)


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


def test_c3_an_extent_that_a_run_shows_is_1() -> None:
    x = irexec.opset15.parameter([2, -1, 3], np.float32)
    model = irexec.compile_model(irexec.Model([irexec.opset15.squeeze(x, [1])], [x], "squeezed"))
    assert model([np.ones((2, 1, 3), np.float32)])[0].shape == (2, 3)
    for extent in (0, 4):
        with pytest.raises(irexec.IRError, match=f"{extent} elements along axis 1, expected 1") as caught:
            model([np.ones((2, extent, 3), np.float32)])
        (finding,) = caught.value.report
        assert finding.constraint == "Squeeze-15 C3"


def test_squeeze_and_unsqueeze_agree_with_openvino() -> None:
    rng = np.random.default_rng(2)
    for _ in range(amount(8, 2)):
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
