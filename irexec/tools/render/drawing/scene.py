"""The items of a drawing: layers as boxes, constants folded into their readers, and repeated blocks, name scopes and
bodies as boxes that contain a graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from irexec.core.diagnostics.nearest import common_start
from irexec.core.structure import CONST, READ_VALUE, RESULT
from irexec.tools.inspect.facts import Layer
from irexec.tools.render.drawing.division import Stretch, divided, interrupted

ValueKey = tuple[int, int]
"""A value: the index of the layer that computes it, and the number of the output."""


@dataclass(slots=True)
class Item:
    """A box: a layer, a block of layers, or an end of the graph, where a value enters or leaves (`enters`, `leaves`).

    `insides`: the graphs that replace the box when it is opened, each with a title; `gives`: the values that leave a
    block; `weights`: the shape of the largest constant that is folded into a layer.
    """

    title: str
    subtitle: str = ""
    weights: str = ""
    layer: int | None = None
    insides: list[tuple[str, Graph]] = field(default_factory=list)
    enters: ValueKey | None = None
    leaves: ValueKey | None = None
    gives: list[ValueKey] = field(default_factory=list)
    holds: int = 1


@dataclass(slots=True)
class Wire:
    """A value within one graph: from the item that produces it to the items that read it (positions in `items`)."""

    value: ValueKey
    source: int
    targets: list[int]


@dataclass(slots=True)
class Graph:
    """Items in the order of execution, and the values between them."""

    items: list[Item] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)


@dataclass(slots=True)
class Scene:
    """The graph of a whole model. `folded` maps each layer that is not drawn to a reader."""

    graph: Graph
    folded: dict[int, int]


def scene(layers: Sequence[Layer], beside: Sequence[Layer] = ()) -> Scene:
    """Return the items of a drawing of a model with these layers. `beside`: the layers of a model that is drawn beside
    it; what is equal in both is divided in the same way.
    """
    folded = fold_constants(layers)
    nets: _Nets = {}
    for layer in layers:
        if layer.index not in folded:
            nets.setdefault(layer.parent, {}).setdefault(layer.branch, []).append(layer)
    apart = interrupted(layers, beside) if beside else set()
    graph = _net(nets.get(None, {}).get("", []), nets, apart)
    _add_weights(graph, {layer.index: layer for layer in layers}, folded)
    return Scene(graph, folded)


def _add_weights(graph: Graph, layers: Mapping[int, Layer], folded: Mapping[int, int]) -> None:
    """Record the shapes of the constants that are not drawn, unless they are scalars or vectors."""
    for item in graph.items:
        for _, inside in item.insides:
            _add_weights(inside, layers, folded)
        if item.layer is None:
            continue
        given = [(e.layer, e.output) for e in layers[item.layer].inputs if e.layer is not None and e.layer in folded]
        outputs = [layers[source].outputs[number] for source, number in given]
        matrices = [output for output in outputs if output.shape.count(",") and output.bytes]
        if matrices:
            largest = max(matrices, key=lambda output: output.bytes or 0)
            item.weights = largest.shape.strip("[]").replace(",", "×")


def fold_constants(layers: Sequence[Layer]) -> dict[int, int]:
    """Map each constant, and each layer computed only from constants, to the first drawn layer that reads it."""
    first: dict[int, int] = {}
    results: set[int] = set()
    for layer in layers:
        for entry in layer.inputs:
            if entry.layer is not None:
                first.setdefault(entry.layer, layer.index)
                if layer.type == RESULT:
                    results.add(entry.layer)
    constant: set[int] = set()
    for layer in layers:
        sources = [entry.layer for entry in layer.inputs]
        derived = bool(sources) and layer.type not in (RESULT, READ_VALUE) and all(s in constant for s in sources)
        if (layer.type == CONST or derived) and layer.index in first and layer.index not in results:
            constant.add(layer.index)
    folded: dict[int, int] = {}
    for index in sorted(constant, reverse=True):
        reader = first[index]
        folded[index] = folded.get(reader, reader)
    return folded


_Nets = dict[int | None, dict[str, list[Layer]]]
"""The layers of bodies, by the layer that contains the bodies (None: the model itself), and by the body's name."""


def _net(layers: Sequence[Layer], nets: _Nets, apart: Collection[tuple[str, str]]) -> Graph:
    items = {layer.index: _layer_item(layer, nets, apart) for layer in layers}
    readers: dict[ValueKey, list[int]] = {}
    for layer in layers:
        for entry in layer.inputs:
            if entry.layer in items:
                found = readers.setdefault((entry.layer, entry.output), [])
                if found[-1:] != [layer.index]:  # A layer that reads a value twice.
                    found.append(layer.index)
    return _Grouping(layers, items, readers, apart).graph(0, len(layers))


