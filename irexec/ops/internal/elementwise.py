"""Elementwise operators of the CPU plugin and of its snippets.

Source: OpenVINO's classes ov::intel_cpu::PowerStaticNode, LeakyReluNode and SwishNode, and those of ov::snippets::op.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import DYNAMIC, F32, FLOATS, Array, ElementType, PartialShape, TensorType
from irexec.ops.activation.pointwise import swish_4
from irexec.ops.compute.casting import cast
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.shapes import Broadcasting, broadcast_shapes, same_as
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, rounded
from irexec.ops.spec.tensors import EachTensor, NumericTensor

OutType: TypeAlias = Annotated[ElementType, AsRead("out-type")]


def _typed(check: Check, data: TensorType, *, out_type: ElementType) -> TensorType:
    return data if out_type is DYNAMIC else TensorType(out_type, data.shape)


@operator("PowerStatic", "cpu_plugin_opset", shapes=_typed, tolerance=rounded(8))
def power_static(
    data: EachTensor, /, *, scale: float = 1.0, power: float = 1.0, shift: float = 0.0, out_type: OutType = DYNAMIC
) -> EachTensor:
    """(`data` * `scale` + `shift`) ** `power`."""
    return _result(_power(data, scale, power, shift), data, out_type)


@operator("LeakyRelu", "cpu_plugin_opset", shapes=_typed, tolerance=rounded(4))
def leaky_relu(data: EachTensor, /, *, negative_slope: float, out_type: OutType = DYNAMIC) -> EachTensor:
    """`data`, with negative elements multiplied by `negative_slope`."""
    wide = _floats(data)
    return _result(np.where(wide < 0, wide * wide.dtype.type(negative_slope), wide), data, out_type)


@operator("SwishCPU", "cpu_plugin_opset", shapes=same_as(), tolerance=rounded(16))
def swish_cpu(
    data: Annotated[Array, Elements("T", FLOATS)], /, *, alpha: float = 1.0
) -> Annotated[Array, Elements("T", FLOATS)]:
    """`data` / (1 + exp(-`alpha` * `data`))."""
    return swish_4.kernel(data, np.array(alpha, np.float32).astype(data.dtype))  # type: ignore[no-any-return]


@operator("PowerStatic", "SnippetsOpset", shapes=same_as(), tolerance=rounded(8))
def power_static_of_snippets(data: NumericTensor, /, *, power: float) -> NumericTensor:
    """`data` ** `power`."""
    return narrow(_power(data, 1.0, power, 0.0), data.dtype)


@operator("ConvertTruncation", "SnippetsOpset", shapes=same_as())
def convert_truncation(
    data: EachTensor, /, *, destination_type: ElementType
) -> Annotated[Array, TypeFrom("destination_type")]:
    """`data` in another type; integers wrap."""
    return cast(data, ElementType.of(data.dtype), destination_type)


@operator("ConvertSaturation", "SnippetsOpset", shapes=same_as())
def convert_saturation(
    data: EachTensor, /, *, destination_type: ElementType
) -> Annotated[Array, TypeFrom("destination_type")]:
    """`data` in another type; values outside the range of an integer type become its limit."""
    if destination_type.is_integral_number and destination_type.dtype is not None:
        limits = np.iinfo(destination_type.dtype)
        data = np.clip(np.rint(_floats(data)), limits.min, limits.max)
    return cast(data, ElementType.of(data.dtype), destination_type)


@operator("FusedMulAdd", "SnippetsOpset", tolerance=rounded(4))
def fused_mul_add(a: NumericTensor, b: NumericTensor, c: NumericTensor, /) -> NumericTensor:
    """`a` * `b` + `c`, rounded once."""
    wide = a.astype(np.float64) * b + c
    return wide.astype(a.dtype)


@fused_mul_add.shapes
def _(check: Check, a: TensorType, b: TensorType, c: TensorType) -> PartialShape:
    product = broadcast_shapes(check, a.shape, b.shape, Broadcasting())
    return broadcast_shapes(check, product, c.shape, Broadcasting(), "c")


def _power(data: Array, scale: float, power: float, shift: float) -> Array:
    wide = _floats(data)
    kind = wide.dtype.type
    with np.errstate(all="ignore"):
        moved = wide * kind(scale) + kind(shift)
        return np.asarray(moved if power == 1 else np.power(moved, kind(power)))


def _floats(data: Array) -> Array:
    kind = ElementType.of(data.dtype)
    return np.asarray(widen(data) if kind.is_real else cast(data, kind, F32))


def _result(wide: Array, data: Array, kind: ElementType) -> Array:
    wanted = ElementType.of(data.dtype) if kind is DYNAMIC else kind
    return cast(wide, ElementType.of(wide.dtype), wanted)
