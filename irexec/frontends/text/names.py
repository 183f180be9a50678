"""The names that the text form gives to the layers of a net, and the values that connect them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from irexec.core.forms import ID, Ids, read
from irexec.core.types import ElementType
from irexec.frontends.text.rest import attributes_text
from irexec.frontends.text.scope import least_outputs
from irexec.frontends.text.words import NOTHING, items, reference, word
from irexec.ir.document import Layer, Net, PortMap
from irexec.ir.text import name_list, result_name

_UNNAMED = "unnamed"
_SLICE = ("axis", "start", "end", "stride", "part_size", "purpose")


class Output(NamedTuple):
    """An output of a layer."""

    layer: Layer
    number: int


class Names:
    """The layers of a net: `parameters` and `results` are part of its head, `lines` have a line each.

    `of`: the name of each layer, by the identity of the layer; results have none unless they need one.
    """

    def __init__(self, net: Net, version: int, *, is_body: bool) -> None:
        self.is_body, self.is_old = is_body, version < 11
        self._net, self._ids = net, Ids()
        self._connect(net)
        self.parameters = [layer for layer in net.layers if _is_parameter(layer)]
        self.results = [layer for layer in net.layers if self._is_result(layer)]
        in_head = {id(layer) for layer in (*self.parameters, *self.results)}
        self.lines = [layer for layer in net.layers if id(layer) not in in_head]
        order = (*self.parameters, *self.lines, *self.results)
        self.positions = {id(layer): str(number) for number, layer in enumerate(order)}
        self.of: dict[int, str] = {}
        self._taken = set[str]()
        for layer in (*self.parameters, *self.lines):
            self.of[id(layer)] = self._new(layer.name or _UNNAMED)
        self._own_names_of_results()

    def _connect(self, net: Net) -> None:
        """Note the source of each input port, and the number of outputs of each layer that are used."""
        outputs: dict[tuple[str, str], Output] = {}
        self._sources: dict[tuple[int, int], Output] = {}
        ports: dict[tuple[str, str], tuple[int, int]] = {}
        self.used: dict[int, int] = {}
        for layer in net.layers:
            key = self._ids[layer.id]
            for index, port in enumerate(layer.outputs):
                outputs.setdefault((key, self._ids[port.id]), Output(layer, index))
            for index, port in enumerate(layer.inputs):
                ports.setdefault((key, self._ids[port.id]), (id(layer), index))
        for edge in net.edges:
            source = outputs.get((self._ids[edge.from_layer], self._ids[edge.from_port]))
            end = ports.get((self._ids[edge.to_layer], self._ids[edge.to_port]))
            if source is not None and end is not None and end not in self._sources:
                self._sources[end] = source
                self.used[id(source.layer)] = max(self.used.get(id(source.layer), 0), source.number + 1)

    def _is_result(self, layer: Layer) -> bool:
        is_plain = layer.type == "Result" and layer.version == "opset1" and not layer.data and not layer.outputs
        return is_plain and len(layer.inputs) == 1 and (id(layer), 0) in self._sources

    def _new(self, name: str) -> str:
        """Return the name, or a similar one that no other layer has."""
        new, number = name, 2
        while new in self._taken:
            new, number = f"{name}~{number}", number + 1
        self._taken.add(new)
        return new

    def _own_names_of_results(self) -> None:
        """Name the results of a body that return the same value: lines refer to a result by its value."""
        self._returned: dict[int, str] = {}
        values = set[str]()
        for layer in self.results:
            text = self.value(layer, 0)
            if self.is_body and text in values:
                self.of[id(layer)] = self._new(layer.name or _UNNAMED)
            values.add(text)
            self._returned[id(layer)] = text

    def name_result(self, layer: Layer) -> None:
        """Give a result its own name in the text."""
        if id(layer) not in self.of:
            self.of[id(layer)] = self._new(layer.name or _UNNAMED)

    # Values

    def source(self, layer: Layer, index: int) -> Output | None:
        """Return the output that an input takes."""
        return self._sources.get((id(layer), index))

    def value(self, layer: Layer, index: int) -> str:
        """Return the text of an input."""
        source = self.source(layer, index)
        return NOTHING if source is None else reference(self.of[id(source.layer)], source.number, self._taken)

    def inputs(self, layer: Layer) -> str:
        """Return the texts of all inputs."""
        return ", ".join(self.value(layer, index) for index in range(len(layer.inputs)))

    def lists_outputs(self, layer: Layer) -> bool:
        """Return whether a line must list the outputs, because a reader would assume another number of them."""
        least = least_outputs(layer.type or "", layer.version)
        return len(layer.outputs) != max(self.used.get(id(layer), 0), least)

    def result_name(self, layer: Layer) -> str:
        """Return the name that a Result has by default."""
        source = self.source(layer, 0)
        assert source is not None
        return result_name(self.of[id(source.layer)], source.number, len(source.layer.outputs))

    def tensor_names(self, layer: Layer) -> tuple[list[str], list[str]]:
        """Return the tensor names of a Parameter or Result, and the names that it has by default."""
        source = Output(layer, 0) if layer.type == "Parameter" else self.source(layer, 0)
        assert source is not None
        port = source.layer.outputs[source.number]
        names = name_list(port.names or "")
        default = self.of[id(source.layer)] + (f".{source.number}" if source.number else "")
        if layer.type == "Result":
            names = name_list(layer.output_names or "") or names
        if self.is_old:
            names = [] if layer.type == "Result" else list(dict.fromkeys([layer.name or "", *names]))
        is_unnamed = self.is_body or (self.is_old and layer.type == "Result")
        return list(dict.fromkeys(names)), [] if is_unnamed else [default]

    # Bodies

    def map_lines(self, layer: Layer, maps: tuple[PortMap, ...]) -> Iterator[str]:
        """Yield the lines that connect this body with the layer that contains it, and its results with its inputs."""
        by_id = {self._ids[inner.id]: inner for inner in reversed(self._net.layers)}
        outputs = sorted({_position(entry) for entry in maps if entry.kind == "output"} - {-1})
        for entry in maps:
            name = self._inner(by_id.get(self._ids[entry.internal_layer_id]))
            given = {field: text for field in _SLICE if (text := getattr(entry, field)) is not None}
            position, further = _position(entry), attributes_text(given)
            if entry.kind == "input":
                yield f"in {position} -> {name}{further}" if position >= 0 else f"in -> {name}{further}"
            else:
                number = f" {outputs.index(position)}" if position >= 0 else ""
                yield f"out {name} ->{number}{further}"
        for edge in (layer.back_edges or ()) if layer.body is self._net else ():
            ends = (self._inner(by_id.get(self._ids[end])) for end in (edge.from_layer, edge.to_layer))
            yield "back {} -> {}".format(*ends)

    def _inner(self, layer: Layer | None) -> str:
        if layer is None:
            return NOTHING
        return word(self.of[id(layer)]) if id(layer) in self.of else self._returned.get(id(layer), NOTHING)


def _position(entry: PortMap) -> int:
    number = read(ID, entry.external_port_id).value if entry.external_port_id else None
    return -1 if number is None else number


def _is_parameter(layer: Layer) -> bool:
    """Return whether a layer can be written as an input in the head of a net."""
    data = layer.data
    if layer.type != "Parameter" or layer.version != "opset1" or layer.inputs or len(layer.outputs) != 1:
        return False
    if data.keys() != {"shape", "element_type"} or ElementType.from_attribute(data["element_type"]) is None:
        return False
    shape = items(data["shape"])
    return shape is not None and "[" not in data["shape"]
