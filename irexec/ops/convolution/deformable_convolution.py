"""DeformableConvolution: each kernel tap reads at a position shifted by an offset, interpolated between pixels.

Source: operation pages DeformableConvolution-1, DeformableConvolution-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Annotated, Any

import numpy as np

from irexec.core.threads.parallel import parallel_for
from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, is_float
from irexec.ops.compute.products import settle
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import Windowing, Windows, check_windows, output_dims
from irexec.ops.spec.attributes import AsRead, Positive
from irexec.ops.spec.groups import AttributesOf, group
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, summed
from irexec.ops.spec.oracle import FINITE
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import NumericTensor


@group
class Grouping:
    """The number of channel groups of the convolution, and the number of channel groups with separate offsets."""

    group: Annotated[Positive, AsRead(default=0)] = 1
    deformable_group: Annotated[Positive, AsRead(default=0)] = 1


@operator("DeformableConvolution", "opset8", tolerance=summed(8))
def deformable_convolution_8(
    data: NumericTensor,
    offsets: NumericTensor,
    kernel: NumericTensor,
    mask: NumericTensor | None = None,
    /,
    *,
    windows: Windowing,
    groups: Grouping,
    bilinear_interpolation_pad: bool = False,
) -> NumericTensor:
    """Convolve `data` `[N, C, Y, X]` with `kernel` `[O, C / group, KY, KX]`, each tap moved by `offsets` (y, x).

    `offsets` is `[N, deformable_group * KY * KX * 2, YO, XO]`, `mask` `[N, deformable_group * KY * KX, YO, XO]`, a
    factor per tap. A tap outside of the data adds nothing; between the data and one pixel outside,
    `bilinear_interpolation_pad` blends with zero.

    C1: strides, pads and dilations have two values. C2: every input has rank 4. C3: group divides C and O, and the
    kernel has C / group input channels. C4: deformable_group divides C. C5: the kernel, dilated, fits into the padded
    data. C6: offsets and mask have the channels above. C7: offsets and mask have data's batch and the result's Y and X.
    """
    batch, channels, height, width = data.shape
    outputs, inputs, ky, kx = kernel.shape
    group, deformable_group = groups.group, groups.deformable_group
    placed = Windows.over((height, width), (ky, kx), windows)
    rows, columns = placed.counts
    taps, places = ky * kx, rows * columns
    dtype = compute_dtype(data.dtype) if is_float(data.dtype) else np.dtype(np.float64)
    x = data.astype(dtype, copy=False).reshape(batch, deformable_group, channels // deformable_group, height * width)
    shift = offsets.astype(dtype, copy=False).reshape(batch, deformable_group, ky, kx, 2, rows, columns)
    factors = None if mask is None else mask.astype(dtype, copy=False).reshape(batch, deformable_group, taps * places)
    matrix = kernel.astype(dtype, copy=False).reshape(group, outputs // group, inputs * taps)
    y0, x0 = (
        np.arange(k)[:, None] * d - b + np.arange(c) * s
        for k, d, b, c, s in zip((ky, kx), placed.dilations, placed.begins, placed.counts, placed.strides, strict=True)
    )
    base_y, base_x = y0[:, None, :, None].astype(dtype), x0[None, :, None, :].astype(dtype)
    sampled = np.empty((batch, deformable_group, channels // deformable_group, taps * places), dtype)
    tasks = list(product(range(batch), range(deformable_group)))

    def task(index: int) -> None:
        n, g = tasks[index]
        ys = (base_y + shift[n, g, :, :, 0]).reshape(-1)
        xs = (base_x + shift[n, g, :, :, 1]).reshape(-1)
        scale = None if factors is None else factors[n, g]
        sampled[n, g] = _sample(x[n, g], ys, xs, (height, width), bilinear_interpolation_pad, scale)

    with np.errstate(over="ignore", invalid="ignore"):
        parallel_for(len(tasks), task)
        result = np.matmul(matrix, sampled.reshape(batch, group, inputs * taps, places))
    return settle(result.reshape(batch, outputs, rows, columns), data.dtype)


@deformable_convolution_8.older
def _(form: OlderForm, data: TensorType, offsets: TensorType, kernel: TensorType, mask: TensorType | None) -> None:
    form.need(mask is None, "it has a mask")
    form.need_attribute("bilinear_interpolation_pad", False)
    form.take(0, 1, 2)


def _sample(pixels: Array, ys: Array, xs: Array, extents: tuple[int, int], padded: bool, scale: Array | None) -> Array:
    """Return bilinear samples `[C, P]` of `[C, Y * X]` at P points; zero outside, even if pixels are not finite."""
    height, width = extents
    inside = (ys < height) & (xs < width) & ((ys > -1) & (xs > -1) if padded else (ys >= 0) & (xs >= 0))
    rows, columns = (_neighbours(np.where(inside, v, 0), n, padded) for v, n in ((ys, height), (xs, width)))
    # One zero after the pixels represents all positions outside.
    pixels = np.concatenate([pixels, np.zeros_like(pixels[:, :1])], axis=1)
    result = np.zeros((pixels.shape[0], ys.size), pixels.dtype)
    for (row, vertical), (column, horizontal) in product(rows, columns):
        weight = vertical * horizontal
        weight = np.where(inside, weight if scale is None else weight * scale, 0)
        there = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
        result += pixels[:, np.where(there, row * width + column, height * width)] * weight
    return result


def _neighbours(places: Array, extent: int, padded: bool) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return the two pixels on either side of each position along one axis, and their weights.

    For a position on a pixel, both pixels are that pixel. Only if `padded`, the second pixel may be outside.
    """
    low, high = np.floor(places), np.ceil(places)
    part = places - low
    return (low.astype(np.int64), 1 - part), ((high if padded else high.clip(max=extent - 1)).astype(np.int64), part)


