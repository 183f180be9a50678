"""Gather: slices of a tensor along one axis, selected by indices.

Source: operation pages Gather-1, Gather-7, Gather-8. The pages of -1 and -7 allow no negative indices; OpenVINO and
irexec count them from the end, as in Gather-8.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from irexec.core.diagnostics.statements import GIVES_ZEROS
from irexec.core.types import F32, Array, PartialShape, TensorType
from irexec.ops.compute.half import widen_half
from irexec.ops.rules.axes import axis_of, drawn_below, filled, integer, into, known_axis, one_element, unreported
from irexec.ops.spec.constraints import Limits
from irexec.ops.spec.older import OlderForm, constant_indices_inside
from irexec.ops.spec.operator import Check, NodeTypes, Operator, operator, require
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis, IntegerIndices
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, Moving, Selection


@operator("Gather", "opset1", CarriesSizes, Homogeneous, Selection, Moving, as_stored="data")
def gather_1(data: AnyTensor, indices: IntegerIndices, axis: IntegerAxis, /, *, out: Array | None = None) -> AnyTensor:
    """Slices of `data` along `axis` (a scalar or one element), in the order of `indices` (any rank).

    Raises ConstraintError C1 for an index outside [-n, n - 1] where n is data.shape[axis], C2 for an axis outside
    [-rank, rank - 1]. Shape rule: C3 `axis` is a scalar or has one element.
    """
    result: Array = gather_7.compute(data, indices, axis, batch_dims=0, out=out)
    return result


@operator("Gather", "opset7", CarriesSizes, Homogeneous, Selection, Moving, as_stored="data")
def gather_7(
    data: AnyTensor, indices: IntegerIndices, axis: IntegerAxis, /, *, batch_dims: int = 0, out: Array | None = None
) -> AnyTensor:
    """As Gather-1, separately for each position in the first `batch_dims` dimensions, which `data` and `indices` share.

    Constraints beyond those of Gather-1: C4 batch_dims in [-r, r] with r the smaller rank, C5 batch_dims <= axis,
    C6 equal batch dimensions.
    """
    at, batch = _where(data.ndim, indices.ndim, axis, batch_dims)
    index = as_index(indices)
    check_range(require, index, at, data.shape[at])
    return _take(data, index, at, batch, out)


@operator("Gather", "opset8", CarriesSizes, Homogeneous, Selection, Moving, as_stored="data")
def gather_8(
    data: AnyTensor, indices: IntegerIndices, axis: IntegerAxis, /, *, batch_dims: int = 0, out: Array | None = None
) -> AnyTensor:
    """As Gather-7; an index outside [-n, n - 1] selects zeros.

    Constraints: as in Gather-7, except for C1.
    """
    at, batch = _where(data.ndim, indices.ndim, axis, batch_dims)
    count, index = data.shape[at], as_index(indices)
    if index.size == 0 or (index.min() >= -count and index.max() < count):
        return _take(data, index, at, batch, out)
    outside = (index < -count) | (index >= count)
    if data.size == 0:
        result: Array = np.zeros(data.shape[:at] + indices.shape[batch:] + data.shape[at + 1 :], data.dtype)
    else:
        result = _take(data, np.where(outside, 0, index), at, batch, None)
    # Add the axes before `at` and the axes after the indices to the mask, so that it broadcasts over them.
    mask = outside.reshape(outside.shape[:batch] + (1,) * (at - batch) + outside.shape[batch:])
    mask = mask.reshape(mask.shape + (1,) * (data.ndim - at - 1))
    return into(np.where(mask, np.zeros((), data.dtype), result), out)


@gather_8.older
def _(form: OlderForm, data: TensorType, indices: TensorType, axis: TensorType) -> None:
    """Refuse negative and out-of-range indices, which only Gather-8 defines."""
    inside = constant_indices_inside(form, data, "indices", "axis")
    form.need(inside, "an index is negative or may be outside of data")


@gather_7.older
def _(form: OlderForm, data: TensorType, indices: TensorType, axis: TensorType) -> None:
    form.need_attribute("batch_dims", 0)


def _where(rank: int, index_rank: int, axis: Array, batch_dims: int) -> tuple[int, int]:
    """Return `axis` and `batch_dims`, counted from the first axis."""
    at = axis_of("C2", integer(axis), rank, "axis")
    batch = batch_dims + index_rank if batch_dims < 0 else batch_dims
    _check_order(require, batch, at)
    return at, batch


def _check_order(check: Check, batch: int, at: int) -> bool:
    message = f"batch_dims is {batch}, expected at most the axis, which is {at}"
    return check("C5", batch <= at, message, attribute="batch_dims", allowed=f"at most {at}")


def check_range(check: Check, indices: Array, at: int, count: int) -> None:
    """Check C1: every index is within the extent `count` of the axis `at`."""
    if not indices.size:
        return
    low, high = int(indices.min()), int(indices.max())
    found, allowed = str(low if low < -count else high), f"[{-count}, {count - 1}]"
    message = f"index {found} is outside {allowed}; data.shape[{at}] is {count}"
    fits = -count <= low and high < count
    check("C1", fits, message, port="indices", found=found, allowed=allowed, openvino=GIVES_ZEROS)


def as_index(indices: Array) -> Array:
    """Return indices in NumPy's index type; larger values are clipped, as they are out of range for every tensor."""
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.intp).max))
    return indices.astype(np.intp, copy=False)


