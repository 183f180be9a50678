"""Conversion of an ONNX model to a Model: initializers become constants, nodes become what their translators create."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from irexec.core.diagnostics import LayerRef, Severity
from irexec.core.diagnostics.deadline import OutOfTime, watched
from irexec.core.types import Array, ElementType, PartialShape, TensorType
from irexec.frontends.onnx.builder import Builder
from irexec.frontends.onnx.calls import Call, call_of, without
from irexec.frontends.onnx.definitions import newest_opset
from irexec.frontends.onnx.errors import Broken, MissingData, Refused, TooLarge
from irexec.frontends.onnx.expansion import Size
from irexec.frontends.onnx.file import OnnxFile, read_file
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.frontends.onnx.header import (
    check_bodies,
    check_given,
    check_opset,
    declared_value,
    description,
    fits_declared,
    same_names,
)
from irexec.frontends.onnx.kinds import has_type
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.op import Inner, Op
from irexec.frontends.onnx.order import bodies, in_order
from irexec.frontends.onnx.registry import check_of
from irexec.frontends.onnx.scope import BodyScope, Scope, opsets_of, ref_of
from irexec.frontends.onnx.tensors import dense, read_tensor
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types

_NAMED = 5
"""The number of tensors without data that a finding names."""
# The first version of the format in which an input with an initializer may be given another value.
_DEFAULTS_SINCE = 4
_TOO_LATE = "the input {!r} is produced by a later node"


def convert_file(
    given: str | os.PathLike[str] | bytes, findings: OnnxFindings, model_class: type[Model] = Model
) -> Model | None:
    """Return the model of an ONNX file, or of its bytes. If `findings` gets an error, return None or a model that
    cannot be run."""
    file = read_file(given, findings)
    if file is None:
        return None
    folder = None if isinstance(given, bytes) else Path(given).parent
    return convert(file, findings, folder, model_class=model_class)


def convert(
    file: OnnxFile,
    findings: OnnxFindings,
    folder: Path | None = None,
    assumed: Mapping[str, TensorType] | None = None,
    model_class: type[Model] = Model,
) -> Model:
    """Return the model of an ONNX file that was read. It can be run only when `findings` gets no error.

    `folder`: the folder that external data may be in. `assumed`: the types of values that cannot be computed, so that
    the nodes after an error are checked as well.

    An input with an initializer becomes a Parameter with a default value, and the nodes that read it are translated
    for any value. If a node cannot be translated so, the initializers that it depends on become constants.
    """
    constant = frozenset[str]()
    while True:
        trial = OnnxFindings(file=findings.file, mode=findings.mode)
        try:
            converter = Converter(file, Builder(trial, folder, model_class), assumed or {}, constant)
            model = converter.model()
        except OutOfTime:
            findings.take(trial)
            raise
        if not converter.needed:
            break
        constant |= converter.needed
    findings.take(trial)
    findings.too_large |= trial.too_large
    findings.incomplete |= trial.incomplete
    model.file = findings.file
    model.layers_read = sum(1 for _ in model.walk())
    return model


def converted_types(file: OnnxFile, folder: Path | None) -> dict[str, TensorType]:
    """Return the types of a graph's values that can be converted, by name."""
    converter = Converter(file, Builder(OnnxFindings(), folder), {}, frozenset())
    with suppress(OutOfTime):
        converter.model()
    return converter.types


