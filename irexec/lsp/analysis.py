"""One version of a document, read and checked once: findings with their fixes, elements, ports, edges and types."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple
from weakref import finalize

from irexec.core.diagnostics import Report
from irexec.core.diagnostics.choice import EVERY, Choice
from irexec.core.diagnostics.findings import Mode
from irexec.core.types import TensorType
from irexec.frontends.reading import read
from irexec.ir.document import Edge, Layer, Net
from irexec.ir.xml.events import Attribute, Span
from irexec.ir.xml.positions import Extents
from irexec.ir.xml.source import Source
from irexec.lsp.text_form import TextForm
from irexec.model.graph.model import Model, Node
from irexec.tools.fixes.applying import apply_fixes
from irexec.tools.fixes.files import examined
from irexec.tools.fixes.written import Owner, Written
from irexec.tools.shapes.words import condition_rows, studied

# The time in seconds for which an editor waits for the sizes that a model accepts.
_STUDY = 1.0

MOST_REPAIRED = 800_000
"""The number of characters of a text that can be repaired within a second."""


class Spot(NamedTuple):
    """An attribute of an element, by the element's number."""

    element: int
    attribute: str


class Analysis:
    """The analysis of one version of a document. `written` is None for snippets and for texts that cannot be read.

    Its memory is released as soon as it is no longer referenced, because an editor creates a new version for each key.
    """

    def __init__(self, text: str, path: str | None = None, mode: Mode = "strict", choice: Choice = EVERY) -> None:
        self.text = text
        self.path = path
        self._source = Source(text, file=path)
        self._reading = reading = read(self._source, mode=mode)
        self._is_xml = reading.source is None or reading.source.is_xml
        self._model = reading.model
        self._ports: dict[int, dict[tuple[bool, int | None, int | None], Owner]] = {}
        if self._model is not None:
            # Nodes and their values refer to each other: the garbage collector would free them much later.
            finalize(self, Model.dissolve, self._model).atexit = False
        self._choice = choice
        self.report: Report = choice.of(examined(reading, of_broken_text=False))

    @cached_property
    def repaired(self) -> Report:
        """The findings; for a text that is not well-formed XML, with the fix that turns it into a model.

        This fix is not computed while the user types. For a long text only `irexec fix` offers it, because an editor
        requests fixes whenever the cursor moves.
        """
        is_readable = self._source.readable or not self._is_xml
        if is_readable or self._reading.snippet is not None or len(self.text) > MOST_REPAIRED:
            return self.report
        return self._choice.of(examined(self._reading))

    def fixed(self) -> str:
        """Return the text with all safe fixes applied."""
        return apply_fixes(self.text.encode(), self.path).data.decode()

    @cached_property
    def sizes(self) -> list[tuple[str, str]]:
        """The symbols of the model's dynamic dimensions with the conditions on them, found by a short study."""
        shapes = studied(self._model, _STUDY) if self._model is not None and self.report.ok else None
        return [] if shapes is None else condition_rows(shapes)

    # Elements

    @cached_property
    def extents(self) -> Extents:
        """Every element, by its number."""
        return self._source.positions.extents()

    # The model

    @cached_property
    def written(self) -> Written | None:
        """The document as XML that can be edited."""
        document = self._reading.document
        return Written(document, self._model) if self._is_xml and self._model is not None and document else None

    @cached_property
    def text_form(self) -> TextForm | None:
        """The names in a text in the text form; None for any other text."""
        if self._is_xml:
            return None
        document = self._reading.document
        return TextForm(self.text, None if document is None else document.net)

    def layer_at(self, offset: int) -> tuple[Layer, Net] | None:
        """Return the innermost layer around an offset, with its net."""
        layers = self.written.layers if self.written is not None else {}
        return next((layers[element] for element in self.extents.around(offset) if element in layers), None)

    def port_at(self, offset: int) -> Owner | None:
        """Return the port around an offset."""
        ports = self.written.ports if self.written is not None else {}
        return next((ports[element] for element in self.extents.around(offset) if element in ports), None)

    def edge_at(self, offset: int) -> tuple[Edge, Net] | None:
        """Return the edge whose tag is around an offset."""
        edges = self.written.edges if self.written is not None else {}
        return next((edges[element] for element in self.extents.around(offset) if element in edges), None)

    @cached_property
    def nodes(self) -> dict[int, Node]:
        """The node of each layer, by the number of the layer's element."""
        if self._model is None:
            return {}
        return {node.layer.at: node for node in self._model.walk(idle=True) if node.layer is not None}

    # Positions

    def tag(self, element: int) -> Span | None:
        """Return the start tag of an element."""
        return self.extents.tag(element) if 0 <= element < len(self.extents) else None

    def value(self, element: int, attribute: str) -> Span | None:
        """Return the value of an attribute, between its quotes."""
        return self._source.positions.attribute(element, attribute)

    def value_text(self, element: int, attribute: str) -> str | None:
        """Return the value of an attribute as it is written."""
        span = self.value(element, attribute)
        return None if span is None else self.text[span.start : span.stop]

    def attributes_of(self, element: int) -> list[Attribute]:
        """Return the attributes in the start tag of an element."""
        return list(self._source.positions.attributes(element))

    def attribute_at(self, offset: int) -> Spot | None:
        """Return the attribute whose name or value is at an offset."""
        for element in self.extents.around(offset)[:1]:
            for attribute in self.attributes_of(element):
                if attribute.whole.start <= offset <= attribute.whole.stop:
                    return Spot(element, attribute.name)
        return None

    def ports_of(self, net: Net) -> dict[tuple[bool, int | None, int | None], Owner]:
        """Return the ports of a net by side (True: output), layer id and port id."""
        if self.written is None:
            return {}
        if net.at not in self._ports:
            self._ports[net.at] = self.written.by_numbers(net)
        return self._ports[net.at]

    def type_of(self, owner: Owner) -> TensorType | None:
        """Return the inferred type of the value of a port; for an input port, of the connected output."""
        if self.written is None:
            return None
        giver = owner.port.at if owner.is_output else self.written.given_by.get(owner.port.at, -1)
        return self.written.made.get(giver)