def _layer_item(layer: Layer, nets: _Nets, apart: Collection[tuple[str, str]]) -> Item:
    item = Item(layer.type, layer.name, layer=layer.index)
    for branch, layers in nets.get(layer.index, {}).items():
        item.insides.append((branch, _net(layers, nets, apart)))
        item.holds += len(layers)
    return item


class _Grouping:
    """Makes graphs of stretches of a net's layers.

    Consecutive layers of the execution order can always be one box: no path leaves it and re-enters it.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        items: dict[int, Item],
        readers: dict[ValueKey, list[int]],
        apart: Collection[tuple[str, str]],
    ) -> None:
        self.layers, self.items, self.readers, self.apart = layers, items, readers, apart
        self.at = {layer.index: position for position, layer in enumerate(layers)}

    def graph(self, start: int, end: int, parts: Sequence[Stretch] | None = None) -> Graph:
        """Return the graph of the layers `start` to `end - 1`, in which each block (of `parts`) is one item."""
        graph = Graph()
        place: dict[int, int] = {}
        for part in self._divided(start, end) if parts is None else parts:
            for position in range(part.start, part.end):
                place[self.layers[position].index] = len(graph.items)
            graph.items.append(self._block(part) if part.title else self.items[self.layers[part.start].index])
        self._add_wires(graph, place)
        return graph

    def _divided(self, start: int, end: int) -> Iterator[Stretch]:
        for part in divided(self.layers[start:end], self._crossing(start, end), self.apart):
            held = part.parts and [p._replace(start=start + p.start, end=start + p.end) for p in part.parts]
            yield Stretch(start + part.start, start + part.end, part.title, held)

    def _crossing(self, start: int, end: int) -> list[int]:
        """Return for every position the number of values of these layers that cross it."""
        change = [0] * (end - start + 1)
        for position in range(start, end):
            layer = self.layers[position]
            for output in range(len(layer.outputs)):
                inside = [p for p in (self.at[r] for r in self.readers.get((layer.index, output), ())) if p < end]
                if inside:
                    change[position + 1 - start] += 1
                    change[max(inside) + 1 - start] -= 1
        return list(accumulate(change))

    def _block(self, part: Stretch) -> Item:
        layers = self.layers[part.start : part.end]
        holds = sum(self.items[layer.index].holds for layer in layers)
        item = Item(part.title, common_name([layer.name for layer in layers]) or _summary(layers), holds=holds)
        item.insides.append(("", self.graph(part.start, part.end, part.parts)))
        return item

    def _add_wires(self, graph: Graph, place: dict[int, int]) -> None:
        """Connect the items; a value that enters or leaves the graph gets an item for the boundary."""
        enters: dict[ValueKey, int] = {}
        wires: dict[ValueKey, Wire] = {}
        leaves: list[ValueKey] = []
        for index, position in list(place.items()):
            layer = self.layers[self.at[index]]
            for entry in layer.inputs:
                if entry.layer is not None and entry.layer in self.at and entry.layer not in place:
                    value = (entry.layer, entry.output)
                    if value not in enters:
                        enters[value] = len(graph.items)
                        graph.items.append(Item(self.layers[self.at[entry.layer]].name, enters=value, holds=0))
                        wires[value] = Wire(value, enters[value], [])
                    if wires[value].targets[-1:] != [position]:
                        wires[value].targets.append(position)
            for output in range(len(layer.outputs)):
                value = (index, output)
                readers = self.readers.get(value, ())
                inside = dict.fromkeys(place[r] for r in readers if r in place and place[r] != position)
                if inside:
                    wires[value] = Wire(value, position, list(inside))
                if any(r not in place for r in readers):
                    leaves.append(value)
        for value in leaves:
            wire = wires.setdefault(value, Wire(value, place[value[0]], []))
            wire.targets.append(len(graph.items))
            reader = next(r for r in self.readers[value] if r not in place)
            graph.items.append(Item(self.layers[self.at[reader]].name, leaves=value, holds=0))
        graph.wires = list(wires.values())
        for wire in graph.wires:
            item = graph.items[wire.source]
            if item.layer is None and item.enters is None:
                item.gives.append(wire.value)


def common_name(names: Sequence[str]) -> str:
    """Return the common beginning of the paths, such as `encoder/layer.3`.

    Names without a path, which exporters invent, are ignored.
    """
    known = [name for name in names if "/" in name or "." in name]
    if not known:
        return names[0] if len(names) == 1 else ""
    if len(known) == len(names) == 1:
        return known[0]
    shared = known[0][: common_start(min(known), max(known))]
    cut = max(shared.rfind("/"), shared.rfind("."))
    return shared[:cut] if cut > 0 else ""


def _summary(layers: Iterable[Layer]) -> str:
    """Return the most frequent types of a block."""
    counts = Counter(layer.type for layer in layers)
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in counts.most_common(2))
