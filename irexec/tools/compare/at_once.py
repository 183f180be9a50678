"""Many small layers that irexec runs at once with given inputs: compiling each alone takes longer than running it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.traits import Pure
from irexec.tools.compare.culprit import alone, function_of

_SMALL = 1 << 18
"""The maximum number of bytes of an input or a constant of these layers."""


def at_once(whole: Cutter, nodes: Sequence[Node], given: Mapping[Value, Array]) -> dict[Node, list[Array]]:
    """Return irexec's results of those layers that are small, whose inputs are all `given`, and that can be run."""
    found: dict[Node, list[Array]] = {}
    for group in _unconnected([node for node in nodes if _is_small(whole, node, given)]):
        with suppress(IRError):
            begins, part = alone(whole, group, [value for node in group for value in node.outputs], given)
            results = iter(function_of(part)([given[value] for value in begins]))
            found |= {node: [next(results) for _ in node.outputs] for node in group}
    return found


def _is_small(whole: Cutter, node: Node, given: Mapping[Value, Array]) -> bool:
    """Return whether running a layer is fast, and needs nothing but the given values."""
    if Pure not in node.traits:
        return False
    for value in node.inputs:
        if value is None:
            continue
        array = value.node.constant if value.node in whole.constant else given.get(value)
        if array is None or array.nbytes > _SMALL:
            return False
    return True


def _unconnected(nodes: Sequence[Node]) -> list[list[Node]]:
    """Return groups of layers none of which reads another layer of its group. `nodes`: in topological order."""
    group_of: dict[Node, int] = {}
    groups: list[list[Node]] = []
    for node in nodes:
        taken = {group_of[value.node] for value in node.inputs if value is not None and value.node in group_of}
        number = next(free for free in count() if free not in taken)
        if number == len(groups):
            groups.append([])
        groups[number].append(node)
        group_of[node] = number
    return groups
