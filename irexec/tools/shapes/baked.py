"""Baked sizes: constants in shape arithmetic that equal the size with which a model was exported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from irexec.core.records import record
from irexec.core.structure import CONST
from irexec.core.types import Stored
from irexec.model.graph.model import Node
from irexec.ops.spec.traits import Concatenation, Reshaping, SizesIn
from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.evidence import Refused
from irexec.tools.shapes.formulas import number
from irexec.tools.shapes.probe import OpenDim, Prober


@record(frozen=True)
class Baked:
    """A dynamic dimension that accepts a single size (and possibly 1), and the layer whose constant contains it."""

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


def baked_sizes(prober: Prober, refused: Iterable[Refused]) -> list[Baked]:
    """Return the dimensions that accept a single size (and possibly 1) because of a constant before the layer that
    refuses other sizes."""
    found: list[Baked] = []
    for each in refused:
        dim, size = each.condition.subject, _only_size(each.condition)
        if dim is not None and size is not None:
            hit = next(size_constants(prober, each.refusal.node, prober.dims[dim], size), None)
            if hit is not None:
                found.append(Baked(dim, size, hit.node, hit.values))
    return found


def _only_size(condition: Condition) -> int | None:
    """Return the only size that a condition allows, or the only one beside 1, which layers broadcast."""
    if isinstance(condition, OneOf) and condition.values[0] == number(1) and len(condition.values) == 2:
        return condition.values[1].constant if condition.modulus == 1 and not condition.is_choice else None
    return condition.right.constant if isinstance(condition, Guard) and condition.is_single else None


@record(frozen=True)
class SizeConstant:
    """A constant, among the inputs of a layer that contain sizes: the number of the input, the position of the size,
    and the element's multiple of the size.
    """

    node: Node
    index: int
    position: int
    times: int
    values: tuple[int, ...]


def size_constants(prober: Prober, node: Node | None, dim: OpenDim, size: int) -> Iterator[SizeConstant]:
    """Yield the constants with a size that determine the shapes of a layer's inputs, nearest first.

    A layer that does not depend on the dimension's input counts only if the size is at the dimension's axis, or is not
    1, like a mask or a token that is broadcast to the size with which the model was exported.
    """
    waiting, seen = [node] if node is not None else [], set[Node]()
    # A Reshape multiplies sizes; elsewhere, a multiple of the size is most probably unrelated to it.
    multiplies = node is not None and Reshaping in node.traits
    while waiting:
        current = waiting.pop(0)
        if current in seen:
            continue
        seen.add(current)
        is_reached = bool(prober.reached.get(current, 0) & dim.bits)
        for index in _positions(current):
            values = _known(current, index)
            if Concatenation in current.traits and not _makes_sizes(current):
                continue
            position = _position(
                values, dim.axis, size, multiplies and (Reshaping in current.traits or Concatenation in current.traits)
            )
            if position is not None and (is_reached or size > 1 or position == dim.axis):
                yield SizeConstant(current, index, position, values[position] // size, values)
        waiting += [value.node for value in current.inputs if value is not None]


def _positions(node: Node) -> tuple[int, ...]:
    """Return the positions of the inputs that contain sizes."""
    sizes = node.traits.find(SizesIn)
    return () if sizes is None else sizes.positions


def _known(node: Node, index: int) -> tuple[int, ...]:
    """Return the integers of a small constant input; an empty tuple for any other input."""
    value = node.inputs[index] if index < len(node.inputs) else None
    held = value.node.held if value is not None and value.node.type == CONST else None
    if value is None or held is None or held.size > 16 or not value.element_type.is_integral_number:
        return ()
    return tuple(int(v) for v in (held.values if isinstance(held, Stored) else held.ravel()))


def _position(values: Sequence[int], axis: int, size: int, may_be_product: bool) -> int | None:
    """Return the position of a size in a constant, preferably the position `axis`; None if it does not occur."""
    if axis < len(values) and values[axis] == size:
        return axis
    if size in values:
        return values.index(size)
    products = [n for n, value in enumerate(values) if value > size > 1 and value % size == 0]
    return products[0] if may_be_product and products else None


def _makes_sizes(node: Node) -> bool:
    """Return whether a layer computes sizes that another layer reads."""
    return any(
        user.inputs[index] is value
        for value in node.outputs
        for user in value.users
        for index in _positions(user)
        if Concatenation not in user.traits and index < len(user.inputs)
    )
