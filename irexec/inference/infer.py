"""Inference over a model: every value's type from its producers, every broken constraint a finding."""

from __future__ import annotations

from typing import Any

from irexec.diagnostics.findings import At, Findings
from irexec.graph.model import Model, Node, Value
from irexec.inference.bodies import infer_if, infer_loop, infer_tensor_iterator
from irexec.inference.declared import check_declared
from irexec.inference.propagate import propagate
from irexec.inference.variables import check_variables
from irexec.ops.declare.operator import Breach, ConstraintError
from irexec.types import DYNAMIC, MAX_KNOWN, PartialShape, TensorType

_BODIES = {"If": infer_if, "Loop": infer_loop, "TensorIterator": infer_tensor_iterator}


def infer_model(model: Model, findings: Findings, parameters: list[TensorType] | None = None) -> None:
    """Give every value of the model its type; report what breaks the operators' constraints or the file's own words.

    `parameters`: types that take the place of the Parameters' own (a body's, or the shapes of actual inputs).
    """
    _infer_nodes(model, findings, parameters)
    check_variables(model, findings)
    findings.settle()


def _infer_nodes(model: Model, findings: Findings, parameters: list[TensorType] | None = None) -> None:
    given = dict(zip(model.parameters, parameters, strict=True)) if parameters is not None else {}
    for node in [*model.nodes, *model.unreachable]:
        infer_node(node, findings, given.get(node))


def infer_node(node: Node, findings: Findings, given: TensorType | None = None) -> None:
    """Give the outputs of one node their types."""
    before = len(findings.report.errors)
    inputs = [None if v is None else v.type for v in node.inputs]
    if given is not None:
        node.set_outputs([given])
    elif node.constant is not None and node.operator is not None and node.type == "Const":
        kind = node.attributes.get("element_type")
        value = node.constant if node.constant.size <= MAX_KNOWN else None
        node.set_outputs([TensorType(kind, PartialShape(node.constant.shape), value)])  # type: ignore[arg-type]
    elif node.operator is None:
        node.set_outputs([v.declared or TensorType() for v in node.outputs])
    elif node.type in _BODIES and node.bodies:
        node.set_outputs(_BODIES[node.type](node, inputs, findings, _infer_nodes))
    else:
        _infer_operator(node, inputs, findings)
    if len(findings.report.errors) == before:
        check_declared(node, findings)


def _infer_operator(node: Node, inputs: list[TensorType | None], findings: Findings) -> None:
    operator = node.operator
    assert operator is not None
    missing = [a.name for a in operator.attributes if a.name not in node.attributes]
    connected = sum(v is not None for v in node.inputs)
    if missing or connected < operator.signature.min_inputs or _too_many(node):
        node.set_outputs(TensorType() for _ in node.outputs)
        return
    attributes = {a.name: node.attributes.get(a.name, a.default) for a in operator.attributes}
    breaches: list[Breach] = []
    types = operator.infer(inputs, attributes, breaches)
    for breach in breaches:
        report_breach(node, breach, findings)
    if not any(breach.refuses for breach in breaches):
        try:
            types = propagate(operator, inputs, attributes, types)
        except ConstraintError as error:
            report_constraint(node, error, findings)
    node.set_outputs(_for_each_output(node, types, findings))


def _for_each_output(node: Node, types: list[TensorType], findings: Findings) -> list[TensorType]:
    """A type for each output port; more ports than a variadic operator makes outputs are a finding."""
    variadic = node.operator is not None and bool(node.operator.outputs) and node.operator.outputs[0].variadic
    absent = len(node.outputs) - len(types)
    if not variadic:
        return types + [TensorType()] * absent
    if [type.rank for type in types] == [None]:  # Nothing is known, not even how many there are.
        return types * len(node.outputs)
    wrong = any(finding.layer == node.ref for finding in findings.report.errors)
    if node.layer is not None and len(node.layer.outputs) > len(types) and not wrong:
        message = f"{node.operator} has {len(node.layer.outputs)} output ports, makes {len(types)}"
        findings.add("P007", message, at=At(node.layer.outputs[len(types)].at), layer=node.ref)
    return types


def _too_many(node: Node) -> bool:
    most = node.operator.signature.max_inputs if node.operator else None
    return most is not None and len(node.inputs) > most


def report_breach(node: Node, breach: Breach, findings: Findings) -> None:
    """A broken constraint as a finding at the port or attribute that it names."""
    constraint = None
    if breach.constraint is not None and node.operator is not None:
        constraint = f"{node.operator.versioned_name} {breach.constraint}"
    details: dict[str, Any] = {k: getattr(breach, k) for k in ("port", "attribute", "hint", "found", "allowed")}
    findings.add(
        breach.code,
        breach.message,
        at=place_of(node, breach.port, breach.attribute),
        layer=node.ref,
        constraint=constraint,
        **details,
    )


def report_constraint(node: Node, error: ConstraintError, findings: Findings) -> None:
    """A value that breaks a constraint, as a finding."""
    constraint = f"{node.operator.versioned_name} {error.constraint}" if node.operator else error.constraint
    findings.add(
        "O005",
        error.message,
        at=place_of(node, error.port, None),
        layer=node.ref,
        constraint=constraint,
        port=error.port,
        hint=error.hint,
        **error.details,
    )


def place_of(node: Node, port: str | None, attribute: str | None) -> At | None:
    """The place of a port (by its name in the signature) or attribute of a node, or of its layer."""
    layer = node.layer
    if layer is None:
        return None
    if attribute is not None and attribute in layer.data:
        return At(layer.data_at, attribute)
    if port is not None and node.operator is not None:
        for index, written in enumerate(layer.inputs):
            name = node.operator.signature.port_name(index)
            if port in (name, node.operator.signature.input(index).name if index < len(node.inputs) else None):
                return At(written.at)
    return At(layer.at)


def unknown(value: Value | None) -> bool:
    """True when nothing is known of a value."""
    return value is None or (value.type.element_type is DYNAMIC and value.type.rank is None)
