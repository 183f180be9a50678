"""Pairs of layers of two models that irexec runs, and the differences between them.

The kernels are the same on both sides. Layers that are equal and read the same values therefore compute the same, bit
for bit, and any other difference has a cause in the files.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

import numpy as np

from irexec.core.structure import ASSIGN, IF, READ_VALUE
from irexec.core.types import BF16, F16, F32, Array, ElementType
from irexec.model.arrays.brief import shown
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Node, Value
from irexec.ops.spec.traits import MatrixProduct
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.align import Alignment
from irexec.tools.compare.classes import Classes, attributes_of, counterparts, in_order
from irexec.tools.compare.errors import Error, measure, off
from irexec.tools.compare.numbers import REORDERED
from irexec.tools.cut.extract import MAX_STRUCTURE, give_types
from irexec.tools.run.record import known_value, same

_UNPAIRED = "which has no counterpart"
# The types in which tools store weights to save space, and the text about constants stored in these types.
_NARROW = (F16, BF16)
_NARROWED = "rounded to"
# The number of elements of a constant that are rounded and compared first, before all elements.
_SAMPLED = 1 << 14


class Relation(Enum):
    """The relation of a layer, or of a group of layers, to its counterpart."""

    SAME = "the same function of the same values"
    CHANGED = "the same layers with other values, attributes or inputs"
    RESTRUCTURED = "other layers, which may round differently"


class LayerPairs:
    """The layers of the first model of an alignment, and their differences from the layers of the second model."""

    def __init__(self, alignment: Alignment) -> None:
        self.alignment = alignment
        self._cutters = Cutter(alignment.a), Cutter(alignment.b)
        self._relations: dict[Node, Relation] = {}
        self._changes: dict[Node, list[str]] = {}
        self._errors: dict[tuple[Value, Value, ElementType, bool], Error] = {}
        self._equals: dict[tuple[Value, Value], bool] = {}

    def relation(self, nodes: Sequence[Node]) -> Relation:
        """Return the relation of the last layer; the layers before it have no values on the other side."""
        if len(nodes) > 1:
            return Relation.RESTRUCTURED
        (node,) = nodes
        if node not in self._relations:
            self._relations[node] = self._relation(node)
        return self._relations[node]

    def _relation(self, node: Node) -> Relation:
        other = self.alignment.forward.get(node)
        if other is None or len(node.inputs) != len(other.inputs):
            return Relation.RESTRUCTURED
        if self.alignment.own[node] == self.alignment.own[other] and self._reads_the_same(node, other):
            assigned = self.assigned(node)
            return Relation.SAME if assigned is None or not self.changes(assigned) else Relation.CHANGED
        restructured = node.type != other.type or self._rearranges(node, other)
        return Relation.RESTRUCTURED if restructured else Relation.CHANGED

    def is_same_function(self, node: Node) -> bool:
        """Return whether a layer and its counterpart compute the same function of equally many inputs, regardless of
        the values of the inputs.
        """
        other = self.alignment.forward.get(node)
        alike = other is not None and len(node.inputs) == len(other.inputs)
        return alike and other is not None and self.alignment.own[node] == self.alignment.own[other]

    def inserted(self, node: Node) -> list[Node]:
        """Return the layers without counterparts from which a layer's counterpart is computed, back to layers that have
        one; in the order of the other model.
        """
        other, found = self.alignment.forward.get(node), set[Node]()
        stack = [] if other is None else [other]
        while stack:
            for value in stack.pop().inputs:
                source = None if value is None else value.node
                if source is None or source in self.alignment.back or source in self._cutters[1].constant:
                    continue
                if source not in found:
                    found.add(source)
                    stack.append(source)
        return [node for node in self.alignment.b.nodes if node in found]

    def only_follows(self, node: Node, before: Collection[Node]) -> bool:
        """Return whether a layer computes the same function as its counterpart and reads the same values, except that
        its counterpart reads values without counterparts in place of those computed by the layers `before`.
        """
        other = self.alignment.forward.get(node)
        if other is None or not self.is_same_function(node):
            return False
        pairs = [(x, y) for x, y in counterparts(node, other) if x is not None and y is not None]
        others = [(x, y) for x, y in pairs if x.node in before]
        unpaired = all(y.node not in self.alignment.back and str(x.type) == str(y.type) for x, y in others)
        return bool(others) and unpaired and all(self._is_same(x, y) for x, y in pairs if x.node not in before)

    def leads_elsewhere(self, node: Node) -> bool:
        """Return whether a layer differs from its counterpart, and neither its readers nor its counterpart's readers
        have counterparts.
        """
        other, back = self.alignment.forward.get(node), self.alignment.back
        if other is None or self.relation([node]) is Relation.SAME:
            return False
        ours, theirs = ({user for value in n.outputs for user in value.users} for n in (node, other))
        return bool(ours and theirs) and not (ours & self.alignment.forward.keys()) and not (theirs & back.keys())

    def assigned(self, node: Node) -> Node | None:
        """Return the layer that assigns the variable which a layer reads."""
        if node.type != READ_VALUE:
            return None
        name = node.attributes.get("variable_id")
        sinks = (sink for sink in self.alignment.a.sinks if sink.type == ASSIGN)
        return next((sink for sink in sinks if sink.attributes.get("variable_id") == name), None)

    def _reads_the_same(self, node: Node, other: Node) -> bool:
        if all(self._is_same(x, y) for x, y in counterparts(node, other)):
            return True
        (a, b), crosswise = (node.inputs[:2], other.inputs[1::-1]) if len(node.inputs) == 2 else ((None, None), ())
        return (
            bool(crosswise)
            and in_order(node, [1, 0]) == (0, 1)
            and all(self._is_same(x, y) for x, y in zip((a, b), crosswise, strict=True))
        )

    def _is_same(self, one: Value | None, other: Value | None) -> bool:
        if one is None or other is None:
            return one is other
        constant = one.node in self._cutters[0].constant, other.node in self._cutters[1].constant
        return self._equal(one, other) if any(constant) else self.alignment.value(one) is other

    def _equal(self, one: Value, other: Value) -> bool:
        """Return whether both layers are constants with the same values."""
        if (one, other) not in self._equals:
            whole = self.alignment.whole
            self._equals[one, other] = self._both_constant(one, other) and (
                (whole[one.node] == whole[other.node] and one.index == other.index)
                or same(self._constant(0, one), self._constant(1, other))
            )
        return self._equals[one, other]

    def _is_rounded(self, one: Value | None, other: Value | None, transposed: bool = False) -> bool:
        """Return whether both layers are constants that differ by rounding, as when a normalization is folded into
        weights. `transposed`: `other` is stored transposed.
        """
        if one is None or other is None or not self._both_constant(one, other) or not one.element_type.is_real:
            return False
        return one.element_type is other.element_type and self._error(one, other, F32, transposed).ulp <= REORDERED

    def _error(self, one: Value, other: Value, kind: ElementType, transposed: bool = False) -> Error:
        """Return the difference of two constants in units of this type."""
        key = one, other, kind, transposed
        if key not in self._errors:
            self._errors[key] = measure(self._constant(0, one), self._constant(1, other, transposed), kind)
        return self._errors[key]

    def _transposed(self, node: Node, other: Node) -> dict[str, int]:
        """Return the attributes, with the ports, of matrices that a MatMul reads transposed in the other model: the
        transposed constant is nearer to this layer's constant than the constant as it is stored.
        """
        found, differing = dict[str, int](), self._attributes(node, other)
        names = ("transpose_a", "transpose_b") if MatrixProduct in node.traits and MatrixProduct in other.traits else ()
        for port, (name, (one, two)) in enumerate(zip(names, counterparts(node, other), strict=False)):
            if len(set(differing.get(name, ""))) < 2 or one is None or two is None or not self._both_constant(one, two):
                continue
            kind, (rows, columns) = one.element_type, (self._constant(0, one).shape, self._constant(1, two).shape)
            if len(rows) < 2 or rows != (*columns[:-2], *columns[:-3:-1]):
                continue
            if self._error(one, two, kind, True).relative < self._error(one, two, kind).relative:
                found[name] = port
        return found

    def _both_constant(self, one: Value, other: Value) -> bool:
        return one.node in self._cutters[0].constant and other.node in self._cutters[1].constant

    def _constant(self, side: int, value: Value, transposed: bool = False) -> Array:
        """Return the value of a constant, or of a layer that is computed from constants."""
        if transposed:
            return self._constant(side, value).swapaxes(-1, -2)
        known = value.node.constant if value.node.constant is not None else known_value(value)
        if known is not None:
            return known
        part = self._cutters[side].cut([value.node], [value])
        give_types(part, [])
        found: Array = CompiledModel(part.model).infer_new_request([]).to_tuple()[0]
        return found

    def _rearranges(self, node: Node, other: Node) -> bool:
        """Return whether both layers may compute the same values, from constants that are stored in another form, or
        with layers inserted or removed before them.
        """
        names = [name for name, (x, y) in self._attributes(node, other).items() if x != y]
        if any("transpose" in name for name in names):
            return True
        others = [pair for pair in counterparts(node, other) if not self._is_same(*pair)]
        if others and not names and all(self._is_rounded(*pair) for pair in others):
            return True
        for one, two in counterparts(node, other):
            if one is None or two is None or self._is_same(one, two):
                continue
            if self._both_constant(one, two):
                if str(one.type) != str(two.type):
                    return True
            elif one.node not in self.alignment.forward or two.node not in self.alignment.back:
                return True
        return False

    # In words

    def changes(self, node: Node) -> list[str]:
        """Return the differences of the other model's layer, each in a few words: `reads scores instead of scale`."""
        if node not in self._changes:
            self._changes[node] = self._changes_of(node)
        return self._changes[node]

    def _changes_of(self, node: Node) -> list[str]:
        other = self.alignment.forward.get(node)
        if other is None:
            return []
        if node.type != other.type:
            return [f"is {other.type} instead of {node.type}"]
        transposed = self._transposed(node, other)
        pairs = [(name, both) for name, both in self._attributes(node, other).items() if name not in transposed]
        found = [f"{name} is {theirs} instead of {ours}" for name, (ours, theirs) in pairs if ours != theirs]
        if self.has_exchanged_bodies(node):
            found.append("the then branch and the else branch are exchanged")
        if self._reads_the_same(node, other):
            return found
        reads = [(x, y) for x, y in counterparts(node, other) if x is not None and y is not None]
        if len(reads) > 1 and all(self._is_same(x, z) for (x, _), (_, z) in zip(reads, reads[::-1], strict=True)):
            return [*found, f"reads {_named(reads[1][0])} and {_named(reads[0][0])} in the other order"]
        for port, (one, two) in enumerate(counterparts(node, other)):
            stored = port in transposed.values()
            if not self._is_same(one, two) and not self._is_rounded(one, two, stored):
                found.append(self._input(node, port, one, two, stored))
        return found

    def has_exchanged_bodies(self, node: Node) -> bool:
        """Return whether the branches of an If are those of its counterpart, in the other order."""
        other = self.alignment.forward.get(node)
        if other is None or node.type != IF or other.type != IF:
            return False
        classes = Classes()
        ours, theirs = classes.bodies(node), classes.bodies(other)
        return ours != theirs and ours == theirs[::-1]

    def is_narrowed(self, node: Node) -> bool:
        """Return whether the only difference is that constants are stored in f16 or bf16 in one of the models."""
        changes = self.changes(node)
        return bool(changes) and all(
            text.endswith(tuple(f"{_NARROWED} {kind}" for kind in _NARROW)) for text in changes
        )

    def is_changed(self, node: Node) -> bool:
        """Return whether there is a difference other than reading layers that have no counterpart."""
        return any(_UNPAIRED not in text for text in self.changes(node))

    def is_replaced(self, node: Node) -> bool:
        """Return whether the counterpart is of another type: it may correspond to several layers of this model."""
        other = self.alignment.forward.get(node)
        return other is not None and other.type != node.type

    def _input(self, node: Node, port: int, one: Value | None, two: Value | None, transposed: bool) -> str:
        where = f"input {port}"
        if node.operator is not None:
            where = node.operator.signature.port_name(port)
        if one is None or two is None:
            return f"{where} is {'missing' if two is None else 'not missing'}"
        if self._both_constant(one, two):
            left, right = self._constant(0, one), self._constant(1, two, transposed)
            if kind := _narrowed(left, right):
                return f"the constant {where} is {_NARROWED} {kind}"
            if kind := _narrowed(right, left):
                return f"the constant {where} is not {_NARROWED} {kind}"
            if left.shape == right.shape and left.dtype == right.dtype and left.size > MAX_STRUCTURE // 4:
                return f"the constant {where} is {off(self._error(one, two, one.element_type, transposed))}"
            if str(left.dtype) != str(right.dtype) or (left.shape != right.shape and left.size > MAX_STRUCTURE // 4):
                return f"{where} is a constant of {two.type} instead of {one.type}"
            return f"{where} is {shown(right, 40)} instead of {shown(left, 40)}"
        mine = self.alignment.original(two)
        name = _named(two) if _named(two) != _named(one) else f"a {two.node.type} of the same name"
        name = _named(mine) if mine is not None else f"{name}, {_UNPAIRED},"
        if two.node in self._cutters[1].constant:
            name = "a constant"
        return f"reads {name} instead of {_named(one)}"

    def _attributes(self, node: Node, other: Node) -> dict[str, tuple[str, str]]:
        """Return the attributes of both layers as texts."""
        ours, theirs = attributes_of(node), attributes_of(other)
        skipped = ("variable_id",) if self.alignment.own[node] == self.alignment.own[other] else ()
        names = [name for name in sorted(ours.keys() | theirs.keys()) if name not in skipped]
        return {name: (_text(ours.get(name)), _text(theirs.get(name))) for name in names}


def _narrowed(wide: Array, narrow: Array) -> str:
    """Return the name of the half type to which `wide` must be rounded to equal `narrow`; empty if there is none."""
    if wide.dtype != np.float32 or narrow.dtype != np.float32 or wide.shape != narrow.shape:
        return ""
    if not narrow.any() or np.isfinite(wide).all() != np.isfinite(narrow).all():
        return ""  # The values are no longer in memory.
    kinds: Sequence[ElementType] = _NARROW
    for part in (slice(_SAMPLED), slice(None)):
        kinds = [kind for kind in kinds if _is_rounded_to(kind, wide.reshape(-1)[part], narrow.reshape(-1)[part])]
    return str(kinds[0]) if kinds else ""


def _is_rounded_to(kind: ElementType, wide: Array, narrow: Array) -> bool:
    with np.errstate(over="ignore"):
        return same(wide.astype(kind.dtype).astype(np.float32), narrow)


def _text(value: object) -> str:
    return "unset" if value is None else str(list(value)) if isinstance(value, tuple) else str(value)


def _named(value: Value) -> str:
    port = f".{value.index}" if len(value.node.outputs) > 1 else ""
    return f"{value.node.friendly_name}{port}"
