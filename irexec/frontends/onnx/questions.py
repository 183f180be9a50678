"""Questions about an ONNX model to other tools, run by `others` in a separate process: malicious files crash them."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import checker, helper, shape_inference

from irexec.frontends.onnx.expansion import expansion_of, expansions
from irexec.frontends.onnx.order import bodies, taken

Messages = list[tuple[int | None, str]]
"""Messages: each with the number of the node that it is about, or None if it is about the model."""


class Answer(NamedTuple):
    """The messages of one tool, with its version, about nodes by number or about the model, and inferred types."""

    tool: str
    messages: Messages
    types: bytes = b""


_MARK = "irexec node "
_LARGE = 1 << 10
_MOST_ELEMENTS = 1 << 24
# The sizes that are tried for dynamic extents, until the model runs.
_OPEN_EXTENTS = (1, 2, 4, 8, 16, 32, 64)


def checked(model: onnx.ModelProto) -> tuple[Messages, bytes]:
    """Return the messages of onnx.checker, which is called for each part of the model because it stops at the first
    error.
    """
    context = checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in model.opset_import}
    graph, messages = model.graph, []

    def ask(check: Callable[..., object], part: Any, *more: Any, node: int | None = None, name: str = "") -> None:
        try:
            check(part, *more)
        except Exception as error:
            messages.append((node, name + _short(str(error).split("\n\n==>")[0])))

    frame = onnx.ModelProto(ir_version=model.ir_version, producer_name=model.producer_name)
    frame.opset_import.extend(model.opset_import)
    frame.metadata_props.extend(model.metadata_props)
    frame.graph.name = graph.name
    frame.graph.input.extend(graph.input)
    ask(checker.check_model, frame)
    for value in graph.output:
        ask(checker.check_value_info, value, context, name=f"the output {value.name!r}: ")
    for tensor in graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            ask(checker.check_tensor, tensor, context, name=f"the initializer {tensor.name!r}: ")
    for function in model.functions:
        ask(checker.check_function, function, name=f"the function {function.name!r}: ")
    for number, node in enumerate(graph.node):
        if any(bodies(node)):
            ask(checker.check_graph, _around(node), context, node=number)
        else:
            ask(checker.check_node, node, context, node=number)
    return messages, b""


def _around(node: onnx.NodeProto) -> onnx.GraphProto:
    """Return a graph of one node, with the values that the node and its bodies read as inputs."""
    anything = onnx.TypeProto()
    anything.tensor_type.elem_type = onnx.TensorProto.FLOAT
    anything.tensor_type.shape.SetInParent()
    known = [onnx.ValueInfoProto(name=name, type=anything) for name in sorted(taken(node))]
    return onnx.GraphProto(name="around", input=known, node=[node])


def inferred(model: onnx.ModelProto) -> tuple[Messages, bytes]:
    """Return the messages of onnx.shape_inference, and the inferred types."""
    # Functions whose expansions multiply would make inference run almost forever.
    if not expansion_of(model.graph.node, expansions(model.functions)).is_bounded:
        return [], b""
    light = _light(model)
    messages: Messages = []
    # With type checks, inference stops at a wrong type before it checks shapes.
    for types_too in (True, False):
        try:
            shape_inference.infer_shapes(light, check_type=types_too, strict_mode=True)
        except shape_inference.InferenceError as error:
            messages += [entry for entry in _by_node(str(error), model.graph.node) if entry not in messages]
    types = shape_inference.infer_shapes(light)
    return messages, onnx.GraphProto(value_info=types.graph.value_info).SerializeToString()


def _by_node(text: str, nodes: Sequence[onnx.NodeProto]) -> Iterator[tuple[int | None, str]]:
    """Yield the errors in a message of inference, by node, except for consequential errors and errors in ONNX's own
    functions."""
    pieces = re.split(rf"\(op_type:[^,(\n]*+, node name: {_MARK}(\d+)\): ", text)
    if len(pieces) == 1:
        yield None, _short(text)
    for number, message in zip(pieces[1::2], pieces[2::2], strict=True):
        lines = [line for line in message.splitlines() if line.strip() and "but instead is null" not in line]
        node = nodes[int(number)]
        messages = _short(" ".join(lines))
        has_inside = node.domain not in ("", "ai.onnx") or any(bodies(node))
        if messages and (has_inside or not messages.startswith("(op_type:")):
            yield int(number), messages


def _light(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model without its large tensors, on whose values no type depends, and with numbers as node names."""
    light, graph = onnx.ModelProto(), model.graph
    light.ir_version = max(model.ir_version, 4)
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    given = {value.name for value in graph.input}
    light.graph.name = graph.name
    light.graph.input.extend(graph.input)
    light.graph.output.extend(graph.output)
    light.graph.value_info.extend(graph.value_info)
    light.graph.sparse_initializer.extend(graph.sparse_initializer)
    for tensor in graph.initializer:
        if tensor.ByteSize() <= _LARGE and tensor.data_location != onnx.TensorProto.EXTERNAL:
            light.graph.initializer.append(tensor)
        elif tensor.name not in given:
            light.graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    for number, node in enumerate(graph.node):
        copy = light.graph.node.add()
        copy.CopyFrom(node)
        copy.name = f"{_MARK}{number}"
    return light


