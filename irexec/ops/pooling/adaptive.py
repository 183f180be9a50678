"""AdaptiveAvgPool and AdaptiveMaxPool: windows chosen so that the output has a given shape.

Source: operation pages AdaptiveAvgPool-8, AdaptiveMaxPool-8. Output i reads the input from floor(i * in / out) to
ceil((i + 1) * in / out).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from irexec.core.types import I64, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.pooling.max_pool import check_index_type
from irexec.ops.rules.axes import in_range
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.oracle import LARGEST, ROUNDED
from irexec.ops.spec.tensors import FloatTensor, ShapeTensor, TensorOfIndexType
from irexec.ops.spec.traits import Positions

Span = tuple[int, int]


@operator("AdaptiveAvgPool", "opset8", tolerance=rounded(16))
def adaptive_avg_pool_8(data: FloatTensor, output_shape: ShapeTensor, /) -> FloatTensor:
    """The means of windows of `data` `[N, C, *X]`; `output_shape` is the spatial shape of the result.

    C1: data has rank 3, 4 or 5. C2: output_shape is 1D, with one value per spatial axis. C3: no value is negative, none
    is positive if data is empty.
    """
    sums, windows = widen(data), _windows(data, output_shape)
    if windows is None:
        return np.empty((*data.shape[:2], *map(int, output_shape)), data.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for axis, spans in enumerate(windows, 2):
            shape = (*sums.shape[:axis], len(spans), *sums.shape[axis + 1 :])
            folded = np.empty(shape, sums.dtype)
            for index, (start, stop) in enumerate(spans):
                taken = sums.swapaxes(axis, 0)[start:stop]
                np.add.reduce(taken, axis=0, out=folded.swapaxes(axis, 0)[index])
            counts = np.asarray([stop - start for start, stop in spans], sums.dtype)
            sums = folded / counts.reshape(-1, *[1] * (data.ndim - axis - 1))
    return narrow(sums, data.dtype)


@operator("AdaptiveMaxPool", "opset8", Positions)
def adaptive_max_pool_8(
    data: FloatTensor, output_shape: ShapeTensor, /, *, index_element_type: ElementType = I64
) -> tuple[FloatTensor, TensorOfIndexType]:
    """The largest elements of windows of `data` and their indices in the flattened spatial axes.

    Of equal elements, the first determines the index.

    C1: data has rank 3, 4 or 5. C2: output_shape is 1D, with one value per spatial axis. C3: no value is negative, none
    is positive if data is empty. C4: index_element_type is i32 or i64.
    """
    windows, shape = _windows(data, output_shape), (*data.shape[:2], *map(int, output_shape))
    if windows is None:
        return np.empty(shape, data.dtype), np.empty(shape, index_element_type.dtype)
    values, indices = widen(data), np.zeros([1] * data.ndim, np.int64)
    # Taking the first of the largest elements axis by axis, from the last to the first, gives the first of them in
    # row-major order.
    for axis in reversed(range(2, data.ndim)):
        spans = np.asarray(windows[axis - 2])
        start, length = spans[:, 0], int((spans[:, 1] - spans[:, 0]).max())
        # Shorter windows repeat their last element: the first of equal elements is still the original.
        taken = np.minimum(start[:, None] + np.arange(length), spans[:, 1:] - 1)
        candidates = values.take(taken, axis)
        largest = np.expand_dims(candidates.argmax(axis + 1), axis + 1)
        values = np.take_along_axis(candidates, largest, axis + 1).squeeze(axis + 1)
        place = start.reshape(-1, *[1] * (data.ndim - axis - 1)) + largest.squeeze(axis + 1)
        if axis < data.ndim - 1:
            indices = np.take_along_axis(indices.take(taken, axis), largest, axis + 1).squeeze(axis + 1)
        indices = indices + place * math.prod(data.shape[axis + 1 :])
    return narrow(values, data.dtype), indices.astype(index_element_type.dtype)


def _windows(data: Array, output_shape: Array) -> list[list[Span]] | None:
    """Return the start and stop of each window, per spatial axis; None if the result is empty."""
    wanted = [int(v) for v in output_shape]
    for extent, count in zip(data.shape[2:], wanted, strict=True):
        in_range(require, "C3", "output_shape", count, 0, 0 if extent == 0 else None)
    # For a shape that does not fit into memory, raise MemoryError before the windows are enumerated.
    if not np.empty((*data.shape[:2], *wanted), data.dtype).size:
        return None
    return [
        [(i * extent // count, -(-(i + 1) * extent // count)) for i in range(count)]
        for extent, count in zip(data.shape[2:], wanted, strict=True)
    ]


def _shape(check: Check, data: TensorType, output_shape: TensorType) -> PartialShape:
    fits = has_rank(check, "C1", data, (3, 4, 5), "data") & has_rank(check, "C2", output_shape, 1, "output_shape")
    if not fits:
        return PartialShape.dynamic(data.rank)
    known: list[Any] | None = output_shape.known
    count = output_shape.shape[0] if output_shape.rank else Dimension(-1)
    spatial = count.min if count.is_static else None if known is None else len(known)
    if data.rank is not None:
        message = f"output_shape has {spatial} values, expected one for each of the {data.rank - 2} spatial axes"
        if not check("C2", spatial in (None, data.rank - 2), message, port="output_shape", allowed=str(data.rank - 2)):
            return PartialShape.dynamic(data.rank)
        spatial = data.rank - 2
    if spatial is None:
        return PartialShape.dynamic()
    first = list(data.shape.dims[:2]) if data.rank is not None else [Dimension(-1)] * 2
    if known is None:
        return PartialShape([*first, *[Dimension(-1)] * spatial])
    extents = list(data.shape.dims[2:]) if data.rank is not None else [Dimension(-1)] * spatial
    for value, extent in zip(known, extents, strict=True):
        in_range(check, "C3", "output_shape", value, 0, 0 if extent.max == 0 else None)
    return PartialShape([*first, *(dimension_of(max(v, 0) if isinstance(v, int) else v) for v in known)])


@adaptive_avg_pool_8.shapes
def _(check: Check, data: TensorType, output_shape: TensorType) -> PartialShape:
    return _shape(check, data, output_shape)


@adaptive_max_pool_8.shapes
def _(
    check: Check, data: TensorType, output_shape: TensorType, *, index_element_type: ElementType
) -> list[PartialShape]:
    check_index_type(check, "C4", index_element_type)
    shape = _shape(check, data, output_shape)
    return [shape, shape]


@adaptive_avg_pool_8.oracle.draw("output_shape")
@adaptive_max_pool_8.oracle.draw("output_shape")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw a shape no larger than the spatial shape of the data."""
    extents = types["data"].shape.to_shape()[2:]
    return np.asarray([rng.integers(1, max(2, e + 1)) for e in extents], types[port].element_type.dtype)


adaptive_max_pool_8.oracle.allowed = LARGEST


adaptive_avg_pool_8.oracle.allowed = ROUNDED
