"""The intervals of slices."""

from __future__ import annotations

import pytest

from irexec.core.types import Dimension, parse_dimension
from irexec.ops.rules.slicing import sliced, sliced_length


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
