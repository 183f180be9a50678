"""The ports of a model that the arguments of its methods name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from irexec.api.openvino.checks import not_negative
from irexec.api.openvino.layout import check_fit, layout_of
from irexec.api.openvino.shapes import partial_shape
from irexec.core import types
from irexec.core.arguments import expected
from irexec.model.graph import model as graph
from irexec.model.graph.model import Value
from irexec.model.graph.order import traversed
from irexec.model.graph.ports import port_of


def port_named(ports: list[Value], key: Any, what: str) -> Value:
    """Return the port of a key, or the only port if there is no key. `what`: "Input" or "Output", for the error.

    Raises TypeError for an object that is not a key.
    """
    if key is None:
        if len(ports) != 1:
            kind = {"Input": "parameter", "Output": "result"}[what]
            raise RuntimeError(f"{what.lower()}() must be called on a Model with exactly one {kind}, not {len(ports)}.")
        return ports[0]
    expected(key, (str, int, np.integer, Value), f"{what.lower()}()")
    return port_of(ports, not_negative(key) if isinstance(key, int) else key, what)


def output_named(model: graph.Model, key: Any) -> Value:
    """Return the output of a key; it has all names of the tensor that its Result takes."""
    if isinstance(key, str):
        for result in model.results:
            if (taken := result.inputs[0]) is not None and key in taken.names:
                return result.outputs[0]
    return port_named(model.outputs, key, "Output")


def shapes_of(model: graph.Model, shapes: Any) -> dict[Value, Any]:
    """Return the requested shape of each named input. Raises RuntimeError if one does not fit the input's layout."""
    if isinstance(shapes, Mapping):
        wanted = {_input(model, key): _wanted(shape) for key, shape in shapes.items()}
    else:
        alone = partial_shape(shapes)
        wanted = {port_named(model.inputs, None, "Input"): alone}
    for port, shape in wanted.items():
        check_fit(layout_of(port.node), shape)
    return wanted


def variables_of(model: graph.Model, shapes: Mapping[str, Any]) -> list[tuple[graph.Node, Any]]:
    """Return nodes that read variables, with the requested shapes. Raises TypeError for a key that is not a text."""
    wanted = {}
    for key, shape in expected(shapes, Mapping, "reshape()").items():
        if not isinstance(key, str):
            raise TypeError(f"Incorrect key type {type(key)} to reshape a model, expected values as str.")
        wanted[key] = _wanted(shape)
    readers = [node for node in model.walk() if "variable_shape" in node.attributes]
    return [(node, wanted[id]) for node in readers if (id := node.attributes["variable_id"]) in wanted]


def _wanted(shape: Any) -> Any:
    if not isinstance(shape, (types.PartialShape, str, list, tuple)):
        raise TypeError(
            f"Incorrect value type {type(shape)} to reshape a model, expected values as openvino.PartialShape, str, "
            "list or tuple."
        )
    return partial_shape(shape)


def _input(model: graph.Model, key: Any) -> Value:
    if isinstance(key, Value):
        if key not in model.inputs:
            raise RuntimeError(f"{key!r} is not an input of the model")
        return key
    if isinstance(key, str):
        return port_named(model.inputs, key, "Input")
    if isinstance(key, int):
        return port_named(model.inputs, key, "Input")
    raise TypeError(f"Incorrect key type {type(key)} to reshape a model, expected keys as openvino.Output, int or str.")


def value_named(model: graph.Model, item: Any, where: str) -> Value:
    """Return a port, given by itself, by a tensor name, or by (friendly name of the operator, number of the output).

    Raises RuntimeError for an unknown port, TypeError for other objects; `where` is the position in the argument.
    """
    starts = [*model.results, *model.sinks, *model.parameters]
    if isinstance(item, str):
        for node in traversed(starts):
            for value in node.outputs:
                if item in value.names:
                    return value
        layer = next((node for node in traversed(starts) if node.friendly_name == item), None)
        hint = f" For the output of this layer, use ({item!r}, 0)." if layer is not None else ""
        raise RuntimeError(f"Tensor name {item} was not found.{hint}")
    if isinstance(item, tuple):
        name, index = item
        for node in traversed(starts):
            if node.friendly_name == name and 0 <= index < len(node.outputs):
                return node.outputs[index]
        raise RuntimeError(f"Port {index} for operation with name {name} was not found.")
    from irexec.api.opsets.computed import value_of

    found = value_of(item)
    if found is None:
        raise TypeError(f"Incorrect type of a value to add as output{where}. It is {type(item)}")
    return found
