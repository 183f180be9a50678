"""QuantizeLinear and DequantizeLinear of ONNX: numbers as integer multiples of a scale, per tensor, axis or block.

Source: ONNX operator pages QuantizeLinear-28, DequantizeLinear-28. NaN is quantized to the integer 0.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import (
    F4E2M1,
    F8E4M3,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0,
    FLOATS,
    I2,
    I4,
    I32,
    INTEGERS,
    U2,
    U4,
    Array,
    ElementType,
    PartialShape,
    TensorType,
)
from irexec.ops.compute.precision import compute_dtype, is_float
from irexec.ops.onnx.cast import cast_25
from irexec.ops.spec.attributes import NonNegative
from irexec.ops.spec.operator import Check, Elements, operator, require, rounded
from irexec.ops.spec.tensors import TensorOfTargetType
from irexec.ops.spec.traits import Dequantization, Quantizer, Steps

QUANTIZED = INTEGERS | {I2, U2, I4, U4, F8E4M3, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F4E2M1}
T_X: TypeAlias = Annotated[Array, Elements("T1", FLOATS | {I32})]
T_Q: TypeAlias = Annotated[Array, Elements("T1", QUANTIZED)]
T_SCALE: TypeAlias = Annotated[Array, Elements("T2", FLOATS | {I32, F8E8M0})]
T_ZERO: TypeAlias = Annotated[Array, Elements("T3", QUANTIZED)]


def spread(given: Array, shape: tuple[int, ...], axis: int, block: int) -> Array:
    """Return scales or zero points (per tensor, per axis or per block) in a form that broadcasts to `shape`.

    Raises ConstraintError C1 if they do not fit `shape`.
    """
    if given.size == 1 and given.ndim <= 1:
        return given.reshape(())
    require(
        "C1", -len(shape) <= axis < len(shape), f"axis is {axis}, expected {-len(shape)} to {len(shape) - 1}", port="x"
    )
    axis %= len(shape)
    if given.ndim == 1 and not block:
        fits = given.size == shape[axis]
        require(
            "C1",
            fits,
            f"there are {given.size} scales, expected one for each of the {shape[axis]} elements along axis {axis}",
            port="x",
        )
        return given.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    require(
        "C1", given.ndim == len(shape), f"the scales have rank {given.ndim}, expected {len(shape)} as in x", port="x"
    )
    size = block or -(-shape[axis] // max(given.shape[axis], 1))
    blocks = [-(-e // max(size, 1)) if i == axis else e for i, e in enumerate(shape)]
    require(
        "C1", list(given.shape) == blocks, f"the scales have shape {list(given.shape)}, expected {blocks}", port="x"
    )
    places = np.arange(shape[axis]) // max(size, 1)
    return np.take(given, places, axis)


@operator("QuantizeLinear", "onnx28", Quantizer, Steps)
def quantize_linear_28(
    x: T_X,
    y_scale: T_SCALE,
    y_zero_point: T_ZERO | None = None,
    /,
    *,
    to: ElementType,
    axis: int = 1,
    block_size: NonNegative = 0,
    saturate: bool = True,
    precision: ElementType | None = None,
) -> TensorOfTargetType:
    """`x` / `y_scale`, rounded half to even, plus `y_zero_point`, within the range of `to`.

    The quotient is rounded to the type `precision`, by default that of y_scale. C1: there is a scale for the tensor,
    for each element of `axis`, or for each block of `block_size` elements.
    """
    kind = (precision or ElementType.of(y_scale.dtype)).dtype
    assert kind is not None and to.dtype is not None
    wide = compute_dtype(kind) if is_float(kind) else np.dtype(np.float32)
    scale = spread(y_scale, x.shape, axis, block_size).astype(wide)
    with np.errstate(all="ignore"):
        ratio = (x.astype(wide) / scale).astype(kind if is_float(kind) else wide).astype(wide)
        if to.is_real:
            if y_zero_point is not None:
                ratio = ratio + spread(y_zero_point, x.shape, axis, block_size).astype(wide)
            result: Array = cast_25.kernel(ratio, to=to, saturate=saturate)
            return result
        whole = np.rint(np.nan_to_num(ratio, nan=0.0))
        if y_zero_point is not None:
            whole = whole + spread(y_zero_point, x.shape, axis, block_size).astype(np.int64)
        low, high = limits(to)
        return np.asarray(np.clip(whole, low, high)).astype(np.int64).astype(to.dtype)


def limits(kind: ElementType) -> tuple[int, int]:
    """Return the least and the greatest number of an integer type."""
    if kind.is_signed:
        return -(1 << (kind.bitwidth - 1)), (1 << (kind.bitwidth - 1)) - 1
    return 0, (1 << kind.bitwidth) - 1


@operator("DequantizeLinear", "onnx28", Dequantization, tolerance=rounded(1))
def dequantize_linear_28(
    x: T_Q,
    x_scale: T_SCALE,
    x_zero_point: T_Q | None = None,
    /,
    *,
    to: ElementType,
    axis: int = 1,
    block_size: NonNegative = 0,
) -> TensorOfTargetType:
    """(`x` - `x_zero_point`) * `x_scale`, in the type `to`. C1 as in QuantizeLinear."""
    assert to.dtype is not None
    scale = spread(x_scale, x.shape, axis, block_size)
    wide = compute_dtype(np.result_type(compute_dtype(to.dtype), compute_dtype(scale.dtype)))
    whole = x.astype(wide) if is_float(x.dtype) else x.astype(np.int64)
    if x_zero_point is not None:
        whole = whole - spread(x_zero_point, x.shape, axis, block_size).astype(whole.dtype)
    with np.errstate(all="ignore"):
        return np.asarray(whole.astype(wide) * scale.astype(wide)).astype(to.dtype)


@quantize_linear_28.shapes
def _(check: Check, x: TensorType, y_scale: TensorType, zero: TensorType | None, **attributes: Any) -> PartialShape:
    return x.shape


@dequantize_linear_28.shapes
def _(check: Check, x: TensorType, x_scale: TensorType, zero: TensorType | None, **attributes: Any) -> PartialShape:
    return x.shape
