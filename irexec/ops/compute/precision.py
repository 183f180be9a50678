"""Precision: narrow floats are computed in f32 and rounded once, everything else as itself."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from irexec.types import Array

F32 = np.dtype(np.float32)
_NARROW = frozenset(
    np.dtype(t)
    for t in (
        np.float16,
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float4_e2m1fn,
    )
)


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """True for a float type narrower than f32."""
    return dtype in _NARROW


def is_float(dtype: np.dtype[Any]) -> bool:
    """True for every float type, ml_dtypes' included."""
    return dtype.kind == "f" or dtype in _NARROW


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which a kernel computes: f32 for narrower floats, otherwise the dtype itself."""
    return F32 if dtype in _NARROW else dtype


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A float type of more range than this compute dtype, for sums that overflow although the result does not."""
    return np.dtype(np.longdouble if dtype == np.float64 else np.float64)


def holds(totals: Array) -> bool:
    """True when no total left the range in which its float type is precise, above or below (0 included)."""
    limits = np.finfo(totals.dtype)
    within: bool = np.all((totals >= limits.tiny / limits.eps) & (totals <= limits.max)).item()
    return within


def widen(array: Array) -> Array:
    """The array in its compute dtype; the array itself when that is its own."""
    return array.astype(F32) if array.dtype in _NARROW else array


def narrow(result: Array | np.generic, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """The result rounded to `dtype`, once; into `out` when it is given."""
    if out is not None:
        np.copyto(out, result, casting="unsafe")
        return out
    result = np.asarray(result)
    return result if result.dtype == dtype else result.astype(dtype)
