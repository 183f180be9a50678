"""SparseFillEmptyRows: adds an entry to every empty row of a sparse matrix.

Source: operation page SparseFillEmptyRows-16.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import BOOLEAN, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import filled, has_length, in_range
from irexec.ops.rules.extents import Extents
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.tensors import AnyTensor, SparseIndices

# The page allows numeric types; OpenVINO accepts every type, in particular strings.
Flags: TypeAlias = Annotated[Array, Elements(None, {BOOLEAN})]


@operator("SparseFillEmptyRows", "opset16")
def sparse_fill_empty_rows_16(
    values: AnyTensor, dense_shape: SparseIndices, indices: SparseIndices, default_value: AnyTensor, /
) -> tuple[SparseIndices, AnyTensor, Flags]:
    """Indices, values and flags: `values` [M] at `indices` [M, 2], and `default_value` at [row, 0] of each empty row.

    The entries are in row-major order, and entries of one position in their given order. Flag r is true if row r was
    empty.

    C1: values has rank 1. C2: dense_shape has two elements, none negative. C3: indices has shape [M, 2] and lies within
    dense_shape. C4: default_value is a scalar.
    """
    rows, columns = (int(n) for n in dense_shape)
    in_range(require, "C2", "dense_shape", dense_shape, 0)
    _check_indices(require, indices, rows, columns)
    empty = np.full(rows, True)
    empty[indices[:, 0]] = False
    added = np.zeros((np.count_nonzero(empty), 2), indices.dtype)
    added[:, 0] = np.flatnonzero(empty)
    every = np.concatenate([indices, added])
    entries = np.concatenate([values, np.full(len(added), default_value.reshape(()), values.dtype)])
    order = np.lexsort((every[:, 1], every[:, 0]))
    return every[order], entries[order], empty


@sparse_fill_empty_rows_16.shapes
def _(
    check: Check, values: TensorType, dense_shape: TensorType, indices: TensorType, default_value: TensorType
) -> list[PartialShape]:
    extents = Extents(check)
    extents.match("C1", "values", values, "M")
    has_length(check, "C2", dense_shape, 2, "dense_shape")
    shaped = extents.match("C3", "indices", indices, "M", 2)
    has_rank(check, "C4", default_value, 0, "default_value")
    known = dense_shape.known
    rows, columns = known if known is not None and len(known) == 2 else (None, None)
    if not in_range(check, "C2", "dense_shape", [rows, columns], 0):
        rows = columns = None
    most = dimension_of(rows)
    total = Dimension(max(extents["M"].min, most.min), (extents["M"] + most).max if known is not None else None)
    if shaped and isinstance(rows, int) and isinstance(columns, int):
        places = indices.value
        if places is not None and _check_indices(check, places, rows, columns):
            total = Dimension(len(places) + rows - len(np.unique(places[:, 0])))
    return [PartialShape([total, 2]), PartialShape([total]), PartialShape([most])]


def _check_indices(check: Check, indices: Array, rows: int, columns: int) -> bool:
    outside = ((indices < 0) | (indices >= (rows, columns))).any(axis=1)
    place = int(outside.argmax()) if outside.any() else None
    found = None if place is None else indices[place].tolist()
    message = f"indices contains {found} at {place}, outside the dense shape {[rows, columns]}"
    return check("C3", place is None, message, port="indices")


@sparse_fill_empty_rows_16.oracle.draw("dense_shape", "indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    if port == "dense_shape":
        return filled(types, port, rng.integers(3, 9, 2))
    rows, columns = types["dense_shape"].ints or (1, 1)
    places = rng.integers(0, [max(rows, 1), max(columns, 1)], types[port].shape.to_shape())
    return filled(types, port, places[np.lexsort(places.T[::-1])])
