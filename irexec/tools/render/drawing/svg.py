"""The drawing as SVG. Texts of a file appear as text only: everything is escaped, nothing becomes markup."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from irexec.core.structure import CONST, ENDS, RESULT, STRUCTURAL
from irexec.ops.spec import contents
from irexec.tools.inspect.facts import Layer, Summary
from irexec.tools.inspect.together import Together, together
from irexec.tools.render.drawing.boxes import Box, Placed, PlacedWire, Stretch, place
from irexec.tools.render.drawing.measure import shortened
from irexec.tools.render.drawing.scene import Item, scene

MARGIN = 24.0
BESIDE, TITLE_HEIGHT = 120.0, 30.0
"""The space between two models, and the space above each model for its name."""
FRAME, HEADER = 16.0, 30.0
"""The space around the graph of an open block, and the space above it for its title."""

_KINDS = {
    "convolution": "heavy", "matrix": "heavy", "sequence": "heavy",
    "activation": "curve", "normalization": "norm", "pooling": "pool", "reduction": "pool",
    "movement": "move", "shape": "move", "type": "move", "sort": "move",
    "arithmetic": "sum", "bitwise": "sum", "comparison": "logic", "logical": "logic", "condition": "logic",
    "quantization": "norm",
}  # fmt: skip
"""Category of the operation pages → the class that colours a box."""


def svg_document(summary: Summary) -> str:
    """Return an SVG file: the graph with its blocks closed, light or dark according to the system's setting."""
    drawing = Drawing(together([summary]))
    width, height = drawing.width, drawing.height
    title = escape(shortened(summary.name or "model", 80))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{title}">\n<title>{title}</title>\n'
        f'<style>{drawing_style()}</style>\n<rect class="paper" width="100%" height="100%"/>\n'
        f"{drawing.body}</svg>\n"
    )


def drawing_style() -> str:
    """Return the style sheet of drawings."""
    return colours() + files("irexec.tools.render.drawing").joinpath("drawing.css").read_text("utf-8")


def colours() -> str:
    """Return the colours by name, light and dark, of drawings and reports."""
    return files("irexec.tools.render.drawing").joinpath("colours.css").read_text("utf-8")


