"""Printing the layers of a net: inputs and outputs in its head, and a line for each other layer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from irexec.core.types import DYNAMIC, ElementType, PartialShape, TensorType
from irexec.core.types.stored import Stored
from irexec.frontends.text.literals import to_text
from irexec.frontends.text.names import Names
from irexec.frontends.text.rest import rest_text
from irexec.frontends.text.words import NOTHING, items, names_text, port_type, quote, value, word
from irexec.ir.document import Element, Layer, Port
from irexec.ir.text import name_list
from irexec.ir.weights.writer import Blobs
from irexec.ir.weights.written import plain_constant
from irexec.model.graph.build import declared_type
from irexec.model.graph.model import Node
from irexec.ops.spec.attributes import attribute_text


class LayerLine(NamedTuple):
    """A layer as a line: its name, what follows `=`, and the types of its outputs for a comment."""

    name: str
    text: str
    types: str


class LayerText:
    """The texts of a net's layers. `nodes`: the nodes by the identity of their layers."""

    def __init__(self, names: Names, nodes: dict[int, Node], *, full: bool, blobs: Blobs | None = None) -> None:
        """`blobs`: the weights to which constants that are not in the text are copied."""
        self._names, self._nodes, self._full, self._blobs = names, nodes, full, blobs
        for layer in names.results:
            if full and layer.name != names.result_name(layer):
                names.name_result(layer)

    # The head of a net

    def parameter(self, layer: Layer) -> str:
        shape = ",".join(items(layer.data["shape"]) or [])
        name = word(self._names.of[id(layer)])
        return f"{name}: {layer.data['element_type']}[{shape}]{self._as(layer)}{self._rest(layer)}"

    def result(self, layer: Layer) -> str:
        name = f"{word(self._names.of[id(layer)])} = " if id(layer) in self._names.of else ""
        type = ""
        if (source := self._names.source(layer, 0)) is not None and not self._names.is_body:
            declared, made = layer.inputs[0], self._type(source.layer, source.number)
            type = f": {type_text(made)}"
            if not _agree(declared_type(declared), made):
                type = f": {port_type(declared.precision, declared.dims) or type_text(made)}"
        return f"{name}{self._names.value(layer, 0)}{type}{self._as(layer)}{self._rest(layer)}"

    def _as(self, layer: Layer) -> str:
        names, default = self._names.tensor_names(layer)
        if set(names) == set(default) or (self._names.is_body and not self._full):
            return ""
        return f" {names_text(names)}"

    def _type(self, layer: Layer, index: int) -> TensorType:
        types = self._nodes[id(layer)].types if id(layer) in self._nodes else ()
        return types[index] if index < len(types) else TensorType()

    # Lines

    def whole_line(self, layer: Layer) -> str:
        """Return a layer as a line that stands alone, with the types of its outputs."""
        if any(layer is each for each in self._names.parameters):
            return self.parameter(layer)
        if any(layer is each for each in self._names.results):
            return f"-> {self.result(layer)}"
        line = self.line(layer)
        return f"{line.name} = {line.text}" + (f"  # {line.types}" if line.types else "")

    def line(self, layer: Layer) -> LayerLine:
        """Return a layer as a line."""
        node = self._nodes.get(id(layer))
        plain = plain_constant(layer.data) if layer.type == "Const" and not layer.inputs else None
        if plain is not None:
            version = layer.version or ""
            text = "Constant" if version == "opset1" else type_and_version("Constant", version)
            text += f" {type_text(TensorType(plain['element_type'], PartialShape(plain['shape'])))} "
            text += self._contents(plain, node)
        else:
            text = f"{type_and_version(layer.type or '', layer.version or '')}({self._names.inputs(layer)})"
            text += "".join(f" {part}" for part in attributes_of(layer, node))
        text += self._outputs(layer) + self._rest(layer)
        types = ", ".join(type_text(type) for type in node.types) if node is not None and plain is None else ""
        return LayerLine(word(self._names.of[id(layer)]), text, types if layer.type not in ("Result", "Assign") else "")

    def _contents(self, plain: dict[str, Any], node: Node | None) -> str:
        """Return the values of a constant, or the place of its bytes."""
        kind: ElementType = plain["element_type"]
        held = node.held if node is not None else None
        if isinstance(held, Stored) and (text := to_text(held)) is not None:
            return text
        offset, size = plain["offset"], plain["size"]
        if isinstance(held, Stored) and self._blobs is not None:
            offset, size = self._blobs.add_bytes(held.raw)
        needed = kind.nbytes(math.prod(plain["shape"])) if kind.bitwidth else -1
        return f"@{offset}" + (f" size={size}" if size != needed else "")

    def _outputs(self, layer: Layer) -> str:
        """Return the list of outputs, which is left out if the reader finds their number and infers their types."""
        named = self._full or self._names.is_old
        texts = []
        for index, port in enumerate(layer.outputs):
            names = name_list(port.names or "") if named else []
            parts = [self._declared(layer, index, port), names_text(names) if names else None]
            texts.append(" ".join(part for part in parts if part) or NOTHING)
        if not self._names.lists_outputs(layer) and all(text == NOTHING for text in texts):
            return ""
        return f" -> {texts[0]}" if len(texts) == 1 else f" -> ({', '.join(texts)})"

    def _declared(self, layer: Layer, index: int, port: Port) -> str | None:
        """Return the declared type of an output if it is not the type that inference finds."""
        node = self._nodes.get(id(layer))
        if (
            node is not None
            and node.operator is not None
            and (port.precision, port.dims) == written(self._type(layer, index))
        ):
            return None
        if node is not None and node.operator is not None and port.precision == DYNAMIC.port_name and not port.dims:
            return None
        return port_type(port.precision, port.dims)

    def _rest(self, layer: Layer) -> str:
        """Return what is left of the layer, in braces."""
        attributes: dict[str, str] = {}
        own = self._names.of.get(id(layer))
        if own is not None and own != layer.name:
            attributes["name"] = layer.name or ""
        if not self._full:
            return rest_text(attributes, [])
        if layer.id is not None and layer.id != self._names.positions[id(layer)]:
            attributes["id"] = layer.id
        attributes |= layer.other or {}
        elements = [] if layer.rt_info is None else [layer.rt_info]
        return rest_text(attributes, [*elements, *self._ports(layer)])

    def _ports(self, layer: Layer) -> Iterator[Element]:
        """Yield what the file says of the ports of a layer and its line does not."""
        for index, port in enumerate(layer.inputs):
            source = self._names.source(layer, index)
            made = self._type(source.layer, source.number) if source is not None else TensorType()
            said = {} if layer.type == "Result" or _agree(declared_type(port), made) else _declaration(port)
            if said or port.rt_info is not None or port.other:
                yield _port("input", index, said, port)
        for index, port in enumerate(layer.outputs):
            said = {}
            if layer.type == "Parameter" and (port.precision, port.dims) != written(self._type(layer, index)):
                said = _declaration(port)
            if said or port.rt_info is not None or port.other:
                yield _port("output", index, said, port)


