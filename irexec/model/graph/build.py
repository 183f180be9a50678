"""Building the model from the document: operators bound, values connected, constants located, nodes in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from irexec.core.diagnostics import Severity
from irexec.core.diagnostics.deadline import watched
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.diagnostics.statements import REJECTS, WITHOUT_BYTES
from irexec.core.forms import EXTENT, ID, Ids, read
from irexec.core.records import replace
from irexec.core.structure import CONST, IF, PARAMETER, RESULT
from irexec.core.types import DYNAMIC, Dimension, ElementType, PartialShape, Stored, TensorType
from irexec.ir.document import ROOT_TYPES, Document, Edge, Layer, Net, Port
from irexec.ir.text import name_list
from irexec.ir.weights.file import Weights
from irexec.ir.weights.written import plain_constant
from irexec.model.graph.bind import Binder, bind_operator
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.graph.runtime_info import keep_info, model_info
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import HasBodies, IgnoresUnconnected, NeedsOptional

_TYPES = (PARAMETER, *ROOT_TYPES)


class Ends(NamedTuple):
    """The Parameters, Results and Assigns of a model in the order in which OpenVINO lists them.

    OpenVINO reads a type in any letter case, but finds these layers by exactly these names. A layer whose type is
    spelled otherwise is included only if one of these layers depends on it, in the order in which OpenVINO finds it.
    """

    parameters: list[Node]
    results: list[Node]
    sinks: list[Node]


def find_ends(nodes: Sequence[Node], edges: Iterable[Edge], key: Callable[[str | None], str]) -> Ends:
    """Return the ends of a net with these nodes and edges, both in file order; `key` maps equal ids to one text."""
    ends = Ends(*([node for node in nodes if node.type == type] for type in _TYPES))
    if all(map(_has_exact_name, (node for nodes in ends for node in nodes))):
        return ends
    exact = Ends(*([node for node in nodes if _has_exact_name(node)] for nodes in ends))
    others = set[Node]().union(*ends).difference(*exact)
    # In a valid file no edge ends in a Parameter; in an invalid one the search from the Parameters includes all of the
    # model.
    roots = [node for node in nodes if node.type in ROOT_TYPES and node not in others]
    for node in _searched([*roots, *exact.parameters], nodes, edges, key):
        if node in others:
            exact[_TYPES.index(node.type)].append(node)
    return exact


def _has_exact_name(node: Node) -> bool:
    return node.layer is None or node.layer.type == node.type


def _searched(
    roots: Iterable[Node], nodes: Iterable[Node], edges: Iterable[Edge], key: Callable[[str | None], str]
) -> list[Node]:
    """Return all nodes on which roots depend, in OpenVINO's order: it follows the last of several edges first."""
    by_id: dict[str, list[Node]] = {}
    for node in nodes:
        by_id.setdefault(key(node.id), []).append(node)
    givers: dict[str, list[str]] = {}
    for edge in edges:
        givers.setdefault(key(edge.to_layer), []).append(key(edge.from_layer))
    order: dict[str, None] = {}
    for root in roots:
        path, opened = [key(root.id)], set[str]()
        while path:
            id = path[-1]
            if id in order or id in opened:
                order.setdefault(path.pop())
            else:
                opened.add(id)
                path += [giver for giver in givers.get(id, ()) if giver not in order]
    return [node for id in order for node in by_id.get(id, ())]


def build(document: Document, findings: Findings, weights: Weights, model_class: type[Model] = Model) -> Model:
    """Build a model of this class from a document that was read. It can be run only if `findings` contains no error."""
    version = read(ID, document.net.version).value or 11
    model = build_net(document.net, findings, weights, version, model_class=model_class)
    weights.check_usage(findings)
    source = document.source
    parts = [model, *_bodies_of(model)]
    model.layers_read = sum(len(part.nodes) + len(part.unreachable) for part in parts)
    for part in parts:
        part.file = source.file
        part.source = source
    keep_declared(model, findings.mode == "strict")
    return model


def keep_declared(model: Model, keeps: bool) -> None:
    """Set whether results at run time must match the types that the file's ports declare, also in bodies."""
    for part in [model, *_bodies_of(model)]:
        part.keeps_declared = keeps


