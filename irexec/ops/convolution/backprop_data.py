"""ConvolutionBackpropData and GroupConvolutionBackpropData: transposed convolution.

Source: operation pages ConvolutionBackpropData-1, GroupConvolutionBackpropData-1. If `output_shape` is given, pads
follow the page's formula for every auto_pad (for explicit and valid, OpenVINO uses the attributes or zero). The total
padding is at least 0: if `output_shape` extends beyond the data, zeros follow at the end, as in OpenVINO, ONNX and
TensorFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Annotated, Any

import numpy as np

from irexec.core.threads.parallel import parallel_for, parts_for, scratch, split
from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.convolution.convolution import check_channels, grouped_channels, spatial_rank, with_rank
from irexec.ops.rules.axes import in_range
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.rules.windows import Windowing, check_windows, dilated, meeting
from irexec.ops.spec.attributes import NonNegativeInts
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, Operator, operator, require, summed
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import IntegerTensor2, NumericTensor1
from irexec.ops.spec.traits import TransposedConvolution

BLOCK_BYTES = 1 << 22


@group
class Spreading(Windowing):
    """The windows over which each pixel is spread; `output_padding` adds pixels at the end of the result."""

    pads_begin: NonNegativeInts = ()
    pads_end: NonNegativeInts = ()
    output_padding: NonNegativeInts = ()


@operator("ConvolutionBackpropData", "opset1", TransposedConvolution(grouped=False), tolerance=summed(8))
def convolution_backprop_data_1(
    data: NumericTensor1,
    kernel: NumericTensor1,
    output_shape: IntegerTensor2 | None = None,
    /,
    *,
    windows: Spreading,
    out: Array | None = None,
) -> NumericTensor1:
    """Spread `data` `[N, C_IN, *X]` by `kernel` `[C_IN, C_OUT, *K]` over the result `[N, C_OUT, *Y]`.

    C1: strides, pads, dilations and output_padding have one value per spatial axis. C2: data has rank 3, 4 or 5. C3:
    the kernel has data's rank. C4: data and kernel have the same C_IN. C5: the padding leaves at least one pixel. C6:
    output_shape has one value per spatial axis, none negative.
    """
    return _spread(data, kernel[None], output_shape, windows=windows, out=out)


@operator("GroupConvolutionBackpropData", "opset1", TransposedConvolution(grouped=True), tolerance=summed(8))
def group_convolution_backprop_data_1(
    *inputs: Annotated[Any, InputsOf(convolution_backprop_data_1)], windows: Spreading, out: Array | None = None
) -> NumericTensor1:
    """ConvolutionBackpropData on each group of channels: `data` `[N, G * C_IN, *X]`, `kernel` `[G, C_IN, C_OUT, *K]`.

    C1, C2, C5, C6 as in ConvolutionBackpropData-1. C3: the kernel has one axis more than data. C4: data has G * C_IN
    channels.
    """
    return _spread(*inputs, windows=windows, out=out)


def _spread(
    data: Array, kernel: Array, output_shape: Array | None = None, *, windows: Spreading, out: Array | None
) -> Array:
    """Compute a transposed convolution with a kernel `[G, I, O, *K]`, in blocks of output channels on all threads."""
    groups, inputs, outputs, *taps = kernel.shape
    batch, _, *extents = data.shape
    strides, dilations, *_ = windows.for_rank(len(extents))
    wanted = None if output_shape is None else [int(v) for v in output_shape]
    in_range(require, "C6", "output_shape", wanted, 0)
    counts, begins = placement(extents, taps, windows, wanted)
    dtype = sum_dtype(data.dtype, inputs * int(np.prod(taps)))
    result = summing_buffer((batch, groups * outputs, *counts), dtype, out)
    if 0 in data.shape or 0 in kernel.shape or 0 in result.shape:
        result[...] = 0
        return settle(result, data.dtype, out)
    x = data.astype(dtype, copy=False).reshape(batch, groups, inputs, -1)
    matrix = kernel.astype(dtype, copy=False).reshape(groups, inputs, -1).transpose(0, 2, 1)
    size, pixels = int(np.prod(taps)), x.shape[-1]
    wide = max(1, BLOCK_BYTES // (size * pixels * dtype.itemsize))
    parts = max(-(-outputs // wide), -(-parts_for(x.size * outputs * size) // (batch * groups)))
    tasks = list(product(range(batch), range(groups), split(outputs, parts)))
    meetings = [
        [meeting(t * d - b, s, count, extent) for t in range(k)]
        for k, d, b, s, extent, count in zip(taps, dilations, begins, strides, extents, counts, strict=True)
    ]
    y = result.reshape(batch, groups, outputs, *counts)

    def task(index: int) -> None:
        image, g, (first, last) = tasks[index]
        columns = scratch("columns", ((last - first) * size, pixels), dtype)
        np.matmul(matrix[g, first * size : last * size], x[image, g], out=columns)
        terms = columns.reshape(last - first, *taps, *extents)
        sums = y[image, g, first:last]
        sums[...] = 0
        for tap in product(*([t for t, met in enumerate(axis) if met] for axis in meetings)):
            met = [axis[t] for axis, t in zip(meetings, tap, strict=True)]
            target: Any = (slice(None), *(m[1] for m in met if m))
            source: Any = (slice(None), *tap, *(m[0] for m in met if m))
            np.add(sums[target], terms[source], out=sums[target])

    with np.errstate(over="ignore", invalid="ignore"):
        parallel_for(len(tasks), task)
    return settle(result, data.dtype, out)


def placement(
    extents: Sequence[int], taps: Sequence[int], windows: Spreading, wanted: Sequence[int] | None
) -> tuple[list[int], Sequence[int]]:
    """Return the result's spatial extents (`wanted` if given) and the padding at the beginning of each spatial axis."""
    strides, dilations, begins, ends = windows.for_rank(len(extents))
    padding = windows.output_padding or (0,) * len(extents)
    full = [(x - 1) * s + dilated(k, d) for x, s, k, d in zip(extents, strides, taps, dilations, strict=True)]
    if wanted is None:
        return [f - b - e + p for f, b, e, p in zip(full, begins, ends, padding, strict=True)], begins
    totals = [max(0, f - w + p) for f, w, p in zip(full, wanted, padding, strict=True)]
    return list(wanted), [t - t // 2 if windows.auto_pad == "same_upper" else t // 2 for t in totals]


def _given(check: Check, output_shape: TensorType, spatial: int) -> list[Dimension]:
    """Check C6; return the extents given by output_shape, or unknown dimensions."""
    if not has_rank(check, "C6", output_shape, 1, "output_shape"):
        return [Dimension(-1)] * spatial
    known = output_shape.known
    count = (
        Dimension(len(known)) if known is not None else output_shape.shape[0] if output_shape.rank else Dimension(-1)
    )
    message = f"output_shape has {count} values, expected one for each of the {spatial} spatial axes"
    if not check("C6", count.compatible(spatial), message, port="output_shape", allowed=str(spatial)) or known is None:
        return [Dimension(-1)] * spatial
    if not in_range(check, "C6", "output_shape", known, 0):
        return [Dimension(-1)] * spatial
    return [dimension_of(v) for v in known]


def _declare(convolution: Operator, leading: int) -> None:
    """Declare the rules of a convolution whose kernel has `leading` axes before the spatial axes."""

    @convolution.multiply_adds
    def _(outputs: Sequence[TensorType], data: TensorType, kernel: TensorType, output_shape: TensorType | None) -> int:
        """Return the number of products: the elements of data times the kernel's elements for one input channel."""
        return prod(data.shape.to_shape()) * prod(kernel.shape.to_shape()[leading - 1 :])

    @convolution.shapes
    def _(
        check: Check, data: TensorType, kernel: TensorType, output_shape: TensorType | None, *, windows: Spreading
    ) -> PartialShape:
        spatial = spatial_rank(check, data, kernel, leading)
        padding = windows.output_padding
        if not check_windows(check, "C1", spatial, windows, output_padding=padding) or spatial is None:
            return PartialShape.dynamic(data.rank)
        d, k = with_rank(data, spatial + 2), with_rank(kernel, spatial + leading)
        if leading == 3:
            channels = grouped_channels(check, d, k[0], k[1]) * k[2]
        else:
            check_channels(check, d[1], k[0])
            channels = k[1]
        if output_shape is not None:
            return PartialShape([d[0], channels, *_given(check, output_shape, spatial)])
        strides, dilations, begins, ends = windows.for_rank(spatial)
        extents: list[Dimension] = []
        for axis in range(spatial):
            extent, size, s = d[2 + axis], k[leading + axis], strides[axis]
            if not check("C3", size.max != 0, f"the kernel has no pixels along spatial axis {axis}", port="kernel"):
                return PartialShape.dynamic(data.rank)
            spare = begins[axis] + ends[axis] - (padding[axis] if padding else 0)
            least = (extent.min - 1) * s + dilated(max(size.min, 1), dilations[axis])
            most = None
            if extent.max is not None and size.max is not None:
                most = (extent.max - 1) * s + dilated(size.max, dilations[axis])
            full = f"{least}.." if most is None else least if least == most else f"{least}..{most}"
            message = f"the padding removes {spare} pixels of spatial axis {axis}, expected less than {full}"
            check("C5", most is None or most > spare, message, found=str(spare), allowed=f"below {full}")
            extents.append(Dimension(max(least - spare, 1), None if most is None else max(most - spare, 1)))
        return PartialShape([d[0], channels, *extents])


_declare(convolution_backprop_data_1, 2)
_declare(group_convolution_backprop_data_1, 3)


@convolution_backprop_data_1.oracle.draw("output_shape")
@group_convolution_backprop_data_1.oracle.draw("output_shape")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    data = types["data"].shape.to_shape()
    dtype = types[port].element_type.dtype
    return np.asarray([int(rng.integers(e, 2 * e + 3)) for e in data[2:]], dtype)
