"""Roll-7."""

from __future__ import annotations

import numpy as np
from support.amounts import amount
from support.cases import broken, data, ints, refuses, scalar, the
from support.oracle import openvino, run

import irexec

broadcast_1, broadcast_3 = the("Broadcast", 1), the("Broadcast", 3)

reverse, sequence = the("Reverse", 1), the("ReverseSequence", 1)

roll, transpose = the("Roll", 7), the("Transpose", 1)


def test_roll_page_examples() -> None:
    table = np.arange(1, 13).reshape(4, 3)
    assert run(roll, table, scalar(1), scalar(0))[0].tolist() == [[10, 11, 12], [1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert run(roll, table, ints(-1, 2), ints(0, 1))[0].tolist() == [[5, 6, 4], [8, 9, 7], [11, 12, 10], [2, 3, 1]]
    expected = [[8, 9, 7], [11, 12, 10], [2, 3, 1], [5, 6, 4]]
    assert run(roll, table, ints(1, 2, 1), ints(0, 1, 0))[0].tolist() == expected


def test_roll_by_one_element_for_all_axes() -> None:
    """As in the page's second example; OpenVINO requires a scalar."""
    table = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(run(roll, table, ints(1), ints(0, 1))[0], np.roll(table, 1, (0, 1)))


def test_roll_agrees_with_openvino() -> None:
    rng = np.random.default_rng(5)
    for _ in range(amount(8, 2)):
        shape = rng.integers(1, 5, rng.integers(1, 4))
        axes = rng.integers(-len(shape), len(shape), rng.integers(1, 4))
        shift = rng.integers(-9, 10, len(axes)) if rng.integers(2) else scalar(rng.integers(-9, 10))
        arrays = (data(rng, "f32", *shape), shift, axes)
        (result,) = run(roll, *arrays)
        np.testing.assert_array_equal(result, np.roll(arrays[0], shift, axes))
        if shift.size == axes.size:
            # The CPU plugin does not accept a scalar shift for several axes.
            np.testing.assert_array_equal(result, openvino(roll, *arrays, fixed=[1, 2])[0])


def test_roll_constraints() -> None:
    table = np.ones((2, 3))
    refuses(roll, "C1", table, ints(1, 2, 3), ints(0, 1))
    refuses(roll, "C1", table, ints(1, 2), scalar(0))
    assert "C2" in broken(roll, table, np.ones((1, 1), int), ints(0))
    refuses(roll, "C3", table, scalar(1), ints(2))


def test_without_axes_nothing_is_shifted() -> None:
    data, none = np.arange(4.0, dtype=np.float32), np.zeros(0, np.int64)
    for shift in (none, np.array(3)):
        result = irexec.opset7.roll(data, shift, none)
        assert result.tolist() == data.tolist()
        assert not np.shares_memory(result, data)
