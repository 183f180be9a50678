"""Writing a model as IR version 11, the `.xml` and its `.bin`, in a form that OpenVINO and irexec read.

Source: OpenVINO IR, and files written by OpenVINO's serializer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.structure import CONST, IF, PARAMETER, RESULT
from irexec.core.types import DYNAMIC, ElementType, TensorType
from irexec.ir.io.writing import Together, together
from irexec.ir.text import cut, name_list, quoted, result_name, write_name_list
from irexec.ir.weights.writer import Blobs
from irexec.ir.xml.markup import Markup, illegal_character, is_tag
from irexec.model.graph.body_maps import BodyInput, BodyOutput
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.model.graph.runtime_info import RuntimeAttribute
from irexec.ops.spec.attributes import attribute_text
from irexec.ops.spec.contents import load

_SLICE = ("start", "end", "stride", "part_size")


class WrongName(ValueError, RuntimeError):
    """Raised for a file name without .xml. (OpenVINO raises RuntimeError.)"""


def write_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    weights: str | os.PathLike[str] | None = None,
    version: int = 11,
    files: Together | None = None,
) -> None:
    """Write `path` and `weights`, by default the `.bin` beside it; either both are written completely, or neither is
    changed.

    `version`: the IR version that is written; 10 only for models that IR 10 can represent (see tools/fixes/older.py).
    `files`: further files that are put in place together with these two, before them.

    Raises IRError (W001) with everything in the model that IR cannot represent, OSError if a file cannot be written,
    ValueError for a name without .xml.
    """
    xml = Path(path)
    if xml.suffix.lower() != ".xml":
        raise WrongName(f"the file name of an IR must end with .xml, but is {xml.name}")
    findings = Findings(file=os.fspath(path))
    binary = weights or xml.with_suffix(".bin")
    with together(files) as all_files, all_files.create(binary) as data, all_files.create(xml) as text:
        document = written(model, data, findings, version)
        if not findings.report.ok:
            raise IRError(findings.report)
        text.write(document.encode())


def written(model: Model, data: IO[bytes], findings: Findings, version: int = 11) -> str:
    """Return the text of a model's `.xml`, and write its weights to a stream. Everything in the model that IR cannot
    represent becomes a finding.
    """
    out = Markup()
    out.open("net", {"name": model.name, "version": str(version)})
    _NetWriter(model, out, Blobs(data), findings).write()
    out.close("net")
    document = out.text()
    if (character := illegal_character(document)) is not None:
        _refuse_character(document, character, findings)
    return document


def written_names(model: Model) -> dict[Node, str]:
    """Return the names of layers in the file; layers without a name get their type and number."""
    return {node: _written_name(node, number) for number, node in enumerate(_in_order(model))}


def _written_name(node: Node, number: int) -> str:
    if node.given_name:
        return node.given_name
    source = node.inputs[0] if node.type == RESULT else None
    if source is None or not source.node.given_name:
        return f"{node.type}_{number}"
    # A Result that the API has created.
    return result_name(source.node.given_name, source.index, len(source.node.outputs))


def _refuse_character(document: str, character: str, findings: Findings) -> None:
    line = next(line.strip() for line in document.split("\n") if character in line)
    message = f"a name or attribute contains the character {character!r}, which XML does not allow"
    findings.add("W001", message, found=cut(repr(line), 160))


class _NetWriter:
    """Writes one net; each body has its own writer."""

    def __init__(self, model: Model, out: Markup, blobs: Blobs, findings: Findings) -> None:
        self.model, self.out, self.blobs, self.findings = model, out, blobs, findings
        self.nodes = _in_order(model)
        self.ids = {node: number for number, node in enumerate(self.nodes)}
        # By generated name of a Parameter or Result: its name in the file, which must not contain the node's number.
        self.invented = {n.name: self._name(n) for n in (*model.parameters, *model.results) if not n.given_name}

    def write(self) -> None:
        """Write the sections of a `<net>` or `<body>`."""
        self.out.open("layers")
        for node in self.nodes:
            self._layer(node)
        self.out.close("layers")
        self.out.open("edges")
        self._edges()
        self.out.close("edges")
        write_model_info(self.out, self.model.rt_info)

    def _refuse(self, node: Node, message: str, **details: Any) -> None:
        self.findings.add("W001", message, layer=node.ref, **details)

    # Layers

    def _layer(self, node: Node) -> None:
        out = self.out
        # IR has no default values of Parameters.
        type = node.type if node.held is None else CONST
        attributes = {"id": str(self.ids[node]), "name": self._name(node), "type": type, "version": node.version}
        if type == RESULT:
            names = self._names(node, node.outputs[0].names)
            attributes |= {"output_names": names} if names else {}
        elif type == PARAMETER and node not in self.model.parameters:
            self._refuse(node, "the Parameter is not among the model's parameters")
        out.open("layer", attributes)
        inner = [_NetWriter(body.model, out, self.blobs, self.findings) for body in node.bodies]
        if (data := self._data(node, type)) and not inner:
            out.empty("data", data)
        write_item_info(out, {key: info for key, info in node.rt_info.items() if key != "alt_width"})
        self._port_maps(node, inner)
        self._ports(node)
        for tag, writer in zip(("then_body", "else_body") if node.type == IF else ("body",), inner, strict=False):
            out.open(tag)
            writer.write()
            out.close(tag)
        out.close("layer")

    def _name(self, node: Node) -> str:
        return _written_name(node, self.ids[node])

    def _names(self, node: Node, names: Iterable[str]) -> str:
        names = {self.invented.get(name, name) for name in names}
        # A backslash at the end of a name would escape the comma that separates it from the next name.
        text = write_name_list(sorted(names, key=lambda name: (name.endswith("\\"), name)))
        if set(name_list(text)) != names:
            self._refuse(
                node, f"the tensor names {quoted(text)} cannot be read back because one is empty or ends in a backslash"
            )
        return text

    def _data(self, node: Node, type: str) -> dict[str, str]:
        operator = node.operator if type == node.type else load(type, 1)
        if operator is None:
            self._refuse(node, f"{node.type}-{node.version} is not a declared operator, so its attributes are unknown")
            return {}
        data: dict[str, str] = {}
        values = self._constant(node) if type == CONST else node.attributes
        for attribute in operator.attributes:
            value = values.get(attribute.name, None if attribute.required else attribute.default)
            if value is not None:
                data[attribute.file_name] = attribute_text(value)
            elif attribute.required:
                self._refuse(node, f"the required attribute {attribute.file_name!r} has no value")
        if "alt_width" in node.rt_info:
            data["alt_width"] = str(node.rt_info["alt_width"])
        return data

    def _constant(self, node: Node) -> dict[str, Any]:
        array = node.constant
        element_type = node.attributes.get("element_type", DYNAMIC)
        if array is None:
            self._refuse(node, "the constant has no value")
            return {"element_type": DYNAMIC, "shape": (), "offset": 0, "size": 0}
        offset = size = 0
        try:
            offset, size = self.blobs.add(array, element_type)
        except ValueError as error:
            self._refuse(node, str(error))
        return {"element_type": element_type, "shape": array.shape, "offset": offset, "size": size}

    # Ports and edges

    def _ports(self, node: Node) -> None:
        inputs = _connected(node)
        if any(value is None for value in inputs):
            first = inputs.index(None)
            self._refuse(node, f"input {first} is not connected, but a later input is", port=str(first))
        if inputs:
            self.out.open("input")
            for index, value in enumerate(inputs):
                self._port(node, index, value.type if value else TensorType(), node.input_rt_info.get(index, {}))
            self.out.close("input")
        if node.outputs and node.type != RESULT:
            self.out.open("output")
            for value in node.outputs:
                names = self._names(node, value.names)
                self._port(node, len(inputs) + value.index, value.type, value.rt_info, names)
            self.out.close("output")

    def _port(self, node: Node, number: int, type: TensorType, info: dict[str, Any], names: str = "") -> None:
        attributes = {"id": str(number), "precision": type.element_type.port_name}
        if ElementType.from_port(type.element_type.port_name) is None:
            self._refuse(node, f"IR has no precision for {type.element_type}", port=str(number))
        if names:
            attributes["names"] = names
        dims = type.shape.dims if type.rank is not None else ()
        if not dims and not info:
            self.out.empty("port", attributes)
            return
        self.out.open("port", attributes)
        for dim in dims:
            self.out.leaf("dim", str(dim.min if dim.is_static else -1))
        write_item_info(self.out, info)
        self.out.close("port")

    def _edges(self) -> None:
        ends: list[tuple[int, int, int, int]] = []
        for node in self.nodes:
            for index, value in enumerate(_connected(node)):
                if value is not None:
                    ends.append((self.ids[value.node], _port_id(value), self.ids[node], index))
        for end in sorted(ends):
            names = ("from-layer", "from-port", "to-layer", "to-port")
            self.out.empty("edge", dict(zip(names, map(str, end), strict=True)))

    # Bodies

    def _port_maps(self, node: Node, inner: list[_NetWriter]) -> None:
        if node.type == IF:
            then_body, else_body = zip(node.bodies, inner, strict=True)
            self._port_map("else_port_map", node, *else_body)
            self._port_map("then_port_map", node, *then_body)
        elif inner:
            self._port_map("port_map", node, node.bodies[0], inner[0])
            self.out.open("back_edges")
            for entry in node.bodies[0].inputs:
                if entry.back is not None:
                    edge = {
                        "from-layer": inner[0].result_id(entry.back),
                        "to-layer": inner[0].parameter_id(entry.parameter),
                    }
                    self.out.empty("edge", edge)
            self.out.close("back_edges")

    def _port_map(self, tag: str, node: Node, body: Body, inner: _NetWriter) -> None:
        out, count = self.out, len(_connected(node))
        out.open(tag)
        # OpenVINO writes entries without an outer port last.
        for entry in sorted(body.inputs, key=lambda entry: entry.external is None):
            purpose = "current_iteration" if entry.iteration else None
            out.empty("input", _map_entry(entry, entry.external, inner.parameter_id(entry.parameter), purpose))
        for output in sorted(body.outputs, key=lambda entry: entry.external is None):
            external = None if output.external is None else count + output.external
            out.empty("output", _map_entry(output, external, inner.result_id(output.result)))
        if body.condition is not None:
            condition = BodyOutput(body.condition)
            out.empty("output", _map_entry(condition, None, inner.result_id(body.condition), "execution_condition"))
        out.close(tag)

    def parameter_id(self, index: int) -> str:
        return str(self.ids[self.model.parameters[index]])

    def result_id(self, index: int) -> str:
        return str(self.ids[self.model.results[index]])


def _in_order(model: Model) -> list[Node]:
    """Return the nodes in OpenVINO's order: Parameters, then other nodes (producers first), sinks, and Results."""
    ends = {*model.parameters, *model.sinks, *model.results}
    return [*model.parameters, *(n for n in model.nodes if n not in ends), *model.sinks, *model.results]


