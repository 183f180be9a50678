"""Layers, ports and edges in the form that converters write: their usual attributes, in a fixed order, without escaped
characters.

A pattern matches each of these elements as a whole. Other elements do not match, and are read tag by tag (reader.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

from irexec.core.structure import CONST
from irexec.ir.document import Edge, Layer, Port
from irexec.ir.xml.elements import PLAIN, PLAIN_ATTRIBUTE, Elements

T = TypeVar("T")

_DIMS_PATTERN = r"(?:\s*+<dim>[^<&\r]*+</dim>)*+"
_DIM = re.compile("<dim>([^<]*+)")
_PORT_PATTERN = r'<port id="{0}" precision="{0}"(?: names="{1}")?\s*+(?:/>|>{2}\s*+</port>)'
# Empty names are rare, and not distinguished from absent ones here.
_NAMES = PLAIN.replace("*", "+")
_PORT = re.compile(_PORT_PATTERN.format(f"({PLAIN})", f"({_NAMES})", f"({_DIMS_PATTERN})"), re.ASCII)
# Several ports are matched at once, but a limited number, because the match needs memory for each.
_PORTS_PATTERN = r"(?:\s*+" + _PORT_PATTERN.format(PLAIN, _NAMES, _DIMS_PATTERN) + "){0,64}"
# A layer up to its first unusual section; without such a section, up to and including its end tag.
_LAYER = re.compile(
    rf'\s*+<layer id="({PLAIN})" name="({PLAIN})" type="({PLAIN})" version="({PLAIN})"\s*+>'
    rf'(?:\s*+<data((?:\s++[^\s=/>]++="{PLAIN}")*+)\s*+/>)?'
    rf"(?:\s*+<input>({_PORTS_PATTERN})\s*+</input>)?"
    rf"(?:\s*+<output>({_PORTS_PATTERN})\s*+</output>)?"
    r"(\s*+</layer>)?",
    re.ASCII,
)
_EDGE_PATTERN = r'<edge from-layer="{0}" from-port="{0}" to-layer="{0}" to-port="{0}"\s*+/>'
_EDGE = re.compile(_EDGE_PATTERN.format(f"({PLAIN})"), re.ASCII)
_EDGES = re.compile(rf"(?:\s*+{_EDGE_PATTERN.format(PLAIN)}){{1,1000}}", re.ASCII)


@cache
def _ports_pattern() -> re.Pattern[str]:
    """Return the pattern of ports alone, for layers with unusual sections."""
    return re.compile(_PORTS_PATTERN, re.ASCII)


# A port without its position and names: its number relative to its section's number, its id, precision and dims.
_PortText = tuple[int, str | None, str | None, tuple[str, ...]]


class PlainReader:
    """Reads elements from the current position on as long as they are plain. Elements often repeat, and equal elements
    are read only once.
    """

    def __init__(self, elements: Elements) -> None:
        self._elements = elements
        # Interned texts and tuples of texts.
        self._interned: dict[Any, Any] = {}
        # Caches by the text between tags: the extents of a port, the ports of a section without names (with the number
        # of elements), the attributes of `<data>`.
        self._dims: dict[str, tuple[str, ...]] = {}
        self._ports: dict[str, tuple[list[_PortText], int]] = {}
        self._data: dict[str, dict[str, str]] = {}

    def interned(self, item: T) -> T:
        """Return the first of all equal items."""
        found: T = self._interned.setdefault(item, item)
        return found

    def layers(self) -> Iterator[tuple[Layer, dict[str, int] | None]]:
        """Yield the layers from the current element on, each with None or, for a layer with unusual sections, with the
        numbers of the sections read so far: such a layer has been entered, and the caller reads its other sections
        before the next layer.
        """
        elements, interned = self._elements, self._interned.setdefault
        while match := elements.take(_LAYER):
            id, name, type, version, data, inputs, outputs, end = match.groups()
            at = last = elements.number + 1
            data_at = inputs_at = outputs_at = -1
            attributes: dict[str, str] = {}
            taken: tuple[Port, ...] = ()
            made: tuple[Port, ...] = ()
            if data is not None:
                data_at = last = last + 1
                attributes = self._attributes(data, type)
            if inputs is not None:
                inputs_at = last + 1
                taken, last = self._of_section(inputs, inputs_at)
            if outputs is not None:
                outputs_at = last + 1
                made, last = self._of_section(outputs, outputs_at)
            elements.number = last
            type, version, is_plain = interned(type, type), interned(version, version), end is not None
            layer = Layer(at, id, name, type, version, None, attributes, data_at, taken, made, is_plain)
            if not is_plain:
                elements.open("layer")
                read = {"data": data_at, "input": inputs_at, "output": outputs_at}
                yield layer, {tag: number for tag, number in read.items() if number >= 0}
            else:
                yield layer, None

    def edges(self) -> Iterator[Edge]:
        """Yield the edges from the current element on."""
        elements, interned = self._elements, self._interned.setdefault
        while match := elements.take(_EDGES):
            at = elements.number
            for from_layer, from_port, to_layer, to_port in _EDGE.findall(match[0]):
                at += 1
                yield Edge(at, from_layer, interned(from_port, from_port), to_layer, interned(to_port, to_port))
            elements.number = at

    def ports(self) -> Iterator[Port]:
        """Yield the ports from the current element on."""
        elements = self._elements
        while (match := elements.take(_ports_pattern())) and match[0]:
            ports, elements.number = self._of_section(match[0], elements.number)
            yield from ports

    def _attributes(self, text: str, type: str) -> dict[str, str]:
        if type == CONST:  # The attributes of no two Consts are equal.
            return dict(PLAIN_ATTRIBUTE.findall(text))
        if (found := self._data.get(text)) is None:
            found = self._data[text] = dict(PLAIN_ATTRIBUTE.findall(text))
        return found

    def _of_section(self, text: str, at: int) -> tuple[tuple[Port, ...], int]:
        """Return the ports in a text, and the number of its last element. `at`: the number of the element before the
        text.
        """
        found = self._ports.get(text)
        if found is not None:
            known, count = found
            return tuple([Port(at + n, id, precision, None, dims) for n, id, precision, dims in known]), at + count
        interned, last, ports = self._interned.setdefault, at, []
        for id, precision, names, between in _PORT.findall(text):
            dims = self._dims.get(between)
            if dims is None:
                texts = tuple(_DIM.findall(between))
                dims = self._dims[between] = interned(texts, texts)
            ports.append(Port(last + 1, interned(id, id), interned(precision, precision), names or None, dims))
            last += 1 + len(dims)
        if "names=" not in text:  # Tensor names are unique, so ports with names do not repeat.
            self._ports[text] = [(port.at - at, port.id, port.precision, port.dims) for port in ports], last - at
        return tuple(ports), last
