"""New nodes: an operator on the outputs of others, with its attributes; constants; parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.arrays.accept import as_plain_array
from irexec.diagnostics import IRError
from irexec.diagnostics.findings import Findings
from irexec.graph.consumers import note_inputs
from irexec.graph.evaluate import check_count, natural, raise_findings
from irexec.graph.model import Node, Value
from irexec.inference.infer import infer_node
from irexec.ops.declare import contents
from irexec.ops.declare.operator import Operator
from irexec.opsets.computed import value_of
from irexec.opsets.element_types import element_type_of
from irexec.types import Array, ElementType, TensorType, shape_like

_before_nodes: list[Callable[[], object]] = []


def before_nodes(prepare: Callable[[], object]) -> None:
    """Have `prepare` called before the next node is made: rooms above this one add words to the class then."""
    _before_nodes.append(prepare)


def prepared() -> None:
    """Call what waits for the next node."""
    while _before_nodes:
        _before_nodes.pop()()


def make_node(operator: Operator, inputs: Sequence[Any], attributes: dict[str, Any], name: str = "") -> Node:
    """A new node on the outputs of others; arrays among the inputs become constants. Raises IRError."""
    prepared()
    values = _as_values(operator, inputs)
    parsed, problems = operator.parse_attributes(attributes)
    check_count(operator, values)
    raise_findings(operator, problems, [])
    node = Node(operator, values, parsed, name=name)
    note_inputs(node)
    infer_outputs(node)
    if operator.type == "Result" and values[0] is not None:
        node.outputs[0].names |= values[0].names
    return node


def infer_outputs(node: Node) -> None:
    """Give the outputs of one node their types. Raises IRError with all that its operator says against it."""
    findings = Findings()
    types = infer_node(node, findings)
    if not findings.report.ok:
        raise IRError(findings.report)
    node.set_outputs(types)


def _as_values(operator: Operator, inputs: Sequence[Any]) -> list[Value | None]:
    """Nodes as their outputs; arrays as constants; numbers and lists in the type that the port's group has."""
    groups: dict[str | None, np.dtype[Any] | None] = {}
    found: list[Value | None] = [value_of(given) for given in inputs]
    for index, value in enumerate(found):
        if value is not None:
            groups.setdefault(operator.signature.input(index).elements.name, value.element_type.dtype)
    for index, given in enumerate(inputs):
        if given is None or found[index] is not None:
            continue
        elements = operator.signature.input(index).elements
        array = _plain(operator, index, given)
        if not isinstance(given, (np.ndarray, np.generic)):
            group = groups.get(elements.name) if elements.name is not None else None
            array = array.astype(group if group is not None else natural(array, elements.types))
        found[index] = constant_node(array).outputs[0]
    while found and found[-1] is None:
        found.pop()
    return found


def _plain(operator: Operator, index: int, given: Any) -> Array:
    try:
        return as_plain_array(as_list(given))
    except (ValueError, TypeError) as error:
        port = operator.signature.port_name(index)
        raise IRError(Findings().add("O008", f"input {port} of {operator} is no tensor: {error}", port=port)) from error


def as_list(given: Any) -> Any:
    """An argument as it is; a set, as axes may be given, in order."""
    return sorted(given) if isinstance(given, (set, frozenset)) else given


def constant_node(value: Any, dtype: Any = None, name: str = "", element_type: ElementType | None = None) -> Node:
    """A Const that holds a value. `element_type` where the array's dtype does not say it (u1, nf4, ...)."""
    prepared()
    kind = element_type or (None if dtype is None else element_type_of(dtype))
    array = np.array(value) if kind is None or element_type else np.array(value).astype(kind.dtype)
    if array.dtype.kind in "US":
        array = array.astype(np.str_).astype(np.dtypes.StringDType())
    kind = kind or ElementType.of(array.dtype)
    node = Node(contents.load("Const", 1), (), {"element_type": kind, "shape": array.shape}, name=name)
    node.constant = array
    node.set_outputs([TensorType.of(array, kind)])
    return node


def parameter_node(shape: Any, dtype: Any = np.float32, name: str = "") -> Node:
    """An input of the model, of a (partial) shape and an element type, NumPy dtype or type name."""
    prepared()
    kind, extents = element_type_of(dtype), shape_like(shape)
    node = Node(contents.load("Parameter", 1), (), {"shape": extents, "element_type": kind}, name=name)
    node.set_outputs([TensorType(kind, extents)])
    if name:
        node.outputs[0].names.add(name)
    return node
