"""The positions of all items of a scene: graphs are laid out from the innermost to the outermost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from irexec.tools.render.drawing.layered import Layout, Line, layered
from irexec.tools.render.drawing.measure import SMALL, TITLE, shortened, text_width
from irexec.tools.render.drawing.scene import Graph, Item, ValueKey

HEIGHT, STUB_HEIGHT = 40.0, 16.0
_NARROWEST, _PADDING = 76.0, 26.0
PORTS = 20.0
"""The distance between two ports of a box, where there is room for it."""
_BESIDE_WIRE = 6.0


@dataclass(slots=True)
class Box:
    """An item with its position: `x` is its centre, `y` its upper edge. The graphs in `insides` have their own
    coordinates.

    `below`: the x at which a text under the box begins (positive) or ends (negative), relative to the centre.
    """

    item: Item
    x: float
    y: float
    width: float
    height: float
    insides: list[Placed] = field(default_factory=list)
    below: float = _BESIDE_WIRE


@dataclass(slots=True)
class Stretch:
    """A segment of a wire from a box or passing point (`start`) to the row below."""

    x: float
    start: float
    bottom: float
    to_x: float
    top: float


@dataclass(slots=True)
class PlacedWire:
    """The line of a value, or of several values along their common segments.

    `far`: distant boxes (positions) at which only a stub is drawn, each with the x of its port.
    """

    values: list[ValueKey]
    stretches: list[Stretch]
    far: list[tuple[int, float]]


@dataclass(slots=True)
class Placed:
    """A graph with its layout: `rows` are the upper edge and the height of each row."""

    title: str
    width: float
    height: float
    boxes: list[Box]
    wires: list[PlacedWire]
    rows: list[tuple[float, float]]


def place(graph: Graph, title: str = "") -> Placed:
    """Lay out a graph and the graphs inside its items."""
    sizes = [_size(item) for item in graph.items]
    first = [n for n, item in enumerate(graph.items) if item.enters is not None]
    last = [n for n, item in enumerate(graph.items) if item.leaves is not None]
    found = layered(sizes, [(wire.source, wire.targets) for wire in graph.wires], first=first, last=last)
    boxes = [
        Box(
            item, found.x[n], found.top[found.row[n]], *sizes[n], [place(inside, name) for name, inside in item.insides]
        )
        for n, item in enumerate(graph.items)
    ]
    rows = list(zip(found.top, found.row_height, strict=True))
    wires = list(_wires(graph, found, boxes, rows))
    _find_room({wire.value: boxes[wire.source] for wire in graph.wires}, wires)
    return Placed(title, found.width, found.height, boxes, wires, rows)


def _find_room(sources: Mapping[ValueKey, Box], wires: Sequence[PlacedWire]) -> None:
    """Choose the side of a wire for its text: the side to which the wire does not bend."""
    ways: dict[int, tuple[Box, list[tuple[float, float]]]] = {}
    for placed in wires:
        box = sources[placed.values[0]]
        lines = [s for s in placed.stretches if s.start == box.y + box.height]
        ways.setdefault(id(box), (box, []))[1].extend((s.x - box.x, s.to_x - s.x) for s in lines)
    for box, found in ways.values():
        if found and sum(bend for _, bend in found) > 0:
            box.below = min(x for x, _ in found) - _BESIDE_WIRE
        elif found:
            box.below = max(x for x, _ in found) + _BESIDE_WIRE


def _size(item: Item) -> tuple[float, float]:
    if item.enters is not None or item.leaves is not None:
        return _even(text_width(shortened(item.title, 24), SMALL) + 18.0), STUB_HEIGHT
    title = text_width(item.title, TITLE) + (text_width(item.weights, SMALL) + 14.0 if item.weights else 0.0)
    wide = max(title, text_width(shortened(item.subtitle), SMALL))
    return max(_NARROWEST, _even(wide + _PADDING + (14.0 if item.insides else 0.0))), HEIGHT


def _even(number: float) -> float:
    """Return an even coordinate: the edges of centred boxes are then integers, which keeps the file small."""
    return 2.0 * round(number / 2)


def _wires(
    graph: Graph, found: Layout, boxes: Sequence[Box], rows: Sequence[tuple[float, float]]
) -> Iterator[PlacedWire]:
    """Return the line of each value, and the common segments of lines that pass through the same points."""
    below, above = _ports(graph, found, boxes)

    def stretch(line: Line, wire: int) -> Stretch:
        upper_top, upper_height = rows[found.row[line.upper]]
        if line.upper < len(boxes):
            x, start = below[wire], boxes[line.upper].y + boxes[line.upper].height
        else:
            x, start = found.x[line.upper], upper_top
        to_x = above[wire, line.lower] if line.lower < len(boxes) else found.x[line.lower]
        return Stretch(x, start, round(upper_top + upper_height, 1), to_x, rows[found.row[line.lower]][0])

    for way in found.ways:
        own, shared = way.lines, list[Line]()
        if len(way.wires) > 1:
            own = [line for line in way.lines if _is_end(line, boxes)]
            shared = [line for line in way.lines if not _is_end(line, boxes)]
        for wire in way.wires:
            stretches = [stretch(line, wire) for line in own]
            yield PlacedWire([graph.wires[wire].value], stretches, [(t, above[wire, t]) for t in way.far])
        if shared:
            values = [graph.wires[wire].value for wire in way.wires]
            yield PlacedWire(values, [stretch(line, way.wires[0]) for line in shared], [])


def _is_end(line: Line, boxes: Sequence[Box]) -> bool:
    """Return whether a line leaves or enters a box."""
    return line.upper < len(boxes) or line.lower < len(boxes)


def _ports(graph: Graph, found: Layout, boxes: Sequence[Box]) -> tuple[dict[int, float], dict[tuple[int, int], float]]:
    """Return the points where wires leave their boxes and enter their targets, in the order of the ends."""
    leaving: dict[int, list[tuple[float, int]]] = {}
    entering: dict[int, list[tuple[float, int]]] = {}
    for way in found.ways:
        source = graph.wires[way.wires[0]].source
        downwards = [found.x[line.lower] for line in way.lines if line.upper == source]
        middle = sum(downwards) / len(downwards) if downwards else 0.0
        leaving.setdefault(source, []).extend((middle, wire) for wire in way.wires)
        for line in way.lines:
            if line.lower < len(boxes):
                entering.setdefault(line.lower, []).extend((found.x[line.upper], wire) for wire in way.wires)
        for target in way.far:
            entering.setdefault(target, []).extend((-1e9, wire) for wire in way.wires)
    below = {number: x for box, ends in leaving.items() for number, x in _side_by_side(boxes[box], ends)}
    above = {(number, box): x for box, ends in entering.items() for number, x in _side_by_side(boxes[box], ends)}
    return below, above


def _side_by_side(box: Box, ends: list[tuple[float, int]]) -> Iterator[tuple[int, float]]:
    distance = min(PORTS, (box.width - 12.0) / len(ends))
    for position, (_, number) in enumerate(sorted(ends)):
        yield number, float(round(box.x + (position - (len(ends) - 1) / 2) * distance))
