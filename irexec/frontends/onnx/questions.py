"""What other tools say of an ONNX model: each asked in turn, an answer per line, in a process that may crash.

    python -m irexec.frontends.onnx.questions FILE TOOL...

Hostile files crash these tools, so that `others` starts this in a process of its own. A line holds JSON: the tool, its
version, what it says of which node, and (base64) the types that it inferred.
"""

from __future__ import annotations

import base64
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import checker, helper, shape_inference

from irexec.frontends.onnx.order import taken

Said = list[tuple[int | None, str]]
"""What is said, of the node of this number or of the model."""

_MARK = "irexec node "
_LARGE = 1 << 10
_MOST_ELEMENTS = 1 << 24
# Functions that call one another deeper than this, or become more nodes, would keep inference busy for ever.
_MOST_CALLS, _MOST_NODES = 64, 50_000


def checked(model: onnx.ModelProto) -> tuple[Said, bytes]:
    """What onnx.checker says, which itself stops at the first fault: it is asked about one part after the other."""
    context = checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in model.opset_import}
    graph, said = model.graph, []

    def ask(check: Callable[..., object], part: Any, *more: Any, node: int | None = None, name: str = "") -> None:
        try:
            check(part, *more)
        except Exception as error:
            said.append((node, name + _short(str(error).split("\n\n==>")[0])))

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
        if any(a.HasField("g") or a.graphs for a in node.attribute):
            ask(checker.check_graph, _around(node), context, node=number)
        else:
            ask(checker.check_node, node, context, node=number)
    return said, b""


def _around(node: onnx.NodeProto) -> onnx.GraphProto:
    """A graph of one node: its bodies see what stands around them."""
    anything = onnx.TypeProto()
    anything.tensor_type.elem_type = onnx.TensorProto.FLOAT
    anything.tensor_type.shape.SetInParent()
    known = [onnx.ValueInfoProto(name=name, type=anything) for name in sorted(taken(node))]
    return onnx.GraphProto(name="around", input=known, node=[node])


def inferred(model: onnx.ModelProto) -> tuple[Said, bytes]:
    """What onnx.shape_inference says, and the types that it found."""
    if not _is_bounded(model):
        return [], b""
    light = _light(model)
    said: Said = []
    # A wrong type keeps it from looking at shapes.
    for types_too in (True, False):
        try:
            shape_inference.infer_shapes(light, check_type=types_too, strict_mode=True)
        except shape_inference.InferenceError as error:
            said += [entry for entry in _by_node(str(error), model.graph.node) if entry not in said]
    types = shape_inference.infer_shapes(light)
    return said, onnx.GraphProto(value_info=types.graph.value_info).SerializeToString()


def _is_bounded(model: onnx.ModelProto) -> bool:
    """True when the functions of the model become a number of nodes that inference can go through."""
    calls = {(f.domain, f.name, f.overload): list(_calls(f.node)) for f in model.functions}
    sizes = dict.fromkeys(calls, 0)
    for _ in range(_MOST_CALLS):
        grown = {key: sum(1 + sizes.get(called, 0) for called in calls[key]) for key in calls}
        if grown == sizes:
            return sum(1 + sizes.get(called, 0) for called in _calls(model.graph.node)) <= _MOST_NODES
        if max(grown.values()) > _MOST_NODES:
            return False
        sizes = grown
    return False


def _calls(nodes: Iterable[onnx.NodeProto]) -> Iterator[tuple[str, str, str]]:
    """What nodes, and those in their bodies, call."""
    for node in nodes:
        yield node.domain, node.op_type, node.overload
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                yield from _calls(graph.node)


def _by_node(text: str, nodes: Sequence[onnx.NodeProto]) -> Iterator[tuple[int | None, str]]:
    """The parts of an error of inference; without what only follows from others, or is about ONNX's own functions."""
    pieces = re.split(rf"\(op_type:[^,\n]*, node name: {_MARK}(\d+)\): ", text)
    if len(pieces) == 1:
        yield None, _short(text)
    for number, message in zip(pieces[1::2], pieces[2::2], strict=True):
        lines = [line for line in message.splitlines() if line.strip() and "but instead is null" not in line]
        node = nodes[int(number)]
        said = _short(" ".join(lines))
        has_inside = node.domain not in ("", "ai.onnx") or any(a.HasField("g") for a in node.attribute)
        if said and (has_inside or not said.startswith("(op_type:")):
            yield int(number), said


def _light(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without its large tensors, whose values no type depends on, and with numbers for its nodes' names."""
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


def in_reference(path: str) -> Callable[[], object]:
    """onnx.reference, ready to run the model on ones."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(path)
    graph = onnx.load(path, load_external_data=False).graph
    stored = {tensor.name for tensor in graph.initializer}
    given = [value for value in graph.input if value.name not in stored]
    return lambda: evaluator.run(None, {value.name: _ones(*_extents(value)) for value in given})


def in_runtime(path: str) -> Callable[[], object]:
    """ONNX Runtime, ready to run the model on ones."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {value.name: _ones(value.type, value.shape) for value in session.get_inputs()})


def _tried(load: Callable[[str], Callable[[], object]], path: str) -> str:
    try:
        run = load(path)
    except Exception as error:
        return f"refuses the model: {_said(error)}"
    try:
        run()
    except Exception as error:
        return f"loads the model, and fails with ones as inputs: {_said(error)}"
    return "runs the model with ones as inputs"


def _extents(value: onnx.ValueInfoProto) -> tuple[str, list[int]]:
    tensor = value.type.tensor_type
    kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    return f"tensor({kind})", [dim.dim_value for dim in tensor.shape.dim]


def _ones(kind: str, shape: Iterable[Any]) -> Any:
    """Ones for an input; an extent that is not known is 1."""
    number = onnx.TensorProto.DataType.Value(kind.removeprefix("tensor(").removesuffix(")").upper())
    extents = [extent if isinstance(extent, int) and extent > 0 else 1 for extent in shape]
    if np.prod([float(extent) for extent in extents]) > _MOST_ELEMENTS:
        raise MemoryError("an input is too large to be tried")
    return np.ones(extents, helper.tensor_dtype_to_np_dtype(number))


def _short(text: str) -> str:
    """A message on one line, without what names its kind."""
    text = re.sub(r"\[(Shape|Type)InferenceError\] |Inference error\(s\): ", "", " ".join(text.split()))
    return text.replace(_MARK, "#")[:400]


def _said(error: Exception) -> str:
    """The words of a failure, without the codes and the path that ONNX Runtime puts before them."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : (Load model from .*? failed:)?", "", str(error))
    return _short(text or repr(error))


def answer(path: str, tool: str) -> dict[str, Any]:
    """What one tool says."""
    if tool in RUNTIMES:
        module, load = RUNTIMES[tool]
        package = importlib.import_module(module)
        return {"version": package.__version__, "said": [(None, _tried(load, path))]}
    said, types = CHECKS[tool](onnx.load(path, load_external_data=False))
    return {"version": onnx.__version__, "said": said, "types": base64.b64encode(types).decode()}


CHECKS = {"onnx.checker": checked, "onnx.shape_inference": inferred}
RUNTIMES = {"onnx.reference": ("onnx", in_reference), "ONNX Runtime": ("onnxruntime", in_runtime)}


def main() -> None:
    path, *tools = sys.argv[1:]
    for tool in tools:
        try:
            found = answer(path, tool)
        except ImportError:
            found = {"missing": True}
        except Exception as error:
            found = {"said": [(None, _said(error))]}
        print(json.dumps({"tool": tool} | found), flush=True)


if __name__ == "__main__":
    main()
