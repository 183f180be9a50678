"""Creating nodes of a class that the caller names: operators on the outputs of other nodes, constants, parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from irexec.api.opsets.computed import value_of
from irexec.api.opsets.element_types import element_type_of
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.structure import RESULT
from irexec.core.types import Array, ElementType, ShapeLike, TensorType, TypeLike, shape_like
from irexec.model.arrays.accept import as_plain_array
from irexec.model.graph import ends
from irexec.model.graph.evaluate import check_count, natural, raise_findings
from irexec.model.graph.model import Node, Value
from irexec.model.inference.infer import infer_node
from irexec.ops.compute.casting import elements
from irexec.ops.spec.operator import Operator

N = TypeVar("N", bound=Node)


def make_node(
    node_class: type[N], operator: Operator, inputs: Sequence[Any], attributes: dict[str, Any], name: str = ""
) -> N:
    """Return a new node on the outputs of other nodes; arrays among the inputs become constants. Raises IRError."""
    values = _as_values(node_class, operator, inputs)
    check_count(operator, values)
    parsed, faults = operator.parse_attributes(attributes)
    if faults:
        types = [None if value is None else value.type for value in values]
        raise_findings(operator, faults, operator.accept(inputs=types).breaches)
    node = node_class(operator, values, parsed, name=name)
    try:
        infer_outputs(node)
    except IRError:
        node.inputs = ()  # Remove the rejected node from the users of its inputs.
        raise
    if operator.type == RESULT and values[0] is not None:
        node.outputs[0].names = values[0].names  # A Result has no tensor of its own.
    return node


def infer_outputs(node: Node) -> None:
    """Set the types of one node's outputs. Raises IRError with all errors that its operator reports."""
    findings = Findings()
    types = infer_node(node, findings)
    if not findings.report.ok:
        raise IRError(findings.report)
    node.set_outputs(types)


def _as_values(node_class: type[Node], operator: Operator, inputs: Sequence[Any]) -> list[Value | None]:
    """Return nodes as their outputs, arrays as constants, numbers and lists in the type of the port's group."""
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
            try:
                array = array.astype(group if group is not None else natural(array, elements.types))
            except (ValueError, TypeError) as error:
                raise _not_a_tensor(operator, index, error) from error
        found[index] = constant_node(node_class, array).outputs[0]
    while found and found[-1] is None:
        found.pop()
    return found


def _plain(operator: Operator, index: int, given: Any) -> Array:
    try:
        return as_plain_array(as_list(given))
    except (ValueError, TypeError) as error:
        raise _not_a_tensor(operator, index, error) from error


def _not_a_tensor(operator: Operator, index: int, error: Exception) -> IRError:
    port = operator.signature.port_name(index)
    return IRError(Findings().add("O008", f"input {port} of {operator} is not a tensor: {error}", port=port))


def as_list(given: Any) -> Any:
    """Return an argument unchanged, or a sorted list for a set, which is allowed for axes."""
    return sorted(given) if isinstance(given, (set, frozenset)) else given


class HasElements(Protocol):
    """A tensor of OpenVINO's API, which has an element type of its own: the dtype of its array may not determine it."""

    @property
    def element_type(self) -> ElementType: ...

    def values(self) -> Array: ...


def constant_node(
    node_class: type[N],
    value: Any,
    dtype: TypeLike | None = None,
    name: str = "",
    element_type: ElementType | None = None,
    *,
    shared: bool = False,
) -> N:
    """Return a Const with a value: an array, a number, a list, or a tensor (`HasElements`).

    `element_type` is needed if the dtype does not determine it (u1, nf4, ...). `shared`: an array of the constant's own
    dtype is not copied, so that later changes of it change the constant.
    """
    kind = element_type or (None if dtype is None else element_type_of(dtype))
    if isinstance(getattr(value, "element_type", None), ElementType) and callable(getattr(value, "values", None)):
        if kind is None or kind is value.element_type:
            kind = element_type = value.element_type
        value = value.values()
    array = np.asarray(value) if shared else np.array(value)
    if kind is not None and not element_type:
        array = elements(array, kind)
    if array.dtype.kind in "US":
        array = array.astype(np.str_).astype(np.dtypes.StringDType())
    kind = kind or ElementType.of(array.dtype)
    return ends.constant_node(node_class, array, kind, name)


def parameter_node(node_class: type[N], shape: ShapeLike, dtype: TypeLike = np.float32, name: str = "") -> N:
    """Return an input of the model, of a (partial) shape and an element type, NumPy dtype or type name."""
    return ends.parameter_node(node_class, TensorType(element_type_of(dtype), shape_like(shape)), name)
