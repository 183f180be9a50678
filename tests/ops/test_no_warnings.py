"""No kernel prints a warning of Python or NumPy, whatever the extreme values of its floating inputs are."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.calls import Call, calls

import irexec
from irexec.core.types import Array

DRAWS = 4


def extremes(dtype: np.dtype[Any]) -> Array | None:
    """Return the extreme values of a floating type; None for other types."""
    if dtype.kind not in "fV" or dtype.names:
        return None
    limits = (np if dtype.kind == "f" else ml_dtypes).finfo(dtype)
    finite = [limits.max, limits.min, limits.tiny, -limits.tiny, limits.smallest_subnormal, 0.0, -0.0, 0.5, -1.0]
    return np.array([*map(float, finite), np.inf, -np.inf, np.nan]).astype(dtype)


def with_extremes(call: Call, draw: int) -> Call:
    """Return a call in which all elements (draw 0), or half of the elements of floating types are extreme."""
    rng, arrays = np.random.default_rng(draw), []
    for array in call.arrays:
        values = extremes(array.dtype) if isinstance(array, np.ndarray) else None
        if values is not None:
            chosen = values[rng.integers(len(values), size=array.shape)]
            array = np.where(rng.random(array.shape) < (0.5 if draw else 1), chosen, array)
        arrays.append(array)
    return call._replace(arrays=arrays)


@pytest.mark.parametrize("draw", range(DRAWS))
def test_extreme_values_give_results_or_findings_and_no_warning(draw: int) -> None:
    found = set()
    for call in calls(draw):
        with warnings.catch_warnings(record=True) as raised, contextlib.suppress(irexec.IRError):
            warnings.simplefilter("always")
            # Files of other tests, which the garbage collector closes meanwhile.
            warnings.simplefilter("ignore", ResourceWarning)
            with_extremes(call, draw).run()
        found |= {f"{call}: {each.filename}:{each.lineno}: {each.message}" for each in raised}
    assert not found, "\n".join(sorted(found))
