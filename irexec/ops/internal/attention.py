"""Attention of language models as the CPU plugin fuses it: rotary positions, attention with a cache, causal masks.

Source: OpenVINO's classes ov::op::internal::RoPE, ov::intel_cpu::ScaledDotProductAttentionWithKVCache and
CausalMaskPreprocessNode.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from irexec.core.types import F32, INDICES, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.sequence.scaled_dot_product_attention import scaled_dot_product_attention_13
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.tensors import EachOrDynamicTensor, FloatTensor


@operator("RoPE", "ie_internal_opset", tolerance=rounded(16))
def rope(
    x: FloatTensor,
    /,
    *tables: EachOrDynamicTensor,
    slice_start: Annotated[int, AsRead("config.slice_start")] = 0,
    slice_stop: Annotated[int, AsRead("config.slice_stop")] = 0,
    input_trans0213: Annotated[bool, AsRead("config.input_trans0213")] = False,
    output_trans0213: Annotated[bool, AsRead("config.output_trans0213")] = False,
    is_interleaved: Annotated[bool, AsRead("config.is_interleaved")] = False,
    rotary_ndims: Annotated[int, AsRead("config.rotary_ndims")] = 0,
    cos_sin_ndims: Annotated[int, AsRead("config.cos_sin_ndims")] = 0,
    is_chatglm: Annotated[bool, AsRead("config.is_chatglm")] = False,
    support_2d_rope: Annotated[bool, AsRead("config.support_2d_rope")] = False,
    support_3d_rope: Annotated[bool, AsRead("config.support_3d_rope")] = False,
    is_qwen: Annotated[bool, AsRead("config.is_qwen")] = False,
    is_ltx_video: Annotated[bool, AsRead("config.is_ltx_video")] = False,
    use_rope_cache: Annotated[bool, AsRead("config.use_rope_cache")] = False,
    head_cnt: Annotated[int, AsRead("config.head_cnt")] = 0,
    head_size: Annotated[int, AsRead("config.head_size")] = 0,
    gather_position_arg_id: Annotated[int, AsRead("config.gather_position_arg_id")] = 0,
) -> FloatTensor:
    """Rotate pairs of the last axis of `x` by the angles whose cosines and sines `tables` contain.

    The pairs are (i, i + `rotary_ndims` / 2), or neighbours (`is_interleaved`, with one table of sines followed by
    cosines); elements beyond `rotary_ndims` are copied. C1: the layouts of ChatGLM, Qwen and LTX-Video,
    positions in two or three dimensions, and a cache of the tables are not supported.
    """
    wide = widen(x)
    if slice_stop > slice_start:
        wide = wide[..., slice_start:slice_stop]
    half = rotary_ndims // 2
    if is_interleaved:
        sin_cos = widen(tables[0])
        sin, cos = sin_cos[..., :half], sin_cos[..., half:rotary_ndims]
        while sin.ndim < wide.ndim:
            sin, cos = sin[:, :, None], cos[:, :, None]
        first, second = wide[..., 0:rotary_ndims:2], wide[..., 1:rotary_ndims:2]
        turned = np.stack([cos * first - sin * second, cos * second + sin * first], -1)
        turned = turned.reshape(*turned.shape[:-2], rotary_ndims)
    else:
        if input_trans0213:
            wide = np.swapaxes(wide, 1, 2)
        cos, sin = (widen(table) for table in tables[:2])
        if gather_position_arg_id:
            cos, sin = (_gathered(table, tables[gather_position_arg_id - 1]) for table in (cos, sin))
        first, second = wide[..., :half], wide[..., half:rotary_ndims]
        upper = slice(None, half) if cos.shape[-1] == half else slice(half, rotary_ndims)
        lower = slice(None, half)
        turned = np.concatenate(
            [
                cos[..., lower] * first - sin[..., lower] * second,
                cos[..., upper] * second + sin[..., upper] * first,
            ],
            -1,
        )
    rest = np.broadcast_to(wide[..., rotary_ndims:], (*turned.shape[:-1], wide.shape[-1] - rotary_ndims))
    result = np.concatenate([turned, rest], -1)
    return narrow(np.swapaxes(result, 1, 2) if output_trans0213 else result, x.dtype)


def _gathered(table: Array, positions: Array) -> Array:
    """Return the rows of a table at these positions, `[batch, length]` or `[batch, heads, length, 1]`."""
    rows = table.reshape(-1, table.shape[-1])
    return rows[positions[..., 0]] if positions.ndim == 4 else rows[positions][:, None]


@rope.shapes
def _(
    check: Check,
    x: TensorType,
    *tables: TensorType | None,
    slice_start: int,
    slice_stop: int,
    input_trans0213: bool,
    output_trans0213: bool,
    is_chatglm: bool,
    support_2d_rope: bool,
    support_3d_rope: bool,
    is_qwen: bool,
    is_ltx_video: bool,
    use_rope_cache: bool,
) -> PartialShape:
    special = {
        "is_chatglm": is_chatglm,
        "support_2d_rope": support_2d_rope,
        "support_3d_rope": support_3d_rope,
        "is_qwen": is_qwen,
        "is_ltx_video": is_ltx_video,
        "use_rope_cache": use_rope_cache,
    }
    for name, given in special.items():
        check("C1", not given, f"the layout that {name} selects is not supported", attribute=name)
    if x.rank is None:
        return PartialShape.dynamic()
    dims: list[Dimension] = [*x.shape]
    if slice_stop > slice_start:
        dims[-1] = Dimension(slice_stop - slice_start)
    if input_trans0213 or output_trans0213:
        dims[1], dims[2] = dims[2], dims[1]
    return PartialShape(dims)


@operator("ScaledDotProductAttentionWithKVCache", "cpu_plugin_opset", tolerance=rounded(64))
def attention_with_cache(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    /,
    *others: EachOrDynamicTensor,
    output_BLHxS: Annotated[bool, AsRead("config.output_BLHxS")] = False,
    fuse_causal_attn: Annotated[bool, AsRead("config.fuse_causal_attn")] = False,
    is_causal: Annotated[bool, AsRead("config.is_causal")] = False,
    fuse_concat: Annotated[bool, AsRead("config.fuse_concat")] = False,
    permute_axes: Annotated[tuple[int, ...], AsRead("config.permute_axes")] = (),
) -> tuple[FloatTensor, FloatTensor, FloatTensor]:
    """Attention over the cached and the new keys and values, and the new caches.

    `others` ends with the beams, which select batches of the caches, the cached keys and the cached values; before
    them are a mask and a scale, if any. `permute_axes` leads from the layout of all inputs to [N, H, L, S].
    """
    beams, past_key, past_value = others[-3:]
    axes = permute_axes or tuple(range(query.ndim))
    length = axes[-2]
    keys, values = (
        np.concatenate([past[beams].astype(new.dtype), new], axis=length) if past.shape[length] else new
        for past, new in ((past_key, key), (past_value, value))
    )
    q, k, v = (np.transpose(array, axes) for array in (query, keys, values))
    groups = q.shape[-3] // k.shape[-3]
    if groups > 1:
        k, v = (np.repeat(array, groups, axis=-3) for array in (k, v))
    mask, scale, causal = (others[0] if len(others) > 3 else None), (others[1] if len(others) > 4 else None), is_causal
    if mask is not None and mask.ndim and mask.dtype == np.uint8:
        mask = mask != 0
    if fuse_causal_attn:
        rows = np.arange(q.shape[-2])[:, None] + k.shape[-2] - q.shape[-2]
        future = np.where(np.arange(k.shape[-2]) > rows, -np.inf, 0).astype(np.float32)
        mask = future if mask is None or not mask.ndim else future + mask
    result = scaled_dot_product_attention_13.kernel(
        q, k, v, None if mask is None else mask, None if scale is None else scale.astype(q.dtype), causal=causal
    )
    return result, keys.astype(past_value.dtype), values.astype(past_value.dtype)


@attention_with_cache.shapes
def _(
    check: Check,
    query: TensorType,
    key: TensorType,
    value: TensorType,
    *others: TensorType | None,
    permute_axes: tuple[int, ...],
) -> list[TensorType]:
    past = [other for other in others[-2:] if other is not None]
    if query.rank is None or len(past) < 2:
        return [TensorType(query.element_type), TensorType(), TensorType()]
    axes = permute_axes or tuple(range(query.rank))
    dims = [query.shape[axis] for axis in axes]
    if value.rank is not None:
        dims[-1] = value.shape[-1]
    caches = []
    for cache, new in zip(past, (key, value), strict=True):
        shape = PartialShape.dynamic()
        if cache.rank is not None and new.rank is not None:
            extents = [*new.shape]
            extents[axes[-2]] = cache.shape[axes[-2]] + new.shape[axes[-2]]
            shape = PartialShape(extents)
        caches.append(TensorType(past[1].element_type, shape))
    return [TensorType(query.element_type, PartialShape(dims)), *caches]


@operator("CausalMaskPreprocess", "cpu_plugin_opset")
def causal_mask_preprocess(
    attention_mask: Annotated[Array, Elements(None, INDICES)],
    batch: Annotated[Array, Elements(None, INDICES)],
    positions: Annotated[Array, Elements(None, INDICES)],
    length: Annotated[Array, Elements(None, INDICES)],
    /,
    *,
    type: str = "CausalMaskPreprocess",
) -> Annotated[Array, Elements("T_OUT", {F32})]:
    """A mask `[batch, 1, positions, length]`: 0 for allowed positions, and else the least number of f32."""
    columns = np.arange(int(length.reshape(-1)[0]))
    allowed = columns <= positions.reshape(-1, 1)
    shown = np.ones((int(batch.reshape(-1)[0]), 1, 1, columns.size), bool)
    known = min(attention_mask.shape[-1], columns.size)
    shown[..., :known] = attention_mask[:, None, None, :known] != 0
    return np.where(allowed & shown, np.float32(0), np.finfo(np.float32).min)


@causal_mask_preprocess.shapes
def _(check: Check, mask: TensorType, batch: TensorType, positions: TensorType, length: TensorType) -> PartialShape:
    count = positions.shape[0] if positions.rank == 1 else Dimension(-1)
    known = [Dimension(-1 if given.value is None else int(given.value.reshape(-1)[0])) for given in (batch, length)]
    return PartialShape([known[0], Dimension(1), count, known[1]])
