"""Parts and simplified copies of an ONNX model, as ONNX: the candidates of a reduction."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import helper, numpy_helper

from irexec.core.types import Array
from irexec.frontends.onnx.order import bodies, taken

_STRUCTURE = 64
"""The number of elements up to which an integer constant is taken for axes, a shape or indices, not for weights."""

Place = tuple[int, str]
"""A node's number, and the name of one of its attributes."""


def load(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """Return the model of a file that irexec can read, with all of its tensors. Raises OSError."""
    return onnx.load(os.fspath(path))


def layers(proto: onnx.ModelProto) -> list[int]:
    """Return the numbers of the nodes that compute something."""
    return [index for index, node in enumerate(proto.graph.node) if node.op_type != "Constant"]


def input_names(proto: onnx.ModelProto) -> list[str]:
    """Return the names of the graph's inputs, except for inputs that are constants."""
    constants = {tensor.name for tensor in proto.graph.initializer}
    return [entry.name for entry in proto.graph.input if entry.name not in constants]


def output_names(proto: onnx.ModelProto) -> list[str]:
    return [entry.name for entry in proto.graph.output]


def boundary(proto: onnx.ModelProto, kept: Collection[int]) -> list[str]:
    """Return the names of the tensors, other than constants, that these nodes read and do not compute."""
    graph = proto.graph
    made = {name for index in kept for name in graph.node[index].output}
    constant = {tensor.name for tensor in graph.initializer}
    constant |= {name for node in graph.node if node.op_type == "Constant" for name in node.output}
    needed = dict.fromkeys(name for index in sorted(kept) for name in taken(graph.node[index]))
    return [name for name in needed if name not in made and name not in constant]


def leaving(proto: onnx.ModelProto, kept: Collection[int]) -> list[str]:
    """Return the names of these nodes' tensors that are outputs of the graph, or that other nodes read."""
    graph = proto.graph
    made = {name for index in kept for name in graph.node[index].output if name}
    elsewhere = {name for index in set(layers(proto)) - {*kept} for name in taken(graph.node[index])}
    found = [name for name in output_names(proto) if name in made]
    return [*found, *sorted((elsewhere & made) - {*found})]


def part(
    proto: onnx.ModelProto, kept: Collection[int], values: Mapping[str, Array], outputs: Collection[str] = ()
) -> onnx.ModelProto:
    """Return these nodes as a model: tensors of other nodes become inputs, with the shapes of `values`; tensors that
    other nodes read become outputs. `outputs`: the only outputs to keep. Raises ValueError if the result is not a
    model."""
    graph = proto.graph
    begins, ends = boundary(proto, kept), [name for name in leaving(proto, kept) if not outputs or name in outputs]
    if not (begins and ends):
        raise ValueError("a part needs an input and an output")
    made_by_constants = {name: node for node in graph.node if node.op_type == "Constant" for name in node.output}
    read = {name for index in kept for name in taken(graph.node[index])}
    given = {entry.name: entry for entry in graph.input}
    made_here = [node for name, node in made_by_constants.items() if name in read]
    return _model(
        proto,
        nodes=[*made_here, *(graph.node[index] for index in sorted(kept))],
        inputs=[given[name] if name in given else _described(name, values) for name in begins],
        outputs=[_described(name, values, with_shape=False) for name in ends],
        initializers=[tensor for tensor in graph.initializer if tensor.name in read],
    )


def needed(proto: onnx.ModelProto, outputs: Collection[str]) -> list[int]:
    """Return the numbers of the nodes on which these tensors depend."""
    wanted, found = {*outputs}, []
    for index in reversed(layers(proto)):
        node = proto.graph.node[index]
        if wanted & {*node.output}:
            found.append(index)
            wanted |= {*taken(node)}
    return found[::-1]


def makers(proto: onnx.ModelProto, names: Collection[str]) -> list[int]:
    """Return the numbers of the nodes that compute these tensors."""
    return [index for index in layers(proto) if {*proto.graph.node[index].output} & {*names}]


def weights(proto: onnx.ModelProto) -> dict[str, Array]:
    """Return the constants of the graph by name."""
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    for node in proto.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    return found


def with_weights(proto: onnx.ModelProto, changed: Mapping[str, Array]) -> onnx.ModelProto:
    """Return a copy of the model with other constants."""
    made = _copy(proto)
    tensors = list(made.graph.initializer)
    for node in made.graph.node:
        if node.op_type == "Constant" and node.output[0] in changed:
            node.attribute[0].t.CopyFrom(numpy_helper.from_array(changed[node.output[0]]))
    for tensor in tensors:
        if tensor.name in changed:
            tensor.CopyFrom(numpy_helper.from_array(changed[tensor.name], tensor.name))
    return made


def with_extents(
    proto: onnx.ModelProto, smaller: Callable[[Array], Array], extent: Callable[[int], int]
) -> onnx.ModelProto:
    """Return a copy with smaller constants and declared inputs, and without the declarations of other tensors."""
    arrays = {name: array for name, array in weights(proto).items() if array.dtype.kind not in "OSTU"}
    made = with_weights(proto, {name: _smaller(array, smaller, extent) for name, array in arrays.items()})
    for entry in made.graph.input:
        for dim in entry.type.tensor_type.shape.dim:
            if dim.HasField("dim_value"):
                dim.dim_value = extent(dim.dim_value)
    for entry in made.graph.output:
        for dim in entry.type.tensor_type.shape.dim:
            dim.Clear()
    return made


def _smaller(array: Array, smaller: Callable[[Array], Array], extent: Callable[[int], int]) -> Array:
    """Return a smaller constant: weights are sliced; in small integer arrays (shapes) extents are replaced."""
    if array.dtype.kind in "iu" and array.size <= _STRUCTURE:
        return np.array([extent(v) for v in array.ravel().tolist()], array.dtype).reshape(array.shape)
    return smaller(array)


def attributes(proto: onnx.ModelProto) -> list[Place]:
    """Return the attributes that might be set to their default."""
    return [
        (index, attribute.name)
        for index in layers(proto)
        for attribute in proto.graph.node[index].attribute
        if attribute.type not in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    ]


def with_attributes(proto: onnx.ModelProto, kept: Sequence[Place]) -> onnx.ModelProto:
    """Return a copy of the model without the attributes that `attributes` lists, except those in `kept`."""
    made = _copy(proto)
    for index, name in set(attributes(proto)) - {*kept}:
        node = made.graph.node[index]
        node.attribute.remove(next(attribute for attribute in node.attribute if attribute.name == name))
    return made


def renamed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy in which everything except operators and attributes has another name, without descriptions."""
    made = _copy(proto)
    for field in ("producer_name", "producer_version", "domain", "model_version", "training_info"):
        made.ClearField(field)
    domains = {function.domain for function in made.functions}
    local = {(function.domain, function.name) for function in made.functions}
    names = {"": ""}

    def other(name: str) -> str:
        return names.setdefault(name, f"name_{len(names)}")

    def rename(message: Message) -> None:
        if isinstance(message, onnx.NodeProto) and (message.domain, message.op_type) in local:
            message.op_type = other(message.op_type)
        for field, value in message.ListFields():
            kind = type(message).__name__
            if field.name in ("doc_string", "metadata_props", "quantization_annotation"):
                message.ClearField(field.name)
            elif field.name == "domain" and value in domains:
                message.domain = other(value)
            elif field.name in _NAMES.get(kind, ()):
                if isinstance(value, str):
                    setattr(message, field.name, other(value))
                else:
                    value[:] = [other(name) for name in value]
            elif field.type == field.TYPE_MESSAGE:
                for inner in [value] if isinstance(value, Message) else value:
                    rename(inner)

    rename(made)
    return made


_NAMES = {
    "GraphProto": ("name",),
    "FunctionProto": ("name", "input", "output"),
    "NodeProto": ("name", "input", "output"),
    "ValueInfoProto": ("name",),
    "TensorProto": ("name",),
    "Dimension": ("dim_param",),
}


def _described(name: str, values: Mapping[str, Array], *, with_shape: bool = True) -> onnx.ValueInfoProto:
    if name not in values:
        raise ValueError(f"{name} was not recorded")
    array = values[name]
    kind = onnx.TensorProto.STRING if array.dtype.kind in "TUO" else helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, array.shape if with_shape else [None] * array.ndim)


def _copy(proto: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    return made


def _called(proto: onnx.ModelProto, nodes: Iterable[onnx.NodeProto]) -> list[onnx.FunctionProto]:
    """Return the functions of a model that these nodes call, in bodies and in other functions as well."""
    known = {(function.domain, function.name): function for function in proto.functions}
    found: set[tuple[str, str]] = set()
    stack = [*nodes]
    while stack:
        node = stack.pop()
        stack += [inner for graph in bodies(node) for inner in graph.node]
        key = node.domain, node.op_type
        if key in known and key not in found:
            found.add(key)
            stack += known[key].node
    return [function for key, function in known.items() if key in found]


def _model(
    proto: onnx.ModelProto,
    *,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[onnx.TensorProto],
) -> onnx.ModelProto:
    """Return a model like `proto` with another graph."""
    graph = helper.make_graph(nodes, proto.graph.name, inputs, outputs, initializers)
    made = helper.make_model(graph, opset_imports=proto.opset_import, functions=_called(proto, nodes))
    made.ir_version = proto.ir_version
    return made
