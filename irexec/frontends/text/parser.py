"""From lines of tokens to the parts of a text. An error ends its line; the lines that follow are read as well."""

from __future__ import annotations

from irexec.frontends.text.cursor import Cursor, Wrong
from irexec.frontends.text.lexer import Line, Report, lines
from irexec.frontends.text.syntax import Layer, Literal, Map, Net, Port
from irexec.frontends.text.words import NOTHING
from irexec.ir.document import PORT_MAPS
from irexec.ir.xml.events import Span

_DEEPEST = 60
"""The maximum nesting of bodies; the XML of a body takes four levels."""
BODIES = {body.removesuffix("_body"): (maps, body) for maps, body in PORT_MAPS}
"""The words that begin a body, and its elements: the port map and the net."""
_MAPS = ("in", "out", "back")


def parse(text: str, report: Report) -> Net | None:
    """Return the model in a text; None if there is no line that begins one."""
    found = list(lines(text, report))
    return _Parser(found, report).model() if found else None


def read_literal(text: str) -> Literal:
    """Return the values in a text. Raises Wrong."""
    (line,) = lines(text, _raise)
    cursor = Cursor(line.tokens)
    literal = _literal(cursor)
    cursor.end()
    return literal


def _raise(code: str, message: str, span: Span, hint: str | None) -> None:
    raise Wrong(message, span, hint)


class _Parser:
    def __init__(self, found: list[Line], report: Report) -> None:
        self._lines, self._report = found, report
        self._next = 0

    def model(self) -> Net | None:
        line = self._take()
        cursor = Cursor(line.tokens)
        try:
            cursor.keyword("model")
            net = _head(cursor, line.span, named=True)
        except Wrong as wrong:
            self._refuse(wrong)
            return None
        self._block(net, line.indent, 0)
        if self._next < len(self._lines):
            span = self._lines[self._next].span
            self._report("X013", "the line is not part of the model", span, "the lines of a model are indented")
        return net

    def _take(self) -> Line:
        self._next += 1
        return self._lines[self._next - 1]

    def _refuse(self, wrong: Wrong) -> None:
        self._report("X013", str(wrong), wrong.span, wrong.hint)

    def _is_inside(self, indent: int) -> bool:
        return self._next < len(self._lines) and self._lines[self._next].indent > indent

    def _block(self, net: Net, indent: int, depth: int) -> None:
        """Read the lines of a net, which are indented more than its head."""
        inner = self._lines[self._next].indent if self._is_inside(indent) else 0
        while self._is_inside(indent):
            line = self._take()
            if line.indent != inner:
                hint = f"indent it by {inner} blanks as the first line"
                self._report("X013", "the indentation differs from that of the lines before", line.span, hint)
                continue
            cursor = Cursor(line.tokens)
            try:
                if not cursor.begins_element():
                    layer = _layer(cursor, line.span)
                    net.layers.append(layer)
                    self._parts(layer, line.indent, depth)
                else:
                    net.others.append(cursor.element(0))
                    cursor.end()
            except Wrong as wrong:
                self._refuse(wrong)
                while self._is_inside(inner):  # What belongs to the line cannot be read without it.
                    self._next += 1

    def _parts(self, layer: Layer, indent: int, depth: int) -> None:
        """Read the bodies of a layer, and the lines that connect them."""
        inner = self._lines[self._next].indent if self._is_inside(indent) else 0
        while self._is_inside(indent):
            line = self._take()
            word = line.tokens[0].text
            try:
                if line.indent != inner:
                    raise Wrong("the indentation differs from that of the lines before", line.span)
                if word in BODIES:
                    if depth >= _DEEPEST:
                        self._report("X005", f"bodies are nested deeper than {_DEEPEST} levels", line.span, None)
                        self._next = len(self._lines)
                        return
                    cursor = Cursor(line.tokens)
                    body = (cursor.word("a body"), _head(cursor, line.span, named=False))
                    layer.bodies.append(body)
                    self._block(body[1], line.indent, depth + 1)
                elif word in _MAPS:
                    last = layer.bodies[-1][0].text if layer.bodies else "body"
                    layer.maps.setdefault(last, []).append(_map(Cursor(line.tokens)))
                else:
                    message = f"expected a body, or a line that connects one, not {line.tokens[0]}"
                    raise Wrong(message, line.span, "layers of one net have the same indentation")
            except Wrong as wrong:
                self._refuse(wrong)


