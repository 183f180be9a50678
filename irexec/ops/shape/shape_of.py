"""ShapeOf: the extents of a tensor.

Source: operation pages ShapeOf-1, ShapeOf-3.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from irexec.core.types import I64, Array, ElementType, PartialShape, TensorType
from irexec.core.types.traced import is_traced
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import ShapeReading


@operator("ShapeOf", "opset1", ShapeReading, as_stored="input")
def shape_of_1(input: AnyTensor, /) -> Annotated[Array, Elements("T_OUT", {I64})]:
    """The shape of `input`, [rank] elements."""
    return np.array(input.shape, np.int64)


@operator("ShapeOf", "opset3", ShapeReading, as_stored="input")
def shape_of_3(
    input: AnyTensor, /, *, output_type: Annotated[Literal["i64", "i32"], AsRead(default="dynamic")] = "i64"
) -> Annotated[Array, TypeFrom("output_type")]:
    """As ShapeOf-1, with elements of `output_type`."""
    return np.array(input.shape, ElementType.by_name[output_type].dtype)


@shape_of_3.older
def _(form: OlderForm, given: TensorType) -> None:
    made = form.outputs[0].element_type
    form.need(made is I64, f"output_type is {made}")


@shape_of_1.shapes
@shape_of_3.shapes
def _(check: Check, input: TensorType, *, output_type: str = "i64") -> PartialShape | TensorType:
    """Return the type of the result; its known values are the known extents of the input."""
    if input.rank is None:
        return PartialShape.dynamic(1)
    kind, shape = ElementType.by_name[output_type], PartialShape([input.rank])
    if input.shape.is_static and not any(is_traced(extent.min) for extent in input.shape):
        return TensorType(kind, shape, np.array(input.shape.to_shape(), kind.dtype))
    partial = np.empty(input.rank, object)
    partial[:] = [d.value if d.is_static else d for d in input.shape]
    return TensorType(kind, shape, partial=partial)
