"""Baked sizes: constants in shape arithmetic that equal the size with which a model was exported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from irexec.graph.model import Node
from irexec.records import record
from irexec.sizes.case import Case
from irexec.sizes.probe import Prober
from irexec.types import Stored

# The inputs that hold sizes, by operator.
_SIZE_INPUTS = {
    "Reshape": (1,),
    "Broadcast": (1,),
    "Tile": (1,),
    "Slice": (1, 2),
    "StridedSlice": (1, 2),
    "Concat": (0, 1, 2, 3, 4, 5, 6, 7),
    "VariadicSplit": (2,),
    "Interpolate": (1,),
}


@record(frozen=True)
class Baked:
    """An open dimension of which one size only is accepted, and the layer with a constant that holds this size."""

    dim: int
    size: int
    node: Node
    values: tuple[int, ...]

    def text(self, symbol: str) -> str:
        target = ",".join(map(str, self.values))
        return (
            f"{self.node.type} {self.node.friendly_name!r} has a constant [{target}]: "
            f"the model was exported with {symbol} {self.size}"
        )

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        return {
            "symbol": names[self.dim],
            "size": self.size,
            "layer": self.node.friendly_name,
            "type": self.node.type,
            "constant": list(self.values),
        }


def baked_sizes(prober: Prober, cases: Sequence[Case]) -> list[Baked]:
    """Return the dimensions that accept a single size because of a constant on the way to the layer that refuses
    others."""
    found: list[Baked] = []
    if not cases:
        return found
    case = cases[0]
    for dim, accepted in case.choices.items():
        if not accepted.is_single or not accepted.singles:
            continue
        size = accepted.singles[0]
        bit = 1 << prober.dims[dim].input
        for reason in case.reasons:
            if reason.dim == dim and (hit := next(_holding(prober, reason.refusal.node, bit, size), None)) is not None:
                found.append(Baked(dim, size, *hit))
                break
    return found


def _holding(prober: Prober, node: Node | None, bit: int, size: int) -> Iterator[tuple[Node, tuple[int, ...]]]:
    """Yield the layers from one backwards that have a constant with a size among the inputs that hold sizes."""
    waiting, seen = [node] if node is not None else [], set[Node]()
    while waiting:
        current = waiting.pop(0)
        if current in seen or not prober.reached.get(current, 0) & bit:
            continue
        seen.add(current)
        for index in _SIZE_INPUTS.get(current.type, ()):
            value = current.inputs[index] if index < len(current.inputs) else None
            held = value.node.held if value is not None and value.node.type == "Const" else None
            if held is None or held.size > 16 or value is None or not value.element_type.is_integral_number:
                continue
            values = tuple(int(v) for v in (held.values if isinstance(held, Stored) else held.ravel()))
            if size in values or (
                current.type == "Reshape" and any(v > size and v % size == 0 for v in values if size > 1)
            ):
                yield current, values
        waiting += [value.node for value in current.inputs if value is not None]