def _head(cursor: Cursor, span: Span, *, named: bool) -> Net:
    net = Net(span)
    if named and cursor.kind == "word":
        net.name = cursor.word("a name")
    net.inputs = [_parameter(cursor) for _ in cursor.listed("(", ")")]
    if cursor.takes("->"):
        net.outputs = [_result(cursor) for _ in cursor.listed("(", ")")]
    net.rest = cursor.rest("net") if cursor.kind == "{" else None
    cursor.end()
    return net


def _parameter(cursor: Cursor) -> Port:
    name = cursor.word("the name of an input")
    cursor.expect(":", f"after the name of input '{name.text}'")
    return _described(cursor, Port(name.span, name=name, type=cursor.type()))


def _result(cursor: Cursor) -> Port:
    value = cursor.word("the name of a value")
    port = Port(value.span, value=value)
    if cursor.takes("="):
        port.name, port.value = value, cursor.word("the name of a value")
    if cursor.takes(":"):
        port.type = cursor.type()
    return _described(cursor, port)


def _described(cursor: Cursor, port: Port) -> Port:
    """Read what may follow an input or output: tensor names, and further parts of the file."""
    if cursor.is_word("as"):
        port.names = cursor.names()
    if cursor.kind == "{":
        port.rest = cursor.rest("port")
    return port


def _layer(cursor: Cursor, span: Span) -> Layer:
    name = cursor.word("the name of a layer")
    cursor.expect("=", "after the name of the layer")
    type, version = cursor.type_and_version()
    layer = Layer(span, name, type, version)
    if type.text in ("Const", "Constant") and cursor.kind != "(":
        layer.constant = cursor.type()
        layer.literal = _literal(cursor)
    else:
        layer.inputs = cursor.values()
    layer.attributes = cursor.attributes(pairs=True)
    if cursor.takes("->"):
        layer.outputs = [_output(cursor) for _ in cursor.listed("(", ")")] if cursor.kind == "(" else [_output(cursor)]
    if cursor.kind == "{":
        layer.rest = cursor.rest("layer")
    cursor.end()
    return layer


def _output(cursor: Cursor) -> Port:
    port = Port(cursor.span)
    if cursor.is_word(NOTHING):
        cursor.word("")
    elif not cursor.is_word("as"):
        port.type = cursor.type()
    if cursor.is_word("as"):
        port.names = cursor.names()
    return port


def _literal(cursor: Cursor) -> Literal:
    start = cursor.span.start
    kind = "values"
    extents: tuple[int, ...] | None = ()
    if cursor.takes("@"):
        kind, words = "@", [cursor.word("an offset")]
    elif cursor.is_word("seed"):
        cursor.word("")
        kind, words = "seed", [cursor.word("a number") for _ in cursor.listed("(", ")")]
    elif cursor.is_word("hex"):
        cursor.word("")
        kind, words = "hex", [cursor.word("hexadecimal digits")]
    elif cursor.kind == "[":
        words, extents = cursor.nested()
    else:
        words = [cursor.word('a value, [values], @offset, seed(number) or hex "digits"')]
    return Literal(kind, Span(start, cursor.stop - start), words, extents)


def _map(cursor: Cursor) -> Map:
    kind = cursor.word("")
    if kind.text == "in":
        outer = None if cursor.kind == "->" else cursor.word("the position of an input")
        cursor.expect("->", "before the input of the body")
        body = cursor.word("an input of the body")
    else:
        body = cursor.word("an output of the body")
        cursor.expect("->", "after the output of the body")
        outer = None
        if cursor.kind == "word" and not cursor.begins_attribute():
            outer = cursor.word("an input of the body" if kind.text == "back" else "the position of an output")
    found = Map(kind, body, outer, cursor.attributes())
    cursor.end()
    return found
