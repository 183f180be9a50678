"""Statistics of a quantizer: noise, clipped values, unused levels, and the worst channel."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import Array
from irexec.tools.sensitivity.statistics import Range, Statistics

pytestmark = pytest.mark.any_python


def floats(values: object) -> Array:
    return np.array(values, np.float32)


LOW, HIGH = floats([-1]), floats([1])


def test_clipped_values_and_unused_levels() -> None:
    found = Statistics(Range(5, LOW, HIGH))
    fine = floats([-3, -1, 0, 0.1, 1, 1.2])
    found.add(fine, floats([-1, -1, 0, 0, 1, 1]))
    assert found.clipped_share == pytest.approx(1 / 6)  # 1.2 is within half a step of 1
    assert found.unused_share == pytest.approx(2 / 5)
    found.add(floats([0.5]), floats([0.5]))
    assert found.unused_share == pytest.approx(1 / 5)
    assert found.snr == pytest.approx(10 * np.log10((fine**2).sum() + 0.25) - 10 * np.log10(4 + 0.01 + 0.04), abs=1e-4)


def test_the_worst_channel_is_the_one_with_the_smallest_ratio() -> None:
    found = Statistics(axis=1)
    fine = np.ones((2, 3, 4), np.float32)
    coarse = fine.copy()
    coarse[:, 2] += np.float32(0.1)
    coarse[0, 1] += np.float32(0.1)
    for _ in range(2):
        found.add(fine, coarse)
    assert found.worst_channel is not None
    channel, ratio = found.worst_channel
    assert channel == 2
    assert ratio == pytest.approx(20, abs=1e-4)


def test_codes_of_weights() -> None:
    codes = np.array([[-7, 7], [0, 3]])
    found = Statistics(Range(16, codes=codes, step=np.full((2, 2), 0.5)))
    found.add(floats([[-3.4, 9]]), floats([[-3.5, 3.5]]))
    assert found.clipped_share == 0  # the shapes differ, so nothing is counted
    found = Statistics(Range(16, codes=codes, step=np.full((2, 2), 0.5)))
    found.add(floats([[-3.4, 9], [0, 1.5]]), floats([[-3.5, 3.5], [0, 1.5]]))
    assert found.clipped_share == pytest.approx(1 / 4)
    assert found.unused_share == pytest.approx(12 / 16)


def test_overflow_counts_as_clipped_where_there_is_no_range() -> None:
    found = Statistics()
    found.add(floats([1, 1e6]), floats([1, np.inf]))
    assert found.clipped_share == 0.5
    assert found.unused_share is None
    assert found.worst_channel is None
