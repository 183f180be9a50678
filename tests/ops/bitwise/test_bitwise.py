"""Bitwise logic and shifts: the page's examples, OpenVINO, every integer type."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BOOLEAN, F32
from irexec.ops.bitwise.bitwise import (
    bitwise_and_13,
    bitwise_left_shift_15,
    bitwise_not_13,
    bitwise_or_13,
    bitwise_right_shift_15,
    bitwise_xor_13,
)
from irexec.ops.spec.operator import Operator

LOGIC = {bitwise_and_13: "__and__", bitwise_or_13: "__or__", bitwise_xor_13: "__xor__"}
SHIFTS = {bitwise_left_shift_15: "__lshift__", bitwise_right_shift_15: "__rshift__"}
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def test_page_examples() -> None:
    np.testing.assert_array_equal(run(bitwise_not_13, np.array([1, 3], np.uint8))[0], [254, 252])
    np.testing.assert_array_equal(run(bitwise_not_13, np.array([True, False]))[0], [False, True])
    a, b = np.array([21, 120], np.uint8), np.array([3, 37], np.uint8)
    np.testing.assert_array_equal(run(bitwise_and_13, a, b)[0], [1, 32])
    a, b = np.array([True, False, False]), np.array([True, True, False])
    np.testing.assert_array_equal(run(bitwise_and_13, a, b)[0], [True, False, False])
    np.testing.assert_array_equal(run(bitwise_or_13, a, b)[0], [True, True, False])
    np.testing.assert_array_equal(run(bitwise_xor_13, a, b)[0], [False, True, False])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", LOGIC, ids=str)
def test_logic_of_every_type(op: Operator, dtype: type) -> None:
    bounds = np.iinfo(dtype)
    values = [bounds.min, bounds.max, 0, 5, bounds.max // 3]
    a, b = np.array(values, dtype), np.array(values[::-1], dtype)
    expected = [getattr(int(x), LOGIC[op])(int(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(run(op, a, b)[0], np.array(expected, dtype))
    np.testing.assert_array_equal(
        run(bitwise_not_13, a)[0],
        np.array([bounds.max - (int(x) - bounds.min) for x in a]).astype(dtype) if bounds.bits < 64 else ~a,
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("op", SHIFTS, ids=str)
def test_shifts_of_every_type_wrap(op: Operator, dtype: type) -> None:
    bounds = np.iinfo(dtype)
    a, b = np.array([bounds.max, bounds.min, 5, 1], dtype), np.array([1, 1, 2, bounds.bits - 1], dtype)
    exact = [getattr(int(x), SHIFTS[op])(int(y)) for x, y in zip(a, b, strict=True)]
    wrapped = [(v - bounds.min) % 2**bounds.bits + bounds.min for v in exact]
    np.testing.assert_array_equal(run(op, a, b)[0], np.array(wrapped, dtype))


@pytest.mark.parametrize("op", [*LOGIC, *SHIFTS], ids=str)
def test_agrees_with_openvino(op: Operator) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-50, 50, (2, 1, 5)).astype(np.int32), rng.integers(0, 9, (4, 1)).astype(np.int32)
    np.testing.assert_array_equal(run(op, a, b)[0], openvino(op, a, b)[0])


def test_shifts_that_the_page_leaves_open_push_all_bits_out() -> None:
    a, b = np.array([1, -8, 7], np.int32), np.array([32, 40, -1], np.int32)
    np.testing.assert_array_equal(run(bitwise_left_shift_15, a, b)[0], [0, 0, 0])
    np.testing.assert_array_equal(run(bitwise_right_shift_15, a, b)[0], [0, -1, 0])


@pytest.mark.parametrize("op", SHIFTS, ids=str)
def test_shifts_take_no_booleans(op: Operator) -> None:
    _, breaches = infer(op, [tensor(BOOLEAN, "2"), tensor(BOOLEAN, "2")])
    assert {b.code for b in breaches} == {"O002"}


@pytest.mark.parametrize("op", LOGIC, ids=str)
def test_logic_takes_no_floats(op: Operator) -> None:
    _, breaches = infer(op, [tensor(F32, "2"), tensor(F32, "2")])
    assert {b.code for b in breaches} == {"O002"}
    assert not infer(op, [tensor(BOOLEAN, "2"), tensor(BOOLEAN, "2")])[1]
