"""FullyConnected and its forms with compressed weights or quantized activations: products with a transposed matrix.

Source: OpenVINO's classes ov::op::internal::FullyConnected, FullyConnectedCompressed, FullyConnectedQuantizedLegacy
and FullyConnectedQuantized.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from irexec.core.types import DYNAMIC, F32, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.casting import cast
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.matrix.matmul import matmul_1
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.operator import Check, NodeTypes, operator, rounded
from irexec.ops.spec.tensors import EachOrDynamicTensor, EachTensor

# A constant of type dynamic and shape [0] is an input that is absent.
_OPSET = "ie_internal_opset"


@operator("FullyConnected", _OPSET, tolerance=rounded(32))
def fully_connected(
    x: EachTensor,
    weights: EachTensor,
    bias: EachOrDynamicTensor | None = None,
    /,
    *,
    output_type: ElementType = DYNAMIC,
) -> EachTensor:
    """`x` `[..., K]` times the transposed `weights` `[..., N, K]`, plus `bias` unless it is empty.

    C1: x has rank 1 or more. C2: weights have rank 2 or more and the same K as x.
    """
    return _product(x, widened(weights), bias, output_type)


@operator("FullyConnectedCompressed", _OPSET, tolerance=rounded(32))
def fully_connected_compressed(
    x: EachTensor,
    weights: EachTensor,
    bias: EachOrDynamicTensor,
    scales: EachOrDynamicTensor,
    zero_points: EachOrDynamicTensor | None = None,
    /,
    *,
    output_type: ElementType = DYNAMIC,
) -> EachTensor:
    """FullyConnected with the weights (`weights` - `zero_points`) * `scales`.

    Scales and zero points are one number, one for each row `[N, 1]`, or one for each group of a row: `[N, G]` or
    `[N, G, 1]`. C1 and C2 as FullyConnected.
    """
    return _product(x, decompressed(weights, scales, zero_points), bias, output_type)


@fully_connected_compressed.specialize
def _(types: NodeTypes, *, output_type: ElementType) -> Callable[..., Array] | None:
    """Decompress weights of a type that NumPy lacks, whose arrays contain codes."""
    kind = None if types.inputs[1] is None else types.inputs[1].element_type
    if kind is None or not kind.is_carried:
        return None

    def call(x: Array, codes: Array, *others: Array | None) -> Array:
        weights = cast(codes, kind, F32)
        return fully_connected_compressed.kernel(x, weights, *others, output_type=output_type)  # type: ignore[no-any-return]

    return call


@operator("FullyConnectedQuantizedLegacy", _OPSET, tolerance=rounded(32))
def fully_connected_quantized_legacy(
    x: EachTensor,
    weights: EachTensor,
    bias: EachOrDynamicTensor,
    scales: EachOrDynamicTensor,
    zero_points: EachOrDynamicTensor | None = None,
    /,
    *,
    output_type: ElementType = DYNAMIC,
) -> EachTensor:
    """FullyConnected of integers, multiplied by `scales` after the sum: (`x` - `zero_points`) · weightsᵀ * `scales`
    + `bias`. C1 and C2 as FullyConnected.
    """
    wide = widened(x) - widened(zero_points) if _is_given(zero_points) else widened(x)
    product = matmul_1.kernel(wide, widened(weights), transpose_b=True)
    if _is_given(scales):
        product = product * widened(scales)
    return _converted(product + widened(bias) if _is_given(bias) else product, output_type)


@operator("FullyConnectedQuantized", _OPSET, tolerance=rounded(32))
def fully_connected_quantized(
    x: EachTensor,
    weights: EachTensor,
    bias: EachOrDynamicTensor,
    weight_scales: EachOrDynamicTensor,
    weight_zero_points: EachOrDynamicTensor,
    input_scales: EachOrDynamicTensor,
    input_zero_points: EachOrDynamicTensor,
    output_scales: EachOrDynamicTensor,
    output_zero_points: EachOrDynamicTensor,
    /,
    *,
    output_type: ElementType = DYNAMIC,
) -> EachTensor:
    """FullyConnected of decompressed activations and weights, whose result is quantized again."""
    made = _product(
        decompressed(x, input_scales, input_zero_points),
        decompressed(weights, weight_scales, weight_zero_points),
        bias,
        F32,
    )
    if _is_given(output_scales):
        made = made / widened(output_scales)
    if _is_given(output_zero_points):
        made = made + widened(output_zero_points)
    return _converted(made, output_type)


def _shapes(
    check: Check, x: TensorType, weights: TensorType, *others: TensorType | None, output_type: ElementType
) -> TensorType:
    kind = x.element_type if output_type is DYNAMIC else output_type
    has_rank(check, "C1", x, AnyRank[1:], "x")
    has_rank(check, "C2", weights, AnyRank[2:], "weights")
    if x.rank is None or weights.rank is None:
        return TensorType(kind)
    wanted, columns = x.shape[-1], weights.shape[-1]
    check("C2", columns.compatible(wanted), f"weights have {columns} columns, expected {wanted}", port="weights")
    batch: list[Dimension] = [*x.shape][:-1]
    missing = max(weights.rank - 1 - len(batch), 0)
    return TensorType(kind, PartialShape([*[*weights.shape][:missing], *batch, weights.shape[-2]]))


for _operator in (
    fully_connected,
    fully_connected_compressed,
    fully_connected_quantized_legacy,
    fully_connected_quantized,
):
    _operator.shapes(_shapes)


def widened(array: Array) -> Array:
    """Return an array in a float type that its products are computed in."""
    kind = ElementType.of(array.dtype)
    return cast(array, kind, F32) if not kind.is_real else array.astype(compute_dtype(array.dtype), copy=False)


def decompressed(data: Array, scales: Array | None, zero_points: Array | None) -> Array:
    """Return (data - zero_points) * scales; both may be absent, one number, or given for groups of the last axis."""
    wide = widened(data)
    for factors, combine in ((zero_points, np.subtract), (scales, np.multiply)):
        if _is_given(factors):
            wide = _grouped(wide, widened(factors), combine)
    return wide


def _grouped(wide: Array, factors: Array, combine: np.ufunc) -> Array:
    if factors.size == 1:
        return np.asarray(combine(wide, factors.reshape(())))
    if factors.ndim == wide.ndim + 1:
        factors = factors[..., 0]
    if factors.ndim == wide.ndim and factors.shape[-1] not in (1, wide.shape[-1]):
        parts = wide.reshape(*wide.shape[:-1], factors.shape[-1], -1)
        return np.asarray(combine(parts, factors[..., None])).reshape(wide.shape)
    if factors.ndim == 1 and factors.size == wide.shape[-2] != wide.shape[-1]:
        factors = factors[:, None]
    return np.asarray(combine(wide, factors))


def _is_given(array: Array | None) -> TypeGuard[Array]:
    return array is not None and array.size > 0


def _product(x: Array, weights: Array, bias: Array | None, output_type: ElementType) -> Array:
    kind = output_type if output_type is not DYNAMIC else ElementType.of(x.dtype)
    wide = widened(x)
    product = matmul_1.kernel(wide, weights.astype(wide.dtype, copy=False), transpose_b=True)
    return _converted(product + widened(bias) if _is_given(bias) else product, kind)


def _converted(array: Array, kind: ElementType) -> Array:
    return array if kind is DYNAMIC else cast(array, ElementType.of(array.dtype), kind)
