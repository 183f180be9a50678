"""BinaryConvolution: a convolution of zeros and ones, where equal bits count 1 and different bits -1.

Source: operation page BinaryConvolution-1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.records import replace
from irexec.core.types import U1, Array, PartialShape, TensorType
from irexec.ops.compute.products import settle
from irexec.ops.convolution.convolution import Convolve
from irexec.ops.rules.shapes import has_rank
from irexec.ops.rules.windows import Windowing, Windows, check_windows, output_dims
from irexec.ops.spec.operator import Check, Elements, operator
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import NumericTensor1

T2: TypeAlias = Annotated[Array, Elements("T2", {U1})]


@operator("BinaryConvolution", "opset1")
def binary_convolution_1(
    data: NumericTensor1, kernel: T2, /, *, windows: Windowing, mode: Literal["xnor-popcount"], pad_value: float
) -> NumericTensor1:
    """2 * P - B, if P of the B bits of `kernel` `[C_OUT, C_IN, Y, X]` equal the bits of `data` `[N, C_IN, Y, X]` that
    they cover.

    Padding consists of `pad_value`, converted to data's type; a value other than 0 and 1 equals no bit.

    C1: strides, pads and dilations have two values. C2: data has rank 4. C3: the kernel has rank 4. C4: data and kernel
    have the same C_IN. C5: the kernel, dilated, fits into the padded data.
    """
    placed = Windows.over(data.shape[2:], kernel.shape[2:], windows)
    margin = [(0, 0), (0, 0), *zip(placed.begins, placed.ends, strict=True)]
    padded = np.pad(data, margin, constant_values=np.asarray(pad_value).astype(data.dtype))
    ones = np.concatenate([padded == 1, padded == 0], axis=1).astype(np.float32)
    bits = np.concatenate([kernel, 1 - kernel], axis=1).astype(np.float32)
    unpadded = replace(windows, pads_begin=(), pads_end=(), auto_pad="explicit")
    equal = Convolve(bits[None], ones.dtype, unpadded)(ones)[:, :, : placed.counts[0], : placed.counts[1]]
    return settle(2 * equal - float(np.prod(kernel.shape[1:])), data.dtype)


@binary_convolution_1.shapes
def _(check: Check, data: TensorType, kernel: TensorType, *, windows: Windowing) -> PartialShape:
    ranks = has_rank(check, "C2", data, 4, "data") & has_rank(check, "C3", kernel, 4, "kernel")
    if not ranks or not check_windows(check, "C1", 2, windows):
        return PartialShape.dynamic(4)
    d, k = (t.shape if t.rank is not None else PartialShape.dynamic(4) for t in (data, kernel))
    message = f"the kernel has {k[1]} input channels, expected {d[1]} as in data"
    check("C4", d[1].compatible(k[1]), message, port="kernel", found=str(k[1]), allowed=str(d[1]))
    return PartialShape([d[0], k[0], *output_dims(check, "C5", d.dims[2:], k.dims[2:], windows)])


@binary_convolution_1.multiply_adds
def _(outputs: Sequence[TensorType], data: TensorType, kernel: TensorType) -> int:
    return prod(outputs[0].shape.to_shape()) * prod(kernel.shape.to_shape()[1:])


@binary_convolution_1.oracle.undefined_for
def _(data: Array, kernel: Array, *, windows: Windowing, pad_value: float) -> Undefined:
    """Return True for data or padding other than 0 and 1. Padding with 0 is defined: the page interprets these bits as
    -1, as does OpenVINO's reference implementation; its CPU plugin omits the padding from the sum.
    """
    placed = Windows.over(data.shape[2:], kernel.shape[2:], windows)
    padded = any(n for n in (*placed.begins, *placed.ends))
    return bool((padded and pad_value not in (0, 1)) or ((data != 0) & (data != 1)).any())


@binary_convolution_1.oracle.draw("data", "kernel")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw zeros and ones."""
    return rng.integers(0, 2, types[port].shape.to_shape()).astype(types[port].element_type.dtype)


binary_convolution_1.oracle.allowed = Allowed(composes=False)
