"""From the parts of a text to the XML of its model, in which every character has an origin in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from irexec.core.types import STRING, ElementType
from irexec.frontends.text.cursor import Wrong
from irexec.frontends.text.lexer import Report
from irexec.frontends.text.literals import to_bytes
from irexec.frontends.text.parser import BODIES
from irexec.frontends.text.scope import Named, Scope, version_of
from irexec.frontends.text.syntax import Layer, Map, Net, Port, Rest, TypeText, Word
from irexec.ir.text import quoted, result_name, write_name_list
from irexec.ir.weights.file import FURTHER
from irexec.ir.xml.events import Span
from irexec.ir.xml.mapped import Mapped, escaped

_NAME = re.compile(r"[^\W\d][\w.:-]*+")
_TEXT = "#text"
"""The name, in quotes, under which an element has text instead of elements."""
_OPEN = TypeText(Word("dynamic", Span(0, 0)), Word("...", Span(0, 0)))


class _Attribute(NamedTuple):
    name: str
    text: str
    value: Span
    named: Span


class Written(Mapped):
    """The XML of a net; `constants` are the bytes of the constants that the text contains."""

    def __init__(self, net: Net, report: Report) -> None:
        super().__init__()
        self._report = report
        self._constants = bytearray()
        version = _given(net.rest, "version")
        self._is_old = version is not None and version.text == "10"
        self._net("net", net, [] if version else [_made("version", "11", net.span)], is_body=False)

    @property
    def constants(self) -> bytes:
        return bytes(self._constants)

    # Elements

    def _open(self, tag: str, span: Span, attributes: Iterable[_Attribute] = (), *, end: str = ">\n") -> None:
        self.put(f"<{self._named(tag, span)}", span)
        for name, text, value, named in attributes:
            self.attribute(self._named(name, named), text, value, named, verbatim=True)
        self.put(end, span)

    def _named(self, name: str, span: Span) -> str:
        """Return the name of an element or attribute; one that XML does not allow becomes a finding."""
        if _NAME.fullmatch(name):
            return name
        self._report("X013", f"{quoted(name)} is not a name of an element or attribute", span, None)
        return "_"

    def _close(self, tag: str, span: Span) -> None:
        self.put(f"</{tag}>\n", span)

    def _rest(self, rest: Rest) -> None:
        """Write an element as it is."""
        attributes = [_as_given(name, value) for name, value in rest.attributes if name.text != _TEXT]
        content = _given(rest, _TEXT)
        if content is None and not rest.children:
            self._open(rest.tag.text, rest.tag.span, attributes, end="/>\n")
            return
        self._open(rest.tag.text, rest.tag.span, attributes, end=">")
        if content is not None:
            self.put(escaped(content.text), content.span)
        for child in rest.children:
            self._rest(child)
        self._close(rest.tag.text, rest.tag.span)

    # Nets

    def _net(self, tag: str, net: Net, attributes: list[_Attribute], *, is_body: bool) -> Scope:
        scope = Scope(net, self._report)
        if net.name is not None:
            attributes = [_made("name", _whole(net.name), net.name.span), *attributes]
        self._open(tag, net.span, [*attributes, *_further(net.rest, ())])
        self._open("layers", net.span)
        for named in scope.inputs:
            self._parameter(named, is_body=is_body)
        for named in scope.layers:
            self._layer(named, scope)
        for named in scope.results:
            self._result(named, scope, is_body=is_body)
        self._close("layers", net.span)
        self._open("edges", net.span)
        for named in scope.layers:
            assert isinstance(named.part, Layer)
            for position, use in enumerate(named.part.inputs):
                self._edge(scope, use, named, position)
        for named in scope.results:
            assert isinstance(named.part, Port)
            self._edge(scope, named.part.value, named, 0)
        self._close("edges", net.span)
        for rest in (*net.others, *(net.rest.children if net.rest is not None else ())):
            self._rest(rest)
        self._close(tag, net.span)
        return scope

    def _edge(self, scope: Scope, use: Word | None, to: Named, position: int) -> None:
        end = scope.end(use) if use is not None else None
        if end is not None and use is not None:
            ends = {"from-layer": end.layer.id, "from-port": end.port, "to-layer": to.id, "to-port": str(position)}
            self._open("edge", use.span, [_made(name, text, use.span) for name, text in ends.items()], end="/>\n")

    def _parameter(self, named: Named, *, is_body: bool) -> None:
        port = named.part
        assert isinstance(port, Port) and port.name is not None and port.type is not None
        self._layer_tag(named, port.name, Word("Parameter", port.span), "opset1")
        kind, shape = port.type
        data = [_Attribute("shape", shape.text, shape.span, shape.span)]
        self._open("data", kind.span, [*data, _Attribute("element_type", kind.text, kind.span, kind.span)], end="/>\n")
        own = [] if is_body else [port.name]
        self._ports(
            named, port.rest, [], [Port(port.span, type=port.type, names=own if port.names is None else port.names)]
        )
        self._close("layer", port.span)

    def _result(self, named: Named, scope: Scope, *, is_body: bool) -> None:
        port = named.part
        assert isinstance(port, Port) and port.value is not None
        end = scope.end(port.value)
        name = port.name
        if name is None:
            source = end.layer.part.name if end is not None else port.value
            assert source is not None
            output, outputs = (end.output, end.layer.outputs) if end is not None else (0, 1)
            name = Word(result_name(_whole(source), output, outputs), port.span)
        names = port.names if port.names is not None else [] if is_body or self._is_old else [port.value]
        further = [] if not names else [_Attribute("output_names", _list(names), *[_around(names)] * 2)]
        self._layer_tag(named, name, Word("Result", port.span), "opset1", further)
        self._ports(named, port.rest, [Port(port.value.span, type=port.type)], [])
        self._close("layer", port.span)

    # Layers

    def _layer_tag(
        self, named: Named, name: Word, type: Word, version: str | None, further: Iterable[_Attribute] = ()
    ) -> None:
        part = named.part
        at = part.version if isinstance(part, Layer) and part.version is not None else type
        written = _given(part.rest, "name") or name
        attributes = [
            _made("id", named.id, (_given(part.rest, "id") or name).span),
            _made("name", _whole(written), written.span),
            _made("type", type.text, type.span),
            *([_made("version", version, at.span)] if version is not None else ()),
        ]
        self._open("layer", part.span, [*attributes, *further, *_further(part.rest, ("id", "name"))])

    def _layer(self, named: Named, scope: Scope) -> None:
        layer = named.part
        assert isinstance(layer, Layer)
        type = layer.type
        if layer.constant is not None:
            type = Word("Const", type.span)
        version = version_of(layer)
        self._layer_tag(named, layer.name, type, version)
        data = [_as_given(name, value) for name, value in layer.attributes]
        if layer.constant is not None:
            data = self._constant(layer, layer.constant, data)
        if data:
            self._open("data", Span(data[0].named.start, data[-1].value.stop - data[0].named.start), data, end="/>\n")
        outputs = layer.outputs if layer.outputs is not None else [Port(layer.span)] * named.outputs
        inputs = [Port(use.span if use is not None else layer.span) for use in layer.inputs]
        self._ports(named, layer.rest, inputs, outputs)
        scopes = {}
        for keyword, net in layer.bodies:
            scopes[keyword.text] = self._net(BODIES[keyword.text][1], net, [], is_body=True)
        for body, inner in scopes.items():
            self._maps(body, layer.maps.get(body, []), inner, named)
        self._close("layer", layer.span)

    def _constant(self, layer: Layer, type: TypeText, further: list[_Attribute]) -> list[_Attribute]:
        """Return the attributes of a constant, whose bytes may be in the text."""
        literal, kind = layer.literal, ElementType.from_attribute(type.element_type.text)
        assert literal is not None
        data = [
            _made("element_type", type.element_type.text, type.element_type.span),
            _Attribute("shape", type.shape.text, type.shape.span, type.shape.span),
        ]
        extents = type.shape.text.split(",") if type.shape.text else []
        is_plain = (
            kind is not None
            and kind.dtype is not None
            and all(extent.isdecimal() and extent.isascii() and len(extent) < 19 for extent in extents)
        )
        offset, size = 0, None
        if literal.kind == "@":
            offset_text = literal.words[0].text
            if is_plain and kind is not None and kind is not STRING:
                size = kind.nbytes(_product(extents))
        elif is_plain and kind is not None:
            offset = FURTHER + len(self._constants)
            try:
                raw = to_bytes(literal, kind, tuple(map(int, extents)), len(self._constants))
            except Wrong as wrong:
                self._report("C015", str(wrong), wrong.span, wrong.hint)
                raw = b""
            self._constants += raw
            offset_text, size = str(offset), len(raw)
        else:
            offset_text, size = "0", 0
        data.append(_Attribute("offset", offset_text, literal.span, literal.span))
        if size is not None and not any(attribute.name == "size" for attribute in further):
            data.append(_Attribute("size", str(size), literal.span, literal.span))
        return data + further

    def _ports(self, named: Named, rest: Rest | None, inputs: list[Port], outputs: list[Port]) -> None:
        """Write the ports of a layer, and the elements in braces: those of ports, and others."""
        ports = {"input": inputs, "output": outputs}
        of_ports: dict[tuple[str, str], Rest] = {}
        for child in rest.children if rest is not None else ():
            number = _given(child, "port")
            if child.tag.text in ports and number is not None:
                if number.text not in map(str, range(len(ports[child.tag.text]))):
                    self._report("X013", f"the layer has no {child.tag.text} {number.text}", number.span, None)
                of_ports[child.tag.text, number.text] = child
            else:
                self._rest(child)
        for tag, found in ports.items():
            if not found:
                continue
            self._open(tag, named.part.span)
            for position, port in enumerate(found):
                id = str(position if tag == "input" else named.ports + position)
                self._port(id, port, of_ports.get((tag, str(position))), is_output=tag == "output")
            self._close(tag, named.part.span)

    def _port(self, id: str, port: Port, rest: Rest | None, *, is_output: bool) -> None:
        attributes = [_made("id", id, port.span)]
        kind, shape = port.type or _OPEN
        given = {name.text for name, _ in rest.attributes} if rest is not None else ()
        if "precision" not in given and (is_output or port.type is not None):
            found = ElementType.from_attribute(kind.text)
            text = kind.text if found is None else found.port_name
            attributes.append(_made("precision", text, kind.span if port.type is not None else port.span))
        if port.names and is_output:
            attributes.append(_Attribute("names", _list(port.names), *[_around(port.names)] * 2))
        self._open("port", port.span, [*attributes, *_further(rest, ("port", "dims"))])
        dims = _given(rest, "dims") or shape
        for dim in dims.text.split(",") if dims.text not in ("", "...") else ():
            self.put("<dim>", dims.span)
            self.put(escaped("-1" if dim == "?" or ".." in dim else dim), dims.span)
            self.put("</dim>\n", dims.span)
        for child in rest.children if rest is not None else ():
            self._rest(child)
        self._close("port", port.span)

    # Bodies

    def _maps(self, keyword: str, maps: list[Map], scope: Scope, outer: Named) -> None:
        tag, _ = BODIES[keyword]
        self._open(tag, outer.part.span)
        for line in maps:
            if line.kind.text == "back":
                continue
            id = scope.input(line.body) if line.kind.text == "in" else scope.result(line.body)
            attributes = [_made("internal_layer_id", id, line.body.span)]
            if line.outer is not None:
                position = line.outer.text
                if line.kind.text == "out" and position.isdecimal() and len(position) < 9:
                    position = str(int(position) + outer.ports)
                attributes.append(_made("external_port_id", position, line.outer.span))
            elif not any(name.text == "external_port_id" for name, _ in line.attributes):
                attributes.append(_made("external_port_id", "-1", line.kind.span))
            given = [_as_given(name, value) for name, value in line.attributes]
            self._open("input" if line.kind.text == "in" else "output", line.kind.span, attributes + given, end="/>\n")
        self._close(tag, outer.part.span)
        back = [line for line in maps if line.kind.text == "back"]
        if back:
            self._open("back_edges", outer.part.span)
            for line in back:
                ends = [_made("from-layer", scope.result(line.body), line.body.span)]
                if line.outer is not None:
                    ends.append(_made("to-layer", scope.input(line.outer), line.outer.span))
                self._open("edge", line.kind.span, ends, end="/>\n")
            self._close("back_edges", outer.part.span)


def _product(extents: list[str]) -> int:
    count = 1
    for extent in extents:
        count *= int(extent)
        if count > 1 << 80:
            break
    return count


def _given(rest: Rest | None, name: str) -> Word | None:
    """Return an attribute in braces."""
    return next((value for key, value in rest.attributes if key.text == name), None) if rest is not None else None


def _further(rest: Rest | None, without: tuple[str, ...]) -> list[_Attribute]:
    """Return the attributes in braces, except those that have another meaning."""
    given = rest.attributes if rest is not None else ()
    return [_as_given(name, value) for name, value in given if name.text not in without]


def _as_given(name: Word, value: Word) -> _Attribute:
    return _Attribute(name.text, _whole(value), value.span, name.span)


def _made(name: str, text: str, span: Span) -> _Attribute:
    return _Attribute(name, text, span, span)


def _whole(word: Word) -> str:
    return word.text + word.tail


def _list(names: list[Word]) -> str:
    return write_name_list([_whole(name) for name in names])


def _around(words: list[Word]) -> Span:
    return Span(words[0].span.start, words[-1].span.stop - words[0].span.start)
