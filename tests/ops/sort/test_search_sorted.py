"""SearchSorted-15."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import data, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.sort.search_sorted import search_sorted_15

op = the("SearchSorted", 15)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64", "i8", "u8", "i32", "i64", "u64"])
@pytest.mark.parametrize("right", [False, True])
def test_rows_and_lines(kind: str, right: bool) -> None:
    rng = np.random.default_rng(0)
    side = "right" if right else "left"
    rows = np.sort(data(rng, kind, 2, 3, 7).astype(np.float64), -1).astype(data(rng, kind, 1).dtype)
    wanted = data(rng, kind, 2, 3, 4)
    (result,) = run(op, rows, wanted, right_mode=str(right).lower())
    for i in np.ndindex(2, 3):
        found = np.searchsorted(rows[i].astype(float), wanted[i].astype(float), side)
        np.testing.assert_array_equal(result[i], found)
    (line,) = run(op, rows[0, 0], wanted, right=str(right).lower())
    np.testing.assert_array_equal(line, np.searchsorted(rows[0, 0].astype(float), wanted.astype(float), side))
    assert result.dtype == line.dtype == np.int64


def test_agrees_with_openvino() -> None:
    rng = np.random.default_rng(1)
    for _ in range(amount(8, 2)):
        lead = rng.integers(1, 4, rng.integers(0, 3))
        rows = np.sort(data(rng, "f32", *lead, rng.integers(1, 9)), -1)
        wanted = data(rng, "f32", *lead, rng.integers(1, 5))
        attributes = {"right_mode": str(rng.choice(["true", "false"])), "output_type": str(rng.choice(["i32", "i64"]))}
        np.testing.assert_array_equal(
            run(op, rows, wanted, **attributes)[0], openvino(op, rows, wanted, **attributes)[0]
        )


def test_corners() -> None:
    assert run(op, np.zeros((2, 0)), np.zeros((2, 3)))[0].tolist() == [[0, 0, 0]] * 2
    assert run(op, np.array([1, 2, 3]), np.array(2))[0].tolist() == 1
    refuses(op, "C1", np.zeros((2, 3)), np.zeros((3, 3)))
    refuses(op, "C1", np.zeros((2, 3)), np.zeros(3))
    refuses(op, "C1", np.array(1.0), np.array(1.0))
    (out,), _ = infer(op, [tensor(F32, "?,2,5"), tensor(F32, "4,?,?")], output_type="i32")
    assert str(out) == "i32[4,2,?]"


def test_sequences_that_do_not_ascend_are_undefined() -> None:
    values = np.array([[1, 2]], np.uint8)
    for rows, undefined in (([[1, 1, 3]], False), ([[1, 3, 2]], True), ([[]], False)):
        assert search_sorted_15.oracle.undefined(np.array(rows, np.uint8), values) == undefined