def _connected(node: Node) -> list[Value | None]:
    """Return the inputs up to the last connected one."""
    inputs = list(node.inputs)
    while inputs and inputs[-1] is None:
        inputs.pop()
    return inputs


def _port_id(value: Value) -> int:
    return len(_connected(value.node)) + value.index


def _map_entry(
    entry: BodyInput | BodyOutput, external: int | None, internal: str, purpose: str | None = None
) -> dict[str, str]:
    attributes = {"external_port_id": str(-1 if external is None else external), "internal_layer_id": internal}
    if entry.slicing is not None:
        attributes = {"axis": str(entry.slicing.axis), **attributes}
        attributes |= {name: str(getattr(entry.slicing, name)) for name in _SLICE}
    return attributes | ({"purpose": purpose} if purpose else {})


def write_model_info(out: Markup, info: dict[str, Any]) -> None:
    """Write the `<rt_info>` of a net or body, even if it is empty: without it readers look for legacy sections."""
    if not info:
        out.empty("rt_info")
        return
    out.open("rt_info")
    for key, value in info.items():
        _write_entry(out, key, value)
    out.close("rt_info")


def _write_entry(out: Markup, key: str, value: Any) -> None:
    tag, attributes = (key, {}) if is_tag(key) else ("info", {"name": key})
    _write_value(out, tag, attributes, value, _write_entry)