def _take(data: Array, index: Array, at: int, batch: int, out: Array | None) -> Array:
    """Apply np.take with batch dimensions; every index is in range."""
    if batch:
        return _take_batched(data, index, at, batch, out)
    if index.ndim == 0:
        # Basic indexing returns an array (also of strings) where np.take would return a scalar.
        picked = data[(slice(None),) * at + (int(index), ...)]
        return into(picked, out, data)
    return _taken(data, index, at, out)


def _taken(data: Array, index: Array, at: int, out: Array | None) -> Array:
    """Apply np.take; unaligned data, which np.take would copy, is read as bytes."""
    by_bytes = not data.flags.aligned and data.flags.c_contiguous and at < data.ndim - 1
    if by_bytes and (out is None or out.flags.c_contiguous):
        rows = _taken(data.view(np.uint8), index, at, None if out is None else out.view(np.uint8))
        return rows.view(data.dtype) if out is None else out
    # "wrap" counts negative indices from the end and, unlike "raise", writes to `out` without a buffer.
    result: Array = np.take(data, index, at, out, "wrap" if data.shape[at] else "raise")
    return result


def _take_batched(data: Array, index: Array, at: int, batch: int, out: Array | None) -> Array:
    """Take from `data` as rows [lead * middle * count, *tail], with separate rows for each batch."""
    lead, middle, count, tail = data.shape[:batch], data.shape[batch:at], data.shape[at], data.shape[at + 1 :]
    rows = data.reshape(prod(data.shape[: at + 1]), *tail)
    first = np.arange(prod(lead) * prod(middle), dtype=np.intp).reshape(prod(lead), prod(middle), 1) * count
    picks = np.where(index < 0, index + count, index).reshape(prod(lead), 1, prod(index.shape[batch:]))
    result = _taken(rows, first + picks, 0, None)
    return into(result.reshape(lead + middle + index.shape[batch:] + tail), out)


def _specializer(gather: Operator) -> Callable[..., Callable[..., Any] | None]:
    """Return a specializer: if a constant is stored in f16 but declared as f32, only taken slices are converted."""

    def specialize(node: NodeTypes, *, batch_dims: int = 0) -> Callable[..., Any] | None:
        special, table = _with_constant_indices(node, batch_dims), node.constants[0]
        if table is None or table.dtype != np.float16 or node.outputs[0].element_type is not F32:
            return special
        take = special or partial(gather.kernel, **({"batch_dims": batch_dims} if gather.attributes else {}))

        def widened(data: Array, indices: Array, axis: Array, /, *, out: Array | None = None) -> Array:
            return into(widen_half(take(data, indices, axis)), out)

        return widened

    return specialize


