"""Concat: tensors laid end to end along one axis.

Source: operation page Concat-1.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.ops.declare.operator import Check, Elements, operator, require
from irexec.ops.rules.axes import axis_of, sum_of
from irexec.ops.rules.shapes import axis_in
from irexec.types import ANY, ANY_DIMENSION, Array, PartialShape, TensorType

T: TypeAlias = Annotated[Array, Elements("T", ANY)]


@operator("Concat", "opset1", values="kernel")
def concat_1(*tensors: T, axis: int, out: Array | None = None) -> T:
    """All `tensors` along `axis`, in the order of the ports.

    Raises ConstraintError C1 for an axis outside [-rank, rank - 1], C2 for ranks that differ or are 0, C3 for shapes
    that differ off the axis.
    """
    rank = tensors[0].ndim
    require(
        "C2",
        rank > 0 and all(t.ndim == rank for t in tensors),
        f"the ranks of the tensors are {[t.ndim for t in tensors]}, expected equal ranks",
    )
    at = axis_of("C1", axis, rank)
    try:
        result: Array = np.concatenate(tensors, at, out)
    except ValueError:
        require("C3", out is not None, f"shapes {[t.shape for t in tensors]} differ off axis {at}")
        raise
    return result


@concat_1.shapes
def _(check: Check, *tensors: TensorType, axis: int) -> PartialShape:
    ranks = {t.rank: i for i, t in reversed(list(enumerate(tensors))) if t.rank is not None}
    if not ranks:
        return PartialShape.dynamic()
    rank, first = min(ranks.items(), key=lambda item: item[1])
    at = axis_in(check, "C1", axis, rank, attribute="axis") if rank else None
    check("C2", rank > 0, f"tensors[{first}] is a scalar, expected rank 1 or more", port=f"tensors[{first}]")
    common = PartialShape.dynamic(rank)
    for number, tensor in enumerate(tensors):
        port = f"tensors[{number}]"
        message = f"{port} has rank {tensor.rank}, expected {rank} as tensors[{first}] has"
        if not check("C2", tensor.rank in (None, rank), message, port=port) or at is None or tensor.rank is None:
            continue
        merged = common.merge(tensor.shape.with_dim(at, ANY_DIMENSION))
        message = f"{port} has shape {tensor.shape}, expected {common} off axis {at}"
        check("C3", merged is not None, message, port=port, found=str(tensor.shape), allowed=str(common))
        common = common if merged is None else merged
    if at is None:
        return common
    unknown = any(t.rank != rank for t in tensors)
    return common if unknown else common.with_dim(at, sum_of([t.shape[at] for t in tensors]))
