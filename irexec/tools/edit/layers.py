"""Other layers: of another type with the same inputs, and constants in place of layers whose results are known."""

from __future__ import annotations

from collections.abc import Mapping

from irexec.api.openvino.editing import redirect
from irexec.api.openvino.model import Model
from irexec.api.openvino.passes.conversions import ConstantFolding
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.structure import IF
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.contents import CONTENTS, find
from irexec.tools.edit.changes import impossible, node_named


def replace_types(model: Model, types: Mapping[str, str]) -> Model:
    """Return the model with other types of layers; attributes that both types have stay. Raises IRError."""
    for name, wanted in types.items():
        node = node_named(model, name, "--replace")
        made = _of_type(model, node, name, wanted)
        for old, new in zip(node.outputs, made.outputs, strict=False):
            redirect(old, new)
            new.names = set(old.names)
    return model


def _of_type(model: Model, node: Node, name: str, wanted: str) -> Node:
    type, _, number = wanted.rpartition("-") if wanted.rpartition("-")[2].isdecimal() else (wanted, "", "")
    newest = CONTENTS.get(type, ("", (0,)))[1][-1]
    operator = find(type, f"opset{number or newest}")
    if operator is None:
        impossible(model, "U005", f"--replace {name}={wanted}: no operator has this type", did_you_mean(type, CONTENTS))
    attributes = {
        each.name: node.all_attributes.get(each.name, each.default) if node.operator else each.default
        for each in operator.attributes
        if not each.required or each.name in node.attributes
    }
    lacking = [each.file_name for each in operator.attributes if each.required and each.name not in attributes]
    if lacking:
        message = f"--replace {name}={wanted}: the layer has no attribute {lacking[0]!r}, which {operator} requires"
        impossible(model, "U003", message)
    fault = operator.signature.fault_of_count(len(node.inputs))
    if fault is not None:
        message = f"--replace {name}={wanted}: {operator} {fault[0]}"
        impossible(model, "U003", message, f"{name} has {len(node.inputs)} inputs")
    made = model.node_class(operator, node.inputs, attributes, name=node.friendly_name)
    made.rt_info = dict(node.rt_info)
    made.set_outputs([value.type for value in node.outputs])
    return made


def fold(model: Model) -> Model:
    """Return the model with constants in place of layers that depend on constants alone, and with the branch of each If
    whose condition is known.
    """
    while True:
        ConstantFolding().run_on_model(model)
        replaced = [_without_if(node) for node in list(model.nodes) if node.type == IF]
        if True not in replaced:
            return model
        model.validate_nodes_and_infer_types()


def _without_if(node: Node) -> bool:
    """Replace an If by the layers of the branch that runs, if its condition is known."""
    condition = None if node.inputs[0] is None else node.inputs[0].node.constant
    if condition is None or condition.size != 1:
        return False
    body = node.bodies[0 if bool(condition.reshape(-1)[0]) else 1]
    given: dict[int, Value] = {}
    for entry in body.inputs:
        outer = node.inputs[entry.external] if entry.external is not None else None
        if outer is not None:
            given[entry.parameter] = outer
    for number, outer in given.items():
        redirect(body.model.parameters[number].outputs[0], outer)
    for output in body.outputs:
        made = body.model.results[output.result].inputs[0]
        if made is not None and output.external is not None:
            redirect(node.outputs[output.external], made)
    return True