def _bodies_of(model: Model) -> list[Model]:
    return [body.model for node in model.walk(idle=True) for body in node.bodies]


def build_net(
    net: Net,
    findings: Findings,
    weights: Weights,
    version: int = 11,
    binder: Binder | None = None,
    model_class: type[Model] = Model,
) -> Model:
    """Build the model of one net, such as a body. `binder`: the binder of the model that contains the body."""
    return _Builder(net, findings, weights, version, binder or Binder(findings), model_class).model()


_OPEN = TensorType()


class _Builder:
    """Builds one net; each body has its own builder."""

    def __init__(
        self, net: Net, findings: Findings, weights: Weights, version: int, binder: Binder, model_class: type[Model]
    ) -> None:
        self.net, self.findings, self.weights, self.version = net, findings, weights, version
        self.binder, self.model_class = binder, model_class
        self.node_class = model_class.node_class
        self.keys = Ids()
        self.by_port: dict[tuple[str, str], Value] = {}
        self.in_ports: dict[tuple[str, str], tuple[list[Value | None], int]] = {}
        self.inputs: list[list[Value | None]] = []

    def model(self) -> Model:
        nodes = [self._node(layer) for layer in watched(self.net.layers, "building the model")]
        self._connect(nodes)
        if self.net.pre_process is not None:
            from irexec.model.graph.pre_process import subtract_mean

            subtract_mean(self.net.pre_process, nodes, self.weights, self.findings)
        for node in nodes:
            check_arity(node, self.findings)
        parameters, results, sinks = find_ends(nodes, self.net.edges, self.keys.__getitem__)
        model = self.model_class.of(results, parameters, self.net.name or "", sinks)
        model.version = self.version
        model.rt_info = model_info(self.net)
        if len(model.nodes) < len(nodes):
            # Layers that reach no Result are not part of the model, but they are checked as well.
            needed = set(model.nodes)
            model.unreachable = [n for n in ordered(nodes) if n not in needed]
        for node in nodes:
            self._bodies(node)
        for result in results:
            self._name_result(result)
        return model

    def _node(self, layer: Layer) -> Node:
        operator = bind_operator(layer, self.findings, self.net.layers)
        plain: dict[str, Any] | None = None
        if operator is None:
            type, version, attributes = layer.type or "", layer.version, {}
        else:
            type, version = operator.type, operator.opset
            plain = plain_constant(layer.data) if type == CONST else None
            attributes = plain or self.binder.attributes(layer, operator)
        name, id = layer.name or "", layer.id or ""
        inputs: list[Value | None] = [None] * len(layer.inputs)
        self.inputs.append(inputs)
        if operator is None or operator.make_node is None:
            node = self.node_class(operator, (), attributes, name=name, id=id, layer=layer, type=type, version=version)
        else:
            node = operator.make_node(attributes, len(inputs))
            node.given_name, node.id, node.layer = name, id, layer
        keys, key, by_port, in_ports = self.keys, self.keys[layer.id], self.by_port, self.in_ports
        node.set_outputs([_OPEN] * max(len(layer.outputs), _least_outputs(type, operator)))
        for value, port in zip(node.outputs, layer.outputs, strict=False):
            value.declared = _declared_type(port.precision, port.dims)
            if port.names:
                value.names.update(name_list(port.names))
            by_port.setdefault((key, keys[port.id]), value)
        for position, port in enumerate(layer.inputs):
            in_ports.setdefault((key, keys[port.id]), (inputs, position))
        if self.version >= 11:
            keep_info(node, layer)
        elif type == PARAMETER and node.given_name and node.outputs:
            node.outputs[0].names.add(node.given_name)
        if type == CONST:
            node.held = self._held(layer, plain)
        return node

    def _held(self, layer: Layer, plain: dict[str, Any] | None) -> Stored | None:
        """Return the value of a constant. OpenVINO never looks for the bytes of a layer that is not a `Const`."""
        if layer.type == CONST:
            return self.weights.of_layer(layer, self.findings, plain)
        trial = self.findings.trial()
        held = self.weights.of_layer(layer, trial, plain)
        for finding in trial.report:
            is_read = finding.code == "C012" and finding.attribute in ("shape", "element_type")
            self.findings.keep(finding if is_read else replace(finding, openvino=WITHOUT_BYTES))
        return held

    def _connect(self, nodes: Sequence[Node]) -> None:
        """Connect the nodes' inputs as the edges specify; of several edges into a port the first one is used."""
        keys = self.keys
        for edge in self.net.edges:
            value = self.by_port.get((keys[edge.from_layer], keys[edge.from_port]))
            end = self.in_ports.get((keys[edge.to_layer], keys[edge.to_port]))
            if value is not None and end is not None:
                inputs, position = end
                if inputs[position] is None:
                    inputs[position] = value
        for node, inputs in zip(nodes, self.inputs, strict=True):
            node.inputs = inputs

    def _bodies(self, node: Node) -> None:
        if node.layer is not None and HasBodies in node.traits:
            from irexec.model.graph.bodies import build_bodies

            build_body = partial(
                build_net,
                findings=self.findings,
                weights=self.weights,
                version=self.version,
                binder=self.binder,
                model_class=self.model_class,
            )
            node.bodies = build_bodies(node, node.layer, build_body, self.findings)

    def _name_result(self, result: Node) -> None:
        source = result.inputs[0] if result.inputs else None
        layer = result.layer
        if layer is not None and layer.output_names and self.version >= 11:
            result.outputs[0].names |= set(name_list(layer.output_names))
        elif source is not None:
            # A Result has no tensor of its own: it shares the names of its input.
            result.outputs[0].names = source.names
            if self.version < 11 and source.node.given_name:
                source.names.add(source.node.given_name)


