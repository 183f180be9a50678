"""Precision: narrow floats are computed in f32 and rounded once, all other types in their own type."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from irexec.core.types import BF16, F4E2M1, F8E4M3, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, Array

# NumPy's type number of float16, and the first number of user-defined dtypes.
_HALF, _FIRST_OTHER = 23, 256


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Return True for a float type narrower than f32."""
    return dtype.num == _HALF or (dtype.num >= _FIRST_OTHER and dtype in _of_ml_dtypes())


@cache
def _of_ml_dtypes() -> frozenset[np.dtype[Any]]:
    """Return the narrow floats that NumPy lacks; ml_dtypes is imported only if an array has such a type."""
    types = (BF16, F8E4M3, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, F4E2M1)
    return frozenset(t.dtype for t in types if t.dtype is not None)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Return True for every float type, including those of ml_dtypes."""
    return dtype.kind == "f" or is_narrow(dtype)


def limits_of(dtype: Any) -> Any:
    """Return the limits and the format of a type of numbers, as numpy.finfo or numpy.iinfo does."""
    if not is_narrow(dtype):
        return np.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which a kernel computes: f32 for narrower floats, otherwise the dtype itself."""
    return np.dtype(np.float32) if is_narrow(dtype) else dtype


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a wider float type for sums that overflow this compute dtype although the result does not."""
    return np.dtype(np.longdouble if dtype == np.float64 else np.float64)


def holds(totals: Array) -> bool:
    """Return True if all totals are positive and in the full-precision range of their float type; False for a 0."""
    limits = np.finfo(totals.dtype)
    within: bool = np.all((totals >= limits.tiny / limits.eps) & (totals <= limits.max)).item()
    return within


def widen(array: Array) -> Array:
    """Return the array in its compute dtype, without a copy if it already has this dtype."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array


def narrow(result: Array | np.generic, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """Round the result to `dtype`, once; into `out` if it is given."""
    if out is not None:
        np.copyto(out, result, casting="unsafe")
        return out
    result = np.asarray(result)
    return result if result.dtype == dtype else result.astype(dtype)
