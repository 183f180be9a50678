"""Making recurrent layers smaller: a smaller hidden size, and one direction instead of two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.types import Array, PartialShape
from irexec.model.graph.model import Model, Node
from irexec.tools.reduce.case import Case, Steps, edited

# The number of states of each type of cell; the inputs after them are the sequence lengths (if any), W, R and B.
_STATES = {"LSTM": 2, "GRU": 1, "RNN": 1, "AUGRU": 1}
Crop = Callable[[Array], Array]


def hidden(case: Case) -> list[Node]:
    """Return the recurrent layers whose hidden size could be smaller."""
    return [node for node in _recurrent(case.model) if node.attributes["hidden_size"] > 1]


def keep_hidden(case: Case, kept: list[Node]) -> Case:
    """Return the case in which all recurrent layers but those in `kept` have a hidden size of 1."""

    def crops(node: Node) -> tuple[Crop, Crop, Crop]:
        size = node.attributes["hidden_size"]

        def gates(array: Array, axis: int) -> Array:
            return np.take(array, range(0, array.shape[axis], size), axis)

        is_sequence = node.type.endswith("Sequence")
        return (
            lambda state: state[..., :1],
            lambda weights: gates(weights, 1 if is_sequence else 0),
            lambda weights: gates(weights, 1 if is_sequence else 0)[..., :1],
        )

    return _smaller(case, [node for node in hidden(case) if node not in kept], crops, {"hidden_size": 1})


def directions(case: Case) -> list[Node]:
    """Return the layers with two directions."""
    return [node for node in _recurrent(case.model) if node.attributes.get("direction") == "bidirectional"]


def keep_directions(case: Case, kept: list[Node]) -> Case:
    """Return the case in which all recurrent layers but those in `kept` have the forward direction only."""

    def crops(node: Node) -> tuple[Crop, Crop, Crop]:
        return lambda state: state[:, :1], lambda weights: weights[:1], lambda weights: weights[:1]

    found = [node for node in directions(case) if node not in kept]
    return _smaller(case, found, crops, {"direction": "forward"})


def _recurrent(model: Model) -> list[Node]:
    return [node for node in model.nodes if node.type.removesuffix("Sequence").removesuffix("Cell") in _STATES]


def _smaller(
    case: Case, nodes: list[Node], crops: Callable[[Node], tuple[Crop, Crop, Crop]], attributes: dict[str, Any]
) -> Case:
    """Return the case in which layers have these attributes, and cropped states, weights and recurrent weights.

    Raises ValueError if these are neither constants nor inputs of the model.
    """

    def edit(model: Model, copies: dict[Node, Node]) -> Steps:
        steps = [list(step) for step in case.steps]
        for node in nodes:
            states = _STATES[node.type.removesuffix("Sequence").removesuffix("Cell")]
            first = 1 + states + node.type.endswith("Sequence")
            of_state, of_weights, of_recurrent = crops(node)
            ports = dict.fromkeys(range(1, 1 + states), of_state)
            ports |= {first: of_weights, first + 1: of_recurrent, first + 2: of_weights}
            for port, crop in ports.items():
                if port < len(node.inputs) and node.inputs[port] is not None:
                    _cropped(copies[node], port, crop, model, steps)
            copies[node]._attributes = copies[node].attributes | attributes
        return steps

    return edited(case, edit)


def _cropped(node: Node, port: int, crop: Crop, model: Model, steps: Steps) -> None:
    """Crop a value that a layer reads: a constant, or an input of the model that no other layer reads."""
    value = node.inputs[port]
    assert value is not None
    if value.node.constant is not None:
        array = np.ascontiguousarray(crop(value.node.constant))
        made = constant_node(type(node), array, name=value.node.friendly_name, element_type=value.element_type)
        node.replace_input_with(port, made.outputs[0])
    elif value in model.inputs and len(value.users) == 1:
        index = model.inputs.index(value)
        for step in steps:
            step[index] = np.ascontiguousarray(crop(step[index]))
        value.node._attributes = value.node.attributes | {"shape": PartialShape(steps[0][index].shape)}
    else:
        raise ValueError("the value is computed, or other layers read it")
