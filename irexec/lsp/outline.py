"""The outline of a file: its layers as symbols, bodies inside their layers, and the ranges that can be folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from irexec.ir.checks.bodies import bodies_of
from irexec.ir.document import Net
from irexec.ir.xml.events import Span
from irexec.lsp.analysis import Analysis


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


def named_layers(analysis: Analysis, query: str, most: int) -> Iterator[tuple[str, str, Span]]:
    """Yield the names, types and start tags of up to `most` layers whose name or type contains the query."""
    wanted, count = query.lower(), 0
    for layer, _ in analysis.written.layers.values() if analysis.written is not None else ():
        name, type = layer.name or f"#{layer.id}", layer.type or ""
        if (wanted in name.lower() or wanted in type.lower()) and count < most:
            count += 1
            yield name, type, analysis.extents.tag(layer.at)


def folds(analysis: Analysis) -> list[Span]:
    """Return every element that spans several lines, up to the end of its end tag."""
    extents, text = analysis.extents, analysis.text
    ends = zip(extents.starts, extents.tag_stops, extents.stops, strict=True)
    return [
        Span(start, stop - start)
        for start, tag_stop, stop in ends
        if stop > tag_stop and text.find("\n", start, stop) >= 0
    ]
