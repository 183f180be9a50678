"""The names that one graph or function body can see, and what it takes from the graph around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irexec.frontends.onnx.messages import onnx
from irexec.graph.model import Node, Value


class Scope:
    """The names of one graph or function body. A name that stands for None is of a value that could not be made.

    `opsets`: domain → version. `references`: the attributes that the nodes of a function body refer to. `depth`: how
    many calls of functions there are around it.
    """

    def __init__(
        self, opsets: dict[str, int], depth: int = 0, references: dict[str, onnx.AttributeProto] | None = None
    ) -> None:
        self.values: dict[str, Value | None] = {}
        # What nodes of the graph make: a name among them that is not known is of a node that comes later.
        self.made_later: set[str] = set()
        self.opsets, self.depth = opsets, depth
        self.references = references or {}

    def knows(self, name: str) -> bool:
        return name in self.values

    def value(self, name: str) -> Value | None:
        """What a known name stands for."""
        return self.values[name]

    def find(self, name: str) -> Value | None:
        """What a name stands for, if anything."""
        return self.value(name) if self.knows(name) else None


class BodyScope(Scope):
    """The names of a body (of If, Loop, Scan), which sees those around it.

    What is taken from outside comes in through a Parameter of the body, one per value (`captures`); constants are
    made again inside.
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
            if inner.node.type == "Parameter":
                self.captures.append((value, inner.node))
        return inner


def opsets_of(entries: Any) -> dict[str, int]:
    """Domain → version of opset imports."""
    return {domain_of(entry.domain): entry.version for entry in entries}


def domain_of(domain: str) -> str:
    """ONNX's own domain has two names."""
    return "" if domain == "ai.onnx" else domain
