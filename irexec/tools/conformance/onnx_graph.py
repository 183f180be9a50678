"""ONNX graphs of the same computation, for models whose operators all have a counterpart in ONNX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.structure import ENDS
from irexec.core.types import Array
from irexec.model.graph.model import Model, Node, Value

OPSET = 20
_SAME = (
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "Sign",
    "Sin", "Sinh", "Sqrt", "Tan", "Tanh", "Sigmoid", "Mish", "IsNaN", "Identity", "BitwiseNot",
)  # fmt: skip
_UNARY = dict.fromkeys(_SAME, "") | {
    "Ceiling": "Ceil", "Negative": "Neg", "ReLU": "Relu", "SoftPlus": "Softplus", "SoftSign": "Softsign",
    "HSwish": "HardSwish", "LogicalNot": "Not",
}  # fmt: skip
_BINARY = {
    "Add": "Add", "Subtract": "Sub", "Multiply": "Mul", "Maximum": "Max", "Minimum": "Min", "Power": "Pow",
    "Equal": "Equal", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Less": "Less",
    "LessEqual": "LessOrEqual", "LogicalAnd": "And", "LogicalOr": "Or", "LogicalXor": "Xor", "Divide": "Div",
    "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor", "Select": "Where",
}  # fmt: skip
_REDUCTIONS = {f"Reduce{name}" for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2")}
Names = Sequence[str]


class NoCounterpart(Exception):
    """Raised for an operator without a counterpart in ONNX, at least for the given attributes and inputs."""


class OnnxGraph:
    """The ONNX graph of a model: `proto` is complete after construction. `onnx`: the package. Raises NoCounterpart."""

    def __init__(self, model: Model, onnx: Any) -> None:
        self._onnx = onnx
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._names: dict[Value, str] = {}
        helper = onnx.helper
        inputs = [self._entry(value, f"x{i}") for i, value in enumerate(model.inputs)]
        for node in model.nodes:
            if node.type in ENDS:
                continue
            if node.constant is not None:
                self._names[node.outputs[0]] = self.constant(node.constant, node.outputs[0])
                continue
            for value in node.outputs:
                self._names[value] = f"v{len(self._names)}"
            given = ["" if value is None else self._names[value] for value in node.inputs]
            self._translate(node, given, [self._names[value] for value in node.outputs])
        outputs = []
        for index, result in enumerate(model.results):
            end = result.inputs[0]
            assert end is not None
            self.add("Identity", [self._names[end]], [f"y{index}"])
            outputs.append(self._entry(end, f"y{index}", known=False))
        graph = helper.make_graph(self._nodes, "twin", inputs, outputs, self._constants)
        self.proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)

    def add(self, type: str, inputs: Names, outputs: Names, **attributes: Any) -> None:
        """Add a node."""
        self._nodes.append(self._onnx.helper.make_node(type, list(inputs), list(outputs), **attributes))

    def constant(self, array: Array, value: Value | None = None) -> str:
        """Add a constant; returns its name."""
        name = f"c{len(self._constants)}"
        if value is not None and (value.element_type.is_packed or value.element_type.dtype is None):
            raise NoCounterpart(f"constants of {value.element_type}")
        self._constants.append(self._onnx.numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def new(self) -> str:
        """Return a new name for an intermediate value."""
        return f"t{len(self._nodes)}"

    def _entry(self, value: Value, name: str, known: bool = True) -> Any:
        if known:
            self._names[value] = name
        if value.type.rank is None or value.element_type.dtype is None:
            raise NoCounterpart("a value without a rank")
        dims = [d.value if d.is_static else None for d in value.type.shape]
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(value.element_type.dtype)
        return self._onnx.helper.make_tensor_value_info(name, kind, dims if known else None)

    def _translate(self, node: Node, given: Names, made: Names) -> None:
        if (name := _UNARY.get(node.type)) is not None:
            self.add(name or node.type, given, made)
        elif node.type in _BINARY:
            self._pair(node, given, made)
        elif node.type in _REDUCTIONS:
            keep = int(node.all_attributes["keep_dims"])
            self.add(node.type, [given[0], self.rows(given[1])], made, keepdims=keep, noop_with_empty_axes=1)
        elif (rule := RULES.get(node.type)) is not None:
            rule(self, node, given, made)
        else:
            raise NoCounterpart(f"{node.type} has no counterpart in ONNX")

    def _pair(self, node: Node, given: Names, made: Names) -> None:
        attributes = node.all_attributes
        how = str(getattr(attributes.get("auto_broadcast"), "value", attributes.get("auto_broadcast", "numpy")))
        whole = node.outputs[0].element_type.is_integral
        if how == "pdpd" or (node.type == "Divide" and whole):
            raise NoCounterpart(f"{node.type} of {node.outputs[0].element_type} with auto_broadcast {how}")
        self.add(_BINARY[node.type], given, made)

    def rows(self, name: str) -> str:
        """Return the name of axes in the form that ONNX requires: a 1-D tensor of i64."""
        wide, flat = self.new(), self.new() + "r"
        self.add("Cast", [name], [wide], to=self._onnx.TensorProto.INT64)
        self.add("Reshape", [wide, self.constant(np.array([-1], np.int64))], [flat])
        return flat

    def cast(self, name: str, value: Value, out: str) -> None:
        """Add the conversion of a value to the element type of another value."""
        self.add("Cast", [name], [out], to=self._onnx.helper.np_dtype_to_tensor_dtype(value.element_type.dtype))


def fixed(node: Node, index: int) -> Array:
    """Return the constant at an input. Raises NoCounterpart if the input is not constant."""
    value = node.inputs[index]
    if value is None or value.node.constant is None:
        raise NoCounterpart(f"{node.type} with computed axes")
    return np.asarray(value.node.constant)


def _softmax(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    graph.add({"SoftMax": "Softmax"}.get(node.type, node.type), given, made, axis=int(node.all_attributes["axis"]))


def _clamp(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    dtype = node.outputs[0].element_type.dtype
    if not node.outputs[0].element_type.is_real or dtype is None:
        raise NoCounterpart("Clamp of integers")
    limits = [graph.constant(np.array(node.all_attributes[key]).astype(dtype)) for key in ("min", "max")]
    graph.add("Clip", [given[0], *limits], made)


def _transpose(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    order = fixed(node, 1).reshape(-1).tolist()
    rank = node.outputs[0].type.rank or 0
    graph.add("Transpose", given[:1], made, perm=[n % rank for n in order] or list(range(rank))[::-1])


def _concat(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    graph.add("Concat", given, made, axis=int(node.all_attributes["axis"]))


def _gather(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    if node.all_attributes.get("batch_dims", 0) or (fixed_or_none(node, 1) is None and node.version != "opset1"):
        raise NoCounterpart("Gather with batch_dims, or with indices that may be out of range")
    graph.add("Gather", given[:2], made, axis=int(fixed(node, 2).reshape(-1)[0]))


def fixed_or_none(node: Node, index: int) -> Array | None:
    """Return the constant at an input; None if the input is not a constant."""
    value = node.inputs[index]
    return None if value is None else value.node.constant


def _reshape(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    zero = int(not node.all_attributes["special_zero"])
    graph.add("Reshape", [given[0], graph.rows(given[1])], made, allowzero=zero)


def _axes_input(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    axes = [graph.rows(given[1])] if len(given) > 1 else []
    graph.add(node.type, [given[0], *axes], made)


def _convert(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    graph.cast(given[0], node.outputs[0], made[0])


def _matmul(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    names = []
    for index, key in enumerate(("transpose_a", "transpose_b")):
        rank = node.inputs[index].type.rank or 0  # type: ignore[union-attr]
        names.append(given[index])
        if node.all_attributes[key] and rank > 1:
            names[-1] = f"{graph.new()}{key}"
            order = [*range(rank - 2), rank - 1, rank - 2]
            graph.add("Transpose", [given[index]], [names[-1]], perm=order)
    graph.add("MatMul", names, made)


def _window(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    """Add a convolution or pooling, whose pads must be explicit."""
    a = node.all_attributes
    if str(getattr(a.get("auto_pad"), "value", a.get("auto_pad") or "explicit")) != "explicit":
        raise NoCounterpart(f"{node.type} with auto_pad")
    pads = [*map(int, a["pads_begin"]), *map(int, a["pads_end"])]
    given_all: dict[str, Any] = {"pads": pads, "strides": list(map(int, a["strides"]))}
    if node.type == "Convolution":
        given_all["dilations"] = list(map(int, a["dilations"]))
        graph.add("Conv", given, made, **given_all)
        return
    rounding = str(getattr(a.get("rounding_type"), "value", a.get("rounding_type") or "floor"))
    if rounding != "floor" or node.version not in ("opset1",):
        raise NoCounterpart(f"{node.type} with {rounding}")
    given_all["kernel_shape"] = list(map(int, a["kernel"]))
    if node.type == "AvgPool":
        given_all["count_include_pad"] = int(not a["exclude_pad"])
    graph.add({"AvgPool": "AveragePool"}.get(node.type, node.type), given, made, **given_all)


def _elements(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    if node.type == "GatherElements":
        graph.add("GatherElements", given, made, axis=int(node.all_attributes["axis"]))
    elif node.type == "GatherND" and node.version == "opset8":
        graph.add(
            "GatherND", [given[0], _wide(graph, given[1])], made, batch_dims=int(node.all_attributes["batch_dims"])
        )
    elif node.type == "ScatterNDUpdate" and str(node.all_attributes.get("reduction", "none")) == "none":
        graph.add("ScatterND", [given[0], _wide(graph, given[1]), given[2]], made)
    elif node.type == "ScatterElementsUpdate" and node.version == "opset3":
        graph.add("ScatterElements", given[:3], made, axis=int(fixed(node, 3).reshape(-1)[0]))
    else:
        raise NoCounterpart(f"{node.type} with a reduction")


def _wide(graph: OnnxGraph, name: str) -> str:
    wide = graph.new() + "w"
    graph.add("Cast", [name], [wide], to=7)
    return wide


def _shape(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    found = graph.new() + "s"
    graph.add("Shape", given, [found])
    graph.cast(found, node.outputs[0], made[0])


def _slice(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    start, stop, step = map(graph.rows, given[1:4])
    axes = graph.rows(given[4]) if len(given) > 4 else _all(graph, node)
    graph.add("Slice", [given[0], start, stop, axes, step], made)


def _all(graph: OnnxGraph, node: Node) -> str:
    count = len(fixed(node, 1).reshape(-1))
    return graph.constant(np.arange(count, dtype=np.int64))


def _tile(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    repeats, rank = fixed(node, 1).reshape(-1), node.inputs[0].type.rank  # type: ignore[union-attr]
    if len(repeats) != rank:
        raise NoCounterpart("Tile whose number of repeats differs from the rank")
    graph.add("Tile", [given[0], graph.rows(given[1])], made)


def _split(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    sizes = [graph.rows(given[2])] if len(given) > 2 else []
    count = {} if sizes else {"num_outputs": len(made)}
    graph.add("Split", [given[0], *sizes], made, axis=int(fixed(node, 1).reshape(-1)[0]), **count)


def _gelu(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    mode = str(getattr(node.all_attributes.get("approximation_mode"), "value", "")).lower() or "erf"
    graph.add("Gelu", given, made, approximate="tanh" if mode == "tanh" else "none")


def _elu(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    graph.add("Elu", given, made, alpha=float(node.all_attributes["alpha"]))


def _einsum(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    graph.add("Einsum", given, made, equation=str(node.all_attributes["equation"]))


def _cumsum(graph: OnnxGraph, node: Node, given: Names, made: Names) -> None:
    a = node.all_attributes
    axis = graph.new() + "a"
    graph.add("Reshape", [graph.rows(given[1]), graph.constant(np.zeros(0, np.int64))], [axis])
    graph.add("CumSum", [given[0], axis], made, exclusive=int(a["exclusive"]), reverse=int(a["reverse"]))


RULES: dict[str, Callable[[OnnxGraph, Node, Names, Names], None]] = {
    "SoftMax": _softmax, "LogSoftmax": _softmax, "Clamp": _clamp, "Transpose": _transpose, "Concat": _concat,
    "Gather": _gather, "Reshape": _reshape, "Squeeze": _axes_input, "Unsqueeze": _axes_input, "Convert": _convert,
    "MatMul": _matmul, "Convolution": _window, "MaxPool": _window, "AvgPool": _window, "GatherElements": _elements,
    "GatherND": _elements, "ScatterNDUpdate": _elements, "ScatterElementsUpdate": _elements, "ShapeOf": _shape,
    "Slice": _slice, "Tile": _tile, "Split": _split, "VariadicSplit": _split, "Gelu": _gelu, "Elu": _elu,
    "Einsum": _einsum, "CumSum": _cumsum,
}  # fmt: skip
"""The functions that add operators whose ONNX counterpart differs in more than its name."""
