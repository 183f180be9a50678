"""From the document to the model: operators bound, values connected, constants found, nodes in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from irexec.diagnostics.findings import At, Findings
from irexec.graph.bind import Binder, bind_operator
from irexec.graph.model import Model, Node, Value
from irexec.graph.order import ordered
from irexec.graph.runtime_info import keep_info, model_info
from irexec.ir.document import Document, Layer, Net, Port
from irexec.ir.text import digits, name_list, whole
from irexec.ir.text import dim as read_dim
from irexec.ir.weights.file import Weights
from irexec.ir.weights.written import plain_constant
from irexec.ops.declare.operator import Operator
from irexec.types import DYNAMIC, Dimension, ElementType, PartialShape, TensorType


def build(document: Document, findings: Findings, weights: Weights) -> Model:
    """The model of a document that was read. It can be run only when `findings` holds no error."""
    model = build_net(document.net, findings, weights, whole(document.net.version).value or 11)
    weights.check_usage(findings)
    source = document.source
    for part in (model, *_bodies_of(model)):
        part.file = source.file
        part.source = source if source.file is None else None
        part.keeps_declared = findings.mode == "strict"
    return model


def _bodies_of(model: Model) -> Iterator[Model]:
    """The models of all bodies, those in bodies included."""
    for node in (*model.nodes, *model.unreachable):
        for body in node.bodies:
            yield body.model
            yield from _bodies_of(body.model)


def build_net(net: Net, findings: Findings, weights: Weights, version: int = 11, binder: Binder | None = None) -> Model:
    """The model of one net, a body for instance. `binder`: that of the model which the body is in."""
    return _Builder(net, findings, weights, version, binder or Binder(findings)).model()


_OPEN = TensorType()


class _Keys(dict[str | None, str]):
    """Ids in canonical form, by their texts: OpenVINO compares ids as numbers, so `01` and `1` are the same."""

    def __missing__(self, text: str | None) -> str:
        number = digits(text or "")
        if number is None:
            number = whole(text).value
        key = self[text] = text or "" if number is None else str(number)
        return key


class _Builder:
    """Builds one net; bodies are built by builders of their own."""

    def __init__(self, net: Net, findings: Findings, weights: Weights, version: int, binder: Binder) -> None:
        self.net, self.findings, self.weights, self.version = net, findings, weights, version
        self.binder = binder
        self.keys = _Keys()
        self.by_port: dict[tuple[str, str], Value] = {}
        self.in_ports: dict[tuple[str, str], tuple[Node, int]] = {}

    def model(self) -> Model:
        nodes = [self._node(layer) for layer in self.net.layers]
        self._connect()
        if self.net.pre_process is not None:
            from irexec.graph.pre_process import subtract_mean

            subtract_mean(self.net.pre_process, nodes, self.weights, self.findings)
        for node in nodes:
            check_arity(node, self.findings)
        results = [n for n in nodes if n.type == "Result"]
        model = Model(
            results,
            [n for n in nodes if n.type == "Parameter"],
            self.net.name or "",
            [n for n in nodes if n.type == "Assign"],
        )
        model.version = self.version
        model.rt_info = model_info(self.net)
        if len(model.nodes) < len(nodes):
            # Layers that reach no Result are not part of the model, but they are checked too.
            needed = set(model.nodes)
            model.unreachable = [n for n in ordered(nodes) if n not in needed]
        for node in nodes:
            self._bodies(node)
        for result in results:
            self._name_result(result)
        return model

    def _node(self, layer: Layer) -> Node:
        operator = bind_operator(layer, self.findings)
        plain: dict[str, Any] | None = None
        if operator is None:
            type, version, attributes = layer.type or "", layer.version, {}
        else:
            type, version = operator.type, operator.opset
            plain = plain_constant(layer.data) if type == "Const" else None
            attributes = plain or self.binder.attributes(layer, operator)
        name, id = layer.name or "", layer.id or ""
        inputs = [None] * len(layer.inputs)
        if operator is None or operator.make_node is None:
            node = Node(operator, inputs, attributes, name=name, id=id, layer=layer, type=type, version=version)
        else:
            node = operator.make_node(attributes, len(inputs))
            node.given_name, node.id, node.layer = name, id, layer
        keys, key, by_port, in_ports = self.keys, self.keys[layer.id], self.by_port, self.in_ports
        for index, port in enumerate(layer.outputs):
            value = Value(node, index, _OPEN)
            value.declared = _declared_type(port.precision, port.dims)
            if port.names:
                value.names.update(name_list(port.names))
            node.outputs.append(value)
            by_port.setdefault((key, keys[port.id]), value)
        for position, port in enumerate(layer.inputs):
            in_ports.setdefault((key, keys[port.id]), (node, position))
        least = _least_outputs(type, operator)
        if len(node.outputs) < least:
            node.set_outputs([_OPEN] * least)
        if self.version >= 11:
            keep_info(node, layer)
        elif type == "Parameter" and node.given_name and node.outputs:
            node.outputs[0].names.add(node.given_name)
        if type == "Const":
            node.held = self.weights.of_layer(layer, self.findings, plain)
        return node

    def _connect(self) -> None:
        keys = self.keys
        for edge in self.net.edges:
            value = self.by_port.get((keys[edge.from_layer], keys[edge.from_port]))
            end = self.in_ports.get((keys[edge.to_layer], keys[edge.to_port]))
            if value is not None and end is not None:
                node, position = end
                if node.inputs[position] is None:
                    node.inputs[position] = value

    def _bodies(self, node: Node) -> None:
        if node.layer is not None and node.type in ("If", "Loop", "TensorIterator"):
            from irexec.graph.bodies import build_bodies

            build_body = partial(
                build_net, findings=self.findings, weights=self.weights, version=self.version, binder=self.binder
            )
            node.bodies = build_bodies(node, node.layer, build_body, self.findings)

    def _name_result(self, result: Node) -> None:
        source = result.inputs[0] if result.inputs else None
        names = result.outputs[0].names
        layer = result.layer
        if layer is not None and layer.output_names and self.version >= 11:
            names |= set(name_list(layer.output_names))
        elif source is not None:
            names |= source.names
            if self.version < 11 and source.node.given_name:
                names.add(source.node.given_name)


def _least_outputs(type: str, operator: Operator | None) -> int:
    """How many outputs a node has at least, however many its layer writes."""
    if operator is None or type in ("Result", "If"):
        return int(type == "Result")
    return 0 if operator.signature.makes_any_number else len(operator.signature.outputs)


def check_arity(node: Node, findings: Findings) -> None:
    """Report a number of input or output ports that the operator does not have."""
    operator, layer = node.operator, node.layer
    if operator is None or layer is None:
        return
    signature, count = operator.signature, len(layer.inputs)
    if count == signature.max_inputs and len(layer.outputs) <= len(signature.outputs) and None not in node.inputs:
        return
    if operator.type == "Pad" and count > signature.min_inputs:
        while node.inputs and node.inputs[-1] is None and len(node.inputs) > signature.min_inputs:
            node.inputs.pop()
    low, high = signature.min_inputs, signature.max_inputs
    if signature.is_variadic and low == 0:
        low = 1
    if operator.type in ("TensorIterator", "If", "Loop"):
        low = min(low, 1)
    if count < low or (high is not None and count > high):
        names = ", ".join(i.name for i in signature.inputs)
        allowed = str(low) if low == high else f"{low} to {high}" if high is not None else f"at least {low}"
        message = f"{operator} has {count} input ports, expected {allowed} ({names})"
        where = At(layer.inputs[high].at) if high is not None and count > high else At(layer.at)
        findings.add("P007", message, at=where, layer=layer.ref, found=str(count), allowed=allowed)
    outputs = operator.outputs
    declared = len(layer.outputs)
    if outputs and not outputs[0].variadic and declared > len(outputs) and node.type != "Result":
        message = f"{operator} has {declared} output ports, expected {len(outputs)}"
        findings.add("P007", message, at=At(layer.outputs[len(outputs)].at), layer=layer.ref)


def declared_type(port: Port) -> TensorType:
    """The tensor type that a port of the file declares. A port without dims leaves the shape open."""
    return _declared_type(port.precision, port.dims)


@lru_cache(maxsize=4096)
def _declared_type(precision: str | None, dims: tuple[str, ...]) -> TensorType:
    kind = ElementType.from_port(precision) if precision else None
    extents: Sequence[int | None] = [read_dim(text).value for text in dims]
    if not extents:
        shape = PartialShape.dynamic()
    else:
        shape = PartialShape(Dimension(-1) if d is None or d < 0 else d for d in extents)
    return TensorType(kind or DYNAMIC, shape)
