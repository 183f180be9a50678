"""Resize of ONNX with features that IR's Interpolate lacks: crops, antialiasing, exclude_outside.

Source: ONNX operator page Resize-19; for undefined details ONNX's reference implementation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from irexec.core.types import (
    ANY_DIMENSION,
    F32,
    MAX_LENGTH,
    Array,
    Dimension,
    PartialShape,
    TensorType,
    as_dimension,
)
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, Elements, operator, positioned, require
from irexec.ops.spec.tensors import FloatTensor2, I64Tensor, NumericOrBooleanTensor

T_SCALES: TypeAlias = Annotated[Array, Elements(None, {F32})]
Coordinates = Literal[
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]
Policy = Literal["stretch", "not_larger", "not_smaller"]
Nearest = Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


class Side(NamedTuple):
    """One axis: its extent, the scale, the new extent, and the start and end of the crop (0 and 1: the whole axis)."""

    extent: int
    scale: float
    target: int
    start: float
    end: float


@operator("Resize", "onnx19", tolerance=positioned(8))
def resize_19(
    x: NumericOrBooleanTensor,
    roi: FloatTensor2 | None = None,
    scales: T_SCALES | None = None,
    sizes: I64Tensor | None = None,
    /,
    *,
    mode: Literal["nearest", "linear", "cubic"] = "nearest",
    coordinates: Coordinates = "half_pixel",
    nearest_mode: Nearest = "round_prefer_floor",
    axes: tuple[int, ...] = (),
    antialias: bool = False,
    cubic_coeff_a: float = -0.75,
    exclude_outside: bool = False,
    extrapolation_value: float = 0.0,
    policy: Policy = "stretch",
) -> NumericOrBooleanTensor:
    """`x` resized along `axes` (all by default) by `scales` or to `sizes`; `roi` is the region that tf_crop_and_resize
    cuts out.

    C1: there are scales or sizes, 1D, one for each axis, and a roi for tf_crop_and_resize. C2: axes are distinct axes
    of x. C3: scales are positive and finite, as the roi is, and no size is negative. C4: an axis without elements can
    only be resized to 0.
    """
    sides = _sides(x.shape, roi, scales, sizes, axes, coordinates, policy)
    for axis, side in sides.items():
        require("C4", side.extent > 0 or side.target == 0, f"axis {axis} has no elements to interpolate", port="x")
    shape = [sides[axis].target if axis in sides else extent for axis, extent in enumerate(x.shape)]
    if 0 in shape:
        return np.empty(shape, x.dtype)
    result = widen(x) if x.dtype.kind in "fV" else x.astype(np.float64)
    outside = np.zeros((1,) * x.ndim, np.bool_)
    for axis, side in sides.items():
        places = _places(coordinates, side)
        if coordinates == "tf_crop_and_resize":
            beyond = (places < 0) | (places > side.extent - 1)
            outside = outside | beyond.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        elif side.target == side.extent and side.scale == 1:
            continue
        weigh = _weigher(mode, nearest_mode, side.scale if antialias else 1.0, cubic_coeff_a)
        result = _resampled(result, axis, places, weigh, exclude_outside)
    if outside.any():
        result = np.where(outside, result.dtype.type(extrapolation_value), result)
    return narrow(result, x.dtype)


def _sides(
    shape: tuple[int, ...],
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    axes: tuple[int, ...],
    coordinates: str,
    policy: str,
) -> dict[int, Side]:
    rank = len(shape)
    chosen = [a % rank for a in axes] or list(range(rank))
    given = sizes if sizes is not None and sizes.size else scales
    assert given is not None
    crop = coordinates == "tf_crop_and_resize"
    ends = roi.astype(np.float64).tolist() if crop and roi is not None else [0.0] * len(chosen) + [1.0] * len(chosen)
    starts, stops = ends[: len(chosen)], ends[len(chosen) :]
    _check_roi(require, ends)
    extents = [shape[a] for a in chosen]
    if given is sizes:
        targets = [int(s) for s in sizes]
        in_range(require, "C3", "sizes", targets, 0)
        factors = [t / e if e else 1.0 for t, e in zip(targets, extents, strict=True)]
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(factors)
            targets = [math.floor(factor * e + 0.5) for e in extents]
    else:
        factors = [float(s) for s in given]
        targets = [_scaled(require, Dimension(e), f).value for e, f in zip(extents, factors, strict=True)]
    return dict(zip(chosen, map(Side, extents, factors, targets, starts, stops), strict=True))


def _check_roi(check: Check, ends: list[float]) -> None:
    check("C3", all(map(math.isfinite, ends)), f"roi is {ends}, expected finite numbers", port="roi")


def _scaled(check: Check, extent: Dimension, scale: float) -> Dimension:
    """Return the extent of the result along an axis; check C3.

    As in all runtimes, it does not depend on roi. According to the page, it would be multiplied by the crop's length.
    """
    fits = math.isfinite(scale) and scale > 0 and extent.min * scale <= MAX_LENGTH
    message = f"the scale of {extent} elements is {scale}, expected a positive number and at most {MAX_LENGTH} elements"
    if not check("C3", fits, message, port="scales"):
        return ANY_DIMENSION
    return Dimension(math.floor(extent.min * scale), None if extent.max is None else math.floor(extent.max * scale))


def _places(coordinates: str, side: Side) -> Array:
    """Return the position of each element of the result along the axis of the image."""
    extent, scale, target, start, end = side
    x = np.arange(target, dtype=np.float64)
    if coordinates == "asymmetric":
        return x / scale
    if coordinates == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if coordinates == "pytorch_half_pixel":
        return (x + 0.5) / scale - 0.5 if target > 1 else np.zeros_like(x)
    if coordinates == "align_corners":
        last = scale * extent - 1
        return x * (extent - 1) / last if target > 1 and last else np.zeros_like(x)
    if coordinates == "tf_crop_and_resize":
        if target > 1:
            return start * (extent - 1) + x * (end - start) * (extent - 1) / (target - 1)
        return np.full_like(x, 0.5 * (start + end) * (extent - 1))
    centred = (x + 0.5) / scale - 0.5
    if coordinates == "half_pixel_symmetric":
        return centred + extent / 2 * (1 - target / (scale * extent))
    return centred


# The number of neighbours to each side, and the function from their distances [places, neighbours] to weights.
Weigh = tuple[int, Callable[[Array], Array]]


def _weigher(mode: str, nearest_mode: str, scale: float, a: float) -> Weigh:
    """Return the number of neighbours to each side that have a weight, and the function from distances to weights."""
    stretch = min(scale, 1.0)
    if mode == "nearest":
        return 1, lambda distance: _nearest(distance, nearest_mode)
    if mode == "linear":
        return math.ceil(1 / stretch), lambda distance: np.clip(1 - np.abs(distance * stretch), 0, 1)
    return math.ceil(2 / stretch), lambda distance: _cubic(np.abs(distance * stretch), a)


def _nearest(distance: Array, mode: str) -> Array:
    """Return the weights of two neighbours: 1 for the one that the mode selects. Distances are in (-1, 0] and (0,
    1].
    """
    below = -distance[:, :1]
    upper = {
        "round_prefer_floor": below > 0.5,
        "round_prefer_ceil": below >= 0.5,
        "floor": below >= 1,
        "ceil": below > 0,
    }[mode]
    return np.concatenate([~upper, upper], axis=1).astype(np.float64)


def _cubic(x: Array, a: float) -> Array:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _resampled(x: Array, axis: int, places: Array, weigh: Weigh, exclude_outside: bool) -> Array:
    """Return weighted sums of the neighbours along one axis; beyond its ends the last elements are repeated."""
    reach, weights_of = weigh
    extent = x.shape[axis]
    below = np.floor(places).astype(np.int64)
    neighbours = below[:, None] + np.arange(1 - reach, reach + 1)
    weights = weights_of(neighbours - places[:, None])
    if exclude_outside:
        weights = np.where((neighbours >= 0) & (neighbours < extent), weights, 0)
    total = weights.sum(axis=1, keepdims=True)
    weights = (weights / np.where(total == 0, 1, total)).astype(x.dtype)
    neighbours = np.clip(neighbours, 0, max(extent - 1, 0))
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    result = np.zeros([len(places) if i == axis else e for i, e in enumerate(x.shape)], x.dtype)
    for column in range(neighbours.shape[1]):
        weight = weights[:, column]
        if weight.any():
            result += np.take(x, neighbours[:, column], axis) * weight.reshape(shape)
    return result


def _check_counts(
    check: Check, count: int, roi: TensorType | None, scales: TensorType | None, sizes: TensorType | None, *, crop: bool
) -> None:
    """Check C1: there is a scale or a size for each of the `count` axes and, with `crop`, a start and an end in roi."""
    ports = {"roi": roi, "scales": scales, "sizes": sizes}
    flat = [tensor is None or has_rank(check, "C1", tensor, 1, name) for name, tensor in ports.items()]
    if not all(flat):
        return
    of_roi, of_scales, of_sizes = (
        Dimension(0) if tensor is None else tensor.shape[0] if tensor.rank else Dimension(-1)
        for tensor in ports.values()
    )
    given = of_scales if of_sizes.max == 0 else of_sizes if of_sizes.min else Dimension(-1)
    message = f"there are {given} scales or sizes, expected one for each of {count} axes"
    check("C1", given.compatible(count), message)
    if crop:
        message = f"roi has {of_roi} elements, expected {2 * count}: a start and an end for each axis"
        check("C1", of_roi.compatible(2 * count), message, port="roi")


@resize_19.shapes
def _(
    check: Check,
    x: TensorType,
    roi: TensorType | None,
    scales: TensorType | None,
    sizes: TensorType | None,
    *,
    axes: tuple[int, ...],
    policy: str,
    coordinates: str,
) -> PartialShape:
    rank = len(x.shape)
    chosen = axes or tuple(range(rank))
    fits = all(-rank <= a < rank for a in chosen) and len({a % rank for a in chosen}) == len(chosen)
    message = f"axes is {list(axes)}, expected distinct axes in [{-rank}, {rank - 1}]"
    check("C2", fits, message, attribute="axes")
    _check_counts(check, len(chosen), roi, scales, sizes, crop=coordinates == "tf_crop_and_resize")
    if coordinates == "tf_crop_and_resize" and roi is not None and roi.value is not None:
        _check_roi(check, roi.value.astype(np.float64).tolist())
    dims = list(x.shape)
    for place, axis in enumerate(chosen if fits else ()):
        dims[axis] = Dimension(-1)
        if sizes is not None and policy == "stretch" and sizes.known and place < len(sizes.known):
            size = sizes.known[place]
            if in_range(check, "C3", "sizes", size, 0):
                dims[axis] = as_dimension(size)
        elif scales is not None and scales.value is not None and place < scales.value.size:
            dims[axis] = _scaled(check, x.shape[axis], float(scales.value.ravel()[place]))
    return PartialShape(dims)
