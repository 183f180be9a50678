"""The nodes of an ONNX file as it was written, for a file that cannot be converted: a graph to look at, not to run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from irexec.core.structure import CONST
from irexec.core.types import PartialShape, TensorType
from irexec.frontends.onnx.builder import Builder
from irexec.frontends.onnx.convert import converted_types
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.file import read_file
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.frontends.onnx.kinds import declared_type, element_type
from irexec.frontends.onnx.messages import onnx
from irexec.frontends.onnx.scope import opsets_of, ref_of
from irexec.model.graph.model import Model, Value
from irexec.ops.spec import contents

_LONGEST = 100
"""The largest number of characters of an attribute."""
_SHOWN = ("f", "i", "s", "floats", "ints", "strings")
"""The fields of attributes that are shown; of others the type is shown."""


def as_written(given: str | os.PathLike[str] | bytes, file: str | None = None) -> Model | None:
    """Return a model whose layers are the nodes of the file, without operators and values; None if it has no graph.

    Types are those that the file declares, and those of the values that can be converted. The bodies of nodes are left
    out.
    """
    findings = OnnxFindings(file=file)
    found = read_file(given, findings)
    if found is None:
        return None
    graph, builder = found.proto.graph, Builder(findings, None)
    opsets, types = opsets_of(found.proto.opset_import), _declared(graph)
    types = converted_types(found, None if isinstance(given, bytes) else Path(given).parent) | types
    values: dict[str, Value] = {}
    parameters = []
    for tensor in graph.initializer:
        kind = element_type(tensor.data_type)
        if kind is not None and all(dim >= 0 for dim in tensor.dims):
            attributes = {"element_type": kind, "shape": tuple(tensor.dims)}
            node = builder.node_class(contents.load(CONST, 1), (), attributes, name=builder.unique(tensor.name))
            node.set_outputs([TensorType(kind, PartialShape(tensor.dims))])
            values[tensor.name] = node.outputs[0]
    for info in graph.input:
        if info.name not in values:
            parameters.append(builder.parameter(types.get(info.name, TensorType()), info.name))
            values[info.name] = parameters[-1].outputs[0]
    for number, proto in enumerate(graph.node):
        ref = ref_of(proto, str(number), opsets)
        node = builder.node_class(
            None, [values.get(name) for name in proto.input], dict(attribute_texts(proto)),
            name=builder.unique(ref.name), type=ref.type, version=ref.version,
        )  # fmt: skip
        node.set_outputs(types.get(name, TensorType()) for name in proto.output)
        values |= {name: value for name, value in zip(proto.output, node.outputs, strict=True) if name}
    for name, value in values.items():
        value.names.add(name)
    results = [builder.result(values[info.name], info.name) for info in graph.output if info.name in values]
    model = Model(results, parameters, graph.name)
    model.file = file if isinstance(given, bytes) else os.fspath(given)
    return model


def _declared(graph: onnx.GraphProto) -> dict[str, TensorType]:
    """Return the types of values by name, as far as the file declares them."""
    found = {}
    for info in (*graph.value_info, *graph.input, *graph.output):
        with suppress(Refused):
            found[info.name] = declared_type(info.type)
    return found


def attribute_texts(node: onnx.NodeProto) -> Iterator[tuple[str, str]]:
    """Yield the names of a node's attributes, and their values as text."""
    for attribute in node.attribute:
        fields = attribute.ListFields()
        values = next((value for field, value in fields if field.name in _SHOWN), None)
        if values is None:
            yield attribute.name, onnx.AttributeProto.AttributeType.Name(attribute.type).lower()
            continue
        items = [values] if isinstance(values, bytes | int | float) else list(values[:_LONGEST])
        texts = (item.decode("utf-8", "replace") if isinstance(item, bytes) else f"{item:.6g}" for item in items)
        yield attribute.name, ",".join(texts)[:_LONGEST]
