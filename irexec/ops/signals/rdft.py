"""RDFT and IRDFT: the Fourier transform of real numbers, whose redundant half is omitted, and its inverse.

Source: operation pages RDFT-9, IRDFT-9.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import drawn_axes, drawn_extents
from irexec.ops.signals.fourier import (
    T_SIZE,
    check_axes,
    check_pairs,
    draw_transformed,
    resized,
    sizes_along,
    sizes_of,
    to_complex,
    to_pairs,
    transform,
    transformed_axes,
)
from irexec.ops.spec.operator import Check, operator, summed
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import FloatTensor, Indices


@operator("RDFT", "opset9", tolerance=summed(2))
def rdft_9(data: FloatTensor, axes: Indices, signal_size: T_SIZE | None = None, /) -> FloatTensor:
    """The transform of real `data` over `axes` as pairs [..., 2]; the last axis keeps its first size // 2 + 1 elements.

    C1: axes are different and in [-r, r-1], r the rank of data. C2: axes is 1D. C3: signal_size has the shape of axes.
    C4: a signal size is -1 (the extent of the axis) or positive.
    """
    numbers = widen(data)
    kind = np.result_type(numbers.dtype, np.complex64)
    where = transformed_axes(axes, numbers.ndim)
    if not where:
        return to_pairs(numbers.astype(kind), data.dtype)
    extents = sizes_of(signal_size, [numbers.shape[a] for a in where])
    numbers = resized(numbers, where, extents)
    shape = [n // 2 + 1 if axis == where[-1] else n for axis, n in enumerate(numbers.shape)]
    if not numbers.size:
        # Without input elements every sum is empty: each element of the result is 0.
        return np.zeros((*shape, 2), data.dtype)
    result = np.empty(shape, kind)
    transform(np.fft.rfft, numbers, where[-1:], result)
    transform(np.fft.fft, result, where[:-1], result)
    return to_pairs(result, data.dtype)


@rdft_9.shapes
def _(check: Check, data: TensorType, axes: TensorType, signal_size: TensorType | None) -> PartialShape:
    where = check_axes(check, axes, signal_size, data.rank)
    if data.rank is None:
        return PartialShape.dynamic()
    if where is None:
        return PartialShape([*PartialShape.dynamic(data.rank), 2])
    dims = list(data.shape)
    for axis, size in zip(where, sizes_along(signal_size, [dims[a] for a in where]), strict=True):
        dims[axis] = size
    if where:
        dims[where[-1]] = dims[where[-1]] // 2 + 1
    return PartialShape([*dims, 2])


@operator("IRDFT", "opset9", tolerance=summed(2))
def irdft_9(data: FloatTensor, axes: Indices, signal_size: T_SIZE | None = None, /) -> FloatTensor:
    """The inverse of RDFT: real numbers from pairs [..., 2]; the last axis becomes 2 * (its extent - 1) by default.

    C1 to C4 as in RDFT, with r - 1 in place of r. C5: data has rank 2 or more and last dimension 2.
    """
    numbers = to_complex(data)
    where = transformed_axes(axes, numbers.ndim)
    if not where:
        return data[..., 0].copy()
    own = [numbers.shape[a] for a in where]
    own[-1] = max(0, 2 * (own[-1] - 1))
    sizes = sizes_of(signal_size, own)
    if not numbers.size or 0 in sizes:
        extents = dict(zip(where, sizes, strict=True))
        return np.zeros([extents.get(axis, n) for axis, n in enumerate(numbers.shape)], data.dtype)
    if len(where) > 1:
        numbers = resized(numbers, where[:-1], sizes[:-1])
        spectra = np.empty_like(numbers)
        transform(np.fft.ifft, numbers, where[:-1], spectra)
        numbers = spectra
    shape = [sizes[-1] if axis == where[-1] else n for axis, n in enumerate(numbers.shape)]
    result = np.empty(shape, numbers.real.dtype)
    transform(np.fft.irfft, numbers, where[-1:], result)
    return narrow(result, data.dtype)


@rdft_9.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return drawn_axes(rng, types, port, len(types["data"].shape))


irdft_9.oracle.draw("axes")(draw_transformed)
for _op in (rdft_9, irdft_9):
    _op.oracle.draw("signal_size")(drawn_extents)


@rdft_9.oracle.undefined_for
@irdft_9.oracle.undefined_for
def _(data: Array, axes: Array, signal_size: Array | None = None) -> Undefined:
    """The result is undefined without axes, and for data without elements if `signal_size` does not give the sizes."""
    sized = signal_size is not None and not (signal_size < 0).any()
    return "no result" if not axes.size or (not sized and not data.size) else False


@irdft_9.shapes
def _(check: Check, data: TensorType, axes: TensorType, signal_size: TensorType | None) -> PartialShape:
    rank = check_pairs(check, data)
    where = check_axes(check, axes, signal_size, rank)
    if rank is None:
        return PartialShape.dynamic()
    if where is None:
        return PartialShape.dynamic(rank)
    dims = list(data.shape)[:-1]
    own = [dims[a] for a in where]
    if own:
        own[-1] = (own[-1] - 1) * Dimension(2)
    for axis, size in zip(where, sizes_along(signal_size, own), strict=True):
        dims[axis] = size
    return PartialShape(dims)
