"""Output types of a signature, from its bound type variables and the result of a shape rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.ops.declare.signature import Elements, Output, TypeFrom
from irexec.types import DYNAMIC, ElementType, PartialShape, TensorType


def output_types(
    outputs: Sequence[Output], shapes: Any, bound: dict[str, ElementType], attributes: dict[str, Any]
) -> list[TensorType]:
    """Return the output types. `shapes` is the result of a shape rule: one or several shapes or types, or None."""
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
        elif type(shape.shape) is not PartialShape:
            kind = _resolve(output.elements, bound, attributes) if shape.element_type is DYNAMIC else shape.element_type
            shape = TensorType(kind, _as_shape(shape.shape), shape.held, shape.partial)
        elif shape.element_type is DYNAMIC:
            kind = _resolve(output.elements, bound, attributes)
            shape = TensorType(kind, shape.shape, shape.held, shape.partial)
        result.append(shape)
    return result


def _as_shape(shape: Any) -> PartialShape:
    """Return a rule's result as a shape of types/: the public one has OpenVINO's members, such as a rank that is a
    Dimension."""
    if type(shape) is PartialShape:
        return shape
    if not isinstance(shape, PartialShape):
        return PartialShape(shape)
    return PartialShape.dynamic() if shape._dims is None else PartialShape(shape._dims)


def _resolve(elements: Elements | TypeFrom, bound: dict[str, ElementType], attributes: dict[str, Any]) -> ElementType:
    if isinstance(elements, TypeFrom):
        value = attributes.get(elements.attribute)
        if isinstance(value, str):
            return ElementType.by_name.get(value, DYNAMIC)
        return value if isinstance(value, ElementType) else DYNAMIC
    return bound.get(elements.name or "") or elements.fixed or DYNAMIC
