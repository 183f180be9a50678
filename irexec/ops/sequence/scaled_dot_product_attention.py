"""ScaledDotProductAttention: softmax(query · keyᵀ · scale + mask) · value.

Source: operation page ScaledDotProductAttention-13. The result of a completely masked row is NaN, as by the page's
formula. `sink`, which is not on the page, is OpenVINO's sixth input: one more column of scores in the softmax, omitted
from the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.threads.parallel import parallel_for, parts_for, scratch, split
from irexec.core.types import BOOLEAN, DYNAMIC, FLOATS, Array, Dimension, PartialShape, TensorType, common_shape
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.operator import Check, Elements, operator, require, rounded
from irexec.ops.spec.oracle import Deviation
from irexec.ops.spec.tensors import FloatTensor

MASK: TypeAlias = Annotated[Array, Elements("T_MASK", FLOATS | {BOOLEAN})]

# The size of the scores of one block of queries, which stay in a core's second-level cache.
BLOCK_BYTES = 1 << 20


@operator("ScaledDotProductAttention", "opset13", tolerance=rounded(64))
def scaled_dot_product_attention_13(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    attention_mask: MASK | None = None,
    scale: FloatTensor | None = None,
    sink: FloatTensor | None = None,
    /,
    *,
    causal: bool,
    out: Array | None = None,
) -> FloatTensor:
    """Attention of `query` `[N, ..., L, E]` over `key` `[N, ..., S, E]` and `value` `[N, ..., S, Ev]`.

    `attention_mask` `[N, ..., L or 1, S]` is added to the scores, or (boolean) selects the allowed scores; a scalar 0
    means no mask, and `causal` replaces it. `scale` replaces 1 / sqrt(E).

    C1: query has rank 3 or more. C2: key has rank 3 or more and the same E as query. C3: value has rank 3 or more and
    the same S as key. C4: attention_mask is a scalar 0 or has rank 2 or more, fitting L and S, and is of type T or
    boolean. C5: scale has one element. C6: the batch dimensions broadcast. C7: sink broadcasts to a column of the
    scores, [N, ..., L, 1].
    """
    if attention_mask is not None and attention_mask.ndim == 0 and not causal:
        check_scalar_mask(require, attention_mask.item())
    dtype = compute_dtype(query.dtype)
    batch = common_batch(query, key, value)
    length, embedding, sources = query.shape[-2], query.shape[-1], key.shape[-2]
    mask = None if causal or attention_mask is None or attention_mask.ndim == 0 else attention_mask
    if mask is not None:
        batch = common_batch(query, key, value, mask)
    target = summing_buffer((*batch, length, value.shape[-1]), dtype, out)
    factor = dtype.type(1 / sqrt(max(embedding, 1))) if scale is None else scale.reshape(()).astype(dtype)
    q, k, v = (np.broadcast_to(x.astype(dtype, copy=False), (*batch, *x.shape[-2:])) for x in (query, key, value))
    m = None if mask is None else np.broadcast_to(mask, (*batch, length, sources))
    s = None if sink is None else np.broadcast_to(sink.astype(dtype), (*batch, length, 1))
    # Scaling, masking and exponentiating a score cost about as much as 32 multiply-adds.
    work = prod(batch) * length * sources * (embedding + value.shape[-1] + 32)
    tasks = _blocks(batch, length, sources * dtype.itemsize, parts_for(work))

    def task(index: int) -> None:
        place, rows = tasks[index]
        queries = q[place][:, rows]
        heads, steps = queries.shape[:2]
        scaled = np.multiply(queries, factor, out=scratch("scaled", queries.shape, dtype))
        scores = scratch("scores", (heads, steps, sources), dtype)
        np.matmul(scaled, k[place].swapaxes(1, 2), out=scores)
        if causal:
            np.copyto(scores, -np.inf, where=np.arange(sources) > np.arange(length)[rows, None])
        elif m is not None:
            part = m[place][:, rows]
            if part.dtype == np.bool_:
                np.copyto(scores, -np.inf, where=~part)
            else:
                np.add(scores, part, out=scores)
        extra = None if s is None else s[place][:, rows]
        total = _softmax(scores, extra)
        result = target[place][:, rows]
        np.matmul(scores, v[place], out=result)
        np.divide(result, total, out=result)

    if target.size:
        parallel_for(len(tasks), task)
    return settle(target, query.dtype, out)


def _softmax(scores: Array, extra: Array | None) -> Array:
    """Replace the scores s by e^(s - maximum of the row) in place; return the divisors of the rows."""
    highest = scores.max(axis=2, keepdims=True, initial=-np.inf)
    if extra is not None:
        np.maximum(highest, extra, out=highest)
    np.subtract(scores, highest, out=scores)
    np.exp(scores, out=scores)
    total: Array = np.add.reduce(scores, axis=2, keepdims=True)
    if extra is not None:
        total += np.exp(extra - highest)
    return total


def _blocks(batch: tuple[int, ...], length: int, row_bytes: int, parts: int) -> list[tuple[tuple[Any, ...], slice]]:
    """Return (position in the batch, range of queries) of each block: heads of the last batch axis, or rows of one
    head.
    """
    images, heads = batch[:-1], batch[-1]
    wanted = -(-parts // max(prod(images), 1))
    fitting = max(1, BLOCK_BYTES // max(1, row_bytes * length))
    head_parts = split(heads, max(-(-heads // fitting), min(wanted, heads)))
    rows_fitting = max(1, BLOCK_BYTES // max(1, row_bytes))
    row_parts = split(length, max(-(-length // rows_fitting), -(-wanted // len(head_parts))))
    return [
        ((*image, slice(*part)), slice(*rows))
        for image in np.ndindex(*images)
        for part in head_parts
        for rows in row_parts
    ]


def common_batch(*tensors: Array) -> tuple[int, ...]:
    """Return the batch dimensions of all inputs after broadcasting."""
    batch = common_shape(*(t.shape[:-2] for t in tensors))
    assert batch is not None
    return batch


def check_scalar_mask(check: Check, mask: Any) -> None:
    message = f"the scalar attention_mask is {mask}, expected the number 0"
    check("C4", mask == 0, message, port="attention_mask", allowed="0")


@scaled_dot_product_attention_13.shapes
def _(
    check: Check,
    query: TensorType,
    key: TensorType,
    value: TensorType,
    attention_mask: TensorType | None,
    scale: TensorType | None,
    sink: TensorType | None,
    *,
    causal: bool,
) -> PartialShape:
    inputs = (("C1", "query", query), ("C2", "key", key), ("C3", "value", value))
    for constraint, name, tensor in inputs:
        if not has_rank(check, constraint, tensor, AnyRank[3:], name):
            return PartialShape.dynamic()
    (batch_q, length, embedding), (batch_k, sources, width), (batch_v, steps, values) = map(_split, (query, key, value))
    ok = embedding.compatible(width)
    message = f"key has E = {width}, expected {embedding} as in query"
    check("C2", ok, message, port="key", found=str(width), allowed=str(embedding))
    merged = sources.merge(steps)
    message = f"value has S = {steps}, expected {sources} as in key"
    check("C3", merged is not None, message, port="value", found=str(steps), allowed=str(sources))
    if scale is not None and scale.rank is not None:
        one = scale.shape.size.contains(1)
        check("C5", one, f"scale has shape {scale.shape}, expected one element", port="scale", found=str(scale.shape))
    shapes = [("query", batch_q), ("key", batch_k), ("value", batch_v)]
    if attention_mask is not None and not causal:
        _check_mask(check, query, attention_mask, length, merged or sources)
        if attention_mask.rank is not None and attention_mask.rank > 2:
            shapes.append(("attention_mask", attention_mask.shape[:-2]))
    batch = PartialShape(())
    for name, shape in shapes:
        together = batch.broadcast(shape)
        message = f"the batch {shape} of {name} does not broadcast with {batch}"
        if not check("C6", together is not None, message, port=name, found=str(shape)) or together is None:
            return PartialShape.dynamic(query.rank)
        batch = together
    if batch.rank is None:
        return batch
    if sink is not None:
        column = PartialShape([*batch, length, 1])
        together = sink.shape.broadcast(column)
        message = f"sink has shape {sink.shape}, which does not broadcast to {column}"
        fits = together is not None and together.compatible(column)
        check("C7", fits, message, port="sink", found=str(sink.shape), allowed=str(column))
    return PartialShape([*batch, length, values])


def _check_mask(check: Check, query: TensorType, mask: TensorType, length: Dimension, sources: Dimension) -> None:
    """Report a mask of a wrong type, or a mask that does not fit L and S (C4)."""
    kinds = {BOOLEAN, query.element_type}
    message = f"attention_mask is {mask.element_type}, expected boolean or {query.element_type}"
    ok = mask.element_type in kinds or DYNAMIC in (mask.element_type, query.element_type)
    check(
        "C4", ok, message, port="attention_mask", found=str(mask.element_type), allowed=f"boolean, {query.element_type}"
    )
    if mask.rank is None:
        return
    if mask.rank == 0:
        if mask.element_type is BOOLEAN or mask.scalar is not None:
            check_scalar_mask(check, mask.scalar if mask.element_type is not BOOLEAN else "boolean")
        return
    message = f"attention_mask has shape {mask.shape}, expected [..., {length} or 1, {sources}]"
    fits = mask.rank >= 2 and all(
        mask.shape[axis].compatible(extent) or mask.shape[axis].contains(1)
        for axis, extent in ((-2, length), (-1, sources))
    )
    check("C4", fits, message, port="attention_mask", found=str(mask.shape))


@scaled_dot_product_attention_13.multiply_adds
def _(outputs: Sequence[TensorType], query: TensorType, key: TensorType, value: TensorType, *others: object) -> int:
    """Return the products of the scores of every query with every key, and of the weighted sums of values."""
    rows, sources = prod(outputs[0].shape.to_shape()[:-1]), key.shape.to_shape()[-2]
    return rows * sources * (query.shape.to_shape()[-1] + value.shape.to_shape()[-1])


@scaled_dot_product_attention_13.oracle.deviates("query", "key", "attention_mask")
def _(
    query: TensorType,
    key: TensorType,
    value: TensorType,
    attention_mask: TensorType | None,
    scale: TensorType | None,
    sink: TensorType | None,
) -> Deviation | None:
    (_, length, _), (_, sources, _) = map(_split, (query, key))
    if attention_mask is None or attention_mask.rank is None or attention_mask.rank < 2:
        return None
    if not any(
        extent == 1 and not mask.contains(1)
        for mask, extent in zip(attention_mask.shape[-2:], (length, sources), strict=True)
    ):
        return None
    return Deviation(
        "rejects a mask with more rows or columns than the scores, as its page requires; OpenVINO repeats a "
        "single query or key for it",
        accepts=True,
    )


def _split(tensor: TensorType) -> tuple[PartialShape, Dimension, Dimension]:
    """Return the shape as (batch, rows, columns)."""
    if tensor.rank is None:
        return PartialShape.dynamic(), Dimension(-1), Dimension(-1)
    return tensor.shape[:-2], tensor.shape[-2], tensor.shape[-1]


@scaled_dot_product_attention_13.oracle.draw("scale")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw a scale between 0.1 and 1."""
    shape = types[port].shape.to_shape()
    return np.full(shape, rng.uniform(0.1, 1), types[port].element_type.dtype)


@scaled_dot_product_attention_13.oracle.draw("attention_mask")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw a mask: a scalar is 0, and in a boolean mask every query may use the first key."""
    kind, shape = types[port].element_type, types[port].shape.to_shape()
    if not shape:
        return np.zeros((), kind.dtype)
    if kind is not BOOLEAN:
        return None
    mask = rng.random(shape) < 0.7
    mask[..., :1] = True
    return mask
