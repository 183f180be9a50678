"""Interpolate: an image resized along some of its axes.

Source: operation pages Interpolate-1, -4 and -11.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import FLOATS, INTEGERS, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.elementwise import half_away
from irexec.ops.compute.precision import is_float, narrow, widen
from irexec.ops.image.resampling import Axis, Coordinates, Mode, Rounding, resample
from irexec.ops.image.resized_shape import Padding, check_axes, full_pads, resized_extent, resized_shape, spatial_pads
from irexec.ops.rules.axes import drawn_extents, filled, integers
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import UNCOMPILED, Double, NonNegativeInts
from irexec.ops.spec.capacity import reserve
from irexec.ops.spec.groups import AttributesOf
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator, positioned, require
from irexec.ops.spec.oracle import ROUNDED, Undefined
from irexec.ops.spec.tensors import IntegerAxes, NumericTensor
from irexec.ops.spec.traits import SizesIn

T_SIZE: TypeAlias = Annotated[Array, Elements("T_SIZE", INTEGERS)]
T_SCALES: TypeAlias = Annotated[Array, Elements("T_SCALES", FLOATS)]
T_SCALES_OR_SIZES: TypeAlias = Annotated[Array, Elements("T_SCALES_OR_SIZES", FLOATS | INTEGERS)]
Mode4 = Literal["nearest", "linear", "linear_onnx", "cubic"]
Mode11 = Literal["nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"]
ShapeMode = Literal["sizes", "scales"]
PILLOW = ("bilinear_pillow", "bicubic_pillow")


# The largest measured difference (see `positioned`), increased by a third.
_TOLERANCE = positioned(8)


@operator("Interpolate", "opset11", SizesIn(1), tolerance=_TOLERANCE)
def interpolate_11(
    image: NumericTensor,
    scales_or_sizes: T_SCALES_OR_SIZES,
    axes: IntegerAxes | None = None,
    /,
    *,
    mode: Mode11,
    shape_calculation_mode: ShapeMode,
    coordinate_transformation_mode: Coordinates = "half_pixel",
    nearest_mode: Rounding = "round_prefer_floor",
    antialias: bool = False,
    padding: Padding,
    cube_coeff: Double = -0.75,
) -> NumericTensor:
    """`image`, padded with zeros, resized along `axes` (all by default) to the sizes or by the scales given.

    Narrow floats are computed in f32, integers in f64. Integers are rounded half to even as by OpenVINO's CPU plugin
    (its reference, for 8 bits only, truncates or rounds, by mode); the pillow modes round half away from zero and clip
    after each pass, as Pillow does. All integers are clipped to the range of the type. Coordinates follow the page's
    formulas with the given scale; OpenVINO does not resample an axis whose extent stays the same, which gives other
    results for tf_half_pixel_for_nn and for scales near 1. linear_onnx accepts any axes.

    C1: scales_or_sizes and axes are 1D. C2: axes are distinct and in [0, rank - 1]. C3: as many scales or sizes as
    axes. C4: scales and sizes are not negative. C5: sizes are integers, scales floating-point. C6: the pillow modes
    take two axes. C7: an axis without elements can only be resized to 0.
    """
    chosen = list(range(image.ndim)) if axes is None else integers(axes)
    check_axes(require, chosen, image.ndim)
    begin, end = full_pads(padding.pads_begin, image.ndim), full_pads(padding.pads_end, image.ndim)
    extents = [sum(parts) for parts in zip(begin, image.shape, end, strict=True)]
    given: dict[int, float] = dict(zip(chosen, scales_or_sizes.tolist(), strict=True))
    targets = {
        a: resized_extent(require, a, Dimension(extents[a]), v, shape_calculation_mode, "scales_or_sizes").value
        for a, v in given.items()
    }
    scales = given
    if shape_calculation_mode == "sizes":
        scales = {a: t / extents[a] if extents[a] else 1.0 for a, t in targets.items()}
    if 0 in targets.values():
        return np.empty([targets.get(a, extent) for a, extent in enumerate(extents)], image.dtype)
    stretched = antialias and mode == "linear" and any(np.float32(s) < 1 for s in scales.values())
    double = image.dtype == np.float64 or not is_float(image.dtype)
    resized = {
        a: Axis(
            mode,
            coordinate_transformation_mode,
            nearest_mode,
            scales[a] if stretched else 1.0,
            cube_coeff,
            extents[a],
            targets[a],
            scales[a],
            double,
        )
        for a in chosen
    }
    # Pillow resizes the width first; in other modes, the passes after which the least work remains come first.
    order = chosen[::-1] if mode in PILLOW else sorted(chosen, key=lambda a: (scales[a], -a))
    result = _apply(image, mode, [(a, resized[a], begin[a]) for a in order])
    # The pads of a resized axis are not stored: its pass uses zero in their place.
    return _padded(result, [(0, 0) if a in chosen else pads for a, pads in enumerate(zip(begin, end, strict=True))])


@interpolate_11.older
def _(
    form: OlderForm, image: TensorType, given: TensorType, axes: TensorType | None, *, shape_calculation_mode: str
) -> None:
    """Version 4 has separate inputs for sizes and scales, of which it reads one."""
    mode = form.attributes["mode"]
    form.need(not str(mode).endswith("pillow"), f"mode is {mode}")
    known = given.shape.rank == 1 and given.shape[0].is_static
    form.need(known, "the number of sizes or scales is not known")
    rest = () if axes is None else (2,)
    if shape_calculation_mode == "sizes":
        form.take(0, 1, np.ones(given.shape[0].value, np.float32), *rest)
    else:
        form.take(0, np.ones(given.shape[0].value, np.int64), 1, *rest)


def _padded(image: Array, pads: list[tuple[int, int]]) -> Array:
    if not any(map(any, pads)):
        return image
    reserve([before + extent + after for extent, (before, after) in zip(image.shape, pads, strict=True)], image.dtype)
    return np.pad(image, pads)


_MOST_AT_ONCE = 1 << 20
"""The number of elements that are resized at once: a pass needs memory for several values per element."""


def _apply(image: Array, mode: Mode, passes: Sequence[tuple[int, Axis, int]]) -> Array:
    """Apply `_resized`; a large image with an axis that keeps its extent is processed in parts along this axis."""
    targets = {number: axis.target for number, axis, _ in passes}
    largest = prod(max(extent, targets.get(number, 0)) for number, extent in enumerate(image.shape))
    kept = next((n for n, extent in enumerate(image.shape) if n not in targets and extent > 1), None)
    if kept is None or largest <= _MOST_AT_ONCE:
        return _resized(image, mode, passes)
    result = np.empty([targets.get(n, extent) for n, extent in enumerate(image.shape)], image.dtype)
    height = max(1, _MOST_AT_ONCE * image.shape[kept] // largest)
    for begin in range(0, image.shape[kept], height):
        part = (slice(None),) * kept + (slice(begin, begin + height),)
        result[part] = _resized(image[part], mode, passes)
    return result


def _resized(image: Array, mode: Mode, passes: Sequence[tuple[int, Axis, int]]) -> Array:
    """Apply all passes in order, each with the number of zeros before its elements; round integers as the mode does."""
    if mode == "nearest":
        result = image
        for number, axis, zeros in passes:
            result = resample(result, number, axis, zeros)
        return result.copy() if result is image else result
    integral = not is_float(image.dtype)
    result = image.astype(np.float64) if integral else widen(image)
    limits = np.iinfo(image.dtype) if integral else None
    for number, axis, zeros in passes:
        before = result
        result = resample(result, number, axis, zeros)
        if limits is not None and mode in PILLOW and result is not before:
            result = np.clip(half_away(result), limits.min, limits.max)
    if limits is None:
        return narrow(result.copy() if result is image else result, image.dtype)
    result = np.rint(result)
    inside = np.clip(result, limits.min, limits.max)
    with np.errstate(invalid="ignore"):
        cast = inside.astype(image.dtype)
    return np.where(inside >= limits.max, np.asarray(limits.max, image.dtype), cast)


@interpolate_11.shapes
def _(
    check: Check,
    image: TensorType,
    scales_or_sizes: TensorType,
    axes: TensorType | None,
    *,
    mode: str,
    shape_calculation_mode: str,
    padding: Padding,
) -> PartialShape:
    if not has_rank(check, "C1", scales_or_sizes, 1, "scales_or_sizes"):
        return PartialShape.dynamic(image.rank)
    if not scales_or_sizes.element_type.is_dynamic:
        fits = scales_or_sizes.element_type.is_real() == (shape_calculation_mode == "scales")
        wanted = "a floating-point type" if shape_calculation_mode == "scales" else "an integer type"
        message = (
            f"scales_or_sizes is {scales_or_sizes.element_type}, expected {wanted}: "
            f"shape_calculation_mode is {shape_calculation_mode!r}"
        )
        check("C5", fits, message, port="scales_or_sizes")
    return resized_shape(
        check, image, scales_or_sizes, axes, shape_calculation_mode, padding, mode in PILLOW, "scales_or_sizes"
    )


@operator("Interpolate", "opset4", SizesIn(1), tolerance=_TOLERANCE)
def interpolate_4(
    data: NumericTensor,
    sizes: T_SIZE,
    scales: T_SCALES,
    axes: IntegerAxes | None = None,
    /,
    *,
    mode: Mode4,
    **rest: Annotated[Any, AttributesOf(interpolate_11)],
) -> NumericTensor:
    """As Interpolate-11 without the pillow modes; sizes and scales are separate inputs, of which one is read.

    C1 to C4 and C7 as Interpolate-11.
    """
    given = sizes if rest["shape_calculation_mode"] == "sizes" else scales
    return np.asarray(interpolate_11.compute(data, given, axes, mode=mode, **rest))


@interpolate_4.shapes
def _(
    check: Check,
    data: TensorType,
    sizes: TensorType,
    scales: TensorType,
    axes: TensorType | None,
    *,
    shape_calculation_mode: str,
    padding: Padding,
) -> PartialShape:
    given = sizes if shape_calculation_mode == "sizes" else scales
    if not has_rank(check, "C1", given, 1, shape_calculation_mode):
        return PartialShape.dynamic(data.rank)
    return resized_shape(check, data, given, axes, shape_calculation_mode, padding, False, shape_calculation_mode)


@interpolate_4.oracle.undefined_for
def _(data: Array, sizes: Array, scales: Array, axes: Array | None = None) -> Undefined:
    """Return "no result" if sizes or scales are not 1D, whichever of the two the mode reads."""
    return "no result" if sizes.ndim != 1 or scales.ndim != 1 else False


@operator("Interpolate", "opset1", SizesIn(1), tolerance=_TOLERANCE)
def interpolate_1(
    data: NumericTensor,
    target_spatial_shape: T_SIZE,
    /,
    *,
    axes: NonNegativeInts,
    mode: Annotated[Literal["nearest", "linear", "cubic", "area"], UNCOMPILED],
    align_corners: bool = True,
    antialias: bool = False,
    padding: Padding,
) -> NumericTensor:
    """`data` resized along the attribute `axes` to `target_spatial_shape`.

    The page does not define the arithmetic of the modes. As in OpenVINO, "nearest" rounds as "simple", and "linear" is
    the mode linear_onnx of Interpolate-4 up to rank 4, and its mode linear above. Without align_corners, coordinates
    are asymmetric; in the mode "linear" without pads they are half_pixel, unless the axes are (2, 3) of rank 4. "area",
    for which OpenVINO has no kernel, is the mean of the input elements that an output element covers. A single pad
    applies to each of the axes, as on the page; as many pads as axes apply to the axes (in OpenVINO to the first
    dimensions).

    C1: target_spatial_shape is 1D. C2: axes are distinct and in [0, rank - 1]. C3: as many sizes as axes. C4: sizes
    are not negative. C5: pads are for the axes only. C7: an axis without elements can only be resized to 0.
    """
    begin, end = (spatial_pads(require, p, axes, data.ndim) for p in (padding.pads_begin, padding.pads_end))
    chosen: Mode = mode if mode != "linear" else "linear_onnx" if data.ndim < 5 else "linear"
    coordinates: Coordinates = "align_corners" if align_corners else "asymmetric"
    plain = mode == "linear" and not any(begin) and not any(end) and not (data.ndim == 4 and set(axes) == {2, 3})
    if not align_corners and plain:
        coordinates = "half_pixel"
    result: Array = interpolate_11.compute(
        data,
        target_spatial_shape,
        np.asarray(axes, np.int64),
        mode=chosen,
        shape_calculation_mode="sizes",
        coordinate_transformation_mode=coordinates,
        nearest_mode="simple",
        antialias=antialias,
        pads_begin=begin,
        pads_end=end,
    )
    return result


@interpolate_1.shapes
def _(
    check: Check, data: TensorType, target_spatial_shape: TensorType, *, axes: tuple[int, ...], padding: Padding
) -> PartialShape:
    if not has_rank(check, "C1", target_spatial_shape, 1, "target_spatial_shape"):
        return PartialShape.dynamic(data.rank)
    chosen = np.asarray(axes, np.int64)
    axes_type = TensorType(shape=PartialShape(chosen.shape), value=chosen)
    begin, end = (spatial_pads(check, p, axes, len(data.shape)) for p in (padding.pads_begin, padding.pads_end))
    resolved = Padding(pads_begin=tuple(begin), pads_end=tuple(end))
    return resized_shape(check, data, target_spatial_shape, axes_type, "sizes", resolved, False, "target_spatial_shape")


@interpolate_11.work
@interpolate_4.work
@interpolate_1.work
def _(outputs: Sequence[TensorType], image: TensorType, *others: TensorType, padding: Padding) -> int:
    """Return the cost of the padded image, which is processed even if the result is small; a single pad may apply to
    each axis.
    """
    shape = image.shape.to_shape()
    pads = [p * len(shape) if len(p) == 1 else p for p in (padding.pads_begin, padding.pads_end)]
    return 4 * prod(n + sum(p[axis] for p in pads if axis < len(p)) for axis, n in enumerate(shape))


interpolate_1.oracle.allowed = interpolate_4.oracle.allowed = interpolate_11.oracle.allowed = ROUNDED


interpolate_1.oracle.draw("target_spatial_shape")(drawn_extents)
interpolate_4.oracle.draw("sizes")(drawn_extents)


@interpolate_4.oracle.draw("scales")
@interpolate_11.oracle.draw("scales_or_sizes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw sizes, or scales above 0.3, most of which are below 2, by the element type."""
    if not types[port].element_type.is_real():
        return drawn_extents(rng, port, types)
    return filled(types, port, 0.3 + np.abs(rng.standard_normal(types[port].shape.to_shape())))
