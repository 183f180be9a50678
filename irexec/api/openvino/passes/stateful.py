"""State: a Result that is fed back to a Parameter in the next inference becomes a variable of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from irexec.api.openvino.editing import changed, checked_model, order, replace
from irexec.api.openvino.exceptions import NotOffered
from irexec.api.openvino.kinds.descriptions import Variable, VariableInfo
from irexec.api.openvino.opsets import opset
from irexec.api.openvino.passes.base import ModelPass
from irexec.api.openvino.shapes import PartialShape
from irexec.core.arguments import expected
from irexec.core.structure import LOOP, TENSOR_ITERATOR
from irexec.model.graph.model import Model, Node

Pairs = Iterable[tuple[Node, Node]] | Mapping[str, str]


class MakeStateful(ModelPass):
    """Replaces pairs of a Parameter and a Result by ReadValue and Assign.

    `pairs_to_replace`: pairs of nodes, or `{name of the Parameter's tensor: name of the Result's}`. Raises RuntimeError
    for a name that no Parameter or Result has.
    """

    def __init__(self, pairs_to_replace: Pairs) -> None:
        self._pairs = expected(pairs_to_replace, (dict, list), "MakeStateful()")

    def run_on_model(self, model: Any) -> bool:
        checked = checked_model(model)
        for parameter, result, name in _named(checked, self._pairs):
            _make_variable(checked, parameter, result, name)
        changed(checked)
        order(checked)
        return True


class LowLatency2(ModelPass):
    """Accepts only models without TensorIterator and Loop, the state of which OpenVINO converts to variables."""

    def __init__(self, use_const_initializer: bool = True) -> None:
        self._with_constants = use_const_initializer

    def run_on_model(self, model: Any) -> bool:
        """Return False. Raises NotOffered for a model with TensorIterator or Loop: irexec keeps their state in the
        layer."""
        loops = [node.friendly_name for node in checked_model(model).walk() if node.type in (TENSOR_ITERATOR, LOOP)]
        if loops:
            raise NotOffered(f"the conversion of the state of {loops[0]!r} to variables", "its body runs unchanged")
        return False


def _named(model: Model, pairs: Pairs) -> list[tuple[Node, Node, str]]:
    """Return Parameter, Result and the name of the variable, for each pair."""
    if not isinstance(pairs, Mapping):
        return [(p, r, p.friendly_name + r.friendly_name) for p, r in pairs]
    return [
        (_with_name(model.parameters, p, "Parameters"), _with_name(model.results, r, "Results"), p + r)
        for p, r in pairs.items()
    ]


def _with_name(nodes: list[Node], name: str, what: str) -> Node:
    for node in nodes:
        taken = node.inputs[0] if node.inputs else None
        if name in node.outputs[0].names or (taken is not None and name in taken.names):
            return node
    raise RuntimeError(f"The tensor name {name} is not associated with any of {what} in the network.")


def _make_variable(model: Model, parameter: Node, result: Node, name: str) -> None:
    value = parameter.outputs[0]
    variable = Variable(VariableInfo(PartialShape(value.type.shape), value.element_type, name))
    kept = result.inputs[0]
    read = opset("opset6").read_value(variable)
    model.sinks.append(opset("opset6").assign(kept, variable))
    replace(value, read.outputs[0])
    model.parameters.remove(parameter)
    model.results.remove(result)
