"""Statistics of an array's numbers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irexec.model.arrays.statistics import Statistics


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([1, 2, 6]), Statistics(1, 6, 3, 0, 0)),
        (np.array([True, False]), Statistics(0, 1, 0.5, 0, 0)),
        (np.array([1, np.nan, 3, np.inf, -np.inf]), Statistics(1, 3, 2, 1, 2)),
        (np.array([np.nan]), Statistics(None, None, None, 1, 0)),
        (np.zeros((0, 3)), Statistics(None, None, None, 0, 0)),
        (np.array([1, 3], ml_dtypes.bfloat16), Statistics(1, 3, 2, 0, 0)),
        (np.array(["a"], dtype=np.dtypes.StringDType()), Statistics(None, None, None, 0, 0)),
        (np.array([60000, 60000], np.float16), Statistics(60000, 60000, 60000, 0, 0)),
        (np.array([1, -8], ml_dtypes.int4), Statistics(-8, 1, -3.5, 0, 0)),
    ],
)
def test_statistics(array: np.ndarray[Any, Any], expected: Statistics) -> None:
    assert Statistics.of(array) == expected