def _port(tag: str, index: int, said: dict[str, str], port: Port) -> Element:
    attributes = {"port": str(index), **said, **(port.other or {})}
    return Element(tag=tag, attributes=attributes, children=() if port.rt_info is None else (port.rt_info,))


def _declaration(port: Port) -> dict[str, str]:
    said = {"precision": port.precision} if port.precision is not None else {}
    return said | ({"dims": ",".join(port.dims)} if port.dims else {})


def _agree(one: TensorType, other: TensorType) -> bool:
    return one.element_type.compatible(other.element_type) and one.shape.compatible(other.shape)


def written(type: TensorType) -> tuple[str, tuple[str, ...]]:
    """Return the precision and the dims that a file declares for a type."""
    dims = type.shape.dims if type.rank is not None else ()
    return type.element_type.port_name, tuple(str(dim.min) if dim.is_static else "-1" for dim in dims)


def type_text(type: TensorType) -> str:
    """Return a type as text: `f32[1,?,1..8]`, `f32[...]` for a dynamic rank."""
    return f"{type.element_type.name}[{type.shape.to_string()}]"


def type_and_version(type: str, version: str) -> str:
    """Return the type of a layer with its version: `ReLU-1`, `Foo-"my opset"`."""
    number = version.removeprefix("opset")
    text = word(type)
    if number != version and number.isdecimal() and number.isascii() and number[0] != "0":
        return f"{text}-{number}"
    return f"{text}-{word(version) if '-' not in version and version and not version.isdecimal() else quote(version)}"


def attributes_of(layer: Layer, node: Node | None) -> Iterator[str]:
    """Yield the attributes of a layer that are not defaults; `pads_begin` and `pads_end` are `pads=begin:end`."""
    declared = {a.file_name: a for a in node.operator.attributes} if node is not None and node.operator else {}
    texts: dict[str, str] = {}
    for name, text in layer.data.items():
        attribute = declared.get(name)
        is_list = False
        if attribute is not None and node is not None:
            found = node.attributes.get(attribute.name)
            is_list = isinstance(found, (tuple, PartialShape))
            # The lengths of some lists are compared with each other.
            is_needed = (
                attribute.required or attribute.differs or attribute.reading.of_one_length or layer.type == "Const"
            )
            if (
                not is_needed
                and found == attribute.default
                and attribute_text(found).replace(" ", "") == text.replace(" ", "")
            ):
                continue
        texts[name] = value(text, is_list=is_list)
    for name, text in texts.items():
        start, _, end = name.rpartition("_")
        if end == "begin" and f"{start}_end" in texts:
            yield f"{word(start)}={text}:{texts[f'{start}_end']}"
        elif end != "end" or f"{start}_begin" not in texts:
            yield f"{word(name)}={text}"
