"""GridSample: an image sampled at normalized coordinates.

Source: operation page GridSample-9. The coefficient of the cubic (-0.75) and the rounding of nearest (half to even)
follow OpenVINO's reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import is_float, narrow, widen
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import ROUNDED
from irexec.ops.spec.tensors import FloatTensor1, NumericOrBooleanTensor

Padding = Literal["zeros", "border", "reflection"]
# Returns the pixels [N, C, points] at rows and columns [N, points].
Fetch = Callable[[Array, Array], Array]


@operator("GridSample", "opset9", tolerance=rounded(16))
def grid_sample_9(
    data: NumericOrBooleanTensor,
    grid: FloatTensor1,
    /,
    *,
    align_corners: bool = False,
    mode: Literal["bilinear", "bicubic", "nearest"] = "bilinear",
    padding_mode: Padding = "zeros",
) -> NumericOrBooleanTensor:
    """`data` [N, C, H, W] sampled at the positions `grid` [N, H_out, W_out, 2], pairs (x, y) in [-1, 1].

    Weights are computed in the grid's precision, at least f32; integers are rounded half to even.

    C1: data is [N, C, H, W]. C2: grid is [N, H_out, W_out, 2]. C3: a sampled image has pixels.
    """
    batch, channels, height, width = data.shape
    _, rows, columns, _ = grid.shape
    places = widen(grid).reshape(batch, rows * columns, 2)
    x, y = _denormalize(places[..., 0], width, align_corners), _denormalize(places[..., 1], height, align_corners)
    source = data if mode == "nearest" else widen(data) if is_float(data.dtype) else data.astype(np.float64)
    flat = source.reshape(batch, channels, height * width)

    def fetch(row: Array, column: Array) -> Array:
        row, inside_y = _bounded(row, height, padding_mode, align_corners)
        column, inside_x = _bounded(column, width, padding_mode, align_corners)
        pixels: Array = np.take_along_axis(flat, (row * width + column)[:, None], axis=2)
        return pixels if padding_mode != "zeros" else np.where((inside_y & inside_x)[:, None], pixels, 0)

    with np.errstate(invalid="ignore", over="ignore"):
        sampled = {"nearest": _nearest, "bilinear": _bilinear, "bicubic": _bicubic}[mode](fetch, y, x)
        if not is_float(data.dtype) and mode != "nearest":
            limits = (0, 1) if data.dtype == np.bool_ else (np.iinfo(data.dtype).min, np.iinfo(data.dtype).max)
            sampled = np.clip(np.rint(sampled), *limits)
        return narrow(sampled.reshape(batch, channels, rows, columns), data.dtype)


def _denormalize(value: Array, extent: int, align_corners: bool) -> Array:
    """Map [-1, 1] to pixels: the ends are the centres of the outer pixels (`align_corners`) or their outer borders."""
    size = value.dtype.type(extent)
    result: Array = (value + 1) * (size - 1) / 2 if align_corners else ((value + 1) * size - 1) / 2
    return result


def _bounded(index: Array, extent: int, padding: str, align_corners: bool) -> tuple[Array, Array]:
    """Return integer coordinates (given as floats) moved into [0, extent), and a mask of the coordinates that were
    inside.
    """
    # Clipped, so that the cast is defined; NaN becomes 0.
    whole = np.nan_to_num(np.clip(index, -(2.0**31), 2.0**31)).astype(np.int64)
    inside = (whole >= 0) & (whole < extent)
    if padding == "reflection" and align_corners:
        period = max(2 * (extent - 1), 1)
        whole = np.abs(whole) % period
        whole = np.where(whole >= extent, period - whole, whole)
    elif padding == "reflection":
        whole = whole % (2 * extent)
        whole = np.where(whole >= extent, 2 * extent - 1 - whole, whole)
    return np.clip(whole, 0, max(extent - 1, 0)), inside


def _nearest(fetch: Fetch, y: Array, x: Array) -> Array:
    return fetch(np.rint(y), np.rint(x))


def _bilinear(fetch: Fetch, y: Array, x: Array) -> Array:
    top, left = np.floor(y), np.floor(x)
    dy, dx = (y - top)[:, None], (x - left)[:, None]
    upper = (1 - dx) * fetch(top, left) + dx * fetch(top, left + 1)
    lower = (1 - dx) * fetch(top + 1, left) + dx * fetch(top + 1, left + 1)
    result: Array = dy * lower + (1 - dy) * upper
    return result


def _bicubic(fetch: Fetch, y: Array, x: Array) -> Array:
    top, left = np.floor(y), np.floor(x)
    rows, columns = _cubic(y - top), _cubic(x - left)
    result: Array = np.zeros(())
    for j in range(4):
        line: Array = np.zeros(())
        for i in range(4):
            line = line + columns[i] * fetch(top + (j - 1), left + (i - 1))
        result = result + rows[j] * line
    return result


def _cubic(r: Array) -> list[Array]:
    """Return the weights [N, 1, points] of the four pixels around a position at distance r from the second."""
    a, r = r.dtype.type(-0.75), r[:, None]

    def near(t: Array) -> Array:
        value: Array = ((a + 2) * t - (a + 3)) * t * t + 1
        return value

    def far(t: Array) -> Array:
        value: Array = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
        return value

    return [far(r + 1), near(r), near(1 - r), far(2 - r)]


@grid_sample_9.shapes
def _(check: Check, data: TensorType, grid: TensorType) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "data", data, "N", "C", "H", "W")
    extents.match("C2", "grid", grid, "N", "H_out", "W_out", 2)
    sampled = extents.shape("N", "H_out", "W_out").size.min > 0
    empty = extents.shape("H", "W").size.max == 0
    check("C3", not (sampled and empty), f"data {data.shape} has no pixels to sample", port="data")
    return extents.shape("N", "C", "H_out", "W_out")


@grid_sample_9.oracle.draw("grid")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw positions mostly inside the image, some slightly beyond it."""
    kind = types["grid"]
    return rng.uniform(-1.2, 1.2, kind.shape.to_shape()).astype(kind.element_type.dtype)


grid_sample_9.oracle.allowed = ROUNDED
