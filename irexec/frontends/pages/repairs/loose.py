"""Completing snippets: parts that a `<layer>` of an operation page omits or writes in another place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import count

from irexec.core.types import ElementType
from irexec.frontends.pages.repairs.changes import joined, moved
from irexec.frontends.pages.repairs.grammar import BODIES, LAYER_ATTRIBUTES, MAPS
from irexec.frontends.pages.repairs.names import known_type
from irexec.frontends.pages.repairs.parts import Attribute, Change, PrintedElement, Repair
from irexec.ir.xml.events import Span

ChooseVersion = Callable[[str], str | None]
"""A function from an operator type to the version text of the intended operator; None if there is no such type."""


@dataclass(slots=True)
class LooseLayers:
    """Completes the layers of one text; `repairs` grows with every change."""

    text: str
    known_types: Collection[str]
    choose_version: ChooseVersion
    repairs: list[Repair]

    def complete(self, layers: list[PrintedElement], *, in_body: bool = False) -> None:
        """Complete `layers` in place. In a body, edges name layers and ports by id, so written ids are kept."""
        for layer in layers:
            self._merge_sections(layer)
            self._move_attributes(layer)
            self._spell_type(layer)
            self._choose_version(layer)
            self._number_ports(layer, keep=in_body or bool(layer.elements(*BODIES)))
            self._name_outputs(layer)
            self._spell_precisions(layer, ("output",) if in_body else ("input", "output"))
        self._identify(layers, keep=in_body)
        for layer in layers:
            for body in layer.elements(*BODIES):
                inner = [item for section in body.elements("layers") for item in section.elements("layer")]
                self.complete(inner, in_body=True)

    def _repair(
        self, code: str, message: str, span: Span, hint: str | None = None, title: str = "", *changes: Change
    ) -> None:
        self.repairs.append(Repair(code, message, span, hint, change_title=title, changes=changes))

    def _spell(self, code: str, message: str, attribute: Attribute, meant: str, wanted: str) -> None:
        """Set an attribute to its intended value; `wanted` is the correct spelling."""
        change = Change(attribute.span, meant)
        self.repairs.append(
            Repair(code, message, attribute.span, wanted, attribute.value, meant, f"write {wanted}", (change,))
        )
        attribute.value = meant

    # Structure

    def _merge_sections(self, layer: PrintedElement) -> None:
        joined_to_first: set[int] = set()
        for name in ("input", "output", "data"):
            sections = layer.elements(name)
            for section in sections[1:]:
                first = sections[0]
                message = f"a second <{name}> in one layer; its content is added to the first"
                changes = joined(self.text, first.end, section.span, name)
                self._repair("Q016", message, section.span, None, "write one element", *changes)
                first.children += section.children
                for attribute in section.attributes.values():
                    first.put(attribute)
                first.elided, first.end = first.elided or section.elided, section.end
                joined_to_first.add(id(section))
        if joined_to_first:
            layer.children = [child for child in layer.children if id(child) not in joined_to_first]

    def _move_attributes(self, layer: PrintedElement) -> None:
        """Move attributes of the operator to `<data>`, and the `precision` of old files to the output ports."""
        own = [name for name in layer.attributes if name not in LAYER_ATTRIBUTES]
        for attribute in [layer.attributes.pop(name) for name in own]:
            if attribute.name == "precision":
                self._repair("Q017", "'precision' belongs to the ports, not to <layer>", attribute.span)
                for port in _ports(layer, "output"):
                    port.put(Attribute("precision", attribute.value, attribute.span))
                continue
            message = f"attribute {attribute.name!r} belongs to <data>, not to <layer>"
            data = next(iter(layer.elements("data")), None)
            written = data.span if data is not None and data.span != layer.span else None
            changes = moved(self.text, attribute, layer.span, written)
            hint = f'<data {attribute.name}="{attribute.value}"/>'
            self._repair("Q017", message, attribute.span, hint, "move it to <data>", *changes)
            if data is None:
                data = PrintedElement("data", layer.span)
                layer.children.insert(0, data)
            data.put(attribute)

    # Identity

    def _spell_type(self, layer: PrintedElement) -> None:
        kind = layer.get("type")
        if kind is None or not self.known_types:
            return
        meant = known_type(kind.value, self.known_types)
        if meant is not None and meant != kind.value:
            message = f"type {kind.value!r} is spelled {meant!r} in IR"
            self._spell("Q022", message, kind, meant, f'type="{meant}"')

    def _choose_version(self, layer: PrintedElement) -> None:
        kind = layer.get("type")
        if layer.get("version") is None and kind is not None:
            version = self.choose_version(kind.value)
            if version is not None:
                self._add(layer, "version", version, "Q020")

    def _identify(self, layers: list[PrintedElement], *, keep: bool) -> None:
        """Give every layer a unique id and name; a repeated id is kept if edges may refer to it."""
        ids, names = _Unused(), _Unused()
        for layer in layers:
            if not keep and (written := layer.get("id")) is not None and written.value in ids.taken:
                self._repair("Q018", f"id {written.value!r} is already used by another layer", written.span)
                del layer.attributes["id"]
            for unused, attribute in ((ids, layer.get("id")), (names, layer.get("name"))):
                if attribute is not None:
                    unused.taken.add(attribute.value)
        for layer in layers:
            kind = layer.get("type")
            if layer.get("id") is None:
                self._add(layer, "id", ids.id(), "Q018")
            if layer.get("name") is None:
                self._add(layer, "name", names.name(kind.value if kind is not None else "layer"), "Q019")

    def _add(self, node: PrintedElement, name: str, value: str, code: str) -> None:
        self._repair(code, f"<{node.name}> has no {name}; {value!r} is assumed", node.span, f'{name}="{value}"')
        node.put(Attribute(name, value, node.span))

    # Ports

    def _number_ports(self, layer: PrintedElement, *, keep: bool) -> None:
        """Bind ports by their order: contradicting ids are replaced, unless other layers refer to them (`keep`)."""
        reported: set[str] = set()
        seen: set[str] = set()
        ports = [(side, port) for side in ("input", "output") for port in _ports(layer, side)]
        for expected, (side, port) in enumerate(ports):
            written = port.get("id")
            if written is None:
                code, message, span = "Q030", f"an {side} port has no id", port.span
                port.put(Attribute("id", str(expected), port.span))
            elif keep or written.value == str(expected):
                seen.add(written.value)
                continue
            else:
                code = "Q023" if written.value in seen else "Q024"
                what = "is already used by another port" if code == "Q023" else "is not the next one"
                message, span = f"port id {written.value!r} {what}; ports are used in file order", written.span
                seen.add(written.value)
                written.value = str(expected)
            if code not in reported:
                self._repair(code, message, span)
                reported.add(code)

    def _name_outputs(self, layer: PrintedElement) -> None:
        """Replace indices of outputs in port maps by ids of output ports; some pages count the outputs instead."""
        ids = [port.get("id") for port in _ports(layer, "output")]
        known = [attribute.value for attribute in ids if attribute is not None]
        for port_map in layer.elements(*MAPS):
            named = [entry.get("external_port_id") for entry in port_map.elements("output")]
            counted = [a for a in named if a is not None and a.value.isdecimal()]
            if any(a.value in known or int(a.value[:9]) >= len(known) for a in counted):
                continue
            for attribute in counted:
                meant = known[int(attribute.value)]
                message = f"the entry refers to output {attribute.value} by position; the id of its port is {meant!r}"
                self._spell("Q032", message, attribute, meant, f'external_port_id="{meant}"')

    def _spell_precisions(self, layer: PrintedElement, sides: tuple[str, ...]) -> None:
        missing: list[tuple[str, PrintedElement]] = []
        for side in sides:
            for number, port in enumerate(_ports(layer, side)):
                precision = port.get("precision")
                if precision is None:
                    missing.append((f"{side} {number}", port))
                elif ElementType.from_port(precision.value) is None:
                    meant = ElementType.meant_by(precision.value)
                    if meant is not None:
                        message = f"precision {precision.value!r} is spelled {meant.port_name!r} on a port"
                        self._spell("Q031", message, precision, meant.port_name, f'precision="{meant.port_name}"')
        if missing:
            which = ", ".join(port for port, _ in missing[:6]) + (", ..." if len(missing) > 6 else "")
            self._repair("Q021", f"no precision is given for {which}", missing[0][1].span)


def _ports(layer: PrintedElement, side: str) -> list[PrintedElement]:
    return [port for section in layer.elements(side) for port in section.elements("port")]


class _Unused:
    """Returns unused ids and names."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self._numbers: dict[str, Iterator[int]] = {}

    def id(self) -> str:
        return self._next("{}", 0)

    def name(self, wanted: str) -> str:
        if wanted in self.taken:
            return self._next(wanted.replace("{", "{{").replace("}", "}}") + "_{}", 1)
        self.taken.add(wanted)
        return wanted

    def _next(self, pattern: str, first: int) -> str:
        numbers = self._numbers.setdefault(pattern, count(first))
        found = next(text for number in numbers if (text := pattern.format(number)) not in self.taken)
        self.taken.add(found)
        return found
