"""Findings about IR nodes in the terms of the ONNX node that they translate: its inputs and attributes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from irexec.core.diagnostics import Diagnostic
from irexec.model.graph.model import Node, Value

# IR operators by which translators change the form of an input, but not what it is.
_SAME_INPUT = {"Squeeze", "Unsqueeze", "Reshape", "Convert", "Split", "VariadicSplit", "Maximum"}


def in_onnx_terms(
    finding: Diagnostic, node: Node, inputs: Mapping[Value, str], attributes: Collection[str]
) -> Diagnostic:
    """Return a finding with the names of ONNX's inputs instead of IR's ports, without the number of IR's constraint.

    `node`: the IR node. `inputs`: the inputs of the ONNX node, each with its name in ONNX. `attributes`: the names of
    ONNX's attributes; a finding about another attribute names none.
    """
    signature = node.operator.signature if node.operator is not None else None
    ports: dict[str, str] = {}
    for index, value in enumerate(node.inputs):
        if signature is not None and value is not None and (name := _name_of(value, inputs)) is not None:
            ports[signature.port_name(index)] = name
    message = finding.message
    if ports:
        words = "|".join(re.escape(port) for port in ports)
        message = re.sub(rf"(?<![\w'])({words})(?![\w'])", lambda found: ports[found[1]], message)
    return replace(
        finding,
        message=message,
        port=ports.get(finding.port or ""),
        attribute=finding.attribute if finding.attribute in attributes else None,
        constraint=None,
    )


def _name_of(value: Value, inputs: Mapping[Value, str]) -> str | None:
    """Return the name of the ONNX input that a value is, perhaps in another form."""
    while value not in inputs and value.node.type in _SAME_INPUT and value.node.inputs[0] is not None:
        value = value.node.inputs[0]
    return inputs.get(value)
