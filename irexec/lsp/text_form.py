"""Texts in the text form: the names that they define and use, and what is at a place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from irexec.core.structure import PARAMETER
from irexec.frontends.text.parser import parse
from irexec.frontends.text.scope import Scope, version_of
from irexec.frontends.text.syntax import Layer, Net, Port, Word
from irexec.ir import document
from irexec.ir.xml.events import Span


@dataclass(slots=True)
class Entry:
    """An input or a layer of the text, and its layer in the document; None if the text has errors.

    `uses`: the places of its name, the definition first. `stop`: the end of its lines.
    """

    part: Port | Layer
    name: Word
    layer: document.Layer | None
    uses: list[Span]
    stop: int
    bodies: list[TextNet] = field(default_factory=list)

    @property
    def data(self) -> dict[str, str]:
        """The type and version, as the attributes of a layer in a file."""
        if isinstance(self.part, Port):
            return {"type": PARAMETER, "version": "opset1"}
        return {"type": self.part.type.text, "version": version_of(self.part) or ""}


@dataclass(slots=True)
class TextNet:
    """A net of the text."""

    net: Net
    entries: list[Entry]
    taken: set[str]
    """The names that are defined."""
    stop: int


class Place(NamedTuple):
    """A name at an offset: the layer that it names, and the range of the name."""

    entry: Entry
    net: TextNet
    span: Span


class TextForm:
    """The nets of a text, and the names in it."""

    def __init__(self, text: str, read: document.Net | None) -> None:
        """`read`: the net of the document that was read from the text, if that was possible."""
        self._text = text
        self._places: list[Place] = []
        net = parse(text, _ignore)
        self.net = None if net is None else self._net(net, read)
        self._places.sort(key=lambda place: place.span.start)

    def _net(self, net: Net, read: document.Net | None) -> TextNet:
        scope = Scope(net, _ignore)
        layers = read.layers if read is not None else ()
        made = TextNet(net, [], set(), net.span.stop)
        # The document contains the inputs, the layers and the results in this order.
        for number, named in enumerate((*scope.inputs, *scope.layers)):
            part = named.part
            assert part.name is not None
            layer = layers[number] if number < len(layers) else None
            made.entries.append(Entry(part, part.name, layer, [part.name.span], part.span.stop))
            made.taken.add(part.name.text + part.name.tail)
        entries = {id(entry.part): entry for entry in made.entries}
        for use in scope.uses:
            if (end := scope.end(use)) is not None and (entry := entries.get(id(end.layer.part))) is not None:
                whole = scope.named(use) is end.layer
                written = self._text[use.span.start : use.span.stop]
                length = len(written) if whole else written.rindex(".")
                entry.uses.append(Span(use.span.start, length))
        for entry in made.entries:
            if isinstance(entry.part, Layer):
                self._bodies(entry, entry.part)
            self._places += [Place(entry, made, span) for span in entry.uses]
        made.stop = max([made.stop, *(entry.stop for entry in made.entries)])
        return made

    def _bodies(self, entry: Entry, part: Layer) -> None:
        for keyword, net in part.bodies:
            field = "body" if keyword.text == "body" else f"{keyword.text}_body"
            inner = self._net(net, getattr(entry.layer, field, None))
            entry.bodies.append(inner)
            entry.stop = max(entry.stop, inner.stop)
            by_name = {each.name.text + each.name.tail: each for each in inner.entries}
            for line in part.maps.get(keyword.text, ()):
                entry.stop = max(entry.stop, line.body.span.stop)
                for use in (line.body, line.outer if line.kind.text == "back" else None):
                    if use is not None and (named := by_name.get(use.text + use.tail)) is not None:
                        named.uses.append(use.span)
                        self._places.append(Place(named, inner, use.span))

    def line(self, entry: Entry) -> str:
        """Return the line of a layer, or an input of the head, as it is written."""
        stop = entry.part.span.stop
        if isinstance(entry.part, Port) and entry.part.type is not None:
            stop = entry.part.type.shape.span.stop
        return " ".join(self._text[entry.part.span.start : stop].split())

    def name_of(self, element: int) -> Span | None:
        """Return the name of a layer of the document, by its element."""
        named = (entry for _, entry in self.walk() if entry.layer is not None and entry.layer.at == element)
        return next((entry.name.span for entry in named), None)

    # What is at a place

    def at(self, offset: int) -> Place | None:
        """Return the name at an offset."""
        number = bisect_right(self._places, offset, key=lambda place: place.span.start) - 1
        found = self._places[number] if number >= 0 else None
        return found if found is not None and offset <= found.span.stop else None

    def layer_at(self, offset: int) -> tuple[Entry, Layer] | None:
        """Return the layer whose line, up to what is in braces, contains an offset."""
        return next(
            (
                (entry, entry.part)
                for _, entry in self.walk()
                if isinstance(entry.part, Layer) and entry.part.span.start <= offset <= entry.part.span.stop
            ),
            None,
        )

    def names(self, offset: int) -> Iterator[tuple[str, str]]:
        """Yield the names that a layer at an offset can use, with the types of their layers."""
        around = [net for net in self.nets() if net.net.span.start <= offset <= net.stop]
        for net in around[-1:] or [*self.nets()][:1]:
            for entry in net.entries:
                yield entry.name.text, entry.data["type"]

    def nets(self) -> Iterator[TextNet]:
        """Yield every net, a body after the net that contains it."""
        nets = [self.net] if self.net is not None else []
        for net in nets:
            yield net
            nets += (body for entry in net.entries for body in entry.bodies)

    def walk(self) -> Iterator[tuple[TextNet, Entry]]:
        """Yield every input and layer with its net, those of bodies included."""
        return ((net, entry) for net in self.nets() for entry in net.entries)


def _ignore(code: str, message: str, span: Span, hint: str | None) -> None:
    """Errors are reported where the text is read as a model."""