class Runs(NamedTuple):
    """A model that another tool has loaded. `run(extent)` runs it on ones, with this value for dynamic extents;
    `is_open`: whether it has dynamic extents."""

    run: Callable[[int], object]
    is_open: bool


def in_reference(path: str) -> Runs:
    """Return the model in onnx.reference."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(path)
    graph = onnx.load(path, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    given = [value for value in graph.input if value.name not in stored]
    ports = {value.name: _extents(value) for value in given}
    return Runs(lambda extent: evaluator.run(None, _inputs(ports, extent)), _is_open(ports))


def in_runtime(path: str) -> Runs:
    """Return the model in ONNX Runtime."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    ports = {value.name: (value.type, value.shape) for value in session.get_inputs()}
    return Runs(lambda extent: session.run(None, _inputs(ports, extent)), _is_open(ports))


def _tried(load: Callable[[str], Runs], path: str) -> str:
    try:
        loaded = load(path)
    except Exception as error:
        return f"rejects the model: {_message(error)}"
    failure = ""
    for extent in _OPEN_EXTENTS if loaded.is_open else _OPEN_EXTENTS[:1]:
        try:
            loaded.run(extent)
        except MemoryError as error:
            failure = failure or _message(error)
            break
        except Exception as error:
            # A model with dynamic extents need not accept every size: a window may require more than 1.
            failure = failure or _message(error)
        else:
            return "runs the model with ones as inputs" + (f" and dynamic extents of {extent}" if extent > 1 else "")
    tried = " and any dynamic extents" if loaded.is_open else ""
    return f"loads the model, but fails with ones as inputs{tried}: {failure}"


def _rejection(path: str) -> str | None:
    """Return the reason why ONNX Runtime rejects a model; None if it loads the model or lacks only a kernel for it."""
    try:
        in_runtime(path)
    except Exception as error:
        # A missing kernel is a limit of the runtime, not a fault of the file.
        return None if type(error).__name__ == "NotImplemented" else f"rejects the model: {_message(error)}"
    return None


def _extents(value: onnx.ValueInfoProto) -> tuple[str, list[int]]:
    tensor = value.type.tensor_type
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    return f"tensor({kind})", [dim.dim_value for dim in tensor.shape.dim]


Ports = Mapping[str, tuple[str, Sequence[Any]]]
"""The inputs of a model: name → type and extents."""


def _known(extent: Any) -> bool:
    return isinstance(extent, int) and extent > 0


def _is_open(ports: Ports) -> bool:
    return not all(_known(extent) for _, shape in ports.values() for extent in shape)


def _inputs(ports: Ports, extent: int) -> dict[str, Any]:
    return {name: _ones(kind, shape, extent) for name, (kind, shape) in ports.items()}


def _ones(kind: str, shape: Iterable[Any], open_extent: int) -> Any:
    """Return an input array filled with ones."""
    number = onnx.TensorProto.DataType.Value(kind.removeprefix("tensor(").removesuffix(")").upper())
    extents = [extent if _known(extent) else open_extent for extent in shape]
    if np.prod([float(extent) for extent in extents]) > _MOST_ELEMENTS:
        raise MemoryError("an input is too large to be tried")
    return np.ones(extents, helper.tensor_dtype_to_np_dtype(number))


def _short(text: str) -> str:
    """Return a message on one line, without its category."""
    text = re.sub(r"\[(Shape|Type)InferenceError\] |Inference error\(s\): ", "", " ".join(text.split()))
    return text.replace(_MARK, "#")[:400]


def _message(error: Exception) -> str:
    """Return the message of a failure, without the codes and the path that ONNX Runtime puts before it."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (Load model from .*? failed:)?", "", str(error))
    return _short(text or repr(error))


def answer(path: str, tool: str) -> Answer | None:
    """Return one tool's answer about the model in a file; None if the tool is not installed."""
    try:
        if tool == LOADING:
            rejected = _rejection(path)
            version = importlib.import_module("onnxruntime").__version__
            return Answer(f"ONNX Runtime {version}", [(None, rejected)]) if rejected else None
        if tool in RUNTIMES:
            module, load = RUNTIMES[tool]
            return Answer(f"{tool} {importlib.import_module(module).__version__}", [(None, _tried(load, path))])
        messages, types = CHECKS[tool](onnx.load(path, load_external_data=False))
        return Answer(f"{tool} {onnx.__version__}", messages, types)
    except ImportError:
        return None
    except Exception as error:
        return Answer(tool, [(None, _message(error))])


CHECKS = {"onnx.checker": checked, "onnx.shape_inference": inferred}
LOADING = "loading in ONNX Runtime"
RUNTIMES = {"onnx.reference": ("onnx", in_reference), "ONNX Runtime": ("onnxruntime", in_runtime)}
