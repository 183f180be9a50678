"""Parts of language models that the CPU plugin runs as one layer: projections, gated products, compressed tables.

Source: OpenVINO's classes ov::intel_cpu::LLMMLPNode and QKVProjectionNode, and ov::op::internal::GatherCompressed.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from irexec.core.types import FLOATS, I64, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.casting import cast
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.internal.fully_connected import decompressed
from irexec.ops.matrix.matmul import matmul_1
from irexec.ops.movement.gather import gather_8
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.tensors import EachIndexTensor, EachTensor, FloatTensor


@operator("LLMMLP", "cpu_plugin_opset", tolerance=rounded(64))
def gated_mlp(
    x: FloatTensor,
    gate: EachTensor,
    up: EachTensor,
    down: EachTensor,
    /,
    *scales: EachTensor,
    act: Annotated[Literal["SILU", "GELU"], AsRead("config.act")] = "SILU",
    gate_up_quantized: Annotated[bool, AsRead("config.gate_up_quantized")] = False,
    down_quantized: Annotated[bool, AsRead("config.down_quantized")] = False,
    hidden_size: Annotated[int, AsRead("config.hidden_size")] = 0,
    up_size: Annotated[int, AsRead("config.up_size")] = 0,
    gate_up_type: Annotated[
        Literal["SEPARATE", "COMBINED_GATE_UP", "COMBINED_UP_GATE"], AsRead("config.gate_up_type")
    ] = "SEPARATE",
) -> FloatTensor:
    """(act(`x` · `gate`ᵀ) * (`x` · `up`ᵀ)) · `down`ᵀ; `scales` belong to quantized weights.

    Combined weights contain the rows of both, in the order of their name.
    """
    if gate_up_type != "SEPARATE":
        first, second = slice(None, up_size), slice(up_size, None)
        gate, up = (gate[first], gate[second]) if gate_up_type == "COMBINED_GATE_UP" else (gate[second], gate[first])
    left = [*scales]
    factors = [left.pop(0) if given else None for given in (gate_up_quantized, gate_up_quantized, down_quantized)]
    wide = widen(x)
    opened, raised = (_times(wide, weights, scale) for weights, scale in zip((gate, up), factors, strict=False))
    return narrow(_times(_activated(opened, act) * raised, down, factors[2]), x.dtype)


def _activated(x: Array, act: str) -> Array:
    with np.errstate(over="ignore"):
        if act == "SILU":
            return np.asarray(x / (1 + np.exp(-x)))
        return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))


def _times(x: Array, weights: Array, scales: Array | None) -> Array:
    rows = None if scales is None else scales.reshape(-1, 1)
    matrix = decompressed(weights, rows, None).astype(x.dtype, copy=False)
    return np.asarray(matmul_1.kernel(x, matrix, transpose_b=True))


@gated_mlp.shapes
def _(
    check: Check, x: TensorType, gate: TensorType, up: TensorType, down: TensorType, *scales: TensorType | None
) -> PartialShape:
    return _with_last(x, down.shape[0] if down.rank == 2 else Dimension(-1))


@operator("QKVProjection", "cpu_plugin_opset", tolerance=rounded(32))
def qkv_projection(
    x: FloatTensor,
    query: EachTensor,
    key: EachTensor,
    value: EachTensor,
    /,
    *scales: EachTensor,
    quantized: Annotated[bool, AsRead("config.quantized")] = False,
    hidden_size: Annotated[int, AsRead("config.hidden_size")] = 0,
    proj_size0: Annotated[int, AsRead("config.proj_size0")] = 0,
    proj_size1: Annotated[int, AsRead("config.proj_size1")] = 0,
    proj_size2: Annotated[int, AsRead("config.proj_size2")] = 0,
    weights_combined: Annotated[bool, AsRead("config.weights_combined")] = False,
) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """`x` · `query`ᵀ, `x` · `key`ᵀ and `x` · `value`ᵀ; combined weights contain the rows of all three."""
    weights = [query, key, value]
    if weights_combined:
        first, second = proj_size0, proj_size0 + proj_size1
        weights = [query[:first], query[first:second], query[second:]]
    factors: list[Array | None] = [*scales] if quantized else [None] * 3
    wide = widen(x)
    made = [narrow(_times(wide, *pair), x.dtype) for pair in zip(weights, factors, strict=True)]
    return made[0], made[1], made[2]


@qkv_projection.shapes
def _(
    check: Check,
    x: TensorType,
    query: TensorType,
    key: TensorType,
    value: TensorType,
    *scales: TensorType | None,
    proj_size0: int,
    proj_size1: int,
    proj_size2: int,
) -> list[PartialShape]:
    return [_with_last(x, Dimension(size)) for size in (proj_size0, proj_size1, proj_size2)]


def _with_last(x: TensorType, extent: Dimension) -> PartialShape:
    return PartialShape.dynamic() if x.rank is None else PartialShape([*[*x.shape][:-1], extent])


@operator("GatherCompressed", "ie_internal_opset", tolerance=rounded(4))
def gather_compressed(
    data: EachTensor,
    indices: EachTensor,
    axis: EachIndexTensor,
    scales: Annotated[Array, Elements("T", FLOATS)],
    zero_points: EachTensor | None = None,
    /,
    *,
    batch_dims: int = 0,
) -> FloatTensor:
    """Gather from (`data` - `zero_points`) * `scales`."""
    table = decompressed(data, scales, zero_points)
    found = gather_8.kernel(table, indices.astype(np.int64), axis, batch_dims=batch_dims)
    return cast(found, ElementType.of(found.dtype), ElementType.of(scales.dtype))


@gather_compressed.shapes
def _(
    check: Check,
    data: TensorType,
    indices: TensorType,
    axis: TensorType,
    scales: TensorType,
    zero_points: TensorType | None,
    **attributes: Any,
) -> PartialShape:
    places = TensorType(I64, indices.shape)
    made = gather_8.infer([TensorType(scales.element_type, data.shape), places, axis], attributes)
    return made[0].shape
