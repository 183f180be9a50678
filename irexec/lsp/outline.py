"""The outline of a file: its layers as symbols, bodies inside their layers, and the ranges that can be folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from irexec.ir.checks.bodies import bodies_of
from irexec.ir.document import Net
from irexec.ir.xml.events import Span
from irexec.lsp.analysis import Analysis
from irexec.lsp.text_form import TextNet


@dataclass(slots=True)
class Symbol:
    """A layer or a net: its range, the tag with its name, and its children."""

    name: str
    detail: str
    is_net: bool
    extent: Span
    tag: Span
    children: list[Symbol] = field(default_factory=list)


def symbols(analysis: Analysis) -> list[Symbol]:
    """Return the net with its layers."""
    if analysis.text_form is not None:
        return [] if analysis.text_form.net is None else [_text_net(analysis.text_form.net, analysis.text)]
    return [] if analysis.written is None else [_net(analysis, analysis.written.document.net)]


def _net(analysis: Analysis, net: Net) -> Symbol:
    extents = analysis.extents
    symbol = Symbol(net.name or "net", f"{len(net.layers)} layers", True, extents.whole(net.at), extents.tag(net.at))
    for layer in net.layers:
        bodies = [_net(analysis, body) for body in bodies_of(layer)]
        name = layer.name or f"#{layer.id}"
        extent, tag = extents.whole(layer.at), extents.tag(layer.at)
        symbol.children.append(Symbol(name, layer.type or "", False, extent, tag, bodies))
    return symbol


def _text_net(net: TextNet, text: str) -> Symbol:
    start = net.net.span.start
    name = net.net.name.text if net.net.name is not None else text[start:].split(None, 1)[0]
    symbol = Symbol(name, f"{len(net.entries)} layers", True, Span(start, net.stop - start), net.net.span)
    for entry in net.entries:
        start, bodies = entry.part.span.start, [_text_net(body, text) for body in entry.bodies]
        extent = Span(start, entry.stop - start)
        symbol.children.append(Symbol(entry.name.text, entry.data["type"], False, extent, entry.part.span, bodies))
    return symbol


def named_layers(analysis: Analysis, query: str, most: int) -> Iterator[tuple[str, str, Span]]:
    """Yield the names, types and start tags of up to `most` layers whose name or type contains the query."""
    wanted, count = query.lower(), 0
    for name, type, tag in _names(analysis):
        if (wanted in name.lower() or wanted in type.lower()) and count < most:
            count += 1
            yield name, type, tag


def _names(analysis: Analysis) -> Iterator[tuple[str, str, Span]]:
    """Yield the names, types and start tags, or lines, of all layers."""
    for layer, _ in analysis.written.layers.values() if analysis.written is not None else ():
        yield layer.name or f"#{layer.id}", layer.type or "", analysis.extents.tag(layer.at)
    for _, entry in analysis.text_form.walk() if analysis.text_form is not None else ():
        yield entry.name.text, entry.data["type"], entry.part.span


def _with_children(found: list[Symbol]) -> Iterator[Symbol]:
    for symbol in found:
        if symbol.children:
            yield symbol
            yield from _with_children(symbol.children)


def folds(analysis: Analysis) -> list[Span]:
    """Return every element that spans several lines, up to the end of its end tag; in the text form, each net and each
    layer with bodies.
    """
    if analysis.text_form is not None:
        return [symbol.extent for symbol in _with_children(symbols(analysis))]
    extents, text = analysis.extents, analysis.text
    ends = zip(extents.starts, extents.tag_stops, extents.stops, strict=True)
    return [
        Span(start, stop - start)
        for start, tag_stop, stop in ends
        if stop > tag_stop and text.find("\n", start, stop) >= 0
    ]
