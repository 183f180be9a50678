"""CumProd of ONNX: running products along one axis.

Source: ONNX operator page CumProd-26.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import FLOATS, I32, I64, U32, U64, Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, narrow
from irexec.ops.rules.axes import axis_of, integer, one_element
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.tensors import IndexTensor2

T: TypeAlias = Annotated[Array, Elements("T", FLOATS | {I32, I64, U32, U64})]


@operator("CumProd", "onnx26", tolerance=rounded(8))
def cum_prod_26(
    x: T, axis: IndexTensor2, /, *, exclusive: bool = False, reverse: bool = False, out: Array | None = None
) -> T:
    """The running products of x along `axis`, including (or if `exclusive` excluding) the element itself.

    `reverse` starts from the end. Integers wrap. C1: `axis` is a scalar in [-rank, rank - 1].
    """
    along = axis_of("C1", integer(axis), x.ndim, "axis")
    factors = np.moveaxis(x, along, 0)
    factors = factors[::-1] if reverse else factors
    if exclusive:
        factors = np.concatenate([np.ones_like(factors[:1]), factors[:-1]])
    with np.errstate(all="ignore"):
        products = np.cumprod(factors, 0, dtype=compute_dtype(x.dtype))
    return narrow(np.moveaxis(products[::-1] if reverse else products, 0, along), x.dtype, out)


@cum_prod_26.shapes
def _(check: Check, x: TensorType, axis: TensorType) -> PartialShape:
    if one_element(check, "C1", axis, "axis") and axis.scalar is not None:
        axis_in(check, "C1", int(axis.scalar), x.rank, port="axis")
    return x.shape