def _with_constant_indices(node: NodeTypes, batch_dims: int) -> Callable[..., Any] | None:
    """Check constant indices once, before the run, and count them from the front."""
    data, (_, indices, axis) = node.inputs[0], node.constants
    if data is None or indices is None or axis is None or data.rank is None:
        return None
    at, batch = _where(data.rank, indices.ndim, axis, batch_dims)
    if batch or not data.shape[at].is_static:
        return None
    count, index = data.shape[at].value, as_index(indices)
    if not count or (index.size and not (index.min() >= -count and index.max() < count)):
        return None
    if not index.ndim:
        region = (*[slice(None)] * at, int(index), ...)
        return lambda data, *_, out=None, **__: into(data[region], out, data)
    index = np.where(index < 0, index + count, index)

    def gather(data: Array, indices: Array, axis: Array, /, *, out: Array | None = None, **_: Any) -> Array:
        return _taken(data, index, at, out)

    return gather


def _rule(
    check: Check, data: TensorType, indices: TensorType, axis: TensorType, *, batch_dims: int = 0
) -> PartialShape:
    one_element(check, "C3", axis, "axis")
    rank, index_rank = data.rank, indices.rank
    batch: int | None = batch_dims
    if batch_dims < 0:
        batch = None if index_rank is None else batch_dims + index_rank
    ranks = [r for r in (rank, index_rank) if r is not None]
    if batch is not None and ranks:
        limits = Limits(-min(ranks), min(ranks))
        message = f"batch_dims is {batch_dims}, outside {limits}"
        if not check("C4", 0 <= batch <= limits.high, message, attribute="batch_dims", allowed=limits):
            return PartialShape.dynamic()
    at = known_axis(check, "C2", axis, rank, "axis")
    if rank is None and axis.scalar is not None and axis.scalar >= 0:
        at = int(axis.scalar)  # An axis counted from the front does not depend on the rank.
    if at is not None and batch is not None and not _check_order(check, batch, at):
        return PartialShape.dynamic()
    if rank is None or index_rank is None or batch is None:
        return PartialShape.dynamic()
    lead = []
    for number in range(batch):
        merged = data.shape[number].merge(indices.shape[number])
        message = (
            f"batch dimension {number} of indices is {indices.shape[number]}, expected {data.shape[number]} as in data"
        )
        check("C6", merged is not None, message, port="indices")
        lead.append(data.shape[number] if merged is None else merged)
    if at is None:
        return PartialShape([*lead, *PartialShape.dynamic(max(rank + index_rank - 1 - 2 * batch, 0))])
    return PartialShape([*lead, *data.shape[batch:at], *indices.shape[batch:], *data.shape[at + 1 :]])


def _in_range(
    check: Check, data: TensorType, indices: TensorType, axis: TensorType, *, batch_dims: int = 0
) -> PartialShape:
    at = known_axis(unreported, "C2", axis, data.rank, "axis")
    if at is not None and indices.value is not None and data.shape[at].is_static:
        check_range(check, indices.value, at, data.shape[at].value)
    return _rule(check, data, indices, axis, batch_dims=batch_dims)


def _draw(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, batch_dims: int = 0) -> Array:
    shape = types["data"].shape.to_shape()
    if port == "axis":
        batch = batch_dims
        at = batch + len(types["indices"].shape) if batch < 0 else batch
        return filled(types, port, at)
    axis = types["axis"].scalar
    return drawn_below(rng, types, port, min(shape) if axis is None else shape[int(axis)])


gather_1.shapes(_in_range)
gather_7.shapes(_in_range)
gather_8.shapes(_rule)
for _gather in (gather_1, gather_7, gather_8):
    _gather.specialize(_specializer(_gather))
    _gather.oracle.draw("axis", "indices")(_draw)


@gather_1.oracle.undefined_for
@gather_7.oracle.undefined_for
def _(data: Array, indices: Array, axis: Array) -> Undefined:
    """The result is undefined for negative indices."""
    return bool((indices < 0).any())