class Converter:
    """Converts one model; findings report the parts that cannot be converted.

    `constant`: inputs whose initializers are constants, even if callers supply values. `needed`: further such inputs,
    found because the translation of a node depends on their values. `types`: the types of the graph's values.
    """

    def __init__(
        self, file: OnnxFile, builder: Builder, assumed: Mapping[str, TensorType], constant: frozenset[str]
    ) -> None:
        self.proto, self.builder, self.assumed, self.constant = file.proto, builder, assumed, constant
        self.findings = builder.findings
        self.functions = {(f.domain, f.name, f.overload): f for f in file.proto.functions}
        self.raw = file.raw
        self.needed: set[str] = set()
        self.types: dict[str, TensorType] = {}
        self._defaults: dict[Node, Array] = {}
        self._missing: dict[str, list[str]] = {}
        self.makers: dict[str, LayerRef] = {}
        self._size = Size(self.functions)

    def model(self) -> Model:
        graph = self.proto.graph
        scope = Scope(opsets_of(self.proto.opset_import))
        check_opset(scope.opsets.get(""), self.find)
        for node, number in same_names(graph.node):
            self.findings.node = ref_of(node, number, scope.opsets)
            self.find("F016", f"two nodes have the name {node.name!r}")
        self.findings.node = None
        self._initializers(graph, scope, self.raw, {info.name: info for info in graph.input})
        stored = set(scope.values)
        parameters = [p for i in graph.input if i.name not in stored and (p := self._parameter(i, scope))]
        self.translate(graph.node, scope)
        self.types = {name: value.type for name, value in scope.values.items() if value is not None}
        results = [r for output in graph.output if (r := self._result(output, scope))]
        model = self.builder.model_class.of(results, parameters, graph.name)
        model.rt_info = description(self.proto, parameters)
        if self._defaults:
            self._set_defaults(model)
        return model

    def _set_defaults(self, model: Model) -> None:
        """Set the default values of Parameters, and infer the types of the model with them."""
        reached = set(model.nodes)
        for node, array in self._defaults.items():
            node.held = array
        model.unreachable = [node for node in self._defaults if node not in reached]
        if not self.builder.errors:
            infer_types(model, self.findings)

    def find(self, code: str, message: str, **details: Any) -> None:
        self.builder.find(code, message, **details)

    # Values that a graph starts with

    def _initializers(
        self,
        graph: onnx.GraphProto,
        scope: Scope,
        raw: Mapping[int, Array] | None = None,
        inputs: Mapping[str, onnx.ValueInfoProto] | None = None,
        *,
        without: Collection[str] = (),
    ) -> None:
        """Define the initializers of a graph. `inputs`: the inputs whose default values they may be."""
        infos = inputs or {}
        for number, tensor in enumerate(graph.initializer):
            if (name := tensor.name) not in without:
                read = partial(read_tensor, raw=raw.get(number)) if raw else read_tensor
                self._define(name, self._initializer(name, read, tensor, infos.get(name)), scope)
        for sparse in graph.sparse_initializer:
            if (name := sparse.values.name) not in without:
                self._define(name, self._initializer(name, dense, sparse, infos.get(name)), scope)
        for location, names in self._missing.items():
            self.findings.incomplete = True
            hint = f"place {location} next to the model"
            message = f"the file {location!r} with the data of {plural(len(names), 'tensor')} is missing"
            self.find("F015", message, found=", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED), hint=hint)
        self._missing.clear()

    def _initializer(
        self, name: str, read: Callable[..., tuple[Any, ElementType]], tensor: Any, info: onnx.ValueInfoProto | None
    ) -> Value | None:
        try:
            array, kind = read(tensor, self.builder.folder)
        except MissingData as error:
            self._missing.setdefault(error.location, []).append(name)
            return None
        except Refused as error:
            self._note_size(error)
            self.find(error.code, f"the initializer {name!r}: {error}")
            return None
        if info is None or (declared := declared_value(self.builder, info, "input")) is None:
            return self.builder.constant(array, kind, name)
        type = TensorType(kind, PartialShape(array.shape))
        fits = fits_declared(self.builder, info, type, "input", "its initializer is")
        # Before version 4 an initializer had to be among the inputs, and no caller could give it another value.
        if not fits or name in self.constant or self.proto.ir_version < _DEFAULTS_SINCE:
            return self.builder.constant(array, kind, name)
        node = self.builder.parameter(declared, name)
        self._defaults[node] = array
        return node.outputs[0]

    def _parameter(self, info: onnx.ValueInfoProto, scope: Scope) -> Node | None:
        declared = declared_value(self.builder, info, "input")
        if declared is None:
            self._define(info.name, None, scope)
            return None
        node = self.builder.parameter(declared, info.name)
        node.outputs[0].names.add(info.name)
        self._define(info.name, node.outputs[0], scope)
        return node

    def _result(self, info: onnx.ValueInfoProto, scope: Scope) -> Node | None:
        if not scope.knows(info.name):
            self.find("F005", f"no node produces the output {info.name!r}")
            return None
        value = scope.value(info.name)
        if value is None:
            return None
        if has_type(info.type):
            fits_declared(self.builder, info, value.type, "output", "the graph makes")
        return self.builder.result(value, info.name)

    def _define(self, name: str, value: Value | None, scope: Scope) -> None:
        if not name:
            return
        if name in scope.values:
            self.find("F005", f"two nodes produce the value {name!r}")
        scope.values[name] = value
        if value is not None and scope.depth == 0:
            value.names.add(name)

    # Nodes

    def translate(self, nodes: Any, scope: Scope) -> None:
        """Translate nodes in order and add their values to the scope."""
        findings, around, inputs = self.findings, self.findings.node, self.findings.inputs
        scope.made_later = {name for node in nodes for name in node.output}
        order, late = in_order(nodes, scope.knows)
        for index in watched(order, "translating", "nodes"):
            node = nodes[index]
            # Findings within a function are attributed to the call, which is the node in the file.
            if scope.depth == 0:
                inside = around is not None and isinstance(scope, BodyScope)
                findings.node = ref_of(node, f"{around.id}/{index}" if inside and around else str(index), scope.opsets)
                findings.inputs = partial(self._described_inputs, node, scope)
                self.makers.update(dict.fromkeys(node.output, findings.node))
            for name in sorted(late.get(index, ())):
                if scope.knows(name):
                    self._made_too_late(name)
            self._node(node, scope)
        findings.node, findings.inputs = around, inputs

    def _made_too_late(self, name: str) -> None:
        """Report the use of a value that only a later node computes, in openvino mode as a warning: ONNX Runtime sorts
        the nodes."""
        severity = Severity.WARNING if self.findings.mode == "openvino" else None
        hint = "sort the nodes topologically; irexec run sorts them, as ONNX Runtime does"
        self.find("F005", _TOO_LATE.format(name), severity=severity, hint=hint)

    def _described_inputs(self, node: onnx.NodeProto, scope: Scope) -> str:
        """Return the inputs of a node: name, type, and the node that computes each."""
        described = []
        for name in filter(None, node.input):
            value = scope.value(name) if scope.knows(name) else None
            maker = f" from {self.makers[name]}" if name in self.makers else ""
            described.append(f"{name} {value.type}{maker}" if value is not None else f"{name}{maker}")
        return ", ".join(described)

    def _node(self, node: onnx.NodeProto, scope: Scope) -> None:
        unknown = [name for name in node.input if name and not scope.knows(name)]
        for name in unknown:
            if name in scope.made_later:
                self.find("F005", _TOO_LATE.format(name))
            else:
                self.find(
                    "F005", f"the input {name!r} is neither produced by an earlier node nor an input of the graph"
                )
        results: Sequence[Value | None] | None = None
        errors = self.builder.errors
        try:
            call = call_of(node, scope.opsets, scope.references, self.functions)
            inputs = [scope.value(name) if name and scope.knows(name) else None for name in node.input]
            broken = unknown or any(name and value is None for name, value in zip(node.input, inputs, strict=True))
            if not broken:
                results = self._call(call, inputs, scope)
        except Refused as error:
            self._note_size(error)
            self.find(error.code, f"{node.op_type}: {error}", **error.details)
        except Broken:
            pass
        except Exception as error:  # unexpected by the translator: an error in the node or in the translator
            self.find("F009", f"{node.op_type}: the conversion failed: {type(error).__name__}: {str(error)[:200]}")
        if self._defaults and self.builder.errors > errors:
            self.needed |= self._defaults_before(node, scope)
        for index, name in enumerate(node.output):
            value = results[index] if results is not None and index < len(results) else None
            if name and results is not None and value is None:
                self.find("F004", f"{node.op_type}: the operator has no output {index} here")
            if value is None and name in self.assumed and type(scope) is Scope and scope.depth == 0:
                value = self.builder.parameter(self.assumed[name], name).outputs[0]
            self._define(name, value, scope)

    def _defaults_before(self, node: onnx.NodeProto, scope: Scope) -> set[str]:
        """Return the names of the Parameters with a default value on which a node depends; all of them for a node with
        bodies, which may read any value of the graph."""
        if any(bodies(node)):
            return {parameter.given_name for parameter in self._defaults}
        values = [scope.value(name) for name in node.input if name and scope.knows(name)]
        before = ordered(value.node for value in values if value is not None)
        return {parameter.given_name for parameter in before if parameter in self._defaults}

    def _call(self, call: Call, inputs: list[Value | None], scope: Scope) -> Sequence[Value | None] | None:
        """Return the values that a node computes; None if findings report the reason why there are none."""
        before = self.builder.errors
        call.check([None if v is None else v.element_type for v in inputs])
        if call.function is not None:
            return self._function(call, inputs, scope)

        def enter(
            graph: onnx.GraphProto,
            types: Sequence[TensorType | None],
            sliced: Mapping[int, int] | None = None,
            *,
            inline: bool = False,
        ) -> Inner:
            inside = BodyScope(scope, _as_it_is if inline else self.builder.inner_value)
            return self.body(graph, types, sliced or {}, inside)

        op = Op(self.builder, call.node, inputs, call.attributes, call.version, call.opset, enter, scope.find)
        if call.translator is None:
            if check := check_of(op.type):
                check(op)
            check_bodies(self.builder, call.attributes.values(), inputs)
            return self._function(call, inputs, scope)
        findings, outer = self.findings, (self.findings.named, self.findings.attributes)
        if scope.depth == 0:
            findings.named, findings.attributes = call.names_of(inputs), tuple(call.attributes)
        try:
            made = call.translator(op)
        finally:
            findings.named, findings.attributes = outer
        if self.builder.errors > before:
            return None
        if call.definition is None:
            op.refuse_unread()
        results = [made] if isinstance(made, Value) else made
        if results and results[0] is not None and results[0].node not in {v.node for v in inputs if v is not None}:
            self.builder.give(op.name, results[0].node)
        return results

    def _function(self, call: Call, inputs: list[Value | None], scope: Scope) -> list[Value | None] | None:
        """Return the outputs of a call of a function: its body is translated in its own scope."""
        function = call.function
        key = None if function is None else (function.domain, function.name, function.overload)
        self._size.check_call(key, scope.depth)
        body = call.body([None if v is None else v.type for v in inputs])
        self._size.add(body.node)
        references = call.defaults() | {a.name: a for a in body.attribute_proto} | call.attributes
        inner = Scope(self._opsets_within(body, call, scope), scope.depth + 1, references)
        padded = [*inputs, *[None] * len(body.input)]
        # An omitted input has no name in the body: nodes that read it get an empty name.
        left_out = {name for name, value in zip(body.input, padded, strict=False) if value is None}
        inner.values = {name: value for name, value in zip(body.input, padded, strict=False) if value is not None}
        before = self.builder.errors
        self.translate([without(node, left_out) for node in body.node], inner)
        # Errors within the body are found here; the caller reports outputs that the body declares and does not compute.
        return None if self.builder.errors > before else [inner.values.get(name) for name in body.output]

    def _opsets_within(self, body: onnx.FunctionProto, call: Call, scope: Scope) -> dict[str, int]:
        """Return the opsets of a function's nodes. ONNX's own functions import only some of their opsets."""
        named = opsets_of(body.opset_import)
        own = {"": newest_opset()} | scope.opsets if call.function is None else {}
        return own | named or scope.opsets

    def body(
        self, graph: onnx.GraphProto, types: Sequence[TensorType | None], sliced: Mapping[int, int], scope: BodyScope
    ) -> Inner:
        """Return the body of a node; `types` and `sliced` as in Enter. Raises Broken, with findings."""
        self._size.add(graph.node)
        if len(graph.input) != len(types):
            raise Refused("F004", f"the body {graph.name!r} has {len(graph.input)} inputs, expected {len(types)}")
        before = self.builder.errors
        # Initializers of the inputs of a body have no effect: the inputs are always given.
        self._initializers(graph, scope, without={info.name for info in graph.input})
        parameters = []
        for index, (info, type) in enumerate(zip(graph.input, types, strict=True)):
            known = type or declared_value(self.builder, info, "input") or TensorType()
            if type is not None and has_type(info.type):
                # A Loop may change shapes, and its body often declares those of its first iteration. A Scan may not.
                check_given(self.builder, graph.name, info, type if sliced else TensorType(type.element_type))
            node, value = self.builder.body_input(known, info.name, sliced.get(index))
            parameters.append(node)
            self._define(info.name, value, scope)
        self.translate(graph.node, scope)
        results = []
        for info in graph.output:
            if not scope.knows(info.name):
                self.find("F005", f"no node produces the output {info.name!r} of the body {graph.name!r}")
            elif (result := scope.value(info.name)) is not None:
                if has_type(info.type):
                    made = TensorType(result.element_type)
                    fits_declared(self.builder, info, made, "output", f"the nodes of the body {graph.name!r} make")
                results.append(result)
        if self.builder.errors > before or len(results) < len(graph.output):
            raise Broken
        return Inner(graph.name, parameters, results, scope.captures)

    def _note_size(self, error: Exception) -> None:
        self.findings.too_large |= isinstance(error, TooLarge)


def _as_it_is(value: Value, name: str) -> Value:
    return value
