"""The opset namespaces: `irexec.opset15.scatter_nd_update(...)` evaluates on arrays, and builds nodes from nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from irexec.graph.evaluate import check_count, evaluate, input_arrays, natural, raise_findings
from irexec.graph.model import Node, Value
from irexec.ops.declare import contents
from irexec.ops.declare.operator import REGISTRY, Breach, Operator
from irexec.types import ElementType, PartialShape, TensorType, shape_like

# Names that OpenVINO's Python API cuts elsewhere than at capitals.
_NAMES = {
    "BGRtoNV12": "bgr_to_nv12", "Col2Im": "col2im", "Const": "constant", "ErfInv": "erfinv", "HSigmoid": "hsigmoid",
    "ExperimentalDetectronTopKROIs": "experimental_detectron_topk_rois", "HSwish": "hswish", "I420toBGR": "i420_to_bgr",
    "GroupedMatMul": "grouped_matmul", "I420toRGB": "i420_to_rgb", "If": "if_op", "IsNaN": "is_nan", "MatMul": "matmul",
    "NV12toBGR": "nv12_to_bgr", "NV12toRGB": "nv12_to_rgb", "PReLU": "prelu", "RGBtoNV12": "rgb_to_nv12",
    "ReLU": "relu", "SoftMax": "softmax", "SoftPlus": "softplus", "SoftSign": "softsign", "TopK": "topk",
}  # fmt: skip


# Second names that OpenVINO's Python API gives an operator.
_ALIASES = {"absolute": "Abs", "ceil": "Ceiling", "cumsum": "CumSum"}


def python_name(type: str) -> str:
    """The name of an operator in an opset namespace, by OpenVINO's habit: `ScatterNDUpdate` → `scatter_nd_update`."""
    if type in _NAMES:
        return _NAMES[type]
    return "_".join(re.findall(r"[A-Z]+[0-9]*(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+", type)).lower()


class Namespace:
    """All operators of one opset, as functions."""

    def __init__(self, opset: str) -> None:
        self._opset = opset
        self.__name__ = f"irexec.{opset}"

    @property
    def _types(self) -> dict[str, str]:
        return _types(self._opset, len(REGISTRY))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in self._types:
            raise AttributeError(f"{self._opset} has no operator {name!r}")
        type = self._types[name]
        operator = contents.find(type, self._opset)
        if operator is None:
            raise AttributeError(f"{type} of {self._opset} is not implemented yet")
        made = _SPECIAL.get(type)
        function = made(operator) if made else _function(operator)
        function.__name__ = name
        setattr(self, name, function)
        return function

    def __dir__(self) -> list[str]:
        return sorted(self._types)

    def __repr__(self) -> str:
        return f"<opset {self._opset!r}>"


@cache
def _types(opset: str, registered: int) -> dict[str, str]:
    """Python name → type, of all operators that the opset has."""
    number = opset.removeprefix("opset")
    own = [type for type, version in REGISTRY if version == opset]
    if opset in contents.ONNX_OPSETS:
        own += [type for type, version in REGISTRY if version in contents.ONNX_OPSETS and contents.find(type, opset)]
    if number != opset and number.isdigit():
        own += [type for type in contents.CONTENTS if contents.introduced(type, int(number)) is not None]
    names = {python_name(type): type for type in own}
    return names | {alias: type for alias, type in _ALIASES.items() if type in names.values()}


@cache
def namespace(opset: str) -> Namespace:
    """The namespace of an opset by its name, `opset1` to `opset17` or `onnx11` and the like. Raises AttributeError."""
    number = opset.removeprefix("opset")
    if number != opset and number.isdigit():
        if not 1 <= int(number) <= contents.NEWEST:
            raise AttributeError(f"there is no {opset}: opset1 to opset{contents.NEWEST}")
    else:
        contents.find("", opset)
        if not _types(opset, len(REGISTRY)):
            raise AttributeError(f"there is no operator of {opset}")
    return Namespace(opset)


def _function(operator: Operator) -> Callable[..., Any]:
    def call(*inputs: Any, name: str = "", **attributes: Any) -> Any:
        inputs, attributes = _named_inputs(operator, inputs, attributes)
        if any(isinstance(i, (Node, Value)) for i in inputs):
            return make_node(operator, inputs, attributes, name)
        results = evaluate(operator, input_arrays(operator, inputs), attributes)
        return results[0] if len(operator.outputs) == 1 and not operator.outputs[0].variadic else tuple(results)

    call.__name__, call.__doc__ = operator.__name__, operator.__doc__
    call.__signature__ = operator.__signature__  # type: ignore[attr-defined]
    return call


