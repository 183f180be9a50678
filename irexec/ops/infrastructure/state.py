"""ReadValue and Assign: read and set the value of a variable.

Source: operation pages ReadValue-3, ReadValue-6, Assign-3, Assign-6. The engine keeps the variables.
"""

from __future__ import annotations

from irexec.core.types import ANY_SHAPE, DYNAMIC, ElementType, PartialShape, TensorType
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.older import OlderForm, unchanged
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import Stateful


@operator("ReadValue", "opset3", Stateful, shapes=same_as(), view="init_value")
def read_value_3(init_value: AnyTensor, /, *, variable_id: str) -> AnyTensor:
    """Return the variable's value: before the first Assign, `init_value`, which also determines its type and shape."""
    return init_value


@operator("ReadValue", "opset6", Stateful, view="init_value")
def read_value_6(
    init_value: AnyTensor | None = None,
    /,
    *,
    variable_id: str,
    variable_type: ElementType = DYNAMIC,
    variable_shape: PartialShape = ANY_SHAPE,
) -> AnyTensor:
    """Return the variable's value: before the first Assign, `init_value` (by default zeros of the variable's shape).

    C1: type and shape of `init_value` satisfy `variable_type` and `variable_shape`.
    """
    if init_value is None:
        raise TypeError("the engine supplies the first value of a variable without init_value")
    return init_value


@read_value_6.older
def _(form: OlderForm, init_value: TensorType | None) -> None:
    """In the previous version, the initial value determines the type of the variable."""
    form.need(init_value is not None, "there is no initial value")
    if init_value is not None:
        own = form.outputs[0]
        same = own.element_type is init_value.element_type and own.shape == init_value.shape
        form.need(same, "the variable and its initial value differ in type or shape")


@read_value_6.shapes
def _(
    check: Check, init_value: TensorType | None, *, variable_type: ElementType, variable_shape: PartialShape
) -> TensorType:
    if init_value is not None:
        shape = init_value.shape
        message = f"init_value has shape {shape}, expected {variable_shape}, the shape of the variable"
        check("C1", shape.compatible(variable_shape), message, port="init_value", allowed=str(variable_shape))
        kinds = {init_value.element_type, variable_type} - {DYNAMIC}
        message = f"init_value is {init_value.element_type}, expected {variable_type}, the type of the variable"
        check("C1", len(kinds) < 2, message, port="init_value", allowed=str(variable_type))
        if variable_type is DYNAMIC:
            return TensorType(init_value.element_type, variable_shape)
    return TensorType(variable_type, variable_shape)


@operator("Assign", "opset3", Stateful, shapes=same_as(), view="value")
def assign_3(value: AnyTensor, /, *, variable_id: str) -> AnyTensor:
    """Set the variable to `value`, which is also the output."""
    return value


@operator("Assign", "opset6", Stateful, shapes=same_as(), view="value")
def assign_6(value: AnyTensor, /, *, variable_id: str) -> AnyTensor:
    """Set the variable to `value`, which is also the output."""
    return value


assign_6.older(unchanged)
