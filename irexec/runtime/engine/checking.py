"""Run-time checks: constraints that inference could not check are checked on the shapes of the actual arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irexec.core.diagnostics import IRError
from irexec.core.types import DYNAMIC, Array, ElementType, PartialShape, TensorType
from irexec.model.graph.model import Model, Node
from irexec.ops.spec.capacity import beyond_memory
from irexec.ops.spec.operator import Breach
from irexec.runtime.engine.errors import broken_constraints, too_large, wrong_result

# The maximum number of combinations of shapes that are remembered as checked.
_MAX_REMEMBERED = 256
# Integer inputs of up to this size describe shapes and axes: the shape rule also receives their values.
_MAX_COMPARED = 32


def checked(
    call: Callable[..., Any], node: Node, given: Sequence[TensorType | None], model: Model
) -> Callable[..., Any]:
    """Return the call of a layer with unknown shapes: runs the shape rule when a combination of shapes first occurs.

    The callable raises IRError with the findings that a model with these static shapes would get.
    """
    operator = node.operator
    assert operator is not None
    kinds = [type.element_type if type is not None else DYNAMIC for type in given]
    attributes = node.all_attributes
    known: set[Any] = set()

    def run(*inputs: Any) -> Any:
        key = tuple([None if array is None else (array.shape, _small_content(array)) for array in inputs])
        if key in known:
            return call(*inputs)
        given = [_type_of(array, kind) for array, kind in zip(inputs, kinds, strict=True)]
        breaches: list[Breach] = []
        types = operator.infer(given, attributes, breaches)
        if breaches:
            raise IRError(broken_constraints(node, breaches, model))
        if (reason := beyond_memory(types)) is not None:
            raise IRError(too_large(node, reason, model))
        result = call(*inputs)
        _compare(result, types, node, model)
        if len(known) >= _MAX_REMEMBERED:
            known.clear()
        known.add(key)
        return result

    return run


def _small_content(array: Array) -> bytes | None:
    return array.tobytes() if array.dtype.kind in "iu" and array.size <= _MAX_COMPARED else None


def _type_of(array: Array | None, kind: ElementType) -> TensorType | None:
    if array is None:
        return None
    known = kind if kind is not DYNAMIC else ElementType.of(array.dtype)
    return TensorType(known, PartialShape(array.shape), None if _small_content(array) is None else array)


def _compare(result: Any, types: list[TensorType], node: Node, model: Model) -> None:
    """Raise IRError if a result contradicts the types that the operator's shape rule returned."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    for index, (array, type) in enumerate(zip(results, types, strict=False)):
        if array is not None and not type.shape.accepts(array.shape):
            raise IRError(wrong_result(node, index, type, array, model))
