"""Differences between two models: added, removed and changed layers; similar differences are combined into one line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from irexec.core.structure import CONST, RESULT
from irexec.core.types import Array, TensorType
from irexec.model.arrays.brief import plural
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.align import Alignment, align
from irexec.tools.compare.classes import Classes, attributes_of, in_order
from irexec.tools.compare.culprit import alone, function_of
from irexec.tools.diff.change import Change, condensed, counted, extremes
from irexec.tools.diff.changed_constant import ChangedConstant, nearest
from irexec.tools.diff.onnx_nodes import in_nodes
from irexec.tools.run.record import same

_FEW = 3
# More layers than this, of more than a few types, are counted in one line.
_MANY = 9
# The number of characters of an example that is shown after a count.
_SHORT = 36
_UNKNOWN = TensorType()
_UNNAMED = (RESULT, CONST)
"""Types of layers whose names are not compared; a Const is a layer of its own only if the weights are missing."""


def diff(a: Model, b: Model) -> list[Change]:
    """Return the differences between `a` and `b`. Raises IRError if constants cannot be computed.

    Layers are aligned by name, tensor names and structure. Sub-graphs of constants are compared by the values that
    other layers read; a different computation of a constant is one line, regardless of its number of layers.
    """
    return in_nodes(_Diff(a, b, (), Classes()).changes(), a, b)


class _Diff:
    """The comparison of two models, or of two bodies. `brief`: they seem to be exports of one network by two exporters,
    so that one line for each kind of change is enough.
    """

    def __init__(self, a: Model, b: Model, outer: tuple[str, ...], classes: Classes, brief: bool = False) -> None:
        self.a, self.b, self.outer = a, b, outer
        self.alignment: Alignment = align(a, b, classes)
        self._cutters = {a: Cutter(a), b: Cutter(b)}
        self._computed: dict[Value, Array] = {}
        self.constant = self._cutters[a].constant | self._cutters[b].constant
        self.pairs = [(one, two) for one, two in self.alignment.forward.items() if not {one, two} & self.constant]
        order = {node: index for index, node in enumerate(a.nodes)}
        self.pairs.sort(key=lambda pair: order[pair[0]])
        renamed = sum(one.friendly_name != two.friendly_name for one, two in self.pairs)
        self.missing = len(self._unpaired(a, self.alignment.forward)) + len(self._unpaired(b, self.alignment.back))
        self.brief = brief or 2 * renamed > len(self.pairs)

    def changes(self) -> list[Change]:
        found = [
            *self._missing(self.a, self.alignment.forward, "removed"),
            *self._missing(self.b, self.alignment.back, "added"),
            *self._together("replaced", self._replaced()),
            *self._together("renamed", self._names()),
            *self._together("opset", self._opsets()),
            *self._together("connection", self._connections()),
            *self._together("attribute", self._attributes()),
            *self._together("type", self._types("type")),
            *self._together("shape", self._types("shape")),
            *self._constants(),
            *self._together("rt_info", self._infos()),
        ]
        found = condensed(found, self.missing <= _FEW) if self.brief else found
        for one, two in self.pairs:
            for ours, theirs in zip(one.bodies, two.bodies, strict=False):
                outer = (*self.outer, one.friendly_name)
                found += _Diff(ours.model, theirs.model, outer, self.alignment.classes, self.brief).changes()
        return found

    def _change(self, change: str, a: Node | None, b: Node | None, text: str, group: str = "") -> Change:
        ours, theirs = (None if node is None else node.friendly_name for node in (a, b))
        return Change(change, ours, theirs, text, self.outer, group=group)

    def _together(self, change: str, found: Iterable[tuple[Node, Node, str, str]]) -> Iterator[Change]:
        """Yield changes of one kind, combined into one line if many are similar. `found`: layers, group and text."""
        groups: dict[str, list[tuple[Node, Node, str]]] = defaultdict(list)
        for one, two, group, text in found:
            groups[group].append((one, two, text))
        for group, entries in groups.items():
            if len(entries) <= _FEW:
                yield from (self._change(change, one, two, text, group) for one, two, text in entries)
            else:
                few = entries[:_FEW]
                such = ", ".join(text if change == "renamed" else one.friendly_name for one, _, text in few)
                text = f"{plural(len(entries), 'layer')}: {group} ({such}, ...)"
                yield self._many(change, [(one, two) for one, two, _ in entries], text, group)

    def _many(
        self, change: str, pairs: Iterable[tuple[Node | None, Node | None]], text: str, group: str = ""
    ) -> Change:
        """Return one line about many layers."""
        changes = [self._change(change, one, two, "") for one, two in pairs]
        return Change(change, None, None, text, self.outer, tuple((each.a, each.b) for each in changes), group)

    # Layers

    def _missing(self, model: Model, paired: dict[Node, Node], change: str) -> Iterator[Change]:
        """Yield lines about the layers that only one model has: one for each layer, for many layers of a type, or, as
        between different exporters, for layers of many types.
        """
        groups: dict[str, list[Node]] = defaultdict(list)
        missing = self._unpaired(model, paired)
        for node in missing:
            groups[node.type].append(node)
        if missing and ((len(groups) >= _FEW and len(missing) > _MANY) or (self.brief and self.missing > _FEW)):
            text = counted(missing, self.brief)
            yield self._many(change, [(n, None) if change == "removed" else (None, n) for n in missing], text)
            return
        for type, nodes in groups.items():
            if len(nodes) <= _FEW:
                for node in nodes:
                    ours, theirs = (node, None) if change == "removed" else (None, node)
                    where = self._behind(node)
                    yield self._change(change, ours, theirs, f"{type} after {where}" if where else type)
            else:
                such = ", ".join(node.friendly_name for node in nodes[:_FEW])
                text = f"{plural(len(nodes), 'layer')}: {type} ({such}, ...)"
                yield self._many(change, [(n, None) if change == "removed" else (None, n) for n in nodes], text)

    def _unpaired(self, model: Model, paired: dict[Node, Node]) -> list[Node]:
        return [node for node in model.nodes if node not in paired and node not in self.constant]

    def _behind(self, node: Node) -> str:
        """Return a text that lists the non-constant inputs of a layer."""
        return ", ".join(v.node.friendly_name for v in node.inputs if v is not None and v.node not in self.constant)

    def _replaced(self) -> Iterator[tuple[Node, Node, str, str]]:
        for one, two in self.pairs:
            if one.type != two.type:
                text = f"{one.type} became {two.type}"
                yield one, two, text, text

    def _names(self) -> Iterator[tuple[Node, Node, str, str]]:
        for one, two in self.pairs:
            if one.friendly_name != two.friendly_name and one.type not in _UNNAMED:
                yield one, two, "different names", f"{one.friendly_name} became {two.friendly_name}"

    def _opsets(self) -> Iterator[tuple[Node, Node, str, str]]:
        for one, two in self.pairs:
            versions = [n.operator.versioned_name if n.operator else n.type for n in (one, two)]
            if one.type == two.type and versions[0] != versions[1]:
                text = " became ".join(versions)
                yield one, two, text, text

    def _connections(self) -> Iterator[tuple[Node, Node, str, str]]:
        for one, two in self.pairs:
            if one.type != two.type:
                continue
            if self._is_crosswise(one, two):
                text = "operands in the other order"
                yield (
                    one,
                    two,
                    f"{one.type}, {text}",
                    text if in_order(one, [1, 0]) == (0, 1) else f"{text}, which changes the result",
                )
                continue
            for port in range(max(len(one.inputs), len(two.inputs))):
                ours, theirs = (node.inputs[port] if port < len(node.inputs) else None for node in (one, two))
                if self._both_constant(ours, theirs) or self._leads(ours, theirs):
                    continue
                nodes = [None if v is None else v.node for v in (ours, theirs)]
                names = ["nothing" if node is None else node.friendly_name for node in nodes]
                types = ["nothing" if node is None else node.type for node in nodes]
                group = f"{one.type}, input {port}: {types[0]} became {types[1]}"
                yield one, two, group, f"input {port}: {names[0]} became {names[1]}"

    def _is_crosswise(self, one: Node, two: Node) -> bool:
        """Return whether a layer reads the same two values in reverse order."""
        if len(one.inputs) != 2 or len(two.inputs) != 2:
            return False
        straight, crossed = (
            [self._is_same(x, y) for x, y in zip(one.inputs, order, strict=True)]
            for order in (two.inputs, two.inputs[::-1])
        )
        return all(crossed) and not all(straight)

    def _is_same(self, ours: Value | None, theirs: Value | None) -> bool:
        if ours is None or theirs is None:
            return ours is theirs
        if self._both_constant(ours, theirs):
            return same(self._value(self.a, ours), self._value(self.b, theirs))
        return self.alignment.value(ours) is theirs

    def _leads(self, ours: Value | None, theirs: Value | None) -> bool:
        """Return whether both values are the same, apart from added or removed layers in between."""
        if ours is None or theirs is None:
            return ours is theirs
        left, right = self._through(ours, self.alignment.forward), self._through(theirs, self.alignment.back)
        return any(self.alignment.value(one) is two for one in left for two in right)

    def _through(self, value: Value, paired: dict[Node, Node]) -> list[Value]:
        """Return the value, or the values that it is computed from if its layer has no counterpart."""
        found: list[Value] = []
        stack, seen = [value], set[Node]()
        while stack:
            top = stack.pop()
            found.append(top)
            if top.node not in paired and top.node not in seen:
                seen.add(top.node)
                stack += [v for v in top.node.inputs if v is not None]
        return found

    def _attributes(self) -> Iterator[tuple[Node, Node, str, str]]:
        for one, two in self.pairs:
            if one.type != two.type:
                continue
            ours, theirs = attributes_of(one), attributes_of(two)
            for name in sorted(ours.keys() | theirs.keys()):
                left, right = ours.get(name, "unset"), theirs.get(name, "unset")
                if str(left) != str(right):
                    text = f"{name}: {left} became {right}"
                    yield one, two, f"{one.type}, {text}", text

    def _types(self, change: str) -> Iterator[tuple[Node, Node, str, str]]:
        """Yield element types or shapes that differ although inputs, constants and attributes do not."""
        for one, two in self.pairs:
            given = [*zip(one.inputs, two.inputs, strict=False)]
            if one.type == RESULT or any(_type(x) != _type(y) for x, y in given):
                continue
            if str(attributes_of(one)) != str(attributes_of(two)):
                continue
            if not all(self._is_same(*pair) for pair in given if self._both_constant(*pair)):
                continue
            for ours, theirs in zip(one.outputs, two.outputs, strict=False):
                kinds, shapes = (ours.element_type, theirs.element_type), (ours.type.shape, theirs.type.shape)
                left, right = map(str, kinds if change == "type" else shapes)
                if left != right:
                    text = f"output {ours.index}: {left} became {right}"
                    yield one, two, text, text

    def _infos(self) -> Iterator[tuple[Node, Node, str, str]]:
        for one, two in self.pairs:
            if one.rt_info != two.rt_info and one.type != CONST:
                keys = sorted(k for k in {*one.rt_info, *two.rt_info} if one.rt_info.get(k) != two.rt_info.get(k))
                text = f"rt_info {', '.join(keys)}"
                yield one, two, text, text

    # Constants

    def _both_constant(self, ours: Value | None, theirs: Value | None) -> bool:
        return ours is not None and theirs is not None and ours.node in self.constant and theirs.node in self.constant

    def _constants(self) -> Iterator[Change]:
        folded: list[tuple[Node, Node]] = []
        changed: dict[str, list[ChangedConstant]] = defaultdict(list)
        stored: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
        readers: dict[tuple[str, str], list[tuple[Node, Node]]] = defaultdict(list)
        done: set[tuple[Value, Value]] = set()
        for one, two in self.pairs:
            for port, (ours, theirs) in enumerate(zip(one.inputs, two.inputs, strict=False)):
                if ours is None or theirs is None or not self._both_constant(ours, theirs) or one.type != two.type:
                    continue
                if (ours, theirs) in done:
                    continue
                done.add((ours, theirs))
                left, right = self._value(self.a, ours), self._value(self.b, theirs)
                alike, apart = nearest(left, right)
                whole = left.dtype.kind in "iu" and right.dtype.kind in "iu"
                narrowed = _stored(ours) != _stored(theirs) and not (whole and apart[0])
                if narrowed:
                    kind = "type" if apart[0] == 0 and (self.brief or left.dtype.kind != "f") else "compressed"
                    became = kind, " became ".join(_stored(v) for v in (ours, theirs))
                    stored[became].append(apart)
                    readers[became].append((one, two))
                    right = alike  # The values are in that line.
                if not same(left, right):
                    entry = ChangedConstant(ours.node, theirs.node, one, left, right)
                    changed[entry.group(port, self.brief)].append(entry)
                elif not narrowed and ours.node.type != theirs.node.type:
                    folded.append((ours.node, theirs.node))
        for group, entries in changed.items():
            if self.brief and entries[0].is_usual:
                such = entries[0].text if entries[0].whole and len(entries[0].text) <= _SHORT else ""
                said = f"{group}, such as {such}" if such else group
                text = f"{plural(len(entries), 'constant')}: {said}"
                yield self._many("constant", [(entry.one, entry.two) for entry in entries], text, said)
            elif len(entries) <= _FEW:
                yield from (self._change("constant", e.one, e.two, f"{e.text}, read by {e.reader}") for e in entries)
            else:
                text = f"{plural(len(entries), 'constant')}: {group}"
                if not entries[0].arranged:
                    text += f", {', '.join(extremes(entry.apart for entry in entries))}"
                text += f" (read by {', '.join(entry.reader for entry in entries[:_FEW])}, ...)"
                yield self._many("constant", [(entry.one, entry.two) for entry in entries], text)
        for (kind, types), errors in stored.items():
            text = f"{plural(len(errors), 'constant')}: {types}, {', '.join(extremes(errors))}"
            yield self._many(kind, readers[kind, types], text, text.partition(": ")[2])
        if folded:
            names = ", ".join(one.friendly_name for one, _ in folded[:_FEW])
            text = f"{plural(len(folded), 'constant')} computed differently, with the same values ({names})"
            yield self._many("folded", folded, text, "computed differently, with the same values")

    def _value(self, model: Model, value: Value) -> Array:
        if value.node.constant is not None:
            return value.node.constant
        if value not in self._computed:
            self._computed[value] = function_of(alone(self._cutters[model], [value.node], [value], {})[1])([])[0]
        return self._computed[value]


def _type(value: Value | None) -> tuple[str, str]:
    type = value.type if value is not None else _UNKNOWN
    return str(type.element_type), str(type.shape)


def _stored(value: Value) -> str:
    """Return the element type of the largest constant from which a value is computed."""
    largest: tuple[int, str] = (-1, "")
    stack = [value]
    while stack:
        node = stack.pop().node
        if node.constant is not None:
            largest = max(largest, (node.constant.size, str(node.outputs[0].element_type)))
        stack += [v for v in node.inputs if v is not None]
    return largest[1]
