"""The parts of an axis that iterations process."""

from __future__ import annotations

import pytest

from irexec.model.graph.body_maps import Slicing


@pytest.mark.parametrize(
    ("start", "end", "stride", "size", "parts"),
    [
        (0, -1, 1, 1, [[0], [1], [2], [3], [4], [5]]),
        (-1, 0, -1, 1, [[5], [4], [3], [2], [1], [0]]),
        (1, -1, 1, 1, [[1], [2], [3], [4], [5]]),
        (2, 4, 1, 1, [[2], [3], [4]]),
        (-4, -2, 1, 1, [[2], [3], [4]]),
        (4, 2, -1, 1, [[4], [3], [2]]),
        (-2, 0, -1, 1, [[4], [3], [2], [1], [0]]),
        (3, 3, 1, 1, [[3]]),
        (2, -1, 2, 2, [[2, 3], [4, 5]]),
        (-1, 2, -2, 2, [[4, 5], [2, 3]]),
    ],
)
def test_parts_go_from_start_to_end(start: int, end: int, stride: int, size: int, parts: list[list[int]]) -> None:
    slicing, rows = Slicing(0, start, end, stride, size), list(range(6))
    assert slicing.fault(6) is None
    assert slicing.count(6) == len(parts)
    assert [rows[part] for part in slicing.parts(6)] == parts


@pytest.mark.parametrize("slicing", [Slicing(0), Slicing(0, -1, 0, -1)])
def test_an_empty_axis_has_no_parts(slicing: Slicing) -> None:
    assert (slicing.fault(0), slicing.count(0)) == (None, 0)


@pytest.mark.parametrize(
    ("slicing", "why"),
    [
        (Slicing(0, 0, 6), "is out of range"),
        (Slicing(0, -7, -1), "is out of range"),
        (Slicing(0, 10**6, -1), "is out of range"),
        (Slicing(0, 4, 2), "empty in this direction"),
        (Slicing(0, 0, -1, -1), "empty in this direction"),
        (Slicing(0, 0, -1, 4, 4), "6 elements are not a multiple of the part size 4"),
        (Slicing(0, stride=0), "endless loop"),
        (Slicing(0, part_size=0), "endless loop"),
    ],
)
def test_what_divides_no_axis(slicing: Slicing, why: str) -> None:
    fault = slicing.fault(6)
    assert fault is not None
    assert why in fault
