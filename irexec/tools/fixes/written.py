"""A file as editable text: the positions of its parts, the edges between them, and edits in bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from irexec.core.diagnostics import Edit, Fix, Safety
from irexec.core.diagnostics.nearest import common_start
from irexec.core.forms import ID, read
from irexec.core.types import TensorType
from irexec.ir.checks.bodies import bodies_of
from irexec.ir.document import Document, Edge, Layer, Net, Port
from irexec.ir.xml.edits import Editable
from irexec.ir.xml.events import Attribute, Span
from irexec.model.graph.model import Model

T = TypeVar("T")

_BLANKS = re.compile(r"\s*")


class Owner(NamedTuple):
    """The location of a port: its layer, the net of the layer, and the side."""

    port: Port
    layer: Layer
    net: Net
    is_output: bool


class Written(Editable):
    """A document, and the model that was built from it."""

    def __init__(self, document: Document, model: Model | None) -> None:
        source = document.source
        super().__init__(source.positions, source.encoding or (0, "utf-8"))
        self.document = document
        self._model = model
        self._shared: dict[tuple[str, int], Any] = {}

    # Look-ups

    def shared(self, what: str, net: Net, make: Callable[[], T]) -> T:
        """Return data that the fixes of many findings about a net share, computed once so that the cost is linear."""
        key = (what, net.at)
        if key not in self._shared:
            self._shared[key] = make()
        found: T = self._shared[key]
        return found

    def layers_by_number(self, net: Net) -> dict[int | None, list[Layer]]:
        """Return the layers of a net by the numbers in their ids."""

        def make() -> dict[int | None, list[Layer]]:
            found: dict[int | None, list[Layer]] = {}
            for layer in net.layers:
                found.setdefault(number(layer.id), []).append(layer)
            return found

        return self.shared("layers_by_number", net, make)

    def ports_named(self, net: Net) -> dict[tuple[bool, int | None], set[int]]:
        """Return the ports that edges name, by side (whether it is an output) and number of the layer."""

        def make() -> dict[tuple[bool, int | None], set[int]]:
            found: dict[tuple[bool, int | None], set[int]] = {}
            for edge in net.edges:
                ends = ((True, edge.from_layer, edge.from_port), (False, edge.to_layer, edge.to_port))
                for is_output, layer, port in ends:
                    if (id := number(port)) is not None:
                        found.setdefault((is_output, number(layer)), set()).add(id)
            return found

        return self.shared("ports_named", net, make)

    def edges_to(self, net: Net) -> dict[int | None, list[Edge]]:
        """Return the edges of a net by the number of the layer in which they end."""

        def make() -> dict[int | None, list[Edge]]:
            found: dict[int | None, list[Edge]] = {}
            for edge in net.edges:
                found.setdefault(number(edge.to_layer), []).append(edge)
            return found

        return self.shared("edges_to", net, make)

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
        """The inferred type of each output port, by the number of its element."""
        found: dict[int, TensorType] = {}
        if self._model is not None:
            for node in self._model.walk(idle=True):
                if node.layer is not None:
                    for port, value in zip(node.layer.outputs, node.outputs, strict=False):
                        found[port.at] = value.type
        return found

    @cached_property
    def taken_by(self) -> dict[int, list[Port]]:
        """The input ports that are connected with an output port, by the number of that port's element."""
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
        """The output port that is connected with an input port, both by the numbers of their elements."""
        return {port.at: giver for giver, takers in self.taken_by.items() for port in takers}

    def by_numbers(self, net: Net) -> dict[tuple[bool, int | None, int | None], Owner]:
        """Return the ports of a net by side (whether it is an output), number of the layer and number of the port."""
        found: dict[tuple[bool, int | None, int | None], Owner] = {}
        for layer in net.layers:
            id = number(layer.id)
            for ports, is_output in ((layer.inputs, False), (layer.outputs, True)):
                for port in ports:
                    found.setdefault((is_output, id, number(port.id)), Owner(port, layer, net, is_output))
        return found

    # Edits

    def set_attribute(self, element: int, name: str, value: str) -> Edit | None:
        """Return an edit that sets an attribute, in place if it is present, otherwise after the others."""
        written = self.positions.written(element, name)
        if written is not None:
            return self.edit(written.value, value)
        others = list(self.positions.attributes(element))
        behind = others[-1].whole if others else self.positions.name(element)
        return None if behind is None else self.edit(Span(behind.stop, 0), f' {name}="{value}"')

    def write(self, element: int, name: str, value: str, safety: Safety, title: str = "") -> Iterator[Fix]:
        """Yield the fix that sets an attribute, if an edit can set it."""
        if (edit := self.set_attribute(element, name, value)) is not None:
            yield Fix(title or f'write {name}="{value}"', safety, (edit,))

    def rename_attribute(self, element: int, name: str, new: str) -> Edit | None:
        """Return an edit that renames an attribute; None if it is absent, or the new name is in use."""
        written = self.positions.written(element, name)
        if written is None or self.positions.written(element, new) is not None:
            return None
        return self.edit(Span(written.whole.start, len(name)), new)

    def drop_attribute(self, element: int, name: str) -> Edit | None:
        """Return an edit that removes an attribute and the blanks before it."""
        written = self.positions.written(element, name)
        return None if written is None else self.drop_written(written)

    def rename_element(self, element: int, new: str) -> list[Edit]:
        """Return edits that rename an element in its start tag and its end tag; an empty list if it has no end tag."""
        name, end = self.positions.name(element), self.positions.end_tag(element)
        if name is None:
            return []
        edits = [self.edit(name, new)]
        if end is not None:
            edits.append(self.edit(Span(end.start + 2, name.length), new))
        return edits

    def drop_element(self, element: int) -> Edit | None:
        """Return an edit that removes an element and the blanks before it."""
        extent = self.positions.extent(element)
        if extent is None:
            return None
        start = self.before_blanks(extent.start)
        return self.edit(Span(start, extent.stop - start), "")

    def drop_written(self, attribute: Attribute) -> Edit:
        """Return an edit that removes one attribute and the blanks before it."""
        start = self.before_blanks(attribute.whole.start)
        return self.edit(Span(start, attribute.whole.stop - start), "")

    def add_edge(self, net: Net, text: str) -> Edit | None:
        """Return an edit that adds an edge after the last edge, laid out like it; None if there are no edges."""
        return self.add_behind(net.edges[-1].at, text) if net.edges else None

    def add_behind(self, element: int, text: str) -> Edit | None:
        """Return an edit that adds an element after another, on a line of its own if the other has its own line."""
        extent = self.positions.extent(element)
        if extent is None:
            return None
        return self.edit(Span(extent.stop, 0), self._blanks_before(extent.start) + text)

    def _blanks_before(self, offset: int) -> str:
        return self.text[self.before_blanks(offset) : offset]

    def add_edges(self, net: Net, texts: list[str]) -> Edit | None:
        """Return an edit that adds the `<edges>` of a model without edges, laid out as its layers; None in a body."""
        if net is not self.document.net:
            return None
        positions, root = self.positions, self.positions.end_tag(0)
        if not net.layers or root is None:
            return None
        extents, first = positions.extents(), net.layers[0].at
        inner, outer = map(self._blanks_before, (extents.starts[first], extents.starts[extents.parents[first]]))
        block = f"{outer}<edges>{''.join(inner + text for text in texts)}{outer}</edges>"
        place = Span(self.before_blanks(root.start), 0)
        for child in positions.children(0):
            if positions.name_text(child) == "edges":  # The section contains no edge.
                empty = extents.whole(child)
                if empty.stop != extents.tag_stops[child] and not positions.is_plain(child):
                    return None  # A comment in the section would be lost.
                start = self.before_blanks(empty.start)
                place = Span(start, empty.stop - start)
        return self.edit(place, block)

    def add_last(self, element: int, text: str) -> Edit | None:
        """Return an edit that adds an element at the end of another element."""
        tag, end = self.positions.tag(element), self.positions.end_tag(element)
        if tag is None or end is None:
            return None
        return self.edit(Span(self.before_blanks(end.start), 0), f"{self._line_behind(tag.stop)}{text}")

    def _line_behind(self, offset: int) -> str:
        """Return the line end and indentation after an offset; an empty text if other characters follow."""
        blanks = _BLANKS.match(self.text, offset)
        return blanks[0] if blanks is not None and "\n" in blanks[0] else ""

    def move_to_data(self, layer: Layer, name: str) -> list[Edit]:
        """Return edits that move an attribute of the layer's start tag into its `<data>`, added if it is missing."""
        written, tag = self.positions.written(layer.at, name), self.positions.tag(layer.at)
        if written is None or tag is None or self.text[tag.stop - 2] == "/":
            return []
        value = self.text[written.value.start : written.value.stop]
        if layer.data_at >= 0:
            added = self.set_attribute(layer.data_at, name, value)
        else:
            added = self.edit(Span(tag.stop, 0), f'{self._line_behind(tag.stop)}<data {name}="{value}"/>')
        return [self.drop_written(written), added] if added is not None else []

    def set_dims(self, port: Port, dims: list[int]) -> list[Edit]:
        """Return edits that give the port these dims: changed numbers, and dims that are removed or added at the end.

        Returns an empty list if a `<dim>` to be changed or removed also contains a comment or an element, which the
        edit would lose.
        """
        old, new = list(port.dims), [str(dim) for dim in dims]
        first = common_start(old, new)
        last = common_start(old[first:][::-1], new[first:][::-1])
        count = min(len(old), len(new)) - first - last  # the number of dims that are replaced
        stop = first + count
        edits = [self.set_text(port.dim_at(i), new[i]) for i in range(first, stop) if old[i] != new[i]]
        edits += [self._drop_dim(port.dim_at(i)) for i in range(stop, len(old) - last)]
        if more := new[stop : len(new) - last]:
            edits.append(self._add_dims(port, stop, more))
        return [] if None in edits else [edit for edit in edits if edit is not None]

    def _add_dims(self, port: Port, place: int, dims: list[str]) -> Edit | None:
        """Return an edit that adds dims before a dim of a port, or after the last one."""
        spans = [self.positions.extent(port.dim_at(index)) for index in range(len(port.dims))]
        if not spans or None in spans:
            return None
        ends = [span for span in spans if span is not None]
        apart = ends[min(place, len(ends) - 1)].start
        blank = self._blanks_before(apart)
        texts = [f"<dim>{dim}</dim>" for dim in dims]
        if place == len(ends):
            return self.edit(Span(ends[-1].stop, 0), "".join(blank + text for text in texts))
        return self.edit(Span(apart, 0), "".join(text + blank for text in texts))

    def _drop_dim(self, element: int) -> Edit | None:
        """Return an edit that removes a dim that contains only its number."""
        return self.drop_element(element) if self.positions.is_plain(element) else None

    def set_text(self, element: int, text: str) -> Edit | None:
        """Return an edit that sets the text in an element; None if it has several texts, or only child elements."""
        tag, end = self.positions.tag(element), self.positions.end_tag(element)
        texts = list(self.positions.inner_texts(element))
        if tag is None or end is None or len(texts) > 1:
            return None
        if texts:
            return self.edit(texts[0], text)
        inside = Span(tag.stop, end.start - tag.stop)
        return None if "<" in self.text[tag.stop : end.start] else self.edit(inside, text)


def number(text: str | None) -> int | None:
    """Return the unsigned integer in an id; None if the id is any other text."""
    return read(ID, text).value
