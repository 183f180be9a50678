"""Functions that the Fourier operators share: axes without the complex axis, signal sizes, complex arrays as pairs.

Source: operation pages DFT-7, IDFT-7, RDFT-9, IRDFT-9.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.threads.parallel import parallel_for, split
from irexec.core.types import INDICES, Array, Dimension, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import axes_of, distinct, drawn_axes, integers, known_axes, not_too_many
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.operator import Check, Elements, require

T_SIZE: TypeAlias = Annotated[Array, Elements("T_SIZE", INDICES)]


def to_complex(data: Array) -> Array:
    """Convert pairs [..., 2] of real and imaginary parts to complex numbers [...]."""
    wide = np.ascontiguousarray(widen(data))
    return wide.view(np.complex128 if wide.dtype == np.float64 else np.complex64)[..., 0]


def to_pairs(data: Array, dtype: np.dtype[Any]) -> Array:
    """Convert complex numbers [...] to pairs [..., 2] of the given dtype."""
    shape = (*data.shape, 2)
    data = np.ascontiguousarray(data)
    return narrow(data.view(data.real.dtype).reshape(shape), dtype)


def transformed_axes(axes: Array, rank: int) -> list[int]:
    """Return the axes counted from the front of `rank` dimensions, which do not include the complex axis.

    Raises ConstraintError C1 for an axis that is outside the rank or occurs twice.
    """
    found = axes_of("C1", axes, rank, "axes")
    distinct(require, "C1", found, integers(axes))
    return found


def _check_sizes(check: Check, sizes: list[int]) -> None:
    fits = all(size == -1 or size > 0 for size in sizes)
    check("C4", fits, f"signal_size is {sizes}, expected -1 or positive", port="signal_size")


def sizes_of(signal_size: Array | None, own: Sequence[int]) -> list[int]:
    """Return the extent along each axis: the signal size, or the axis' own extent for -1 or no signal size.

    Raises ConstraintError C4 for a size that is neither -1 nor positive.
    """
    if signal_size is None:
        return list(own)
    sizes = integers(signal_size)
    _check_sizes(require, sizes)
    return [extent if size == -1 else size for size, extent in zip(sizes, own, strict=True)]


def resized(data: Array, axes: Sequence[int], sizes: Sequence[int]) -> Array:
    """Return the data cut, or padded with zeros at the end, to these sizes along these axes."""
    index, pads = [slice(None)] * data.ndim, [(0, 0)] * data.ndim
    for axis, size in zip(axes, sizes, strict=True):
        index[axis] = slice(0, size)
        pads[axis] = (0, max(0, size - data.shape[axis]))
    data = data[tuple(index)]
    return np.pad(data, pads) if any(after for _, after in pads) else data


_AT_ONCE = 1 << 18
"""The number of elements that are transformed at once: NumPy computes in f64 and needs several times their memory."""


def transform(function: Callable[..., Array], data: Array, axes: Sequence[int], out: Array) -> None:
    """Apply a one-axis function of np.fft (fft, ifft, rfft, irfft) along each axis, the last axis first, into `out`.

    The first pass reads `data`, which may be `out`; later passes read `out`.
    """
    for axis in reversed(axes):
        _pass(function, data, axis, out)
        data = out


def _pass(function: Callable[..., Array], data: Array, axis: int, out: Array) -> None:
    """Transform one axis, in blocks along the longest of the other axes."""
    extents = [0 if other == axis else extent for other, extent in enumerate(out.shape)]
    along = extents.index(max(extents))
    blocks = split(extents[along], math.ceil(max(data.size, out.size) / _AT_ONCE))
    size = out.shape[axis] if out.dtype.kind == "f" else None

    def block(number: int) -> None:
        part = (slice(None),) * along + (slice(*blocks[number]),)
        function(data[part], size, axis, out=out[part])

    if along == axis:
        function(data, size, axis, out=out)
    else:
        parallel_for(len(blocks), block)


def check_axes(check: Check, axes: TensorType, signal_size: TensorType | None, rank: int | None) -> list[int] | None:
    """Report axes and sizes that do not fit `rank` dimensions; return the axes if all are known and valid."""
    has_rank(check, "C2", axes, 1, "axes")
    if signal_size is not None:
        message = f"signal_size has shape {signal_size.shape}, expected {axes.shape}, the shape of axes"
        same = signal_size.rank in (None, 1) and axes.shape.compatible(signal_size.shape)
        check("C3", same, message, port="signal_size", found=str(signal_size.shape), allowed=str(axes.shape))
        if signal_size.ints is not None:
            _check_sizes(check, signal_size.ints)
        if not same:
            return None
    if not not_too_many(check, "C1", axes, rank):
        return None
    found = known_axes(check, "C1", axes, rank, "axes")
    if found is None:
        return None
    return found if distinct(check, "C1", found, axes.ints) else None


def check_pairs(check: Check, data: TensorType) -> int | None:
    """Report data whose last dimension is not 2; return the rank without this dimension."""
    if not has_rank(check, "C5", data, AnyRank[2:], "data") or data.rank is None:
        return None
    message = f"the last dimension of data is {data.shape[-1]}, expected 2 (real and imaginary part)"
    check("C5", data.shape[-1].contains(2), message, port="data", found=str(data.shape))
    return data.rank - 1


def sizes_along(signal_size: TensorType | None, own: Sequence[Dimension]) -> list[Dimension]:
    """Return the extent along each axis: the signal size, or the axis' own extent for -1 or no signal size."""
    if signal_size is None:
        return list(own)
    known = signal_size.ints
    if known is None:
        return [Dimension(-1)] * len(own)
    return [extent if size == -1 else Dimension(max(size, 0)) for size, extent in zip(known, own, strict=True)]


def draw_transformed(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """For `draw`: return distinct axes of pairs [..., 2], except the last axis."""
    return drawn_axes(rng, types, port, len(types["data"].shape) - 1)
