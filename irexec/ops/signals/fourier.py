"""What the Fourier operators share: axes counted without the complex one, signal sizes, complex arrays as pairs.

Source: operation pages DFT-7, IDFT-7, RDFT-9, IRDFT-9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.ops.operator import Array, Check, ConstraintError
from irexec.ops.precision import narrow, widen
from irexec.types import Dimension, TensorType


def to_complex(data: Array) -> Array:
    """Pairs [..., 2] of real and imaginary parts as complex numbers [...]."""
    wide = np.ascontiguousarray(widen(data))
    return wide.view(np.complex128 if wide.dtype == np.float64 else np.complex64)[..., 0]


def to_pairs(data: Array, dtype: np.dtype[Any]) -> Array:
    """Complex numbers [...] as pairs [..., 2] of the given dtype."""
    data = np.ascontiguousarray(data)
    real = data.real.dtype
    return narrow(data.view(real).reshape(*data.shape, 2), dtype)


def transformed_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front of `rank` dimensions, the complex one not among them.

    Raises ConstraintError C1 for an axis outside the rank or named twice.
    """
    if any(not -rank <= a < rank for a in axes) or len({a % rank for a in axes}) != len(axes):
        message = f"axes {list(axes)} are not different axes in [{-rank}, {rank - 1}]"
        raise ConstraintError("C1", message, port="axes")
    return [a % rank for a in axes]


def resized(data: Array, axes: Sequence[int], sizes: Sequence[int]) -> Array:
    """The data cut, or padded with zeros at the end, to these sizes along these axes."""
    index, pads = [slice(None)] * data.ndim, [(0, 0)] * data.ndim
    for axis, size in zip(axes, sizes, strict=True):
        index[axis] = slice(0, size)
        pads[axis] = (0, max(0, size - data.shape[axis]))
    data = data[tuple(index)]
    return np.pad(data, pads) if any(after for _, after in pads) else data


def check_axes(check: Check, axes: TensorType, signal_size: TensorType | None, rank: int | None) -> list[int] | None:
    """Report axes and sizes that do not fit `rank` dimensions; the axes when all is known and right."""
    check("C2", axes.rank in (None, 1), f"axes has rank {axes.rank}, expected 1", port="axes")
    if signal_size is not None:
        message = f"signal_size has shape {signal_size.shape}, axes {axes.shape}"
        same = signal_size.rank in (None, 1) and axes.shape.compatible(signal_size.shape)
        check("C3", same, message, port="signal_size", found=str(signal_size.shape), allowed=str(axes.shape))
        sizes = signal_size.ints
        if sizes is not None:
            message = f"signal_size {sizes} has a size that is neither -1 nor positive"
            check("C4", all(s == -1 or s > 0 for s in sizes), message, port="signal_size")
        known_axes = axes.ints
        if known_axes is not None and sizes is not None and len(sizes) != len(known_axes):
            return None
    known = axes.ints
    if known is None or rank is None:
        return None
    message = f"axes {known} are not different axes in [{-rank}, {rank - 1}]"
    fits = all(-rank <= a < rank for a in known) and len({a % rank for a in known}) == len(known)
    return [a % rank for a in known] if check("C1", fits, message, port="axes") else None


def check_pairs(check: Check, data: TensorType) -> int | None:
    """Report data whose last dimension is not 2; the rank without it."""
    if data.rank is None:
        return None
    if not check("C5", data.rank >= 2, f"data has rank {data.rank}, expected at least 2", port="data"):
        return None
    message = f"the last dimension of data is {data.shape[-1]}, expected 2 (real and imaginary part)"
    check("C5", data.shape[-1].contains(2), message, port="data", found=str(data.shape))
    return data.rank - 1


def sizes_along(signal_size: TensorType | None, own: Sequence[Dimension]) -> list[Dimension]:
    """The extent along each axis: the signal size that is known, or the axis' own for -1 or nothing."""
    if signal_size is None:
        return list(own)
    known = signal_size.ints
    if known is None:
        return [Dimension(-1)] * len(own)
    return [extent if size == -1 else Dimension(max(size, 0)) for size, extent in zip(known, own, strict=True)]
