"""The names that are visible in one graph or function body, and the values captured from the enclosing graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from irexec.core.diagnostics import LayerRef
from irexec.core.structure import PARAMETER
from irexec.frontends.onnx.messages import onnx
from irexec.model.graph.model import Node, Value


class Scope:
    """The names of one graph or function body. A name whose value is None stands for a value that could not be
    computed.

    `opsets`: domain → version. `references`: the attributes that the nodes of a function body refer to. `depth`: the
    number of enclosing function calls.
    """

    def __init__(
        self, opsets: dict[str, int], depth: int = 0, references: dict[str, onnx.AttributeProto] | None = None
    ) -> None:
        self.values: dict[str, Value | None] = {}
        # Outputs of the graph's nodes: an unknown name among them belongs to a node that comes later.
        self.made_later: set[str] = set()
        self.opsets, self.depth = opsets, depth
        self.references = references or {}

    def knows(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str) -> Value | None:
        """Return the value of a known name; None if it could not be computed."""
        return self.values[name]

    def find(self, name: str) -> Value | None:
        """Return the value of a name; None if the name is unknown or its value could not be computed."""
        return self.value(name) if self.knows(name) else None


class BodyScope(Scope):
    """The names of a body (of If, Loop, Scan), in which the enclosing names are visible.

    Each outer value enters through one Parameter of the body (`captures`); constants are created again inside.
    """

    def __init__(self, outer: Scope, enter: Callable[[Value, str], Value]) -> None:
        super().__init__(outer.opsets, outer.depth, outer.references)
        self.outer = outer
        self.captures: list[tuple[Value, Node]] = []
        self._enter = enter

    def knows(self, name: str) -> bool:
        return name in self.values or self.outer.knows(name)

    def value(self, name: str) -> Value | None:
        if name not in self.values:
            found = self.outer.value(name)
            self.values[name] = None if found is None else self._captured(found, name)
        return self.values[name]

    def _captured(self, value: Value, name: str) -> Value:
        inner = next((node.outputs[0] for outer, node in self.captures if outer is value), None)
        if inner is None:
            inner = self._enter(value, name)
            if inner.node.type == PARAMETER:
                self.captures.append((value, inner.node))
        return inner


def opsets_of(entries: Any) -> dict[str, int]:
    """Return the opset imports as a dict: domain → version."""
    return {domain_of(entry.domain): entry.version for entry in entries}


def domain_of(domain: str) -> str:
    """Return the domain's canonical name: `ai.onnx` is another name of ONNX's own domain, the empty text."""
    return "" if domain == "ai.onnx" else domain


def ref_of(node: onnx.NodeProto, number: str, opsets: Mapping[str, int]) -> LayerRef:
    """Return the name of a node in findings. `number`: its position, in a body after the enclosing node's."""
    domain = domain_of(node.domain)
    version = f"{node.domain} {opsets.get(domain, '')}" if domain else f"onnx{opsets.get('', '')}"
    return LayerRef(number, node.name or next((o for o in node.output if o), ""), node.op_type, version)
