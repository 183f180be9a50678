"""Concat: tensors concatenated along one axis.

Source: operation page Concat-1.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, PartialShape, TensorType
from irexec.ops.rules.axes import sum_of
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import CarriesSizes, Concatenation, HomogeneousTogether, Moving, SizesIn


@operator("Concat", "opset1", CarriesSizes, HomogeneousTogether, Concatenation, Moving, SizesIn(*range(8)))
def concat_1(*tensors: AnyTensor, axis: int, out: Array | None = None) -> AnyTensor:
    """Concatenate `tensors` along `axis`, in the order of the ports.

    Raises ConstraintError C1 for an axis outside [-rank, rank - 1], C2 for ranks that differ or are 0, C3 for shapes
    that differ in another dimension.
    """
    result: Array = np.concatenate(tensors, axis, out)
    return result


@concat_1.shapes
def _(check: Check, *tensors: TensorType, axis: int) -> PartialShape:
    ranks = [tensor.rank for tensor in tensors]
    rank = next((rank for rank in ranks if rank is not None), None)
    if rank is None:
        return PartialShape.dynamic()
    first = ranks.index(rank)
    at = axis_in(check, "C1", axis, rank, attribute="axis") if rank else None
    check("C2", rank > 0, f"tensors[{first}] is a scalar, expected rank 1 or more", port=f"tensors[{first}]")
    common = PartialShape.dynamic(rank)
    for number, tensor in enumerate(tensors):
        if number and tensor.shape is tensors[number - 1].shape:
            continue
        port = f"tensors[{number}]"
        if tensor.rank not in (None, rank):
            message = f"{port} has rank {tensor.rank}, expected {rank} as in tensors[{first}]"
            check("C2", False, message, port=port)
        elif at is not None and tensor.rank is not None:
            merged = common.merge(tensor.shape.with_dim(at, ANY_DIMENSION))
            if merged is not None:
                holds("C3")
                common = merged
                continue
            message = f"{port} has shape {tensor.shape}, expected {common}"
            check("C3", False, message, port=port, found=str(tensor.shape), allowed=str(common))
    if at is None:
        return common
    unknown = ranks != [rank] * len(ranks)
    return common if unknown else common.with_dim(at, sum_of([tensor.shape.dims[at] for tensor in tensors]))
