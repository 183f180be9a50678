"""Layers that are judged together: a layer that the other side exposes, with the preceding layers that it does not."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import Random

_MOST, _MOST_OF_A_MODULE = 256, 4096
"""The maximum number of layers that are recomputed for one observed layer, and for a module: exporters unroll loops."""


class Together:
    """Finds the layers that are judged together, by the values that the other side has exposed so far."""

    def __init__(self, model: Model, nodes: Sequence[Node], modules: bool = False) -> None:
        """`nodes`: the layers that are compared, in order.

        `modules`: whether the other side exposes values of modules.
        """
        self.shown: set[Value] = set()
        self._most = _MOST_OF_A_MODULE if modules else _MOST
        self._constant = constant_nodes(model)
        self._order = {node: number for number, node in enumerate(nodes)}

    def of(self, node: Node, soon: Collection[Value] = ()) -> tuple[list[Node], list[Value]]:
        """Return the layer preceded by the layers that are judged with it, and their inputs except constants.

        These layers are traced back to values that are exposed, or will be `soon`; if that is impossible, the layer
        is judged alone.
        """
        found, given = {node}, dict[Value, None]()
        stack = [node]
        while stack:
            for value in self._inputs(stack.pop()):
                source = value.node
                if value in self.shown or value in soon or source not in self._order or not _computes(source):
                    given[value] = None
                elif source not in found:
                    found.add(source)
                    stack.append(source)
            if len(found) > self._most:
                return [node], self._inputs(node)
        return sorted(found, key=lambda n: self._order[n]), list(given)

    def _inputs(self, node: Node) -> list[Value]:
        return [value for value in node.inputs if value is not None and value.node not in self._constant]


def _computes(node: Node) -> bool:
    """Return whether a layer computes the same result again when it is run alone."""
    if node.has_state or any(not _computes(inner) for body in node.bodies for inner in body.model.nodes):
        return False
    return Random not in node.traits
