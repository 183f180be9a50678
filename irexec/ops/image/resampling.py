"""Resampling along one axis: the input elements of each output element, and their weights.

Every mode of Interpolate is separable, so that a whole interpolation is one pass per axis.
Source: operation pages Interpolate-4 and -11; Pillow's resampling as described by the page of Interpolate-11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from irexec.core.types import Array

Mode = Literal["nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow", "area"]
Coordinates = Literal["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
Rounding = Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]


class Taps(NamedTuple):
    """The input elements of each output element, [taps, out], and their weights (None: one tap with weight 1)."""

    indices: Array
    weights: Array | None


class Axis(NamedTuple):
    """One interpolated axis: its extents, its scale, and the attributes that determine its weights."""

    mode: Mode
    coordinates: Coordinates
    rounding: Rounding
    stretch: float  # of the triangle filter: the scale with antialias, otherwise 1
    cube_coeff: float
    source: int
    target: int
    scale: float
    double: bool  # compute in f64


@lru_cache(maxsize=512)
def taps_of(axis: Axis, part: range) -> Taps:
    """Return the taps of a range of output elements of an axis."""
    return _BUILDERS[axis.mode](axis, part)


BLOCK = 1 << 14
"""The number of output elements along an axis whose taps are in memory at once: taps are far larger than elements."""

MOST_COPIES = 8
"""The largest factor by which copies enlarge rows faster than a gather does."""


def resample(x: Array, number: int, axis: Axis, zeros: int = 0) -> Array:
    """Resample along axis `number`, in x's dtype; return `x` itself if nothing changes.

    If x has fewer elements than the axis, `zeros` zeros precede them, and zeros follow up to the axis's extent.
    """
    extent = x.shape[number]
    if extent < axis.source:
        one = (*x.shape[:number], 1, *x.shape[number + 1 :])
        x = np.concatenate([x, np.zeros(one, x.dtype)], axis=number)
    if axis.target <= BLOCK:
        taps = _among_zeros(taps_of(axis, range(axis.target)), axis, zeros, extent)
        identity = taps.weights is None and np.array_equal(taps.indices[0], np.arange(x.shape[number]))
        return x if identity else _resampled(x, number, taps)
    result = np.empty((*x.shape[:number], axis.target, *x.shape[number + 1 :]), x.dtype)
    for begin in range(0, axis.target, BLOCK):
        part = range(begin, min(begin + BLOCK, axis.target))
        place = (slice(None),) * number + (slice(part.start, part.stop),)
        taps = _among_zeros(_BUILDERS[axis.mode](axis, part), axis, zeros, extent)
        result[place] = _resampled(x, number, taps)
    return result


def _among_zeros(taps: Taps, axis: Axis, zeros: int, extent: int) -> Taps:
    """Return the taps of elements surrounded by zeros, which a single zero after the elements represents."""
    if extent == axis.source:
        return taps
    indices = taps.indices - zeros
    return Taps(np.where((indices >= 0) & (indices < extent), indices, extent), taps.weights)


def _resampled(x: Array, axis: int, taps: Taps) -> Array:
    index, weight = taps
    if weight is None:
        return _pick(x, axis, index[0])
    shape = [1] * x.ndim
    shape[axis] = -1
    result: Array = np.take(x, index[0], axis, mode="clip")
    result *= weight[0].reshape(shape)
    for one, w in zip(index[1:], weight[1:], strict=True):
        part = np.take(x, one, axis, mode="clip")
        part *= w.reshape(shape)
        result += part
    return result


def _pick(x: Array, axis: int, index: Array) -> Array:
    """Return x[index] along the axis."""
    source, target = x.shape[axis], len(index)
    times = target // source if source and axis == x.ndim - 1 else 0
    if 0 < times <= MOST_COPIES and np.array_equal(index, np.arange(target) // times):
        result = np.empty((*x.shape[:-1], target), x.dtype)
        for number in range(times):
            result[..., number::times] = x
        return result
    taken: Array = np.take(x, index, axis, mode="clip")
    return taken


def _coordinates(axis: Axis, part: range) -> Array:
    """Return the position of each output element on the input axis, in f32 (as OpenVINO) or, for f64 data, in f64."""
    kind: Any = np.float64 if axis.double else np.float32
    x: Array = np.arange(part.start, part.stop).astype(kind)
    scale = kind(axis.scale)
    if axis.coordinates == "half_pixel" or (axis.coordinates == "pytorch_half_pixel" and axis.target > 1):
        x = (x + kind(0.5)) / scale - kind(0.5)
    elif axis.coordinates == "asymmetric":
        x = x / scale
    elif axis.coordinates == "tf_half_pixel_for_nn":
        x = (x + kind(0.5)) / scale
    elif axis.coordinates == "align_corners" and axis.target > 1:
        x = x * kind(axis.source - 1) / kind(axis.target - 1)
    else:
        x = np.zeros_like(x)
    return x


def _nearest(axis: Axis, part: range) -> Taps:
    # Positions must be rounded as in OpenVINO, which uses f32 for all types.
    x = _coordinates(axis._replace(double=False), part)
    low = np.floor(x)
    if axis.rounding == "round_prefer_floor":
        index = low + (x - low > 0.5)
    elif axis.rounding == "round_prefer_ceil":
        index = low + (x - low >= 0.5)
    elif axis.rounding == "floor":
        index = low
    elif axis.rounding == "ceil" or axis.scale < 1:
        index = np.ceil(x)
    else:
        index = np.trunc(x)
    return Taps(np.clip(index, 0, axis.source - 1).astype(np.intp)[None], None)


def _linear_onnx(axis: Axis, part: range) -> Taps:
    x = np.clip(_coordinates(axis, part), 0, axis.source - 1)
    low = np.minimum(x.astype(np.intp), axis.source - 1)
    high = np.minimum(low + 1, axis.source - 1)
    after = (x - low).astype(x.dtype)
    before = (high - x).astype(x.dtype)
    same = low == high
    after[same] = before[same] = 0.5
    return Taps(np.stack([low, high]), np.stack([before, after]))


def _linear(axis: Axis, part: range) -> Taps:
    x = _coordinates(axis, part)
    a = x.dtype.type(axis.stretch)
    radius = 2 if axis.scale > 1 else math.ceil(2.0 / axis.stretch)
    offset = np.arange(-radius, radius + 1)[:, None]
    index = np.round(x).astype(np.intp) + offset
    weight = np.maximum(0, 1 - np.abs(a * (x - index).astype(x.dtype)))
    return _normalized(index, weight, axis.source)


def _cubic(axis: Axis, part: range) -> Taps:
    x = _coordinates(axis, part)
    low = np.floor(x)
    s, a = x - low, x.dtype.type(axis.cube_coeff)
    weight = np.stack(
        [
            a * (s - 1) * (s - 1) * s,
            ((a + 2) * s - (a + 3)) * s * s + 1,
            (((-a - 2) * s + (2 * a + 3)) * s - a) * s,
            -a * s * s * (s - 1),
        ]
    )
    index = low.astype(np.intp) + np.arange(-1, 3)[:, None]
    return Taps(np.clip(index, 0, axis.source - 1), weight)


def _pillow(support: float, filter: Callable[[Array, float], Array]) -> Callable[[Axis, range], Taps]:
    """Return a builder of Pillow's taps: the filter is stretched when shrinking; weights within the image sum to 1."""

    def build(axis: Axis, part: range) -> Taps:
        if axis.source == axis.target:
            return Taps(np.arange(part.start, part.stop)[None], None)
        scale = axis.source / axis.target
        stretch = max(scale, 1.0)
        centre = (np.arange(part.start, part.stop) + 0.5) * scale
        first = np.maximum(np.trunc(centre - support * stretch + 0.5), 0).astype(np.intp)
        last = np.minimum(np.trunc(centre + support * stretch + 0.5), axis.source).astype(np.intp)
        index = first + np.arange(max(int((last - first).max(initial=1)), 1))[:, None]
        weight = np.where(index < last, filter(np.abs((index - centre + 0.5) / stretch), axis.cube_coeff), 0)
        kind = np.float64 if axis.double else np.float32
        taps = _normalized(index, weight, axis.source)
        assert taps.weights is not None
        return Taps(taps.indices, taps.weights.astype(kind))

    return build


