"""Select of intervals."""

from __future__ import annotations

import numpy as np

from irexec.core.types import Dimension
from irexec.ops.condition.select import select_1


def test_intervals_pass_through_the_kernel() -> None:
    then, other = np.array([Dimension(2, 4), 3], object), np.array([1, Dimension(-1)], object)
    found = select_1.compute(np.array([1, 0], object), then, other)
    assert list(found) == [Dimension(2, 4), Dimension(-1)]
