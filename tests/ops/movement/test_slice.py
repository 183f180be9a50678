"""Slice-8 and the intervals of slices."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64, Dimension, parse_dimension
from irexec.ops.rules.slicing import sliced, sliced_length

slice_8 = the("Slice", 8)


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (1, 8, 1),
        (1, 8, 2),
        (-100, 100, 1),
        (9, -11, -1),
        (9, 0, -1),
        (100, -100, -2),
        (-1, -(2**31), -1),
        (0, 2**63 - 1, 3),
    ],
)
def test_page_example(start: int, stop: int, step: int) -> None:
    line = np.arange(10)
    for axes in ([ints(0)], [ints(-1)], []):
        (result,) = run(slice_8, line, ints(start), ints(stop), ints(step), *axes)
        assert result.tolist() == line[start:stop:step].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 4, 5)
    (result,) = run(slice_8, table, ints(3, 1), ints(0, 4), ints(-2, 1), ints(0, 1))
    assert result.tolist() == table[3:0:-2, 1:4].tolist()


def test_is_a_view() -> None:
    table = np.arange(6.0)
    assert np.shares_memory(slice_8(table, ints(1), ints(3), ints(1)), table)


def test_agrees_with_openvino() -> None:
    rng = np.random.default_rng(1)
    for _ in range(amount(15, 4)):
        shape = rng.integers(1, 6, rng.integers(1, 5))
        axes = rng.permutation(len(shape))[: rng.integers(1, len(shape) + 1)]
        # Without backward slices that start before the first element, in which OpenVINO differs from Python.
        start = np.array([rng.integers(-shape[a], shape[a] + 3) for a in axes])
        stop, step = rng.integers(-8, 9, len(axes)), rng.choice([-2, -1, 1, 2, 3], len(axes))
        arrays = (data(rng, "f32", *shape), start, stop, step, axes)
        np.testing.assert_array_equal(run(slice_8, *arrays)[0], openvino(slice_8, *arrays, fixed=[1, 2, 3, 4])[0])


def test_a_backward_start_before_the_first_element_takes_nothing() -> None:
    """As in Python, to which the page refers; OpenVINO selects the first element."""
    arrays = (np.arange(5.0, dtype=np.float32), ints(-10), ints(-20), ints(-1))
    assert run(slice_8, *arrays)[0].size == 0
    assert broken(slice_8, *arrays) == set()


def test_constraints() -> None:
    table = np.zeros((4, 4))
    one, two = ints(1), ints(1, 1)
    refuses(slice_8, "C1", np.array(1.0), one, one, one)
    refuses(slice_8, "C2", table, scalar(1), scalar(1), scalar(1))
    refuses(slice_8, "C3", table, one, one, ints(0))
    refuses(slice_8, "C4", table, one, one, one, ints(2))
    refuses(slice_8, "C5", table, two, two, two, ints(1, -1))
    refuses(slice_8, "C6", table, two, one, one)
    refuses(slice_8, "C6", table, ints(0, 0, 0), ints(1, 1, 1), ints(1, 1, 1))


@pytest.mark.parametrize("extent", ["0", "3", "?", "2..", "..7", "3..9"])
def test_intervals_hold_every_length(extent: str) -> None:
    dimension = parse_dimension(extent)
    bounds = (None, -9, -4, -1, 0, 1, 3, 8, 2**31 - 1, -(2**31), 2**63 - 1)
    for step in (-3, -1, 1, 2):
        for start in bounds:
            for stop in bounds:
                lengths = [sliced_length(n, start, stop, step) for n in range(40) if dimension.contains(n)]
                found = sliced(dimension, start, stop, step)
                assert all(map(found.contains, lengths)), (extent, start, stop, step)
                assert found.min == min(lengths)
                assert found.max is None or found.max == max(lengths)


def test_open_ends_stay_open() -> None:
    assert sliced(Dimension(-1), 1, 2**31 - 1, 1) == Dimension(-1)
    assert sliced(Dimension(-1), 0, 5, 1) == Dimension(0, 5)
    assert sliced(Dimension(-1), -3, 2**63 - 1, 1) == Dimension(0, 3)
    assert sliced(Dimension(10, 20), 2, -1, 1) == Dimension(7, 17)


def test_shapes_with_unknown_bounds() -> None:
    (out,), _ = infer(slice_8, [tensor(F32, "4,?,6"), tensor(I64, "1"), tensor(I64, "1", [9]), tensor(I64, "1", [1])])
    assert str(out.shape) == "[..4,?,6]"
    unknown = tensor(I64, "2")
    (out,), _ = infer(slice_8, [tensor(F32, "4,5,6"), unknown, unknown, unknown, unknown])
    assert str(out.shape) == "[..4,..5,..6]"