class Drawing:
    """The body of a drawing, with models side by side, and its size.

    `insides`: include the graphs inside blocks, hidden. `folded` maps layers that are not drawn to their readers.
    """

    def __init__(self, shown: Together, *, insides: bool = False) -> None:
        self.shown = shown
        self.folded: dict[int, int] = {}
        self._insides = insides
        self._blocks = 0
        self.width, self.height, self.body = MARGIN, 0.0, ""
        for number, model in enumerate(shown.models):
            others = [shown.layers_of(other) for other in range(len(shown.models)) if other != number]
            found = scene(shown.layers_of(number), *others)
            self.folded |= found.folded
            placed = place(found.graph)
            name = escape(shortened(model.file or model.name, 60))
            title = f'<text class="model" y="-24">{name}</text>\n' if len(shown.models) > 1 else ""
            top = MARGIN + (TITLE_HEIGHT if title else 0.0)
            where = f"translate({_n(self.width)} {_n(top)})"
            self.body += f'<g class="side" transform="{where}">\n{title}{self._graph(placed)}</g>\n'
            self.width += placed.width + (BESIDE if number + 1 < len(shown.models) else MARGIN)
            self.height = max(self.height, placed.height + top + MARGIN)

    def _graph(self, graph: Placed) -> str:
        rows = " ".join(f"{_n(top)},{_n(height)}" for top, height in graph.rows)
        parts = [f'<g class="graph" data-rows="{rows}" data-size="{_n(graph.width)},{_n(graph.height)}">\n']
        parts += (self._wire(wire, graph) for wire in graph.wires)
        parts += (self._box(box) for box in graph.boxes)
        return "".join([*parts, "</g>\n"])

    # Lines

    def _wire(self, wire: PlacedWire, graph: Placed) -> str:
        values = " ".join(f"{layer}:{output}" for layer, output in wire.values)
        path = "".join(map(_stretch, wire.stretches))
        text = f'<path class="wire" data-v="{values}" d="{path}"/>\n' if path else ""
        for target, x in wire.far:
            y = graph.boxes[target].y
            text += f'<path class="wire far" data-v="{values}" d="M{_n(x)} {_n(y - 14)}V{_n(y)}"/>\n'
        return text

    # Boxes

    def _box(self, box: Box) -> str:
        item = box.item
        if item.enters is not None or item.leaves is not None:
            return self._stub(box)
        layer = self.shown.layers[item.layer] if item.layer is not None else None
        if layer is not None:
            name, kinds = f"l{layer.index}", ["box", _kind(layer)]
            if layer.findings:
                kinds.append("found")
            if layer.unreachable:
                kinds.append("unreachable")
        else:
            self._blocks += 1
            name, kinds = f"b{self._blocks}", ["box", "block"]
        if item.insides:
            kinds.append("opens")
        closed = self._closed(box, layer)
        if self._insides and item.insides:
            closed = f'<g class="closed">{closed}</g>{self._inside(box)}'
        kind = " ".join(kinds)
        return f'<g id="{name}" class="{kind}" transform="translate({_n(box.x)} {_n(box.y)})">{closed}</g>\n'

    def _closed(self, box: Box, layer: Layer | None) -> str:
        half, wide, radius = (
            _n(-box.width / 2),
            _n(box.width),
            20 if layer and layer.type in ENDS else 6,
        )
        parts = []
        if box.item.insides:
            parts.append(f'<rect class="behind" x="{_n(4 - box.width / 2)}" y="4" width="{wide}" height="40" rx="6"/>')
        parts.append(f'<rect class="body" x="{half}" width="{wide}" height="40" rx="{radius}"/>')
        subtitle = shortened(box.item.subtitle)
        mark = "▸ " if box.item.insides else ""
        weights = f' <tspan class="weights">{escape(box.item.weights)}</tspan>' if box.item.weights else ""
        parts.append(f'<text class="type" y="{17 if subtitle else 25}">{mark}{escape(box.item.title)}{weights}</text>')
        if subtitle:
            parts.append(f'<text class="name" y="31">{escape(subtitle)}</text>')
        if layer is not None and layer.findings:
            parts.append(f'<text class="flag" x="{_n(box.width / 2)}" y="-3">{self._flag(layer)}</text>')
        if (types := self._types(box.item, layer)) and (layer is None or layer.type != RESULT):
            side, y = "" if box.below > 0 else " left", 56 if box.item.insides else 52
            parts.append(f'<text class="shape{side}" x="{_n(box.below)}" y="{y}">{escape(types)}</text>')
        return "".join(parts)

    def _types(self, item: Item, layer: Layer | None) -> str:
        """Return the type of a box's first output, `f32 [1,64,56,56]`, and the number of its other outputs."""
        outputs = layer.outputs if layer is not None else [self.shown.layers[i].outputs[o] for i, o in item.gives]
        if not outputs:
            return ""
        more = f" +{len(outputs) - 1}" if len(outputs) > 1 else ""
        return f"{outputs[0].element_type} {shortened(outputs[0].shape, 24)}{more}"

    def _flag(self, layer: Layer) -> str:
        worst = {self.shown.findings[number]["severity"] for number in layer.findings}
        return "✖ error" if "error" in worst else "▲ warning" if "warning" in worst else "● note"

    def _stub(self, box: Box) -> str:
        value = box.item.enters or box.item.leaves
        assert value is not None
        name = escape(shortened(box.item.title, 24))
        sort, mark = ("enters", "↓") if box.item.enters is not None else ("leaves", "↓")
        return (
            f'<g class="stub {sort}" data-v="{value[0]}:{value[1]}" transform="translate({_n(box.x)} {_n(box.y)})">'
            f'<rect x="{_n(-box.width / 2)}" width="{_n(box.width)}" height="{_n(box.height)}" rx="8"/>'
            f'<text y="11.5">{mark} {name}</text></g>\n'
        )

    def _inside(self, box: Box) -> str:
        """Return the graphs of a block side by side, in a frame: hidden until the block is opened."""
        x, parts = FRAME, []
        for graph in box.insides:
            title = f'<text class="title" y="-8">{escape(graph.title)}</text>' if len(box.insides) > 1 else ""
            parts.append(
                f'<g class="branch" transform="translate({_n(x)} {_n(HEADER + FRAME)})">{title}{self._graph(graph)}</g>'
            )
            x += graph.width + 2 * FRAME
        name = escape(shortened(" ".join(dict.fromkeys(filter(None, (box.item.title, box.item.subtitle)))), 60))
        return (
            '<g class="inside"><rect class="frame" rx="10"/>'
            f'<text class="title" x="{_n(FRAME)}" y="20">▾ {name}</text>{"".join(parts)}</g>'
        )


def _stretch(s: Stretch) -> str:
    """Return the path of a segment: straight through the row, then a curve to the beginning of the next row."""
    begin = f"M{_n(s.x)} {_n(s.start)}V{_n(s.bottom)}"
    if s.x == s.to_x:
        return f"{begin}V{_n(s.top)}"
    middle = _n((s.bottom + s.top) / 2)
    return f"{begin}C{_n(s.x)} {middle} {_n(s.to_x)} {middle} {_n(s.to_x)} {_n(s.top)}"


def _kind(layer: Layer) -> str:
    if layer.type in STRUCTURAL:
        return {CONST: "const"}.get(layer.type, "port")
    found = contents.CONTENTS.get(layer.type)
    return _KINDS.get(found[0].partition(".")[0], "other") if found is not None else "other"


def _n(number: float) -> str:
    """Return the shortest text of a number."""
    return f"{number:.1f}".removesuffix(".0")
