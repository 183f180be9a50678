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
    bound: dict[str, ElementType] = {}
    ports = signature.inputs
    last = len(ports) - 1
    for index, tensor in enumerate(inputs):
        if tensor is None or (actual := tensor.element_type) is DYNAMIC:
            continue
        elements = ports[index if index < last else last].elements
        if actual not in elements.types:
            name, message = signature.port_name(index), f"is {actual}, expected {elements.expected}"
            found.append(Breach("O002", f"{name} {message}", port=name, found=str(actual), allowed=elements.listed))
            continue
        if elements.name is None:
            continue
        first = bound.setdefault(elements.name, actual)
        if first is not actual and elements.binding:
            name, message = signature.port_name(index), f"is {actual}, expected {first}"
            other = signature.port_name(_first_of(elements.name, first, signature, inputs))
            message += f" as {other} is: both have type {elements.name}"
            found.append(Breach("O003", f"{name} {message}", port=name, found=str(actual), allowed=str(first)))
    return bound


def _first_of(variable: str, kind: ElementType, signature: Signature, inputs: Sequence[TensorType | None]) -> int:
    """The first of the inputs that share a type variable, and have this type."""
    return next(
        index
        for index, tensor in enumerate(inputs)
        if tensor is not None and tensor.element_type is kind and signature.input(index).elements.name == variable
    )


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
        if not isinstance(shape, TensorType):
            shape = TensorType(_resolve(output.elements, bound, attributes), _as_shape(shape))
        elif shape.element_type is DYNAMIC:
            kind = _resolve(output.elements, bound, attributes)
            shape = TensorType(kind, shape.shape, shape.held, shape.partial)
        result.append(shape)
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