def _named_inputs(
    operator: Operator, inputs: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs may be given by name, and a variadic operator's as one list."""
    names = [i.name for i in operator.inputs]
    given = (
        list(inputs[0]) if operator.signature.is_variadic and inputs and isinstance(inputs[0], list) else list(inputs)
    )
    if isinstance(inputs[0] if inputs else None, list) and operator.signature.is_variadic:
        given += inputs[1:]
    rest = dict(keywords)
    for index, name in enumerate(names):
        if name in rest and not operator.inputs[index].variadic:
            given += [None] * (index + 1 - len(given))
            given[index] = rest.pop(name)
    return tuple(given), rest


def make_node(operator: Operator, inputs: tuple[Any, ...], attributes: dict[str, Any], name: str = "") -> Node:
    """A new node on the outputs of others; arrays among the inputs become constants. Raises IRError."""
    groups: dict[str | None, np.dtype[Any] | None] = {}
    for index, value in enumerate(inputs):
        if isinstance(value, (Node, Value)):
            elements = operator.signature.input(index).elements
            groups.setdefault(elements.name, as_value(value).element_type.dtype)
    values: list[Value | None] = []
    for index, value in enumerate(inputs):
        if value is None or isinstance(value, (Node, Value)):
            values.append(None if value is None else as_value(value))
            continue
        elements = operator.signature.input(index).elements
        array = np.asarray(value)
        if not isinstance(value, np.ndarray):
            group = groups.get(elements.name) if elements.name is not None else None
            array = array.astype(group if group is not None else natural(array, elements.types))
        values.append(constant_node(array).outputs[0])
    while values and values[-1] is None:
        values.pop()
    parsed, problems = operator.parse_attributes(attributes)
    breaches: list[Breach] = []
    node = Node(operator, values, parsed, name=name)
    check_count(operator, values)
    types = operator.infer([None if v is None else v.type for v in values], parsed, breaches) if not problems else []
    raise_findings(operator, problems, breaches)
    node.set_outputs(types)
    return node


def as_value(value: Node | Value) -> Value:
    """The single output of a node, or the value itself. Raises ValueError for a node with several outputs."""
    if isinstance(value, Value):
        return value
    if len(value.outputs) != 1:
        raise ValueError(f"{value!r} has {len(value.outputs)} outputs: name one with .output(i)")
    return value.outputs[0]


def constant_node(value: Any, dtype: Any = None, name: str = "", element_type: ElementType | None = None) -> Node:
    """A Const that holds a value. `element_type` where the array's dtype does not say it (u1, nf4, ...)."""
    array = np.array(value) if dtype is None else np.array(value, _numpy_dtype(dtype))
    if array.dtype.kind == "U":
        array = array.astype(np.dtypes.StringDType())
    kind = element_type or (dtype if isinstance(dtype, ElementType) else ElementType.of(array.dtype))
    node = Node(contents.load("Const", 1), (), {"element_type": kind, "shape": array.shape}, name=name)
    node.constant = array
    node.set_outputs([TensorType.of(array, kind)])
    return node


def _numpy_dtype(dtype: Any) -> Any:
    return dtype.dtype if isinstance(dtype, ElementType) else dtype


def _constant(operator: Operator) -> Callable[..., Any]:
    def constant(value: Any, dtype: Any = None, name: str = "", **_: Any) -> Node:
        return constant_node(value, dtype, name)

    return constant


def _parameter(operator: Operator) -> Callable[..., Any]:
    def parameter(shape: Any, dtype: Any = np.float32, name: str = "") -> Node:
        """An input of the model, of a (partial) shape and an element type, NumPy dtype or type name."""
        kind = ElementType.from_attribute(dtype) if isinstance(dtype, str) else None
        if kind is None:
            kind = dtype if isinstance(dtype, ElementType) else ElementType.of(dtype)
        extents: PartialShape = shape_like(shape)
        node = Node(operator, (), {"shape": extents, "element_type": kind}, name=name)
        node.set_outputs([TensorType(kind, extents)])
        if name:
            node.outputs[0].names.add(name)
        return node

    return parameter


_SPECIAL: dict[str, Callable[[Operator], Callable[..., Any]]] = {"Const": _constant, "Parameter": _parameter}
