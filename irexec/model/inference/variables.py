"""Variables: all ReadValue and Assign operations on a variable, bodies included, must agree on its type and shape.

Source: operation pages ReadValue-6, Assign-6.
"""

from __future__ import annotations

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.types import DYNAMIC, TensorType
from irexec.model.graph.model import Model, Node
from irexec.model.inference.inference import Inference


def check_variables(model: Model, inference: Inference, findings: Findings) -> None:
    """Report every state operation whose type or shape is incompatible with the first operation on its variable."""
    first: dict[str, tuple[Node, TensorType]] = {}
    states = [node for node in model.walk() if node.has_state and node.outputs]
    # ReadValue defines the variable's type; Assign only has to be compatible with it.
    for node in sorted(states, key=lambda node: node.type == ASSIGN):
        variable, type = node.attributes.get("variable_id"), inference[node.outputs[0]]
        if not variable:
            continue
        other, known = first.setdefault(variable, (node, type))
        kinds = {known.element_type, type.element_type} - {DYNAMIC}
        if len(kinds) == 2 or not known.shape.compatible(type.shape):
            verb = "reads" if node.type == READ_VALUE else "assigns"
            findings.add(
                "V003",
                f"{node.ref} {verb} {type}, but the variable {variable!r} is {known}",
                at=At(node.layer.at if node.layer is not None else -1),
                layer=node.ref,
                found=str(type),
                allowed=str(known),
                related=() if other.layer is None else ((f"declared by {other.ref}", At(other.layer.at)),),
            )