def write_item_info(out: Markup, info: dict[str, Any]) -> None:
    """Write the `<rt_info>` of a layer or port, unless it is empty."""
    if not info:
        return
    out.open("rt_info")
    for key, value in info.items():
        if isinstance(value, RuntimeAttribute):
            out.empty("attribute", {"name": value.name, "version": value.version, **value.payload})
        else:
            _write_user_data(out, key, value)
    out.close("rt_info")


def _write_user_data(out: Markup, key: str, value: Any) -> None:
    _write_value(out, "user_data", {"name": key}, value, _write_user_data, {"version": ""})


def _write_value(
    out: Markup, tag: str, attributes: dict[str, str], value: Any, inner: Any, last: dict[str, str] | None = None
) -> None:
    last = last or {}
    if not isinstance(value, dict):
        out.empty(tag, {**attributes, "value": _text(value), **last})
    elif not value:
        out.empty(tag, {**attributes, **last})
    else:
        out.open(tag, {**attributes, **last})
        for key, item in value.items():
            inner(out, key, item)
        out.close(tag)


def _text(value: Any) -> str:
    """Return the text of a leaf as OpenVINO writes it: YES and NO for booleans, lists separated by blanks."""
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, (list, tuple)):
        return " ".join(map(_text, value))
    return str(value)
