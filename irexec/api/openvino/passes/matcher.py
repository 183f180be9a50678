"""Matcher: finds out whether a pattern matches a part of a graph, and which value each node of the pattern matches."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from irexec.api.openvino.passes.patterns import AnyInput, Optional, Or, Pattern, WrapType
from irexec.api.opsets.computed import value_of
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.traits import CommutativeInPatterns


class _Match:
    """The matches found so far. Each alternative is tried on a copy."""

    def __init__(self, other: _Match | None = None) -> None:
        self.found: dict[Node, Value] = {} if other is None else dict(other.found)
        self.values: list[Value] = [] if other is None else list(other.values)
        self.symbols: dict[str, Any] = {} if other is None else dict(other.symbols)

    def become(self, other: _Match) -> None:
        self.found, self.values, self.symbols = other.found, other.values, other.symbols


class Matcher:
    """A pattern with a name: `Matcher(pattern, name)`."""

    def __init__(self, node: Any = None, name: str | None = None, *, output: Any = None) -> None:
        node = node if output is None else output
        pattern = value_of(node)
        if pattern is None or not isinstance(name, str):
            raise TypeError(f"Matcher takes a node or an output, and a name; not {node!r}")
        self._pattern, self._name = pattern, name
        self._match = _Match()
        self._root: Value | None = None

    def match(self, value: Any) -> bool:
        """Return whether the pattern matches a node or an output with its inputs. Raises TypeError for anything
        else."""
        taken = value.outputs[0] if isinstance(value, Node) else value
        if not isinstance(taken, Value):
            raise TypeError(f"Matcher.match takes a node or an output, not {value!r}")
        self._match, self._root = _Match(), None
        if not _matches(self._pattern, taken, self._match):
            return False
        self._root = taken
        return True

    def get_name(self) -> str:
        return self._name

    def get_match_value(self) -> Value:
        """Return the output that the root of the pattern matched. Raises RuntimeError if there is no match."""
        if self._root is None:
            raise RuntimeError(f"the pattern {self._name!r} has matched nothing")
        return self._root

    def get_match_root(self) -> Node:
        """Return the node that the root of the pattern matched. Raises RuntimeError if there is no match."""
        return self.get_match_value().node

    def get_match_values(self) -> list[Value]:
        """Return all matched outputs, the root first."""
        return list(self._match.values)

    def get_match_nodes(self) -> list[Node]:
        """Return all matched nodes, the root first."""
        return [value.node for value in self._match.values]

    def get_pattern_value_map(self) -> dict[Node, Value]:
        """Return the value that each node of the pattern matched."""
        return dict(self._match.found)

    def get_symbols(self) -> dict[str, Any]:
        """Return the values of the names in `shape_matches` and `attrs_match`."""
        return dict(self._match.symbols)


def _matches(pattern: Value, value: Value, match: _Match) -> bool:
    """Return whether a pattern matches a value. If so, add the matched nodes and symbols to `match`."""
    node = pattern.node
    if isinstance(node, AnyInput) and node in match.found:
        return match.found[node] is value
    trial = _Match(match)
    if not _kinds_match(pattern, value, trial):
        return False
    match.become(trial)
    return True


def _kinds_match(pattern: Value, value: Value, match: _Match) -> bool:
    node = pattern.node
    if isinstance(node, Optional):
        return _optional_matches(node, value, match)
    if isinstance(node, Or):
        match.found[node] = value
        return any(_matches(given, value, match) for given in node.inputs if given is not None)
    if isinstance(node, AnyInput):
        return _taken(node, value, match)
    if isinstance(node, WrapType):
        return node.stands_for(value.node) and _taken(node, value, match) and _inputs_match(node, value.node, match)
    if node.operator is not value.node.operator or pattern.index != value.index:
        return False
    match.found[node] = value
    match.values.append(value)
    return _inputs_match(node, value.node, match)


def _taken(node: Pattern, value: Value, match: _Match) -> bool:
    match.found[node] = value
    match.values.append(value)
    return node.predicate(match.symbols, value)


def _optional_matches(node: Optional, value: Value, match: _Match) -> bool:
    present = _Match(match)
    if node.stands_for(value.node) and _taken(node, value, present) and _inputs_match(node, value.node, present):
        match.become(present)
        return True
    given = node.inputs[0] if node.inputs else None
    return given is not None and _matches(given, value, match)


def _inputs_match(pattern: Node, node: Node, match: _Match) -> bool:
    """Return whether the inputs of a pattern match those of a node; a pattern without inputs matches any."""
    if not pattern.inputs:
        return True
    if len(pattern.inputs) != len(node.inputs):
        return False
    orders = permutations(pattern.inputs) if CommutativeInPatterns in node.traits else [pattern.inputs]
    for patterns in orders:
        trial = _Match(match)
        pairs = zip(patterns, node.inputs, strict=True)
        if all(p is not None and v is not None and _matches(p, v, trial) for p, v in pairs):
            match.become(trial)
            return True
    return False