@operator("DeformableConvolution", "opset1", tolerance=summed(8))
def deformable_convolution_1(
    *inputs: Annotated[Any, InputsOf(deformable_convolution_8, without=1)],
    **rest: Annotated[Any, AttributesOf(deformable_convolution_8, without="bilinear_interpolation_pad")],
) -> NumericTensor:
    """DeformableConvolution-8 without a mask and without blending at the border. The same constraints."""
    return np.asarray(deformable_convolution_8.compute(*inputs, **rest))


@deformable_convolution_1.shapes
@deformable_convolution_8.shapes
def _(
    check: Check,
    data: TensorType,
    offsets: TensorType,
    kernel: TensorType,
    mask: TensorType | None = None,
    *,
    windows: Windowing,
    groups: Grouping,
) -> PartialShape:
    ports = {"data": data, "offsets": offsets, "kernel": kernel} | ({} if mask is None else {"mask": mask})
    ranks = [has_rank(check, "C2", tensor, 4, name) for name, tensor in ports.items()]
    group, deformable_group = groups.group, groups.deformable_group
    if not all(ranks) or not check_windows(check, "C1", 2, windows):
        return PartialShape.dynamic(4)
    d, k = (t.shape if t.rank is not None else PartialShape.dynamic(4) for t in (data, kernel))
    message = f"data has {d[1]} channels, expected {k[1] * group}: {group} groups of {k[1]} in the kernel"
    check("C3", d[1].compatible(k[1] * group), message, port="kernel", found=str(k[1] * group), allowed=str(d[1]))
    outputs_fit = k[0].is_dynamic or k[0].min % group == 0
    check("C3", outputs_fit, f"group {group} does not divide the kernel's {k[0]} output channels", attribute="group")
    divides = d[1].is_dynamic or d[1].min % deformable_group == 0
    message = f"deformable_group {deformable_group} does not divide the {d[1]} channels"
    check("C4", divides, message, attribute="deformable_group")
    extents = output_dims(check, "C5", d.dims[2:], k.dims[2:], windows)
    taps = k[2] * k[3] * deformable_group
    batch: Dimension = d[0]
    for name, factor in (("offsets", 2), ("mask", 1)):
        if name not in ports or ports[name].rank is None:
            continue
        found = ports[name].shape
        allowed = taps * factor
        message = f"{name} has {found[1]} channels, expected {allowed}"
        check("C6", found[1].compatible(allowed), message, port=name, found=str(found[1]), allowed=str(allowed))
        expected = PartialShape([batch, found[1], *extents])
        merged = found.merge(expected)
        message = f"{name} has shape {found}, expected {expected}"
        if check("C7", merged is not None, message, port=name, found=str(found), allowed=str(expected)) and merged:
            batch, extents = merged[0], list(merged.dims[2:])
    return PartialShape([batch, k[0], *extents])


@deformable_convolution_1.multiply_adds
@deformable_convolution_8.multiply_adds
def _(outputs: Sequence[TensorType], data: TensorType, offsets: TensorType, kernel: TensorType, *mask: object) -> int:
    return prod(outputs[0].shape.to_shape()) * prod(kernel.shape.to_shape()[1:])


@deformable_convolution_8.oracle.draw("mask")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw factors from 0 to 1."""
    return rng.uniform(0, 1, types[port].shape.to_shape()).astype(types[port].element_type.dtype)


deformable_convolution_1.oracle.allowed = deformable_convolution_8.oracle.allowed = FINITE
