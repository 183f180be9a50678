"""Images with any number of spatial axes in ONNX: sampled at positions, and assembled from blocks.

Source: ONNX operator pages GridSample-20, Col2Im-18. For two axes the operators of IR are used.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Literal

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import is_float, narrow, widen
from irexec.ops.movement.col2im import Size, assembled, check_blocks, fitting
from irexec.ops.rules.axes import in_range, integers
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import NonNegativeInts, PositiveInts
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import FloatTensor2, I64Tensor, NumericOrBooleanTensor


@operator("GridSample", "onnx20", tolerance=rounded(64))
def grid_sample_20(
    x: NumericOrBooleanTensor,
    grid: FloatTensor2,
    /,
    *,
    align_corners: bool = False,
    mode: Literal["nearest", "linear", "cubic"] = "linear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
) -> NumericOrBooleanTensor:
    """Sample `x` [N, C, *extents] at the positions in `grid` [N, *points, axes], coordinates in [-1, 1], the last axis
    first.

    C1: grid has as many images as x, and one coordinate for each spatial axis of x. C2: x has elements. C3: the mode
    "cubic" requires two spatial axes.
    """
    extents = x.shape[2:]
    points = widen(grid).reshape(len(x), prod(grid.shape[1:-1]), len(extents))[..., ::-1]
    places = [_place(points[..., axis], extent, align_corners) for axis, extent in enumerate(extents)]
    source = widen(x) if is_float(x.dtype) or mode == "nearest" else x.astype(np.float64)
    flat = source.reshape(*x.shape[:2], prod(extents))
    result = np.zeros((*x.shape[:2], points.shape[1]), source.dtype)
    corners = [(0,)] * len(extents) if mode == "nearest" else [(0, 1)] * len(extents)
    below = [np.rint(p) if mode == "nearest" else np.floor(p) for p in places]
    for corner in product(*corners):
        weight = np.ones(points.shape[:2], source.dtype if mode != "nearest" else np.float32)
        index, inside = np.zeros(points.shape[:2], np.int64), np.ones(points.shape[:2], np.bool_)
        for axis, (step, extent) in enumerate(zip(corner, extents, strict=True)):
            near = below[axis] + step
            if mode != "nearest":
                weight = weight * (1 - np.abs(places[axis] - near)).astype(weight.dtype)
            inside &= (near >= 0) & (near < extent)
            index = index * extent + _bounded(near, extent, padding_mode, align_corners)
        taken = np.take_along_axis(flat, index[:, None], axis=2)
        if padding_mode == "zeros":
            taken = np.where(inside[:, None], taken, 0)
        result += taken if mode == "nearest" else taken * weight[:, None]
    return narrow(result.reshape(*x.shape[:2], *grid.shape[1:-1]), x.dtype)


def _place(coordinate: Array, extent: int, align_corners: bool) -> Array:
    """Return the position, in elements along an axis, of a coordinate in [-1, 1]."""
    moved: Array = np.nan_to_num(coordinate + 1, nan=0.0, posinf=1e9, neginf=-1e9)
    return moved / 2 * (extent - 1) if align_corners else (moved * extent - 1) / 2


def _bounded(place: Array, extent: int, padding: str, align_corners: bool) -> Array:
    """Return indices of elements for positions that may lie beyond the ends."""
    if padding == "reflection" and extent > 1:
        low, span = (0.0, extent - 1.0) if align_corners else (-0.5, float(extent))
        away = np.abs(place - low) % (2 * span)
        place = np.rint(low + np.where(away > span, 2 * span - away, away))
    return np.asarray(np.clip(place, 0, extent - 1)).astype(np.int64)


@grid_sample_20.shapes
def _(check: Check, x: TensorType, grid: TensorType, *, mode: str) -> PartialShape:
    if x.rank is not None:
        has_rank(check, "C1", grid, x.rank, "grid")
    if x.rank and grid.rank:
        message = f"grid has {grid.shape[0]} images, expected {x.shape[0]} as in x"
        check("C1", grid.shape[0].compatible(x.shape[0]), message, port="grid")
        message = f"grid has {grid.shape[-1]} coordinates, expected one for each of the {x.rank - 2} spatial axes"
        check("C1", grid.shape[-1].compatible(x.rank - 2), message, port="grid")
        has_pixels = x.shape.size.max != 0 or grid.shape.size.min == 0
        check("C2", has_pixels, "x has no elements to sample", port="x")
        check("C3", mode != "cubic", f"x has {x.rank - 2} spatial axes, expected two for mode 'cubic'", port="x")
    return PartialShape([*x.shape[:2], *grid.shape[1:-1]])


@operator("Col2Im", "onnx18")
def col2im_18(
    x: NumericOrBooleanTensor,
    image_shape: I64Tensor,
    block_shape: I64Tensor,
    /,
    *,
    strides: PositiveInts,
    dilations: PositiveInts,
    pads_begin: NonNegativeInts,
    pads_end: NonNegativeInts,
) -> NumericOrBooleanTensor:
    """Assemble blocks [N, C * product(block_shape), L] to images [N, C, *image_shape]; overlapping elements are added.

    C1: x has rank 3, its second extent is a multiple of the block's size, its last is the number of blocks that fit, at
    least one.
    C2: the lists have one value for each axis of the image; no value is negative, and block_shape is positive.
    """
    extents, block = integers(image_shape), integers(block_shape)
    fits = _fitting(require, PartialShape(x.shape), extents, block, strides, dilations, pads_begin, pads_end)
    parts = widen(x).reshape(len(x), -1, *block, *fits)
    image = assembled(parts, extents, dilations, pads_begin, pads_end, strides)
    return narrow(image, x.dtype)


def _fitting(
    check: Check,
    x: PartialShape,
    extents: list[int],
    block: list[int],
    strides: Size,
    dilations: Size,
    pads_begin: Size,
    pads_end: Size,
) -> list[int]:
    """Check C1 and C2 for known shapes of the image and the block; return the number of blocks along each axis; an
    empty list if a check fails.
    """
    lists = (block, strides, dilations, pads_begin, pads_end)
    message = (
        f"block_shape, strides, dilations and pads need {len(extents)} values each, one for each axis of image_shape"
    )
    fits = in_range(check, "C2", "image_shape", extents, 0) and in_range(check, "C2", "block_shape", block, 1)
    if not check("C2", all(len(values) == len(extents) for values in lists), message) or not fits:
        return []
    counts = fitting(extents, block, dilations, pads_begin, pads_end, strides)
    channels, count = x[1:]
    whole = channels.is_dynamic or channels.value % prod(block) == 0
    check("C1", whole, f"dimension 1 of x is {channels}, not a multiple of block_shape {block}", port="x")
    check_blocks(check, count, counts, "x")
    return counts


@col2im_18.shapes
def _(
    check: Check,
    x: TensorType,
    image: TensorType,
    block: TensorType,
    *,
    strides: Size,
    dilations: Size,
    pads_begin: Size,
    pads_end: Size,
) -> PartialShape:
    ranked = has_rank(check, "C1", x, 3, "x") and x.rank is not None
    has_rank(check, "C2", image, 1, "image_shape")
    has_rank(check, "C2", block, 1, "block_shape")
    if image.ints is None or block.ints is None or not ranked:
        return PartialShape.dynamic()
    if not _fitting(check, x.shape, image.ints, block.ints, strides, dilations, pads_begin, pads_end):
        return PartialShape.dynamic()
    return PartialShape([x.shape[0], x.shape[1] // prod(block.ints), *image.ints])
