"""NonZero: the indices of the elements of a tensor that are not zero.

Source: operation page NonZero-3. A scalar counts as one element of a 1D tensor, as in OpenVINO; the page's formula
would make its result [0, count].
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import widen
from irexec.ops.spec.operator import Check, TypeFrom, operator
from irexec.ops.spec.tensors import AnyTensor


@operator("NonZero", "opset3")
def non_zero_3(
    data: AnyTensor, /, *, output_type: Literal["i64", "i32"] = "i64"
) -> Annotated[Array, TypeFrom("output_type")]:
    """Indices of the elements that are not zero (NaN is not zero), [rank, count], in row-major order."""
    found = np.nonzero(np.atleast_1d(widen(data)))
    return np.stack(found).astype(ElementType.by_name[output_type].dtype)


@non_zero_3.shapes
def _(check: Check, data: TensorType) -> PartialShape:
    if data.rank is None:
        return PartialShape.dynamic(2)
    total = Dimension.product(data.shape.dims)
    count = ANY_DIMENSION if total.max is None else Dimension(0, total.max)
    return PartialShape([max(data.rank, 1), count])
