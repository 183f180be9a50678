"""Fixes that add missing ids, names and versions that have one possible value, and ids of ports."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise

from irexec.core.diagnostics import Diagnostic, Fix, Safety
from irexec.core.diagnostics.nearest import nearest
from irexec.core.structure import STRUCTURAL
from irexec.ir.document import ROOT_TYPES, Layer, Net, Port
from irexec.ir.xml.events import Span
from irexec.ops.spec import contents
from irexec.tools.fixes import spelling
from irexec.tools.fixes.written import Owner, Written, number

_MOST_FALLS = 2
"""The largest number of places in which a single wrong id, which has two neighbours, can put the ids out of order."""


class Ids:
    """The ids that are numbers, in file order. The time of a query does not depend on their number.

    `places`: positions of the entries by the numbers of their elements. `lacking`: the number of entries without an id,
    or with the id of an earlier entry.
    """

    def __init__(self, entries: Sequence[Port] | Sequence[Layer]) -> None:
        self.entries = entries
        self.numbers = [number(entry.id) for entry in entries]
        self.places = {entry.at: place for place, entry in enumerate(entries)}
        self._known = [place for place, id in enumerate(self.numbers) if id is not None]
        self._alike: dict[int | None, list[int]] = {}
        for place in self._known:
            self._alike.setdefault(self.numbers[place], []).append(place)
        self.lacking = len(entries) - len(self._alike)
        self._falls = [(a, b) for a, b in pairwise(self._known) if self._number(a) >= self._number(b)]

    def __contains__(self, id: int) -> bool:
        return id in self._alike

    def fitting(self, at: int, id: int) -> list[int]:
        """Return the elements with the id of the element `at` that may get `id` so that all ids ascend."""
        if len(self._falls) > _MOST_FALLS:
            return []
        place = self.places[at]
        own = self.numbers[place]
        alike = [place] if own is None else self._alike[own]
        return [self.entries[other].at for other in alike if self._ascend(other, id)]

    def _ascend(self, place: int, id: int) -> bool:
        """Return whether the ids are in ascending order with `id` at a position; entries without an id fit anywhere."""
        spot = bisect_left(self._known, place)
        before = self._known[spot - 1 : spot] if spot else []
        behind = [other for other in self._known[spot : spot + 2] if other > place][:1]
        return (
            all(place in fall for fall in self._falls)
            and all(self._number(other) < id for other in before)
            and all(id < self._number(other) for other in behind)
        )

    def _number(self, place: int) -> int:
        found = self.numbers[place]
        assert found is not None
        return found


def ids_of_ports(layer: Layer, net: Net, written: Written, *, is_output: bool) -> Ids:
    """Return the ids on one side of a layer."""
    ports = layer.outputs if is_output else layer.inputs
    return written.shared(f"ids of {layer.at} {is_output}", net, lambda: Ids(ports))


def dangling_ids(layer: Layer, net: Net, written: Written, *, is_output: bool) -> set[int]:
    """Return the ids that edges name on one side of a layer, but that no port on this side has."""

    def make() -> set[int]:
        ids = ids_of_ports(layer, net, written, is_output=is_output)
        named = written.ports_named(net).get((is_output, number(layer.id)), set())
        return {id for id in named if id not in ids}

    return written.shared(f"ids dangling of {layer.at} {is_output}", net, make)


class Free:
    """The ids that are not in use by a port of a layer."""

    def __init__(self, layer: Layer) -> None:
        self._counts = Counter(number(port.id) for port in (*layer.inputs, *layer.outputs))
        # Maps each id in use to the first free id after it.
        self._behind: dict[int, int] = {}
        for id in sorted((id for id in self._counts if id is not None), reverse=True):
            self._behind[id] = self._behind.get(id + 1, id + 1)

    def from_(self, first: int, own: int | None) -> int:
        """Return the first free id from a number on, for a port whose own id is taken by another port."""
        found = self._behind.get(first, first)
        return own if own is not None and self._counts[own] == 1 and first <= own < found else found


"""Operators that an extension cannot replace."""
_NEWEST_IR = "11"
_OWN_OPSET = re.compile(r"[A-Za-z_][\w.:/-]*")
"""Versions that may be the name of an extension's operation set."""


