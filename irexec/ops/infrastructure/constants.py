"""Parameter, Const and Result: the inputs, constants and outputs of a model.

Source: operation pages Parameter-1, Constant-1, Result-1.
"""

from __future__ import annotations

from typing import Annotated

from irexec.core.types import Array, ElementType, PartialShape
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import Check, TypeFrom, operator
from irexec.ops.spec.tensors import AnyValueTensor
from irexec.ops.spec.traits import CarriesSizes

# Models from other formats have tensors of types that an IR file cannot declare.


@operator("Parameter", "opset1")
def parameter_1(*, shape: PartialShape, element_type: ElementType) -> Annotated[Array, TypeFrom("element_type")]:
    """An input of the model. It has no kernel: the engine uses the caller's array."""
    raise TypeError("a Parameter cannot be evaluated: its value is the array that the caller passes to the model")


@parameter_1.shapes
def _(check: Check, *, shape: PartialShape) -> PartialShape:
    return shape


@operator("Const", "opset1")
def const_1(
    *, element_type: ElementType, shape: tuple[int, ...], offset: int = 0, size: int = 0
) -> Annotated[Array, TypeFrom("element_type")]:
    """A constant stored in the `.bin` file. It has no kernel: its value is read from the weights."""
    raise TypeError("a Const has no value other than its bytes in the weights")


@const_1.shapes
def _(check: Check, *, shape: tuple[int, ...]) -> PartialShape:
    return PartialShape(max(d, 0) for d in shape)


@operator("Result", "opset1", CarriesSizes, shapes=same_as(), view="input")
def result_1(input: AnyValueTensor, /) -> AnyValueTensor:
    """An output of the model: its input, unchanged."""
    return input
