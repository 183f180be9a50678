"""A file as text that can be edited: where things stand in it, which edges join them, and edits in bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from irexec.diagnostics import Edit
from irexec.graph.model import Model
from irexec.ir.checks.bodies import bodies_of
from irexec.ir.document import Document, Edge, Layer, Net, Port
from irexec.ir.text import whole
from irexec.ir.xml.edits import Editable
from irexec.ir.xml.positions import Attribute, Span
from irexec.types import TensorType

T = TypeVar("T")

_BLANKS = re.compile(r"\s*")
_NAME = re.compile(r"<[^\s/>]+")
_NO_EDGES = re.compile(r"<edges\s*/>|<edges\s*>\s*</edges\s*>")


class Owner(NamedTuple):
    """Where a port is: its layer, the net of that, and on which side."""

    port: Port
    layer: Layer
    net: Net
    is_output: bool


class Written(Editable):
    """A document, the model that was built of it, and the bytes that both were read from."""

    def __init__(self, data: bytes, document: Document, model: Model | None) -> None:
        super().__init__(document.source.positions, data)
        self.document = document
        self._model = model
        self._shared: dict[tuple[str, int], Any] = {}

    # What is where

    def shared(self, what: str, net: Net, make: Callable[[], T]) -> T:
        """What fixes of many findings about a net need alike, made once: their cost must not grow with its square."""
        key = (what, net.at)
        if key not in self._shared:
            self._shared[key] = make()
        found: T = self._shared[key]
        return found

    def layers_by_number(self, net: Net) -> dict[int | None, list[Layer]]:
        """The layers of a net by the number that their ids are."""

        def make() -> dict[int | None, list[Layer]]:
            found: dict[int | None, list[Layer]] = {}
            for layer in net.layers:
                found.setdefault(number(layer.id), []).append(layer)
            return found

        return self.shared("layers_by_number", net, make)

    def ports_named(self, net: Net) -> dict[tuple[bool, int | None], set[int]]:
        """The ports that edges name, by side (is it an output) and number of the layer."""

        def make() -> dict[tuple[bool, int | None], set[int]]:
            found: dict[tuple[bool, int | None], set[int]] = {}
            for edge in net.edges:
                ends = ((True, edge.from_layer, edge.from_port), (False, edge.to_layer, edge.to_port))
                for is_output, layer, port in ends:
                    if (id := number(port)) is not None:
                        found.setdefault((is_output, number(layer)), set()).add(id)
            return found

        return self.shared("ports_named", net, make)

    @cached_property
    def nets(self) -> list[Net]:
        """The model and all bodies."""
        found = [self.document.net]
        for net in found:
            found += [body for layer in net.layers for body in bodies_of(layer)]
        return found

    @cached_property
    def layers(self) -> dict[int, tuple[Layer, Net]]:
        """Every layer with its net, by the number of its element and of its `<data>`."""
        found: dict[int, tuple[Layer, Net]] = {}
        for net in self.nets:
            for layer in net.layers:
                found[layer.at] = found[layer.data_at] = layer, net
        return found

    @cached_property
    def ports(self) -> dict[int, Owner]:
        """Every port, by the number of its element and of its `<dim>`s."""
        found: dict[int, Owner] = {}
        for layer, net in self.layers.values():
            for ports, is_output in ((layer.inputs, False), (layer.outputs, True)):
                for port in ports:
                    owner = found[port.at] = Owner(port, layer, net, is_output)
                    found.update(dict.fromkeys(map(port.dim_at, range(len(port.dims))), owner))
        return found

    @cached_property
    def edges(self) -> dict[int, tuple[Edge, Net]]:
        """Every edge with its net, by the number of its element."""
        return {edge.at: (edge, net) for net in self.nets for edge in net.edges}

    @cached_property
    def made(self) -> dict[int, TensorType]:
        """What inference found for each output port, by the number of its element."""
        found: dict[int, TensorType] = {}
        if self._model is not None:
            for node in (*self._model.walk(), *self._model.unreachable):
                if node.layer is not None:
                    for port, value in zip(node.layer.outputs, node.outputs, strict=False):
                        found[port.at] = value.type
        return found

    @cached_property
    def taken_by(self) -> dict[int, list[Port]]:
        """The input ports that edges lead to from an output port, by the number of that port's element."""
        found: dict[int, list[Port]] = {}
        for net in self.nets:
            ends = self.by_numbers(net)
            for edge in net.edges:
                source = ends.get((True, number(edge.from_layer), number(edge.from_port)))
                target = ends.get((False, number(edge.to_layer), number(edge.to_port)))
                if source is not None and target is not None:
                    found.setdefault(source.port.at, []).append(target.port)
        return found

    @cached_property
    def given_by(self) -> dict[int, int]:
        """The output port that leads to an input port, both by the numbers of their elements."""
        return {port.at: giver for giver, takers in self.taken_by.items() for port in takers}

    def by_numbers(self, net: Net) -> dict[tuple[bool, int | None, int | None], Owner]:
        """The ports of a net by side (is it an output), number of the layer and number of the port."""
        found: dict[tuple[bool, int | None, int | None], Owner] = {}
        for layer in net.layers:
            id = number(layer.id)
            for ports, is_output in ((layer.inputs, False), (layer.outputs, True)):
                for port in ports:
                    found.setdefault((is_output, id, number(port.id)), Owner(port, layer, net, is_output))
        return found

    # Edits

    def set_attribute(self, element: int, name: str, value: str) -> Edit | None:
        """The attribute with another value, in its old place; behind the others where it is not written."""
        written = self.positions.written(element, name)
        if written is not None:
            return self.edit(written.value, value)
        others = list(self.positions.attributes(element))
        tag = self.positions.tag(element)
        if tag is None:
            return None
        name_end = _NAME.match(self.text, tag.start)
        behind = others[-1].whole.stop if others else name_end.end() if name_end else None
        return None if behind is None else self.edit(Span(behind, 0), f' {name}="{value}"')

    def rename_attribute(self, element: int, name: str, new: str) -> Edit | None:
        """The attribute under another name; None where it is not written, or the other one is too."""
        written = self.positions.written(element, name)
        if written is None or self.positions.written(element, new) is not None:
            return None
        return self.edit(Span(written.whole.start, len(name)), new)

    def drop_attribute(self, element: int, name: str) -> Edit | None:
        """The element without an attribute, and without the blanks before it."""
        written = self.positions.written(element, name)
        return None if written is None else self.drop_written(written)

    def rename_element(self, element: int, new: str) -> list[Edit]:
        """The element with another name in its start tag and its end tag; nothing where it has no end."""
        tag, extent = self.positions.tag(element), self.positions.extent(element)
        if tag is None or extent is None:
            return []
        name = _NAME.match(self.text, tag.start)
        assert name is not None
        edits = [self.edit(Span(tag.start + 1, len(name[0]) - 1), new)]
        if extent != tag:
            edits.append(self.edit(Span(self.text.rindex("</", tag.start, extent.stop) + 2, len(name[0]) - 1), new))
        return edits

    def drop_element(self, element: int) -> Edit | None:
        """The text without an element, and without the blanks before it."""
        extent = self.positions.extent(element)
        if extent is None:
            return None
        start = self.before_blanks(extent.start)
        return self.edit(Span(start, extent.stop - start), "")

    def drop_written(self, attribute: Attribute) -> Edit:
        """The text without one attribute as written, and without the blanks before it."""
        start = self.before_blanks(attribute.whole.start)
        return self.edit(Span(start, attribute.whole.stop - start), "")

    def add_edge(self, net: Net, text: str) -> Edit | None:
        """One edge more, behind the last, on a line of its own if that one is; None in a net without edges."""
        return self.add_behind(net.edges[-1].at, text) if net.edges else None

    def add_behind(self, element: int, text: str) -> Edit | None:
        """One element more behind another, on a line of its own if that is."""
        extent = self.positions.extent(element)
        if extent is None:
            return None
        blanks = self.text[self.before_blanks(extent.start) : extent.start]
        return self.edit(Span(extent.stop, 0), blanks + text)

    def add_edges(self, net: Net, texts: list[str]) -> Edit | None:
        """The `<edges>` of a model that has none, laid out as its layers are; None in a body."""
        if net is not self.document.net:
            return None
        first = self.positions.extent(net.layers[0].at) if net.layers else None
        stop = self.text.rfind("</")
        if first is None or stop < first.stop:
            return None
        inner = self.text[self.before_blanks(first.start) : first.start]
        layers = self.text.rfind("<layers", 0, first.start)
        outer = self.text[self.before_blanks(layers) : layers]
        block = f"{outer}<edges>{''.join(inner + text for text in texts)}{outer}</edges>"
        empty = _NO_EDGES.search(self.text, first.stop)
        if empty is not None:
            start = self.before_blanks(empty.start())
            return self.edit(Span(start, empty.end() - start), block)
        return self.edit(Span(self.before_blanks(stop), 0), block)

    def add_last(self, element: int, text: str) -> Edit | None:
        """One element more in an element, behind all that is in it."""
        tag, extent = self.positions.tag(element), self.positions.extent(element)
        if tag is None or extent is None or extent == tag:
            return None
        stop = self.text.rindex("</", tag.start, extent.stop)
        return self.edit(Span(self.before_blanks(stop), 0), f"{self._line_behind(tag.stop)}{text}")

    def _line_behind(self, offset: int) -> str:
        """The line end and indentation that follow an offset; nothing where something else does."""
        blanks = _BLANKS.match(self.text, offset)
        return blanks[0] if blanks is not None and "\n" in blanks[0] else ""

    def move_to_data(self, layer: Layer, name: str) -> list[Edit]:
        """An attribute of the layer's start tag in its `<data>`, which is made where there is none."""
        written, tag = self.positions.written(layer.at, name), self.positions.tag(layer.at)
        if written is None or tag is None or self.text[tag.stop - 2] == "/":
            return []
        value = self.text[written.value.start : written.value.stop]
        if layer.data_at >= 0:
            added = self.set_attribute(layer.data_at, name, value)
        else:
            added = self.edit(Span(tag.stop, 0), f'{self._line_behind(tag.stop)}<data {name}="{value}"/>')
        return [self.drop_written(written), added] if added is not None else []

    def set_dims(self, port: Port, dims: list[int]) -> Iterator[Edit]:
        """The port with these dims: the texts of those that differ, or other dims in place of the old ones.

        Nothing where something other than blanks stands between the dims.
        """
        if len(dims) == len(port.dims):
            for index, (old, new) in enumerate(zip(port.dims, dims, strict=True)):
                if old != str(new):
                    yield from self.set_text(port.dim_at(index), str(new))
            return
        spans = [self.positions.extent(port.dim_at(index)) for index in range(len(port.dims))]
        if not spans or None in spans:
            return
        ends = [span for span in spans if span is not None]
        between = [self.text[a.stop : b.start] for a, b in pairwise(ends)]
        if any(blank.strip() for blank in between):
            return
        outside = self.before_blanks(ends[0].start)
        blank = between[0] if between else self.text[outside : ends[0].start]
        start = ends[0].start if dims else outside
        new_text = blank.join(f"<dim>{dim}</dim>" for dim in dims)
        yield self.edit(Span(start, ends[-1].stop - start), new_text)

    def set_text(self, element: int, text: str) -> Iterator[Edit]:
        """An element with another text in it; nothing where more than a plain text is in it."""
        tag, extent = self.positions.tag(element), self.positions.extent(element)
        if tag is not None and extent is not None and extent != tag:
            stop = self.text.rindex("</", tag.start, extent.stop)
            if "<" not in self.text[tag.stop : stop]:
                yield self.edit(Span(tag.stop, stop - tag.stop), text)


def number(text: str | None) -> int | None:
    """The unsigned integer of an id; None where there is none."""
    return whole(text).value
