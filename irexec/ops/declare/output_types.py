"""Output types from input types, as a signature has them: which types fit together, and what each output is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.ops.declare.constraints import Breach
from irexec.ops.declare.signature import Elements, Output, Signature, TypeFrom
from irexec.types import DYNAMIC, ElementType, PartialShape, TensorType


def bind_types(
    signature: Signature, inputs: Sequence[TensorType | None], found: list[Breach]
) -> dict[str, ElementType]:
    """What the signature's type variables stand for; inputs that it does not take, or not together, go to `found`."""
    bound: dict[str, tuple[ElementType, str]] = {}
    for index, tensor in enumerate(inputs):
        if tensor is None or tensor.element_type is DYNAMIC:
            continue
        port, name = signature.input(index), signature.port_name(index)
        actual = tensor.element_type
        if actual not in port.elements.types:
            message = f"{name} is {actual}, expected {port.elements.expected}"
            found.append(Breach("O002", message, port=name, found=str(actual), allowed=port.elements.listed))
            continue
        if port.elements.name is None:
            continue
        first, other = bound.setdefault(port.elements.name, (actual, name))
        if first is not actual and port.elements.binding:
            message = f"{name} is {actual}, expected {first} as {other} is: both have type {port.elements.name}"
            found.append(Breach("O003", message, port=name, found=str(actual), allowed=str(first)))
    return {name: kind for name, (kind, _) in bound.items()}


def output_types(
    outputs: Sequence[Output], shapes: Any, bound: dict[str, ElementType], attributes: dict[str, Any]
) -> list[TensorType]:
    """The types of the outputs, `shapes` being what a shape rule returned: one or several shapes, types, or None."""
    if isinstance(shapes, (PartialShape, TensorType)) or (
        shapes is not None
        and outputs
        and not outputs[0].variadic
        and len(outputs) == 1
        and not isinstance(shapes, list)
    ):
        shapes = [shapes]
    if shapes is None:
        shapes = [PartialShape.dynamic()] * len(outputs)
    result = []
    for index, shape in enumerate(shapes):
        output = outputs[min(index, len(outputs) - 1)]
        tensor = shape if isinstance(shape, TensorType) else TensorType(DYNAMIC, _as_shape(shape))
        if tensor.element_type is DYNAMIC:
            tensor = TensorType(_resolve(output.elements, bound, attributes), tensor.shape, tensor.held, tensor.partial)
        result.append(tensor)
    return result


def _as_shape(shape: Any) -> PartialShape:
    return shape if isinstance(shape, PartialShape) else PartialShape(shape)


def _resolve(elements: Elements | TypeFrom, bound: dict[str, ElementType], attributes: dict[str, Any]) -> ElementType:
    if isinstance(elements, TypeFrom):
        value = attributes.get(elements.attribute)
        if isinstance(value, str):
            return ElementType.by_name.get(value, DYNAMIC)
        return value if isinstance(value, ElementType) else DYNAMIC
    return bound.get(elements.name or "") or elements.fixed or DYNAMIC
