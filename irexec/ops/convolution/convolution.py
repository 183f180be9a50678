"""Convolution and GroupConvolution: kernels that slide over 1 to 3 spatial axes.

Source: operation pages Convolution-1, GroupConvolution-1. A stride or dilation of 0, which the page's range includes,
has no meaning and is rejected, as in OpenVINO.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.convolution.blocks import Runner, convolver
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import Windowing, Windows, check_windows, output_dims
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, NodeTypes, Operator, operator, summed
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import Bilinear, Convolution


@operator("Convolution", "opset1", Bilinear, Convolution(grouped=False), tolerance=summed(8))
def convolution_1(
    data: NumericTensor, kernel: NumericTensor, /, *, windows: Windowing, out: Array | None = None
) -> NumericTensor:
    """Cross-correlate `data` `[N, C_IN, *X]` with `kernel` `[C_OUT, C_IN, *K]`; the result is `[N, C_OUT, *Y]`.

    C1: strides, pads and dilations have one value per spatial axis. C2: data has rank 3, 4 or 5. C3: the kernel has
    data's rank. C4: data and kernel have the same C_IN. C5: the kernel, dilated, fits into the padded data.
    """
    return Convolve(kernel[None], data.dtype, windows)(data, out)


@operator("GroupConvolution", "opset1", Bilinear, Convolution(grouped=True), tolerance=summed(8))
def group_convolution_1(
    data: NumericTensor, kernel: NumericTensor, /, *, windows: Windowing, out: Array | None = None
) -> NumericTensor:
    """Convolve each group of channels of `data` `[N, G * C_IN, *X]` with its `kernel` `[G, C_OUT, C_IN, *K]`.

    C1, C2, C5 as in Convolution-1. C3: the kernel has one axis more than data. C4: data has G * C_IN channels.
    """
    return Convolve(kernel, data.dtype, windows)(data, out)


class Convolve:
    """A convolution with one kernel `[G, O, I, *K]`; values that depend on the shape of the data are kept per shape."""

    KEPT = 8

    def __init__(self, kernel: Array, dtype: np.dtype[Any], windows: Windowing) -> None:
        self.dtype, self.sums = dtype, sum_dtype(dtype, math.prod(kernel.shape[2:]))
        self.kernel = np.ascontiguousarray(kernel, self.sums)
        self.windows = windows
        self._prepared: dict[tuple[int, ...], tuple[tuple[int, ...], Runner]] = {}

    def __call__(self, data: Array, out: Array | None = None) -> Array:
        """Return the convolution, written to `out` if it is given."""
        # Other threads may execute this concurrently and clear the cache.
        if (found := self._prepared.get(data.shape)) is None:
            if len(self._prepared) >= self.KEPT:
                self._prepared.clear()
            found = self._prepared[data.shape] = self._prepare(data.shape)
        result, run = found
        target = summing_buffer(result, self.sums, out)
        run(data if data.dtype == self.sums else data.astype(self.sums), target)
        return settle(target, self.dtype, out)

    def _prepare(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], Runner]:
        """Return the shape of the result and the function for data of this shape."""
        weights, windows = without_idle_taps(self.kernel, shape, self.windows)
        result = (shape[0], weights.shape[0] * weights.shape[1], *windows.counts)
        return result, _zero if 0 in result or 0 in weights.shape else convolver(shape[0], weights, windows)


def without_idle_taps(kernel: Array, shape: tuple[int, ...], windowing: Windowing) -> tuple[Array, Windows]:
    """Return the kernel `[G, O, I, *K]` and its windows, without taps that are always over padding."""
    windows = Windows.over(shape[2:], kernel.shape[3:], windowing)
    trimmed = windows.trimmed()
    if trimmed is windows:
        return kernel, windows
    taps = [windows.taps(axis) for axis in range(kernel.ndim - 3)]
    return kernel[:, :, :, *(slice(t.start, t.stop) for t in taps)], trimmed


def _zero(data: Array, out: Array) -> Array:
    out[...] = 0
    return out


def _with_constant(kernel: Array, windows: Windowing) -> Callable[..., Array]:
    """Return the convolution with a constant kernel, laid out once."""
    convolve = Convolve(kernel, kernel.dtype, windows)
    return lambda data, kernel, /, *, out=None: convolve(data, out)


def _declare(convolution: Operator, leading: int) -> None:
    """Declare the rules of a convolution whose kernel has `leading` axes before the spatial axes."""

    @convolution.specialize
    def _(types: NodeTypes, *, windows: Windowing) -> Callable[..., Array] | None:
        kernel = types.constants[1]
        return None if kernel is None else _with_constant(kernel if leading == 3 else kernel[None], windows)

    @convolution.multiply_adds
    def _(outputs: Sequence[TensorType], data: TensorType, kernel: TensorType) -> int:
        """Return the number of products: the elements of the output times the kernel's elements for one output
        channel.
        """
        return math.prod(outputs[0].shape.to_shape()) * math.prod(kernel.shape.to_shape()[leading - 1 :])

    @convolution.shapes
    def _(check: Check, data: TensorType, kernel: TensorType, *, windows: Windowing) -> PartialShape:
        spatial = spatial_rank(check, data, kernel, leading)
        if not check_windows(check, "C1", spatial, windows) or spatial is None:
            return PartialShape.dynamic(data.rank)
        d, k = with_rank(data, spatial + 2), with_rank(kernel, spatial + leading)
        channels = grouped_channels(check, d, k[0], k[2]) * k[1] if leading == 3 else k[0]
        if leading == 2:
            check_channels(check, d[1], k[1])
        extents = output_dims(check, "C5", d.dims[2:], k.dims[leading:], windows)
        return PartialShape([d[0], channels, *extents])


_declare(convolution_1, 2)
_declare(group_convolution_1, 3)


def check_channels(check: Check, channels: Dimension, inputs: Dimension) -> None:
    """Check C4: data has as many channels as the kernel has input channels."""
    if channels.compatible(inputs):
        holds("C4")
    else:
        message = f"the kernel has {inputs} input channels, expected {channels} as in data"
        check("C4", False, message, port="kernel", found=str(inputs), allowed=str(channels))


def spatial_rank(check: Check, data: TensorType, kernel: TensorType, leading: int) -> int | None:
    """Check C2 and C3; return the number of spatial axes, None if it is not known or the ranks are wrong."""
    if not has_rank(check, "C2", data, (3, 4, 5), "data"):
        return None
    if data.rank is None:
        return kernel.rank - leading if kernel.rank is not None and 1 <= kernel.rank - leading <= 3 else None
    return data.rank - 2 if has_rank(check, "C3", kernel, data.rank - 2 + leading, "kernel") else None


def grouped_channels(check: Check, data: PartialShape, groups: Dimension, inputs: Dimension) -> Dimension:
    """Check C4; return the number of groups, from the kernel or else from data's channels."""
    expected = groups * inputs
    if data[1].compatible(expected):
        holds("C4")
    else:
        message = f"data has {data[1]} channels, expected {expected}: {groups} groups of {inputs} in the kernel"
        check("C4", False, message, port="kernel", found=str(data[1]), allowed=str(expected))
    if groups.is_dynamic and data[1].is_static and inputs.is_static and inputs.min:
        return Dimension(data[1].min // inputs.min)
    return groups


def with_rank(tensor: TensorType, rank: int) -> PartialShape:
    """Return the tensor's shape; if its rank is unknown, a dynamic shape of rank `rank`."""
    return tensor.shape if tensor.rank is not None else PartialShape.dynamic(rank)
