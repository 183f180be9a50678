"""From an ONNX file to a Model: initializers become constants, nodes what their translators make of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError

from irexec.diagnostics import LayerRef, Place
from irexec.diagnostics.findings import Findings
from irexec.frontends.onnx.calls import Call, call_of
from irexec.frontends.onnx.kinds import element_type, partial_shape
from irexec.frontends.onnx.op import Broken, Op, Refused
from irexec.frontends.onnx.tensors import BadTensor, read_tensor
from irexec.frontends.onnx.texts import not_text
from irexec.graph.model import Model, Node, Value
from irexec.inference import infer_node
from irexec.ir.files import open_regular
from irexec.ops.declare import contents
from irexec.ops.declare.operator import Operator
from irexec.types import DYNAMIC, Array, ElementType, PartialShape, TensorType

# Functions that call functions: no ONNX model nests them deeper than a handful.
_MAX_DEPTH = 64


def convert_file(path: str | os.PathLike[str], findings: Findings) -> Model | None:
    """The model of an ONNX file; None, or a model that cannot be run, where `findings` gets an error."""
    place = Place(file=os.fspath(path))
    try:
        with open_regular(path) as stream:
            data = stream.read()
    except (OSError, ValueError) as error:
        findings.add("U001", f"cannot read the file: {getattr(error, 'strerror', None) or error}", place=place)
        return None
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError:
        findings.add("F002", "the file is no protocol buffer of an ONNX model", place=place)
        return None
    if not proto.HasField("graph"):
        findings.add("F002", "the file holds no ONNX graph", place=place)
        return None
    if (field := not_text(proto)) is not None:
        findings.add("F002", f"a {field} in the file is not UTF-8", place=place)
        return None
    model = convert(proto, findings, Path(path).parent)
    model.file = os.fspath(path)
    return model


def convert(proto: onnx.ModelProto, findings: Findings, folder: Path | None = None) -> Model:
    """The model of an ONNX model that was read. It can be run only when `findings` gets no error.

    `folder`: where external data may lie.
    """
    return Converter(proto, findings, folder).model()


class Scope:
    """The names that one graph or function body can see. None: a value that could not be made."""

    def __init__(self, opsets: dict[str, int], depth: int = 0) -> None:
        self.values: dict[str, Value | None] = {}
        self.opsets, self.depth = opsets, depth
        self.references: dict[str, onnx.AttributeProto] = {}


class Converter:
    """Converts one model; findings say what cannot be."""

    def __init__(self, proto: onnx.ModelProto, findings: Findings, folder: Path | None) -> None:
        self.proto, self.findings, self.folder = proto, findings, folder
        self.place = Place(file=findings.file)
        self.functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
        self.names: dict[str, int] = {}
        self.current: LayerRef | None = None

    def model(self) -> Model:
        graph = self.proto.graph
        scope = Scope(self._opsets(self.proto.opset_import))
        self._check_opset(scope.opsets.get(""))
        self._initializers(graph, scope)
        parameters = [p for i in graph.input if i.name not in scope.values and (p := self._parameter(i, scope))]
        self.translate(graph.node, scope)
        results = [r for output in graph.output if (r := self._result(output, scope))]
        model = Model(results, parameters, graph.name)
        model.rt_info = {"framework": {"type": "onnx", "producer": self.proto.producer_name}}
        return model

    def _opsets(self, imports: Any) -> dict[str, int]:
        return {_domain(entry.domain): entry.version for entry in imports}

    def _check_opset(self, opset: int | None) -> None:
        newest = onnx.defs.onnx_opset_version()
        if opset is not None and opset > newest:
            message = f"the model uses opset {opset}; the installed onnx {onnx.__version__} knows opset {newest}"
            self.find("F010", message, found=str(opset), allowed=f"at most {newest}", hint="pip install -U onnx")
        elif opset is not None and opset < 1:
            self.find("F012", f"there is no opset {opset}", found=str(opset), allowed=f"1 to {newest}")

    def find(self, code: str, message: str, **details: Any) -> None:
        """Add a finding about the node that is being translated, or about the file."""
        details.setdefault("layer", self.current)
        self.findings.add(code, message, place=self.place, **details)

    # What a graph starts from

    def _initializers(self, graph: onnx.GraphProto, scope: Scope) -> None:
        for tensor in graph.initializer:
            self._define(tensor.name, self._tensor(tensor), scope)
        for sparse in graph.sparse_initializer:
            self.find("F008", f"the initializer {sparse.values.name!r} is sparse")
            self._define(sparse.values.name, None, scope)

    def _tensor(self, tensor: onnx.TensorProto) -> Value | None:
        try:
            array, kind = read_tensor(tensor, self.folder)
        except BadTensor as error:
            self.find(error.code, f"the initializer {tensor.name!r}: {error}")
            return None
        return self.constant(array, kind, tensor.name)

    def _parameter(self, info: onnx.ValueInfoProto, scope: Scope) -> Node | None:
        declared = self._declared(info, "input")
        if declared is None:
            self._define(info.name, None, scope)
            return None
        attributes = {"shape": declared.shape, "element_type": declared.element_type}
        node = Node(contents.load("Parameter", 1), (), attributes, name=self.unique(info.name))
        node.set_outputs(infer_node(node, self.findings))
        node.outputs[0].names.add(info.name)
        self._define(info.name, node.outputs[0], scope)
        return node

    def _declared(self, info: onnx.ValueInfoProto, what: str) -> TensorType | None:
        which = info.type.WhichOneof("value")
        if which != "tensor_type":
            message = f"the {what} {info.name!r} is {_article(which)}: only tensors are read"
            self.find("F008", message, found=which or "nothing", allowed="tensor_type")
            return None
        declared = info.type.tensor_type
        kind = element_type(declared.elem_type)
        if kind is None:
            self.find("F006", f"the {what} {info.name!r} has no known data type: {declared.elem_type}")
            return None
        shape = partial_shape(declared.shape) if declared.HasField("shape") else PartialShape.dynamic()
        return TensorType(kind, shape)

    def _result(self, info: onnx.ValueInfoProto, scope: Scope) -> Node | None:
        if info.name not in scope.values:
            self.find("F005", f"no node makes the output {info.name!r}")
            return None
        value = scope.values[info.name]
        if value is None:
            return None
        self._check_declared(info, value)
        node = Node(contents.load("Result", 1), [value], name=self.unique(f"{info.name}/result"))
        node.set_outputs(infer_node(node, self.findings))
        node.outputs[0].names = {info.name}
        return node

    def _check_declared(self, info: onnx.ValueInfoProto, value: Value) -> None:
        if info.type.WhichOneof("value") is None:
            return
        declared = self._declared(info, "output")
        if declared is None:
            return
        differs = DYNAMIC is not value.element_type is not declared.element_type
        if differs or not declared.shape.compatible(value.partial_shape):
            message = f"the output {info.name!r} is declared {declared}, and the graph makes {value.type}"
            self.find("F011", message, found=str(declared), allowed=str(value.type))

    def _define(self, name: str, value: Value | None, scope: Scope) -> None:
        if not name:
            return
        if name in scope.values:
            self.find("F005", f"the value {name!r} is made twice")
        scope.values[name] = value
        if value is not None and scope.depth == 0:
            value.names.add(name)

    # Nodes

    def translate(self, nodes: Any, scope: Scope) -> None:
        """Translate nodes in order; what they make goes to the scope."""
        for index, node in enumerate(nodes):
            before = self.current
            if scope.depth == 0:
                version = f"{node.domain} {scope.opsets.get(_domain(node.domain), '')}" if node.domain else ""
                version = version or f"onnx{scope.opsets.get('', '')}"
                name = node.name or next((o for o in node.output if o), "")
                self.current = LayerRef(str(index), name, node.op_type, version)
            self._node(node, scope)
            self.current = before

    def _node(self, node: onnx.NodeProto, scope: Scope) -> None:
        unknown = [name for name in node.input if name and name not in scope.values]
        for name in unknown:
            self.find("F005", f"the input {name!r} is made by no earlier node, and is no input of the graph")
        results: Sequence[Value | None] | None = None
        try:
            call = call_of(node, scope.opsets, scope.references, self.functions)
            broken = unknown or any(name and scope.values[name] is None for name in node.input)
            if not broken:
                results = self._call(call, [scope.values[name] if name else None for name in node.input], scope)
        except (Refused, BadTensor) as error:
            details = error.details if isinstance(error, Refused) else {}
            self.find(error.code, f"{node.op_type}: {error}", **details)
        except Broken:
            pass
        for index, name in enumerate(node.output):
            value = results[index] if results is not None and index < len(results) else None
            if name and results is not None and value is None:
                self.find("F004", f"{node.op_type}: the operator makes no output {index} here")
            self._define(name, value, scope)

    def _call(self, call: Call, inputs: list[Value | None], scope: Scope) -> Sequence[Value | None] | None:
        """What a node makes; None where its findings say why it makes nothing."""
        before = len(self.findings.report.errors)
        call.check([None if v is None else v.element_type for v in inputs])
        if call.translator is None:
            return self._body(call, inputs, scope)
        made = call.translator(Op(self, call.node, inputs, call.attributes, call.version, call.opset))
        if len(self.findings.report.errors) > before:
            return None
        return [made] if isinstance(made, Value) else made

    def _body(self, call: Call, inputs: list[Value | None], scope: Scope) -> list[Value | None] | None:
        """A call of a function: its body, in a scope of its own."""
        if scope.depth >= _MAX_DEPTH:
            raise Refused("F009", f"functions call one another more than {_MAX_DEPTH} deep")
        body = call.body([None if v is None else v.type for v in inputs])
        inner = Scope(self._opsets(body.opset_import) or scope.opsets, scope.depth + 1)
        inner.references = call.defaults() | {a.name: a for a in body.attribute_proto} | call.attributes
        padded = [*inputs, *[None] * len(body.input)]
        # An input that is left out is none of the body's names: its nodes see an empty one.
        left_out = {name for name, value in zip(body.input, padded, strict=False) if value is None}
        inner.values = {name: value for name, value in zip(body.input, padded, strict=False) if value is not None}
        before = len(self.findings.report.errors)
        self.translate([_without(node, left_out) for node in body.node], inner)
        # Errors within the body are found; what it says it makes and does not is found by the caller.
        return None if len(self.findings.report.errors) > before else [inner.values.get(name) for name in body.output]

    # Making

    def add(self, operator: Operator, inputs: list[Value | None], attributes: dict[str, Any], name: str) -> Node:
        """A new node with inferred outputs. Raises Refused when the operator does not take it so."""
        values, problems = operator.parse_attributes(attributes)
        if problems:
            raise Refused("F009", f"{operator}: {problems[0].message}")
        signature = operator.signature
        connected = sum(v is not None for v in inputs)
        if connected < signature.min_inputs or len(inputs) > (signature.max_inputs or len(inputs)):
            raise Refused("F009", f"{operator} does not take {connected} inputs")
        node = Node(operator, inputs, values, name=self.unique(name))
        before = len(self.findings.report.errors)
        node.set_outputs(infer_node(node, self.findings))
        if len(self.findings.report.errors) > before or not node.outputs:
            raise Broken
        return node

    def constant(self, array: Array, kind: ElementType, name: str = "") -> Value:
        """A constant that holds the array itself, without a copy."""
        attributes = {"element_type": kind, "shape": array.shape}
        node = Node(contents.load("Const", 1), (), attributes, name=self.unique(name or "constant"))
        node.constant = array
        node.set_outputs(infer_node(node, self.findings))
        return node.outputs[0]

    def unique(self, name: str) -> str:
        """The name, with a number where another node has it."""
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if not count else self.unique(f"{name}_{count}")


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _without(node: onnx.NodeProto, names: set[str]) -> onnx.NodeProto:
    if not names.intersection(node.input):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.input[:] = ["" if name in names else name for name in node.input]
    return copy


def _article(which: str | None) -> str:
    return f"a {which.removesuffix('_type').replace('_', ' ')}" if which else "of no type"