def _triangle(x: Array, a: float) -> Array:
    return np.maximum(0.0, 1.0 - x)


def _bicubic(x: Array, a: float) -> Array:
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def _area(axis: Axis, part: range) -> Taps:
    """Return taps for means: each output element is the mean of the input elements that it covers."""
    ratio = axis.source / axis.target
    left = np.arange(part.start, part.stop) * ratio
    index = np.floor(left).astype(np.intp) + np.arange(math.ceil(ratio) + 1)[:, None]
    weight = np.minimum(left + ratio, index + 1) - np.maximum(left, index)
    taps = _normalized(index, np.maximum(weight, 0), axis.source)
    assert taps.weights is not None
    return Taps(taps.indices, taps.weights if axis.double else taps.weights.astype(np.float32))


def _normalized(index: Array, weight: Array, extent: int) -> Taps:
    """Drop weights outside the axis and scale the remaining weights to the sum 1 (or 0); omit taps without any
    weight.
    """
    weight = np.where((index >= 0) & (index < extent), weight, 0)
    total = weight.sum(axis=0)
    weight = np.divide(weight, total, out=np.zeros_like(weight), where=total != 0)
    order = np.argsort(weight == 0, axis=0, kind="stable")
    count = max(int((weight != 0).sum(axis=0).max(initial=1)), 1)
    index = np.take_along_axis(np.clip(index, 0, max(extent - 1, 0)), order, axis=0)[:count]
    return Taps(index, np.take_along_axis(weight, order, axis=0)[:count])


_BUILDERS: dict[str, Callable[[Axis, range], Taps]] = {
    "nearest": _nearest, "linear": _linear, "linear_onnx": _linear_onnx, "cubic": _cubic,
    "bilinear_pillow": _pillow(1.0, _triangle), "bicubic_pillow": _pillow(2.0, _bicubic), "area": _area,
}  # fmt: skip
