"""From the XML tree of a file to its Document, with findings about elements that the grammar does not allow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from typing import Any, Literal, NamedTuple, TypeVar, cast

from lxml import etree

from irexec.diagnostics.diagnostic import Severity
from irexec.diagnostics.findings import At, Findings
from irexec.diagnostics.nearest import nearest, suggestion
from irexec.ir.checks import check_document, is_too_old
from irexec.ir.document import BackEdge, Document, Edge, Element, Layer, Net, Port, PortMap
from irexec.ir.memory import no_collection
from irexec.ir.text import quoted
from irexec.ir.xml.source import Source

T = TypeVar("T")

_LAYER_ATTRIBUTES = ("id", "name", "type", "version", "output_names")
_PORT_ATTRIBUTES = ("id", "precision", "names")
_EDGE_ATTRIBUTES = ("from-layer", "from-port", "to-layer", "to-port")
_MAP_ATTRIBUTES = tuple(field.name for field in fields(PortMap) if field.name not in ("at", "kind"))
# Written by old converters, and ignored by every reader since.
_IGNORED_IN_MAPS = {"internal_port_id"}
_IGNORED_IN_BACK_EDGES = {"from-port", "to-port"}


def read(source: Source, findings: Findings) -> Document | None:
    """Read a whole model and report every fault that can be found without knowing any operator.

    `findings` must locate with `source.locate`. Returns None when the text has no tree or holds no model; a
    document that is returned may still have errors in `findings`.
    """
    source.report(findings)
    if source.root is None or not _is_net(source.root, findings):
        return None
    if is_too_old(source.root.get("version"), findings):
        return None
    with no_collection():
        document = Document(_Reader(findings).net(source.root), source)
        if _is_execution_graph(document.net):
            message = "this is the graph of a compiled model as a device executed it: without weights, not to be run"
            hint = "take the model that was compiled; the names of its layers stand in originalLayersNames"
            findings.add("N011", message, at=At(document.net.layers[0].at), hint=hint)
            return None
        if _MAY_HOLD_TEXT.search(source.text) or "<![CDATA[" in source.text:
            _stray_text(source.root, findings)
        check_document(document, findings)
    return document


def read_layers(source: Source, findings: Findings) -> list[Layer]:
    """Read a text whose root holds layers (or is one) without a `<net>`: the examples of the operation pages.

    Reports unknown elements only; nothing is checked.
    """
    if source.root is None:
        return []
    reader = _Reader(findings)
    if source.root.tag == "layer":
        return [reader.layer(source.root)]
    return list(reader.items(source.root, "layer", _Reader.layer))


def _is_net(root: etree._Element, findings: Findings) -> bool:
    if root.tag == "net":
        return True
    lowered = str(root.tag).lower()
    if lowered == "net":
        findings.add("N009", f"the root element is written <{root.tag}>, not <net>", at=At(0))
        return True
    hint = "a single layer is a snippet, not a model" if lowered == "layer" else None
    findings.add("N001", f"the root element is <{root.tag}>, not <net>", at=At(0), hint=hint)
    return False


def _is_execution_graph(net: Net) -> bool:
    """True for a dump of a compiled model (OpenVINO's `get_runtime_model`, `benchmark_app -exec_graph_path`)."""
    return any(layer.type == "ExecutionNode" or "execOrder" in layer.data for layer in net.layers)


# Text that does not directly follow a <dim>, wherever it is: in a comment, too.
_MAY_HOLD_TEXT = re.compile(r">(?<!<dim>)\s*+[^<\s]", re.ASCII)
_TEXTS = etree.XPath("//text()[not(parent::dim)][normalize-space()]")
_FREE_SECTIONS = ("rt_info", "meta_data", "quantization_parameters", "pre-process")


def _stray_text(root: etree._Element, findings: Findings) -> None:
    """Report text between elements, once for each element it stands in."""
    texts = cast("list[etree._ElementUnicodeResult]", _TEXTS(root))
    if not texts:
        return
    number = {element: at for at, element in enumerate(root.iter())}
    for element, text in {_container(text): text for text in reversed(texts)}.items():
        if not any(above.tag in _FREE_SECTIONS for above in (element, *element.iterancestors())):
            at = At(number[element], "#text")
            findings.add("N006", f"text in <{element.tag}>, which holds none", at=at, found=text.strip()[:40])


def _container(text: etree._ElementUnicodeResult) -> etree._Element:
    element = text.getparent()
    assert element is not None
    around = element.getparent() if text.is_tail else None
    return element if around is None else around


class _Reader:
    """Walks the tree once, in document order, and counts the elements it passes."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._number = -1
        # Interned texts and tuples of texts: a model repeats the same ones in every layer.
        self._once: dict[Any, Any] = {}

    def _enter(self) -> int:
        self._number += 1
        return self._number

    # Models and layers

    def net(self, element: etree._Element) -> Net:
        at = self._enter()
        is_body = at > 0
        attributes = _attributes(element)
        net = Net(at, attributes.pop("name", None), attributes.pop("version", None))
        if not is_body:
            self._unknown_attributes("net", attributes, at, ("name", "version"))
        self._sections(element, _BODY if is_body else _NET, net)
        return net

    def layer(self, element: etree._Element) -> Layer:
        layer, once = Layer(at := self._enter()), self._once.setdefault
        other: dict[str, str] = {}
        for name, text in _items(element):
            if name == "id":
                layer.id = text
            elif name == "name":
                layer.name = text
            elif name == "type":
                layer.type = once(text, text)
            elif name == "version":
                layer.version = once(text, text)
            elif name == "output_names":
                layer.output_names = text
            else:
                other[name] = text
        if other:
            layer.other = other
            self._unknown_attributes("layer", other, at, _LAYER_ATTRIBUTES)
        layer.data_at = self._sections(element, _LAYER, layer).get("data", -1)
        return layer

    def _sections(self, element: etree._Element, known: dict[str, _Section], item: Net | Layer) -> dict[str, int]:
        """Read the children that are known into the fields of `item`; the number of each child by its tag.

        Of two children with one name the first counts.
        """
        where: dict[str, int] = {}
        for child in element:
            tag = str(child.tag)
            section = known.get(tag)
            if section is None:
                self._unknown_element(child, element.tag, known)
            elif tag in where:
                self._repeated(child, element.tag, where[tag])
            else:
                where[tag] = self._number + 1
                setattr(item, section.field, section.read(self, child))
        return where

    def items(
        self, element: etree._Element, tag: str, read_item: Callable[[_Reader, etree._Element], T]
    ) -> tuple[T, ...]:
        """The children called `tag`, read; others are reported."""
        self._enter()
        found = []
        for child in element:
            if child.tag == tag:
                found.append(read_item(self, child))
            else:
                self._unknown_element(child, element.tag, (tag,))
        return tuple(found)

    # Ports and edges

    def port(self, element: etree._Element) -> Port:
        port, once = Port(at := self._enter()), self._once.setdefault
        other: dict[str, str] = {}
        for name, text in _items(element):
            if name == "id":
                port.id = once(text, text)
            elif name == "precision":
                port.precision = once(text, text)
            elif name == "names":
                port.names = text
            else:
                other[name] = text
        if other:
            port.other = other
            self._unknown_attributes("port", other, at, _PORT_ATTRIBUTES)
        dims, dims_at = [], []
        for child in element:
            if child.tag == "dim":
                self._number += 1
                dims.append(child.text or "")
                dims_at.append(self._number)
                if len(child):
                    self._no_children(child)
            elif child.tag != "rt_info":
                self._unknown_element(child, "port", ("dim", "rt_info"))
            elif port.rt_info is None:
                port.rt_info = self.element(child)
            else:
                self._repeated(child, "port", port.rt_info.at)
        if dims:
            texts = tuple(dims)
            port.dims = once(texts, texts)
            # Element numbers ascend: if the last dim directly follows the others, they all follow the port.
            if dims_at[-1] != at + len(dims):
                port.dims_at = tuple(dims_at)
        return port

    def edge(self, element: etree._Element) -> Edge:
        edge, once = Edge(at := self._enter()), self._once.setdefault
        other: dict[str, str] = {}
        for name, text in _items(element):
            if name == "from-layer":
                edge.from_layer = text
            elif name == "from-port":
                edge.from_port = once(text, text)
            elif name == "to-layer":
                edge.to_layer = text
            elif name == "to-port":
                edge.to_port = once(text, text)
            else:
                other[name] = text
        if other:
            edge.other = other
            # Where an end is missing, one of these is it: the check of edges says so.
            if None not in (edge.from_layer, edge.from_port, edge.to_layer, edge.to_port):
                self._unknown_attributes("edge", other, at, _EDGE_ATTRIBUTES)
        if len(element):
            self._no_children(element)
        return edge

    def data(self, element: etree._Element) -> dict[str, str]:
        self._enter()
        if len(element):
            self._no_children(element)
        return _attributes(element)

    # Bodies

    def port_maps(self, element: etree._Element) -> tuple[PortMap, ...]:
        self._enter()
        maps = []
        for child in element:
            if child.tag not in ("input", "output"):
                self._unknown_element(child, element.tag, ("input", "output"))
                continue
            at = self._enter()
            attributes = _attributes(child)
            known = {name: attributes.pop(name, None) for name in _MAP_ATTRIBUTES}
            maps.append(PortMap(at, cast(Literal["input", "output"], child.tag), **known))
            self._unknown_attributes(str(child.tag), attributes, at, _MAP_ATTRIBUTES, _IGNORED_IN_MAPS)
            self._no_children(child)
        return tuple(maps)

    def back_edge(self, element: etree._Element) -> BackEdge:
        at = self._enter()
        other = _attributes(element)
        edge = BackEdge(at, other.pop("from-layer", None), other.pop("to-layer", None))
        self._unknown_attributes("edge", other, at, _EDGE_ATTRIBUTES, _IGNORED_IN_BACK_EDGES)
        self._no_children(element)
        return edge

    # Anything

    def element(self, element: etree._Element) -> Element:
        """An element and its content, uninterpreted. The parser bounds the depth of this recursion."""
        at, tag, attributes = self._enter(), str(element.tag), _attributes(element)
        return Element(at, tag, attributes, tuple(self.element(child) for child in element), element.text)

    def _skip(self, element: etree._Element) -> int:
        """Skip an element and its content; return the element's number."""
        at = self._number + 1
        self._number += sum(1 for _ in element.iter())
        return at

    def _repeated(self, element: etree._Element, parent: object, first: int) -> None:
        self._findings.add(
            "N003",
            f"a second <{element.tag}> in <{parent}>; only the first counts",
            at=At(self._skip(element)),
            related=(("the first is here", At(first)),),
        )

    def _no_children(self, element: etree._Element) -> None:
        for child in element:
            self._unknown_element(child, element.tag, ())

    def _unknown_element(self, element: etree._Element, parent: object, known: Iterable[str]) -> None:
        tag, at = str(element.tag), At(self._skip(element))
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


def _attributes(element: etree._Element) -> dict[str, str]:
    return dict(_items(element))


# The attributes of an element in the order of the file; a tree that was parsed from text has no bytes in it.
_items = cast("Callable[[etree._Element], Sequence[tuple[str, str]]]", etree._Element.items)


class _Section(NamedTuple):
    """A child element that is read: the field it goes to and the method that reads it."""

    field: str
    read: Callable[[_Reader, etree._Element], Any]


def _list(tag: str, read_item: Callable[[_Reader, etree._Element], Any]) -> Callable[[_Reader, etree._Element], Any]:
    return lambda reader, element: reader.items(element, tag, read_item)


_BODY = {
    "layers": _Section("layers", _list("layer", _Reader.layer)),
    "edges": _Section("edges", _list("edge", _Reader.edge)),
    "rt_info": _Section("rt_info", _Reader.element),
    "meta_data": _Section("meta_data", _Reader.element),
    "quantization_parameters": _Section("quantization_parameters", _Reader.element),
}
_NET = _BODY | {"pre-process": _Section("pre_process", _Reader.element)}
_LAYER = {
    "data": _Section("data", _Reader.data),
    "input": _Section("inputs", _list("port", _Reader.port)),
    "output": _Section("outputs", _list("port", _Reader.port)),
    "rt_info": _Section("rt_info", _Reader.element),
    "back_edges": _Section("back_edges", _list("edge", _Reader.back_edge)),
    **{tag: _Section(tag, _Reader.port_maps) for tag in ("port_map", "then_port_map", "else_port_map")},
    **{tag: _Section(tag, _Reader.net) for tag in ("body", "then_body", "else_body")},
}
