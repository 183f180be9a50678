"""The number of nodes to which the calls of a model's functions expand, counted before any of them is expanded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from irexec.frontends.onnx.errors import TooLarge
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.order import bodies

Key = tuple[str, str, str]
"""The key of a function: domain, name, overload."""

MAX_DEPTH = 64
"""The maximum nesting of function calls; real ONNX models nest only a few levels."""
MAX_NODES = 50_000
"""The maximum number of nodes from expanding function calls and bodies: nested calls multiply."""


class Expansion(NamedTuple):
    """The number of nodes to which one call expands, including bodies and further calls, and the nesting depth of the
    calls.

    Counting stops just above the limits: the exact numbers may have as many digits as there are functions.
    """

    nodes: int
    depth: int

    @property
    def is_bounded(self) -> bool:
        return self.nodes <= MAX_NODES and self.depth <= MAX_DEPTH


_ENDLESS = Expansion(MAX_NODES + 1, MAX_DEPTH + 1)


def expansions(functions: Iterable[onnx.FunctionProto]) -> dict[Key, Expansion]:
    """Return the expansion of each function of a model. Each function is examined once, after the functions that it
    calls."""
    nodes = {(f.domain, f.name, f.overload): f.node for f in functions}
    calls = {key: Counter(_calls(body)) for key, body in nodes.items()}
    found: dict[Key, Expansion] = {}
    order = TopologicalSorter({key: called.keys() & calls.keys() for key, called in calls.items()})
    with suppress(CycleError):
        order.prepare()
    while ready := order.get_ready():
        found |= {key: _expansion(calls[key], found) for key in ready}
        order.done(*ready)
    # The remaining functions are recursive, or call recursive functions.
    return found | dict.fromkeys(calls.keys() - found.keys(), _ENDLESS)


def expansion_of(nodes: Iterable[onnx.NodeProto], known: Mapping[Key, Expansion]) -> Expansion:
    """Return the expansion of a graph's nodes; `known`: the expansions of the functions."""
    return _expansion(Counter(_calls(nodes)), known)


def _expansion(calls: Counter[Key], known: Mapping[Key, Expansion]) -> Expansion:
    count, depth = 0, 0
    for key, times in calls.items():
        inner = known.get(key)
        count += times * (1 if inner is None else 1 + inner.nodes)
        depth = max(depth, 0 if inner is None else 1 + inner.depth)
    return Expansion(min(count, _ENDLESS.nodes), min(depth, _ENDLESS.depth))


def _calls(nodes: Iterable[onnx.NodeProto]) -> Iterator[Key]:
    """Return the functions that nodes call, including the nodes in their bodies."""
    for node in nodes:
        yield node.domain, node.op_type, node.overload
        for graph in bodies(node):
            yield from _calls(graph.node)


class Size:
    """The number of nodes from functions and bodies that were translated so far, which is limited."""

    def __init__(self, functions: Mapping[Key, onnx.FunctionProto]) -> None:
        self._functions, self._count = functions, 0
        self._expansions: dict[Key, Expansion] | None = None

    def add(self, nodes: Sequence[onnx.NodeProto]) -> None:
        """Count the nodes of a function or body. Raises TooLarge."""
        self._count += len(nodes)
        self._check()

    def check_call(self, function: Key | None, depth: int) -> None:
        """Raise TooLarge for a call that would expand to too many nodes, before any of them is created.

        `function`: the called function of the model; None if another function is called. `depth`: the number of
        enclosing calls.
        """
        deep, many = 0, 0
        if function is not None:
            if self._expansions is None:
                self._expansions = expansions(self._functions.values())
            many, deep = self._expansions[function]
        if depth + 1 + deep > MAX_DEPTH:
            raise TooLarge("F009", f"function calls are nested more than {MAX_DEPTH} deep")
        self._check(many)

    def _check(self, more: int = 0) -> None:
        if self._count + more > MAX_NODES:
            raise TooLarge("F009", f"inlined functions and bodies have more than {MAX_NODES} nodes")
