"""Eye: matrices with ones on one diagonal.

Source: operation page Eye-9.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, INDICES, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.rules.axes import filled, first_known, in_range, integer, integers, length_of, one_element
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, require

T_NUM: TypeAlias = Annotated[Array, Elements("T_NUM", INDICES)]
T_DIAGONAL: TypeAlias = Annotated[Array, Elements("T_DIAGONAL", INDICES)]
T_BATCH: TypeAlias = Annotated[Array, Elements("T_BATCH", INDICES)]


@operator("Eye", "opset9")
def eye_9(
    num_rows: T_NUM,
    num_columns: T_NUM,
    diagonal_index: T_DIAGONAL,
    batch_shape: T_BATCH | None = None,
    /,
    *,
    output_type: ElementType,
) -> Annotated[Array, TypeFrom("output_type")]:
    """Return matrices of the shape batch_shape + [num_rows, num_columns], 1 where column - row is `diagonal_index`,
    else 0.

    Raises ConstraintError C2 for a negative extent. Shape rule: C1 num_rows, num_columns and diagonal_index have one
    element, C3 batch_shape is 1D, C4 output_type is numeric.
    """
    rows, columns, diagonal = (integer(port) for port in (num_rows, num_columns, diagonal_index))
    batch = [] if batch_shape is None else integers(batch_shape)
    for name, extents in (("num_rows", rows), ("num_columns", columns), ("batch_shape", batch)):
        in_range(require, "C2", name, extents, 0)
    diagonal = min(max(diagonal, -rows), columns)
    matrix = np.eye(rows, columns, diagonal, np.int8).astype(output_type.dtype)
    return np.broadcast_to(matrix, (*batch, rows, columns)).copy()


@eye_9.shapes
def _(
    check: Check,
    num_rows: TensorType,
    num_columns: TensorType,
    diagonal_index: TensorType,
    batch_shape: TensorType | None = None,
    *,
    output_type: ElementType,
) -> PartialShape:
    check(
        "C4",
        output_type.kind in "iuf",
        f"output_type is {output_type}, expected a numeric type",
        attribute="output_type",
    )
    one_element(check, "C1", diagonal_index, "diagonal_index")
    matrix = []
    for name, tensor in (("num_rows", num_rows), ("num_columns", num_columns)):
        one_element(check, "C1", tensor, name)
        matrix.append(_extent(check, first_known(tensor), name))
    if batch_shape is None:
        return PartialShape(matrix)
    has_rank(check, "C3", batch_shape, 1, "batch_shape")
    length = length_of(batch_shape)
    if length is None:
        return PartialShape.dynamic()
    known = batch_shape.known or [ANY_DIMENSION] * length
    return PartialShape([*(_extent(check, n, "batch_shape") for n in known), *matrix])


def _extent(check: Check, value: int | Dimension | None, port: str) -> Dimension:
    return dimension_of(value if in_range(check, "C2", port, value, 0) else None)


@eye_9.oracle.draw("num_rows", "num_columns", "diagonal_index", "batch_shape")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, {"num_rows": 3, "num_columns": 4, "diagonal_index": 0, "batch_shape": 2}[port])
