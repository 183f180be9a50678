"""Sums of products: the dtype in which BLAS computes them correctly, and the conversion back.

Products of narrow floats are summed in f32 and rounded once, small integers in a float type that represents every
partial sum exactly, larger integers in their own dtype. Integers wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.precision import is_narrow


def sum_dtype(dtype: np.dtype[Any], depth: int) -> np.dtype[Any]:
    """Return the dtype in which sums of `depth` products are computed."""
    if is_narrow(dtype):
        return np.dtype(np.float32)
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        return dtype
    information = np.iinfo(dtype)
    largest = max(information.max, -information.min) ** 2 * max(depth, 1)
    if largest > 1 << 53:
        return dtype
    return np.dtype(np.float32 if largest <= 1 << 24 else np.float64)


def settle(sums: Array, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """Return the sums as `dtype`, with floats rounded and integers wrapped; in `out` if it is given."""
    if sums is out:
        return sums
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype.kind in "iu" and sums.dtype.kind == "f":
            sums = sums.astype(np.int64)
        if out is None:
            return sums if sums.dtype == dtype else sums.astype(dtype)
        np.copyto(out, sums, casting="unsafe")
    return out


def summing_buffer(shape: tuple[int, ...], dtype: np.dtype[Any], out: Array | None) -> Array:
    """Return the array for the sums: `out` itself if it is contiguous and of this dtype, otherwise a new array."""
    if out is not None and out.dtype == dtype and out.flags.c_contiguous:
        return out
    return np.empty(shape, dtype)