def _least_outputs(type: str, operator: Operator | None) -> int:
    """Return the minimum number of outputs of a node, independent of the number that its layer declares."""
    if operator is None or type in (RESULT, IF):
        return int(type == RESULT)
    return 0 if operator.signature.makes_any_number else len(operator.signature.outputs)


def check_arity(node: Node, findings: Findings) -> None:
    """Report a number of input or output ports that the operator does not allow."""
    operator, layer = node.operator, node.layer
    if operator is None or layer is None:
        return
    signature, count = operator.signature, len(layer.inputs)
    if count == signature.max_inputs and len(layer.outputs) <= len(signature.outputs) and None not in node.inputs:
        return
    if IgnoresUnconnected in operator.traits and count > signature.min_inputs:
        while node.inputs and node.inputs[-1] is None and len(node.inputs) > signature.min_inputs:
            node.inputs = node.inputs[:-1]
    fault, most = signature.fault_of_count(count, with_bodies=HasBodies in operator.traits), signature.max_inputs
    if fault is not None:
        message, allowed = f"{operator} {fault[0]}", fault[1]
        where = At(layer.inputs[most].at) if most is not None and count > most else At(layer.at)
        findings.add("P007", message, at=where, layer=layer.ref, found=str(count), allowed=allowed)
    elif NeedsOptional in operator.traits and count < len(operator.inputs):
        names = ", ".join(port.name for port in operator.inputs[count:])
        message = f"input {names} is omitted; it is optional on the operation page only"
        findings.add("D011", message, at=At(layer.at), layer=layer.ref, openvino=REJECTS, severity=Severity.WARNING)
    outputs = operator.outputs
    declared = len(layer.outputs)
    if outputs and not outputs[0].variadic and declared > len(outputs) and node.type != RESULT:
        message = f"{operator} has {declared} output ports, expected {len(outputs)}"
        findings.add("P007", message, at=At(layer.outputs[len(outputs)].at), layer=layer.ref)


def declared_type(port: Port) -> TensorType:
    """Return the tensor type that a port of the file declares. A port without dims has a dynamic rank."""
    return _declared_type(port.precision, port.dims)


@lru_cache(maxsize=4096)
def _declared_type(precision: str | None, dims: tuple[str, ...]) -> TensorType:
    kind = ElementType.from_port(precision) if precision else None
    extents: Sequence[int | None] = [read(EXTENT, text).value for text in dims]
    if not extents:
        shape = PartialShape.dynamic()
    else:
        shape = PartialShape(Dimension(-1) if d is None or d < 0 else d for d in extents)
    return TensorType(kind or DYNAMIC, shape)
