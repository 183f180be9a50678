"""Conversion of a file's elements to its Document, with findings about elements that the grammar does not allow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeVar, cast

from irexec.core.collector import no_collection
from irexec.core.diagnostics.deadline import ask, watched
from irexec.core.diagnostics.diagnostic import Severity
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.diagnostics.nearest import nearest, suggestion
from irexec.core.records import fields
from irexec.ir.checks import check_document, is_too_old
from irexec.ir.document import PORT_MAPS, BackEdge, Document, Edge, Element, Layer, Net, Port, PortMap
from irexec.ir.plain import PlainReader
from irexec.ir.text import quoted
from irexec.ir.xml.elements import Elements, TooDeep, decoded
from irexec.ir.xml.events import events_and_texts
from irexec.ir.xml.source import Source

T = TypeVar("T")

_LAYER_ATTRIBUTES = ("id", "name", "type", "version", "output_names")
_PORT_ATTRIBUTES = ("id", "precision", "names")
_EDGE_ATTRIBUTES = ("from-layer", "from-port", "to-layer", "to-port")
_MAP_ATTRIBUTES = tuple(field.name for field in fields(PortMap) if field.name not in ("at", "kind"))
# Attributes written by old converters, and ignored by every reader since.
_IGNORED_IN_MAPS = {"internal_port_id"}
_IGNORED_IN_BACK_EDGES = {"from-port", "to-port"}


def read_document(source: Source, findings: Findings) -> Document | None:
    """Read a whole model and report every fault that can be found without knowing any operator.

    `findings` must locate with `source.locate`. Returns None if the text has no tree or contains no model; a document
    that is returned may still have errors in `findings`.
    """
    source.report(findings)
    if not source.readable:
        return None
    elements = source.elements()
    if not _is_net(elements, findings) or is_too_old(dict(elements.attributes).get("version"), findings):
        return None
    with no_collection(to_stay=True):
        try:
            document = Document(_Reader(elements, findings).net(), source)
        except TooDeep as error:
            findings.add("X005", str(error), at=At(error.number))
            return None
        if ("ExecutionNode" in source.text or "execOrder" in source.text) and _is_execution_graph(document.net):
            message = "the file is the execution graph of a compiled model; it has no weights and cannot be run"
            hint = "irexec show and diff read it, and report --counters draws it over the model that was compiled"
            findings.add("N011", message, at=At(document.net.layers[0].at), hint=hint)
            return None
        if elements.may_hold_text and (_MAY_HOLD_TEXT.search(source.text) or "<![CDATA[" in source.text):
            _stray_text(source.text, findings)
        check_document(document, findings)
    return document


def read_layers(source: Source, findings: Findings) -> list[Layer]:
    """Read a text whose root contains layers (or is one) without a `<net>`: the examples of the operation pages.

    Reports unknown elements only; nothing is checked.
    """
    if not source.readable:
        return []
    elements = source.elements()
    reader = _Reader(elements, findings)
    try:
        return [reader.layer()] if elements.name == "layer" else list(reader.items("layer", _Reader.layer))
    except TooDeep as error:
        findings.add("X005", str(error), at=At(error.number))
        return []


def _is_net(root: Elements, findings: Findings) -> bool:
    if root.name == "net":
        return True
    lowered = root.name.lower()
    if lowered == "net":
        findings.add("N009", f"the root element is written <{root.name}>, not <net>", at=At(0))
        return True
    hint = "a single layer is a snippet, not a model" if lowered == "layer" else None
    findings.add("N001", f"the root element is <{root.name}>, not <net>", at=At(0), hint=hint)
    return False


def _is_execution_graph(net: Net) -> bool:
    """Return True for a dump of a compiled model (OpenVINO's `get_runtime_model`, `benchmark_app -exec_graph_path`)."""
    return any(layer.type == "ExecutionNode" or "execOrder" in layer.data for layer in net.layers)


# Text that does not directly follow a `<dim>`, anywhere, including in comments.
_MAY_HOLD_TEXT = re.compile(r">(?<!<dim>)\s*+[^<\s]", re.ASCII)
_FREE_SECTIONS = frozenset({"rt_info", "meta_data", "quantization_parameters", "pre-process"})


def _stray_text(text: str, findings: Findings) -> None:
    """Report text between elements, once for each element that contains it."""
    last, reported = -1, set()
    around: list[tuple[int, str]] = []
    for kind, _, _, content in events_and_texts(text):
        if kind == "start" or kind == "empty":
            last += 1
        if kind == "start":
            around.append((last, content))
        elif kind == "end":
            around.pop()
        elif around and (kind == "text" or (kind == "cdata" and content.strip())):
            element, name = around[-1]
            if name == "dim" or element in reported or _FREE_SECTIONS.intersection(name for _, name in around):
                continue
            reported.add(element)
            message, found = f"text in <{name}>, where only elements are allowed", decoded(content).strip()[:40]
            findings.add("N006", message, at=At(element, "#text"), found=found)
        if last >= 0 and not around:  # Text after the root is not well-formed XML, which is reported elsewhere.
            return


class _Reader:
    """Builds the document in one pass through the elements. Each method reads the element entered last to its end."""

    def __init__(self, elements: Elements, findings: Findings) -> None:
        self._elements = elements
        self._findings = findings
        self._plain = PlainReader(elements)

    # Models and layers

    def net(self) -> Net:
        at = self._elements.number
        is_body = at > 0
        attributes = dict(self._elements.attributes)
        net = Net(at, attributes.pop("name", None), attributes.pop("version", None))
        if not is_body:
            self._unknown_attributes("net", attributes, at, ("name", "version"))
        self._sections(_BODY if is_body else _NET, net, {})
        return net

    def layers(self) -> tuple[Layer, ...]:
        return self.items("layer", _Reader.layer, self._plain_layers)

    def _plain_layers(self) -> Iterator[Layer]:
        for layer, read in watched(self._plain.layers(), "reading", of=lambda _, found: found[0]):
            if read is not None:
                self._sections(_LAYER, layer, read)
            yield layer

    def layer(self) -> Layer:
        layer, interned = Layer(at := self._elements.number), self._plain.interned
        other: dict[str, str] = {}
        for name, text in self._elements.attributes:
            if name == "id":
                layer.id = text
            elif name == "name":
                layer.name = text
            elif name == "type":
                layer.type = interned(text)
            elif name == "version":
                layer.version = interned(text)
            elif name == "output_names":
                layer.output_names = text
            else:
                other[name] = text
        if other:
            layer.other = other
            self._unknown_attributes("layer", other, at, _LAYER_ATTRIBUTES)
        self._sections(_LAYER, layer, {})
        return layer

    def _sections(self, known: dict[str, _Section], item: Net | Layer, where: dict[str, int]) -> None:
        """Read the known children into the fields of `item`. Of two children with the same name, the first is used.

        `where`: the numbers of children that were read before, by their tags.
        """
        elements, parent = self._elements, self._elements.name
        for tag in elements.children():
            section = known.get(tag)
            if section is None:
                self._unknown_element(parent, known)
            elif tag in where:
                self._repeated(parent, where[tag])
            else:
                where[tag] = elements.number
                setattr(item, section.field, section.read(self))
        if isinstance(item, Layer):
            item.data_at = where.get("data", -1)

    def items(
        self, tag: str, read_item: Callable[[_Reader], T], plain: Callable[[], Iterable[T]] = tuple
    ) -> tuple[T, ...]:
        """Return the children called `tag`; report other children. `plain` reads those that ir/plain.py matches."""
        elements, parent = self._elements, self._elements.name
        found: list[T] = []
        if elements.is_empty:
            return ()
        while True:
            found += plain()
            ask("reading")
            if not elements.enter():
                return tuple(found)
            if elements.name == tag:
                found.append(read_item(self))
            else:
                self._unknown_element(parent, (tag,))

    # Ports and edges

    def ports(self) -> tuple[Port, ...]:
        return self.items("port", _Reader.port, self._plain.ports)

    def port(self) -> Port:
        elements, interned = self._elements, self._plain.interned
        port = Port(at := elements.number)
        other: dict[str, str] = {}
        for name, text in elements.attributes:
            if name == "id":
                port.id = interned(text)
            elif name == "precision":
                port.precision = interned(text)
            elif name == "names":
                port.names = text
            else:
                other[name] = text
        if other:
            port.other = other
            self._unknown_attributes("port", other, at, _PORT_ATTRIBUTES)
        dims, dims_at = [], []
        for tag in elements.children():
            if tag == "dim":
                dims_at.append(elements.number)
                dims.append(self._text() or "")
            elif tag != "rt_info":
                self._unknown_element("port", ("dim", "rt_info"))
            elif port.rt_info is None:
                port.rt_info = self.element()
            else:
                self._repeated("port", port.rt_info.at)
        if dims:
            texts = tuple(dims)
            port.dims = interned(texts)
            # Element numbers ascend: if the last dim directly follows the dims before it, all dims directly follow the
            # port.
            if dims_at[-1] != at + len(dims):
                port.dims_at = tuple(dims_at)
        return port

    def edges(self) -> tuple[Edge, ...]:
        return self.items("edge", _Reader.edge, self._plain.edges)

    def edge(self) -> Edge:
        edge, interned = Edge(at := self._elements.number), self._plain.interned
        other: dict[str, str] = {}
        for name, text in self._elements.attributes:
            if name == "from-layer":
                edge.from_layer = text
            elif name == "from-port":
                edge.from_port = interned(text)
            elif name == "to-layer":
                edge.to_layer = text
            elif name == "to-port":
                edge.to_port = interned(text)
            else:
                other[name] = text
        if other:
            edge.other = other
            # If an end is missing, one of these attributes may be a misspelling of it: the check of edges reports it.
            if None not in (edge.from_layer, edge.from_port, edge.to_layer, edge.to_port):
                self._unknown_attributes("edge", other, at, _EDGE_ATTRIBUTES)
        self._no_children()
        return edge

    def data(self) -> dict[str, str]:
        attributes = dict(self._elements.attributes)
        self._no_children()
        return attributes

    # Bodies

    def port_maps(self) -> tuple[PortMap, ...]:
        elements, parent = self._elements, self._elements.name
        maps = []
        for tag in elements.children():
            if tag not in ("input", "output"):
                self._unknown_element(parent, ("input", "output"))
                continue
            at, attributes = elements.number, dict(elements.attributes)
            known = {name: attributes.pop(name, None) for name in _MAP_ATTRIBUTES}
            maps.append(PortMap(at, cast(Literal["input", "output"], tag), **known))
            self._unknown_attributes(tag, attributes, at, _MAP_ATTRIBUTES, _IGNORED_IN_MAPS)
            self._no_children()
        return tuple(maps)

    def back_edges(self) -> tuple[BackEdge, ...]:
        return self.items("edge", _Reader.back_edge)

    def back_edge(self) -> BackEdge:
        at, other = self._elements.number, dict(self._elements.attributes)
        edge = BackEdge(at, other.pop("from-layer", None), other.pop("to-layer", None))
        self._unknown_attributes("edge", other, at, _EDGE_ATTRIBUTES, _IGNORED_IN_BACK_EDGES)
        self._no_children()
        return edge

    # Generic elements

    def element(self) -> Element:
        """Return an element and its content, uninterpreted. The parser limits the depth of this recursion."""
        elements = self._elements
        read = Element(elements.number, elements.name, dict(elements.attributes))
        if elements.is_empty:
            return read
        children: list[Element] = []
        while elements.enter():
            if not children:
                read.text = elements.text()
            children.append(self.element())
        if not children:
            read.text = elements.text()
        read.children = tuple(children)
        return read

    def _text(self) -> str | None:
        """Return the text at the beginning of an element that contains no elements."""
        elements, parent = self._elements, self._elements.name
        if elements.is_empty:
            return None
        inside = elements.enter()
        text = elements.text()
        while inside:
            self._unknown_element(parent, ())
            inside = elements.enter()
        return text

    def _repeated(self, parent: str, first: int) -> None:
        tag, at = self._elements.name, At(self._elements.number)
        self._elements.skip()
        related = (("first occurrence", At(first)),)
        self._findings.add("N003", f"a second <{tag}> in <{parent}>; only the first is used", at=at, related=related)

    def _no_children(self) -> None:
        parent = self._elements.name
        for _ in self._elements.children():
            self._unknown_element(parent, ())

    def _unknown_element(self, parent: str, known: Iterable[str]) -> None:
        tag, at = self._elements.name, At(self._elements.number)
        self._elements.skip()
        close = nearest(tag, known, 1, 0.75)
        # OpenVINO silently skips a whole section when one letter of its name has the wrong case.
        severity = Severity.ERROR if close and close[0] == tag.lower() else None
        hint = f"did you mean <{close[0]}>?" if close else None
        message = f"unknown element <{tag}> in <{parent}>"
        self._findings.add("N004", message, at=at, hint=hint, severity=severity, candidates=tuple(close))

    def _unknown_attributes(
        self, tag: str, attributes: Iterable[str], at: int, known: Iterable[str], ignored: Iterable[str] = ()
    ) -> None:
        for name in attributes:
            if name not in ignored:
                message = f"unknown attribute {quoted(name)} of <{tag}>"
                near = nearest(name, known, 1, 0.75)
                details: dict[str, Any] = {"hint": suggestion(map(repr, near)), "candidates": tuple(near)}
                self._findings.add("N005", message, at=At(at, name, named=True), attribute=name, **details)


class _Section(NamedTuple):
    """A known child element: the field in which it is stored and the method that reads it."""

    field: str
    read: Callable[[_Reader], Any]


_BODY = {
    "layers": _Section("layers", _Reader.layers),
    "edges": _Section("edges", _Reader.edges),
    "rt_info": _Section("rt_info", _Reader.element),
    "meta_data": _Section("meta_data", _Reader.element),
    "quantization_parameters": _Section("quantization_parameters", _Reader.element),
}
_NET = _BODY | {"pre-process": _Section("pre_process", _Reader.element)}
_LAYER = {
    "data": _Section("data", _Reader.data),
    "input": _Section("inputs", _Reader.ports),
    "output": _Section("outputs", _Reader.ports),
    "rt_info": _Section("rt_info", _Reader.element),
    "back_edges": _Section("back_edges", _Reader.back_edges),
    **{tag: _Section(tag, _Reader.port_maps) for tag, _ in PORT_MAPS},
    **{tag: _Section(tag, _Reader.net) for _, tag in PORT_MAPS},
}
