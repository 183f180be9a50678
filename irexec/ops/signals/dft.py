"""DFT and IDFT: the discrete complex Fourier transform over some axes, and its inverse.

Source: operation pages DFT-7, IDFT-7.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.rules.axes import drawn_extents
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
from irexec.ops.spec.operator import Check, operator, transformed
from irexec.ops.spec.tensors import FloatTensor, Indices


@operator("DFT", "opset7", tolerance=transformed())
def dft_7(data: FloatTensor, axes: Indices, signal_size: T_SIZE | None = None, /) -> FloatTensor:
    """The transform of `data` [..., 2] (real and imaginary parts) over `axes`, cut or padded to `signal_size` first.

    C1: axes are different and in [-(r-1), r-2], r the rank of data. C2: axes is 1D. C3: signal_size has the shape of
    axes. C4: a signal size is -1 (the extent of the axis) or positive. C5: data has rank 2 or more and last dimension
    2.
    """
    return _transform(np.fft.fft, data, axes, signal_size)


@operator("IDFT", "opset7", tolerance=transformed())
def idft_7(data: FloatTensor, axes: Indices, signal_size: T_SIZE | None = None, /) -> FloatTensor:
    """The inverse of DFT, divided by the number of transformed elements. C1 to C5 as in DFT."""
    return _transform(np.fft.ifft, data, axes, signal_size)


def _transform(function: Callable[..., Array], data: Array, axes: Array, signal_size: Array | None) -> Array:
    numbers = to_complex(data)
    where = transformed_axes(axes, numbers.ndim)
    if not where:
        return data.copy()
    extents = sizes_of(signal_size, [numbers.shape[a] for a in where])
    numbers = resized(numbers, where, extents)
    if not numbers.size:
        return to_pairs(numbers, data.dtype)
    result = np.empty_like(numbers)
    transform(function, numbers, where, result)
    return to_pairs(result, data.dtype)


def _shape(check: Check, data: TensorType, axes: TensorType, signal_size: TensorType | None) -> PartialShape:
    rank = check_pairs(check, data)
    where = check_axes(check, axes, signal_size, rank)
    if rank is None:
        return PartialShape.dynamic()
    if signal_size is None:
        return data.shape
    if where is None:
        return PartialShape([*PartialShape.dynamic(rank), data.shape[-1]])
    dims = list(data.shape)
    for axis, size in zip(where, sizes_along(signal_size, [dims[a] for a in where]), strict=True):
        dims[axis] = size
    return PartialShape(dims)


for _op in (dft_7, idft_7):
    _op.shapes(_shape)
    _op.oracle.draw("axes")(draw_transformed)
    _op.oracle.draw("signal_size")(drawn_extents)