def ir_version(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N002: set the newest IR version. A file that states another version may use another grammar."""
    version = written.document.net.version
    safety = Safety.SAFE if version is None or not version.strip() else Safety.UNSAFE
    yield from written.write(0, "version", _NEWEST_IR, safety)


def layers(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N007: put the `<layers>` element around layers that are direct children of `<net>` and adjacent."""
    positions = written.positions
    children = positions.children(0)
    names = [positions.name_text(child) for child in children]
    count = names.count("layer")
    if not count or names[:count] != ["layer"] * count or "layers" in names:
        return
    first, last = positions.extents().whole(children[0]), positions.extents().whole(children[count - 1])
    blanks = written.text[written.before_blanks(first.start) : first.start]
    start, stop = Span(first.start, 0), Span(last.stop, 0)
    edits = (written.edit(start, f"<layers>{blanks}"), written.edit(stop, f"{blanks}</layers>"))
    yield Fix("add <layers>", Safety.UNSAFE, edits)


def newer_ir(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """R007: set IR version 11, with which the file can be read.

    OpenVINO also rejects invalid files of IR 11, but does not name inputs and outputs after their layers.
    """
    yield from written.write(0, "version", _NEWEST_IR, Safety.UNSAFE)


def identity(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L001, L010: add a layer's missing id, name or version."""
    if finding.at is None or finding.at.element not in written.layers:
        return
    layer, net = written.layers[finding.at.element]
    if any(nearest(other, [finding.attribute or ""], 1, 0.75) for other in layer.other or ()):
        return  # The attribute is present under a misspelt name.
    if finding.attribute == "id":
        found = written.shared("free id", net, lambda: _free_id(net))
    elif finding.attribute == "name":
        found = _free_name(layer, net, written)
    elif finding.attribute == "version":
        yield from _version(layer, written)
        return
    else:
        return
    if found is not None:
        yield from written.write(layer.at, finding.attribute, found, Safety.SAFE)


def _free_id(net: Net) -> str | None:
    """Return an unused id for a layer without an id: the id that edges name but no layer has, if this is the only layer
    without an id; otherwise any unused id."""
    ids = [number(other.id) for other in net.layers]
    known, named = set(ids), _dangling_ids(net)
    if ids.count(None) != 1 or len(named) > 1:
        return None
    return str(named.pop()) if named else str(max((id for id in known if id is not None), default=-1) + 1)


def _dangling_ids(net: Net) -> set[int]:
    """Return the ids that edges name, but that no layer has."""
    named = {id for edge in net.edges for text in (edge.from_layer, edge.to_layer) if (id := number(text)) is not None}
    return named - {number(layer.id) for layer in net.layers}


def other_identity(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L002: of two layers with the same id, the layer for which the ids remain in ascending order gets the id that only
    edges name.

    Without that id OpenVINO reads the file with the second layer in place of the first, unless a result depends on the
    id.
    """
    if finding.at is None or finding.at.element not in written.layers:
        return
    layer, net = written.layers[finding.at.element]
    dangling = written.shared("ids dangling", net, lambda: _dangling_ids(net))
    if len(dangling) != 1:
        return
    (id,) = dangling
    fitting = written.shared("ids of layers", net, lambda: Ids(net.layers)).fitting(layer.at, id)
    if len(fitting) == 1:
        is_missed = id in written.shared("searched", net, lambda: _searched(net))
        safety = Safety.SAFE if is_missed else Safety.UNSAFE
        title = f'write id="{id}" in {written.layers[fitting[0]][0].ref}'
        yield from written.write(fitting[0], "id", str(id), safety, title)


def _searched(net: Net) -> set[int]:
    """Return the ids that OpenVINO reaches when it searches from the results; each must have a layer."""
    givers: dict[int | None, list[int]] = {}
    for edge in net.edges:
        if (giver := number(edge.from_layer)) is not None:
            givers.setdefault(number(edge.to_layer), []).append(giver)
    left = [id for layer in net.layers if layer.type in ROOT_TYPES and (id := number(layer.id)) is not None]
    found: set[int] = set()
    while left:
        if (id := left.pop()) not in found:
            found.add(id)
            left += givers.get(id, ())
    return found


def _free_name(layer: Layer, net: Net, written: Written) -> str:
    """Return an unused layer name: the type followed by the id, and by a number if another layer has that name."""
    names = written.shared("names", net, lambda: {other.name for other in net.layers})
    name = f"{layer.type or 'layer'}_{layer.id or ''}".rstrip("_")
    numbered = chain([name], (f"{name}_{n}" for n in count(1)))
    return written.shared(f"name for {name}", net, lambda: next(text for text in numbered if text not in names))


def other_version(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L005: set the opset that introduced the operator if there is only one; otherwise the opset that the text
    suggests."""
    layer, _ = written.layers.get(finding.at.element, (None, None)) if finding.at is not None else (None, None)
    if layer is None:
        return
    may_be_own = layer.type not in STRUCTURAL and _OWN_OPSET.fullmatch(layer.version or "")
    fixes = [] if may_be_own else list(_version(layer, written))
    if finding.candidates and not any(fix.safety is Safety.SAFE for fix in fixes):
        fixes = list(spelling.other_value(finding, written))
    yield from fixes


def _version(layer: Layer, written: Written) -> Iterator[Fix]:
    """Yield a fix that sets the opset that introduced the operator; of several, the newest (results may differ)."""
    canonical = contents.canonical_type(layer.type or "")
    if canonical is None or canonical not in contents.CONTENTS:
        return
    versions = contents.CONTENTS[canonical][1]
    safety = Safety.SAFE if len(versions) == 1 or layer.type in STRUCTURAL else Safety.UNSAFE
    yield from written.write(layer.at, "version", f"opset{versions[-1]}", safety)


def port_id(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P001, P013: set the id that edges name but no port on this side has; otherwise the next free id."""
    owner = written.ports.get(finding.at.element) if finding.at is not None else None
    if owner is None:
        return
    layer, net = owner.layer, owner.net
    ids = ids_of_ports(layer, net, written, is_output=owner.is_output)
    dangling = dangling_ids(layer, net, written, is_output=owner.is_output)
    if len(dangling) > 1 or (dangling and ids.lacking > 1):
        return
    found = next(iter(dangling)) if dangling else _next_free(owner, ids, written)
    # Of two ports with the same id, change the port whose new id keeps the ids in ascending order.
    fitting = ids.fitting(owner.port.at, found)
    if len(fitting) == 1:
        yield from written.write(fitting[0], "id", str(found), Safety.SAFE)


def _next_free(owner: Owner, ids: Ids, written: Written) -> int:
    """Return the number after the preceding port's id, or the next number that no port of the layer has."""
    layer, place = owner.layer, ids.places[owner.port.at]
    before = ids.numbers[place - 1] if place else None
    first = before + 1 if before is not None else len(layer.inputs) if owner.is_output else 0
    return written.shared(f"free ids of {layer.at}", owner.net, lambda: Free(layer)).from_(first, ids.numbers[place])
