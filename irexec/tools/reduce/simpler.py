"""Simplifying layers without removing them: smaller extents, plain constants and attributes, fewer layers in bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.structure import CONST, STRUCTURAL
from irexec.core.types import Array, ElementType, PartialShape
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.attributes import attribute_text
from irexec.tools.cut.extract import MAX_STRUCTURE
from irexec.tools.reduce.case import Case, Steps, edited, reconnect
from irexec.tools.run.record import Reference

# Extents


def extents(case: Case) -> list[int]:
    """Return the extents of inputs and weights that could be smaller."""
    weights = [n.constant for n in case.model.walk() if n.constant is not None and _is_weight(n.constant)]
    found = {extent for arrays in (*case.steps, weights) for array in arrays for extent in array.shape}
    return sorted((extent for extent in found if extent > 1), reverse=True)


def shrink(target: Callable[[int], int]) -> Callable[[Case, list[int]], Case]:
    """Return a function that replaces every extent not in `kept` by `target(extent)`: in inputs, weights and shapes."""

    def keep(case: Case, kept: list[int]) -> Case:
        smaller = {extent: target(extent) for extent in extents(case) if extent not in kept}
        if all(extent == less for extent, less in smaller.items()):
            raise ValueError("nothing would be smaller")

        def edit(model: Model, copies: dict[Node, Node]) -> Steps:
            for node in model.walk():
                _shrink(node, smaller)
            return [[_cut(array, smaller) for array in step] for step in case.steps]

        return edited(case, edit)

    return keep


def _shrink(node: Node, smaller: dict[int, int]) -> None:
    for name, value in [*node.attributes.items()]:
        if isinstance(value, PartialShape) and value.rank is not None:
            smaller_shape = PartialShape([smaller.get(d.min, d) if d.is_static else d for d in value])
            node._attributes = node.attributes | {name: smaller_shape}
    if node.constant is not None:
        _set_constant(node, _smaller_constant(node.constant, smaller))


def _smaller_constant(array: Array, smaller: dict[int, int]) -> Array:
    """Crop a weight; in a small integer array, which is a shape, replace the extents."""
    if array.dtype.kind in "iu" and array.size <= MAX_STRUCTURE:
        return np.array([smaller.get(v, v) for v in array.ravel().tolist()], array.dtype).reshape(array.shape)
    return _cut(array, smaller)


def _cut(array: Array, smaller: dict[int, int]) -> Array:
    return array[tuple(slice(smaller.get(extent, extent)) for extent in array.shape)].copy()


def _set_constant(node: Node, array: Array) -> None:
    node.constant = array
    node._attributes = node.attributes | {"shape": array.shape}


# Constants


def constants(case: Case) -> list[Node]:
    """Return the weights whose elements are not all 1."""
    found = [n for n in case.model.walk() if n.constant is not None and n.constant.size > 1]
    return [n for n in found if _is_weight(n.constant) and not _is_plain(n.constant)]


def _is_weight(array: Array | None) -> bool:
    return array is not None and ElementType.of(array.dtype).is_real()


def _is_plain(array: Array | None) -> bool:
    return array is not None and bool(np.all(array == array.reshape(-1)[0]))


def keep_constants(case: Case, kept: list[Node]) -> Case:
    """Return the case in which all weights but those in `kept` are ones."""

    def edit(model: Model, copies: dict[Node, Node]) -> None:
        for node in set(constants(case)) - {*kept}:
            assert node.constant is not None
            _set_constant(copies[node], np.ones_like(node.constant))

    return edited(case, edit)


# Attributes

Setting = tuple[Node, str, Any]


def attributes(case: Case) -> list[Setting]:
    """Return the attributes that could have a plainer value: their default, or zeros or ones."""
    found: list[Setting] = []
    for node in case.model.walk():
        for attribute in node.operator.attributes if node.operator is not None and node.type != CONST else ():
            value = node.attributes.get(attribute.name, attribute.default)
            plain = _plainer(value) if attribute.required else attribute.default
            if plain is not None and not isinstance(value, (PartialShape, ElementType)) and value != plain:
                found.append((node, attribute.name, plain))
    return found


def _plainer(value: Any) -> Any:
    """Return a tuple of ones for a tuple of integers with an element above 1 or below 0; None for any other value."""
    if isinstance(value, tuple) and value and all(type(item) is int for item in value):
        return None if {*value} <= {0, 1} else (1,) * len(value)
    return None


def keep_attributes(case: Case, kept: list[Setting]) -> Case:
    def edit(model: Model, copies: dict[Node, Node]) -> None:
        for node, name, plain in attributes(case):
            if (node, name, plain) not in kept:
                copies[node]._attributes = copies[node].attributes | {name: plain}
                _check_attributes(copies[node])

    return edited(case, edit)


def _check_attributes(node: Node) -> None:
    assert node.operator is not None
    values = ((a.file_name, node.attributes.get(a.name)) for a in node.operator.attributes)
    _, faults = node.operator.parse_attributes({name: attribute_text(v) for name, v in values if v is not None})
    if faults:
        raise ValueError(faults[0].message)


# Bodies


def inner_layers(case: Case) -> list[Node]:
    """Return the layers of bodies that compute."""
    inside = set(case.model.walk()) - {*case.model.nodes}
    return [n for n in case.model.walk() if n in inside and n.type not in STRUCTURAL]


def keep_inner_layers(case: Case, kept: list[Node]) -> Case:
    """Return the case with only these layers in bodies; they read inputs, or recorded results, of removed layers."""
    left_out = [node for node in inner_layers(case) if node not in kept]
    known = Reference(case.model, case.steps[:1]).record({v for node in left_out for v in node.outputs})[0]

    def edit(model: Model, copies: dict[Node, Node]) -> None:
        places: dict[Value, Value] = {}
        for node in left_out:
            for value in node.outputs:
                source = passed(node) if value.index == 0 else None
                if source is not None:
                    places[copies[node].outputs[0]] = copies[source.node].outputs[source.index]
                elif value in known:
                    made = constant_node(
                        model.node_class, known[value], element_type=value.element_type, name=node.friendly_name
                    )
                    places[copies[node].outputs[value.index]] = made.outputs[0]
        for body in _bodies(model):
            reconnect(body, places)

    return edited(case, edit)


def _bodies(model: Model) -> list[Model]:
    inner = [body.model for node in model.nodes for body in node.bodies]
    return [*inner, *(deeper for body in inner for deeper in _bodies(body))]


def passed(node: Node) -> Value | None:
    """Return the input of a layer that can replace its single output, because both have the same type."""
    if len(node.outputs) != 1:
        return None
    kind, shape = node.outputs[0].element_type, node.outputs[0].type.shape
    found = (v for v in node.inputs if v is not None and v.node.type != CONST)
    return next((v for v in found if v.element_type is kind and v.type.shape == shape), None)


def some(things: Sequence[Any]) -> Sequence[Any]:
    """Return the items if there are several, because a single item cannot be removed."""
    return things if len(things) > 1 else ()
