"""What is drawn: layers as boxes, constants folded into the layers that read them, repeated blocks, name scopes and
bodies as boxes that hold a graph of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from irexec.show.drawing.repeats import repeats
from irexec.show.drawing.scopes import scopes
from irexec.survey.facts import Layer

ValueKey = tuple[int, int]
"""A value: the index of the layer that makes it, and the number of the output."""

SMALL_ENOUGH = 40
"""So many layers are read as they are; in larger graphs repeated blocks, and scopes of names, are one box each."""


_ENDS = ("Parameter", "Result")


@dataclass(slots=True)
class Item:
    """A box: a layer, a block of layers, or where a value enters or leaves the graph (`enters`, `leaves`).

    `insides` are the graphs that open in its place, each with a title.
    """

    title: str
    subtitle: str = ""
    layer: int | None = None
    insides: list[tuple[str, Graph]] = field(default_factory=list)
    enters: ValueKey | None = None
    leaves: ValueKey | None = None
    holds: int = 1


@dataclass(slots=True)
class Wire:
    """A value within one graph: from the item that makes it to the items that read it (positions in `items`)."""

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
    """The graph of a whole model. `folded`: the layers that are not drawn → a layer that reads them."""

    graph: Graph
    folded: dict[int, int]


def scene(layers: Sequence[Layer]) -> Scene:
    """What there is to draw of a model with these layers."""
    folded = fold_constants(layers)
    nets: dict[tuple[int | None, str], list[Layer]] = {}
    for layer in layers:
        if layer.index not in folded:
            nets.setdefault((layer.parent, layer.branch), []).append(layer)
    return Scene(_net(nets.get((None, ""), []), nets), folded)


def fold_constants(layers: Sequence[Layer]) -> dict[int, int]:
    """Constants, and what is made of nothing else, that other layers read → the first layer drawn that reads them."""
    first: dict[int, int] = {}
    results: set[int] = set()
    for layer in layers:
        for entry in layer.inputs:
            if entry.layer is not None:
                first.setdefault(entry.layer, layer.index)
                if layer.type == "Result":
                    results.add(entry.layer)
    constant: set[int] = set()
    for layer in layers:
        sources = [entry.layer for entry in layer.inputs]
        derived = bool(sources) and layer.type not in ("Result", "ReadValue") and all(s in constant for s in sources)
        if (layer.type == "Const" or derived) and layer.index in first and layer.index not in results:
            constant.add(layer.index)
    folded: dict[int, int] = {}
    for index in sorted(constant, reverse=True):
        reader = first[index]
        folded[index] = folded.get(reader, reader)
    return folded


def _net(layers: Sequence[Layer], nets: dict[tuple[int | None, str], list[Layer]]) -> Graph:
    items = {layer.index: _layer_item(layer, nets) for layer in layers}
    readers: dict[ValueKey, list[int]] = {}
    for layer in layers:
        for entry in layer.inputs:
            if entry.layer in items:
                found = readers.setdefault((entry.layer, entry.output), [])
                if layer.index not in found:
                    found.append(layer.index)
    return _Grouping(layers, items, readers).graph(0, len(layers))


def _layer_item(layer: Layer, nets: dict[tuple[int | None, str], list[Layer]]) -> Item:
    item = Item(layer.type, layer.name, layer.index)
    branches = [branch for parent, branch in nets if parent == layer.index]
    for branch in branches:
        item.insides.append((branch, _net(nets[layer.index, branch], nets)))
        item.holds += len(nets[layer.index, branch])
    return item


class _Grouping:
    """Makes graphs of stretches of a net's layers. A stretch of the order of execution can always be one box: no path
    leaves it and comes back."""

    def __init__(self, layers: Sequence[Layer], items: dict[int, Item], readers: dict[ValueKey, list[int]]) -> None:
        self.layers, self.items, self.readers = layers, items, readers
        self.at = {layer.index: position for position, layer in enumerate(layers)}
        self.signatures = [(layer.type, len(layer.inputs), len(layer.outputs)) for layer in layers]

    def graph(self, start: int, end: int) -> Graph:
        """The graph of the layers from `start` to before `end`, its repeated blocks as one item each."""
        graph = Graph()
        place: dict[int, int] = {}
        for first, last, title in self._stretches(start, end):
            for position in range(first, last):
                place[self.layers[position].index] = len(graph.items)
            graph.items.append(self._block(first, last, title) if title else self.items[self.layers[first].index])
        self._add_wires(graph, place)
        return graph

    def _stretches(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Single layers, and blocks, which have a title, in order."""
        position = start
        small = end - start <= SMALL_ENOUGH
        for run in () if small else repeats(self.signatures[start:end], self._joined(start, end)):
            yield from self._scopes(position, start + run.start)
            for number in range(run.times):
                first = start + run.start + number * run.period
                yield first, first + run.period, f"block {number + 1} of {run.times}"
            position = start + run.end
        if small:
            yield from ((single, single + 1, "") for single in range(start, end))
        else:
            yield from self._scopes(position, end)

    def _scopes(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """What does not repeat: scopes of names, and single layers."""
        layers = self.layers[start:end]
        position = start
        for first, last, title in scopes([None if layer.type in _ENDS else layer.name for layer in layers]):
            yield from ((single, single + 1, "") for single in range(position, start + first))
            yield start + first, start + last, title
            position = start + last
        yield from ((single, single + 1, "") for single in range(position, end))

    def _joined(self, start: int, end: int) -> list[float]:
        """For every position how many values of the stretch cross it, and a little for names that share their path."""
        change = [0] * (end - start + 2)
        for position in range(start, end):
            layer = self.layers[position]
            for output in range(len(layer.outputs)):
                inside = [p for p in (self.at[r] for r in self.readers.get((layer.index, output), ())) if p < end]
                if inside:
                    change[position + 1 - start] += 1
                    change[max(inside) + 1 - start] -= 1
        joined, crossing = [], 0
        for step, position in zip(change, range(start, end + 1), strict=False):
            crossing += step
            names = [self.layers[p].name for p in (position - 1, position) if start <= p < end]
            joined.append(crossing + 0.2 * (common_name(names).count("/") + common_name(names).count(".")))
        return joined

    def _block(self, start: int, end: int, title: str) -> Item:
        layers = self.layers[start:end]
        holds = sum(self.items[layer.index].holds for layer in layers)
        item = Item(title, common_name([layer.name for layer in layers]) or _summary(layers), holds=holds)
        item.insides.append(("", self.graph(start, end)))
        return item

    def _add_wires(self, graph: Graph, place: dict[int, int]) -> None:
        """Connect the items; a value from or to outside gets an item that stands for the boundary."""
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
                    if position not in wires[value].targets:
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


def common_name(names: Sequence[str]) -> str:
    """The part of a path that all names begin with: `encoder/layer.3`."""
    known = [name for name in names if name]
    if not known:
        return ""
    low, high = min(known), max(known)
    length = next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    if length == len(low) and len(known) == len(names) == 1:
        return low
    cut = max(low.rfind("/", 0, length), low.rfind(".", 0, length))
    return low[:cut] if cut > 0 else ""


def _summary(layers: Iterable[Layer]) -> str:
    """The most frequent types of a block."""
    counts = Counter(layer.type for layer in layers)
    return ", ".join(f"{count} {name}" if count > 1 else name for name, count in counts.most_common(2))
