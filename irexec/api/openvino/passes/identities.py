"""Removal of layers that return an input unchanged, as OpenVINO does when it converts a model."""

from __future__ import annotations

from irexec.api.openvino.editing import changed, order, replace
from irexec.core.structure import PARAMETER, RESULT
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import Arithmetic, Commutative, Unchanged


def remove_identities(model: Model) -> None:
    """Connect the users of Identity, and of layers such as an addition of zeros, with the values they return."""
    removed = False
    for node in model.nodes:
        for body in node.bodies:
            remove_identities(body.model)
        value = _returned(node)
        if value is None:
            continue
        if any(user.type == RESULT for user in node.outputs[0].users):
            if value.node.type == PARAMETER or len(value.node.outputs) > 1:
                continue  # Such a node cannot take the name of this layer, which names the Result.
            value.node.given_name = node.friendly_name
        replace(node.outputs[0], value)
        removed = True
    if removed:
        changed(model)
        order(model)


def _returned(node: Node) -> Value | None:
    """Return the input that a node returns unchanged, if there is one."""
    if Unchanged in node.traits:
        return node.inputs[0]
    arithmetic = node.traits.find(Arithmetic)
    if arithmetic is None:
        return None
    left, right = node.inputs
    operands = [(left, right), (right, left)] if Commutative in node.traits else [(left, right)]
    for value, other in operands:
        if value is None or other is None or (constant := other.node.constant) is None:
            continue
        if _fits(constant.shape, value) and bool((constant == arithmetic.neutral).all()):
            return value
    return None


def _fits(shape: tuple[int, ...], value: Value) -> bool:
    """Return whether an array of a shape broadcasts into the shape of a value, whatever its dynamic dimensions are."""
    dims = value.type.shape
    if dims.rank is None or len(shape) > dims.rank:
        return False
    behind = list(dims)[dims.rank - len(shape) :]
    return all(n == 1 or (dim.is_static and dim.value == n) for n, dim in zip(shape, behind, strict=True))
