"""GatherND: slices of a tensor, selected by tuples of indices.

Source: operation pages GatherND-5, GatherND-8. The page of -5 allows no negative indices; OpenVINO and irexec count
them from the end, as in GatherND-8.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import in_range, into
from irexec.ops.spec.attributes import NonNegative
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.oracle import Deviation
from irexec.ops.spec.tensors import AnyTensor, IntegerIndices
from irexec.ops.spec.traits import CarriesSizes, Indexing


@operator("GatherND", "opset8", CarriesSizes, Indexing)
def gather_nd_8(
    data: AnyTensor, indices: IntegerIndices, /, *, batch_dims: NonNegative = 0, out: Array | None = None
) -> AnyTensor:
    """Each tuple along the last dimension of `indices` selects a slice of `data`, after `batch_dims` common dimensions.

    Result: batch + indices.shape[batch_dims:-1] + data.shape[batch_dims + indices.shape[-1]:].
    Raises ConstraintError C1 when a tuple is longer than the rank that `batch_dims` leaves of `data`, C2 for
    batch_dims outside [0, smaller rank - 1], C3 when the batch dimensions do not broadcast, C4 for a scalar,
    C5 for an index outside [-n, n - 1] where n is the dimension that it applies to.
    """
    length = indices.shape[-1]
    batch = _batch(data.shape[:batch_dims], indices.shape[:batch_dims])
    extents = data.shape[batch_dims : batch_dims + length]
    index = indices.astype(np.intp, copy=False)
    if index.size:
        limit = np.array(extents, np.intp)
        if ((index < -limit) | (index >= limit)).any():
            _check_range(require, PartialShape(extents), index)
        index = np.where(index < 0, index + limit, index)
    middle, tail = indices.shape[batch_dims:-1], data.shape[batch_dims + length :]
    picks = tuple(np.moveaxis(index, -1, 0))
    if batch_dims == 0:
        result = data[picks] if length else np.broadcast_to(data, middle + tail)
        # A single tuple selects a view.
        return into(np.asarray(result, data.dtype), out, data)
    # Add an index for each batch dimension: the position itself, or 0 if data is broadcast along it.
    own = [
        (np.arange(n) * (d > 1)).reshape((-1,) + (1,) * (batch_dims - i - 1 + len(middle)))
        for i, (n, d) in enumerate(zip(batch, data.shape, strict=False))
    ]
    places: Any = tuple(np.broadcast_to(p, batch + middle) for p in (*own, *picks))
    return into(np.asarray(data[places], data.dtype).reshape(batch + middle + tail), out)


@gather_nd_8.older
def _(form: OlderForm, data: TensorType, indices: TensorType, *, batch_dims: int) -> None:
    form.need(batch_dims <= 1, f"batch_dims is {batch_dims}; version 5 merges these dimensions")


@operator("GatherND", "opset5", CarriesSizes, Indexing)
def gather_nd_5(
    data: AnyTensor, indices: IntegerIndices, /, *, batch_dims: NonNegative = 0, out: Array | None = None
) -> AnyTensor:
    """As GatherND-8, with the batch dimensions of the result flattened into one.

    Constraints C1 to C5 are the same, except C3: the batch dimensions are equal.
    """
    result: Array = gather_nd_8.compute(data, indices, batch_dims=batch_dims)
    if batch_dims > 1:
        result = result.reshape(prod(result.shape[:batch_dims]), *result.shape[batch_dims:])
    return into(result, out)


def _batch(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


@gather_nd_8.shapes
def _rule(check: Check, data: TensorType, indices: TensorType, *, batch_dims: int = 0) -> PartialShape:
    check("C4", data.rank != 0, "data is a scalar, expected rank 1 or more", port="data")
    check("C4", indices.rank != 0, "indices is a scalar, expected rank 1 or more", port="indices")
    rank, index_rank = data.rank, indices.rank
    limit = min(r for r in (rank, index_rank, 1 << 30) if r is not None)
    message = f"batch_dims is {batch_dims}, expected less than {limit}"
    if not check("C2", batch_dims < max(limit, 1), message, attribute="batch_dims") or not rank or not index_rank:
        return PartialShape.dynamic()
    batch = []
    for number, (a, b) in enumerate(zip(data.shape[:batch_dims], indices.shape[:batch_dims], strict=True)):
        common = a.broadcast(b)
        message = f"batch dimension {number} of indices is {b}, expected {a} as in data"
        check("C3", common is not None, message, port="indices")
        batch.append(common if common is not None else ANY_DIMENSION)
    length = indices.shape[-1]
    left = rank - batch_dims
    message = f"indices.shape[-1] is {length}, expected at most {left}, the rank of data without batch_dims"
    if not check("C1", length.min <= left, message, port="indices", allowed=f"at most {left}") or length.is_dynamic:
        return PartialShape.dynamic()
    if indices.value is not None:
        _check_range(check, data.shape[batch_dims : batch_dims + length.value], indices.value)
    return PartialShape([*batch, *indices.shape[batch_dims:-1], *data.shape[batch_dims + length.value :]])


def _check_range(check: Check, extents: PartialShape, indices: Array) -> None:
    """Check C5: every index is within its dimension."""
    for place, extent in enumerate(extents):
        if extent.is_static:
            in_range(check, "C5", "indices", indices[..., place], -extent.value, extent.value - 1)


@gather_nd_8.oracle.deviates("data", "indices")
def _(data: TensorType, indices: TensorType, *, batch_dims: int) -> Deviation | None:
    if data.rank is None or indices.rank is None or data.shape[:batch_dims] == indices.shape[:batch_dims]:
        return None
    return Deviation(
        "broadcasts the batch dimensions of data and indices, which its page allows; OpenVINO rejects these sizes"
    )


@gather_nd_5.shapes
def _(check: Check, data: TensorType, indices: TensorType, *, batch_dims: int = 0) -> PartialShape:
    shape: PartialShape = _rule(check, data, indices, batch_dims=batch_dims)
    if data.rank is not None and indices.rank is not None:
        for number, (a, b) in enumerate(zip(data.shape[:batch_dims], indices.shape[:batch_dims], strict=False)):
            message = f"batch dimension {number} of indices is {b}, expected {a} as in data"
            check("C3", a.compatible(b) or a.broadcast(b) is None, message, port="indices")
    if shape.rank is None or batch_dims < 2:
        return shape
    flat: Dimension = Dimension.product(shape[:batch_dims].dims)
    return PartialShape([flat, *shape[batch_dims:]])


@gather_nd_5.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, batch_dims: int) -> Array:
    return _drawn(rng, types, batch_dims)


@gather_nd_8.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, batch_dims: int) -> Array:
    return _drawn(rng, types, batch_dims, negative=types[port].element_type.kind == "i")


def _drawn(rng: np.random.Generator, types: dict[str, TensorType], first: int, *, negative: bool = False) -> Array:
    """Draw indices within the dimensions from `first` on, including negative indices if `negative`."""
    wanted = types["indices"]
    shape = wanted.shape.to_shape()
    extents = np.array([max(d, 1) for d in types["data"].shape.to_shape()[first : first + shape[-1]]], np.int64)
    return rng.integers(-extents if negative else 0, extents, shape).astype(wanted.element_type.dtype)
