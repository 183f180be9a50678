"""GatherElements: one element per index, along one axis.

Source: operation page GatherElements-6. The page allows indices in [0, n - 1]; OpenVINO and irexec count
negative indices from the end.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.along import take_along
from irexec.ops.rules.axes import drawn_below, in_range, into
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.tensors import AnyTensor, Indices
from irexec.ops.spec.traits import CarriesSizes, Indexing


@operator("GatherElements", "opset6", CarriesSizes, Indexing)
def gather_elements_6(data: AnyTensor, indices: Indices, /, *, axis: int, out: Array | None = None) -> AnyTensor:
    """For each position in `indices`, the element of `data` at that position, with the index as coordinate along
    `axis`.

    Raises ConstraintError C1 for ranks that differ or are 0, C2 for shapes that differ in another dimension, C3 for an
    axis outside [-rank, rank - 1], C4 for an index outside [-n, n - 1] where n is data.shape[axis].
    """
    at = axis % data.ndim
    in_range(require, "C4", "indices", indices, -data.shape[at], data.shape[at] - 1)
    return into(take_along(data, indices.astype(np.intp, copy=False), at), out)


@gather_elements_6.shapes
def _(check: Check, data: TensorType, indices: TensorType, *, axis: int) -> PartialShape:
    if data.rank is not None:
        check("C1", data.rank > 0, "data is a scalar, expected rank 1 or more", port="data")
    if data.rank is None or indices.rank is None:
        axis_in(check, "C3", axis, data.rank if indices.rank is None else indices.rank, attribute="axis")
        return indices.shape if data.rank is None else PartialShape.dynamic(data.rank)
    message = f"indices has rank {indices.rank}, expected {data.rank} as in data"
    at = axis_in(check, "C3", axis, data.rank, attribute="axis")
    if not check("C1", data.rank == indices.rank, message, port="indices") or at is None:
        return indices.shape
    dims = list(indices.shape)
    for number, (a, b) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if number != at:
            merged = a.merge(b)
            message = f"dimension {number} is {b} in indices, {a} in data: only dimension {at} may differ"
            check("C2", merged is not None, message, port="indices", found=str(b), allowed=str(a))
            dims[number] = b if merged is None else merged
    if data.shape[at].is_static:
        in_range(check, "C4", "indices", indices.value, -data.shape[at].value, data.shape[at].value - 1)
    return PartialShape(dims)


@gather_elements_6.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, axis: int) -> Array:
    return drawn_below(rng, types, port, types["data"].shape[axis].value)
