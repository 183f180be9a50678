"""Cases: the model and the inputs that a name describes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from irexec.api.opsets.nodes import constant_node, make_node, parameter_node
from irexec.core.records import field, record
from irexec.core.structure import RESULT, STRUCTURAL
from irexec.core.types import Array
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.movement.transpose import transpose_1
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Transposition
from irexec.tools.conformance.forbidden import FLAG as FORBIDDEN
from irexec.tools.conformance.forbidden import forbidden_node, reason_of
from irexec.tools.conformance.names import CaseName, Port, UnreadableName
from irexec.tools.conformance.values import draw_inputs

SETTINGS = ("default", "one-thread", "requests")
"""The flags that select other settings of the runtime than computing in f32."""


@record
class Case:
    """A model with the inputs of its calls. `calls` are positions in `inputs`, in the order in which they run."""

    name: str
    model: Model
    inputs: list[list[Array]]
    calls: tuple[int, ...]
    flags: tuple[str, ...] = ()
    operator: str = ""
    """The operator with its version, or the pattern of a graph."""
    kind: str = "static"
    facts: dict[str, str] = field(default_factory=dict)
    """The properties by which failures are clustered, besides operator and kind."""
    source: bytes | None = None
    """The ONNX file from which the model was made: the runtime reads this file instead of IR."""

    @property
    def config(self) -> str:
        """The settings of the runtime: f32, f32 with one thread or with several requests, or the device's defaults."""
        return next((flag for flag in SETTINGS if flag in self.flags), "f32")


def operator_named(text: str) -> Operator:
    """Return the operator of a versioned name such as `Gather-8`. Raises UnreadableName."""
    type, _, version = text.rpartition("-")
    found = find(type, f"opset{version}")
    if found is None or found.versioned_name != text:
        raise UnreadableName(f"{text!r} is not an operator with a version, such as Gather-8")
    return found


@lru_cache(maxsize=512)
def _parsed(operator: Operator, attributes: tuple[tuple[str, str], ...]) -> dict[str, object]:
    values, faults = operator.parse_attributes(dict(attributes))
    if faults:
        raise UnreadableName(f"{operator}: {faults[0].message}")
    return values


def parsed_attributes(name: CaseName, operator: Operator) -> dict[str, object]:
    """Return the attributes of a case as arguments of the kernel. Raises UnreadableName."""
    return _parsed(operator, name.attributes)


def operator_case(name: CaseName) -> Case:
    """Return the case of one operator. Raises UnreadableName, and IRError if the operator does not accept it."""
    operator = operator_named(name.operator)
    forbidden = FORBIDDEN in name.flags
    attributes = operator.parse_attributes(dict(name.attributes))[0] if forbidden else parsed_attributes(name, operator)
    drawn = [draw_inputs(name, operator, attributes, call) for call in range(max(name.calls) + 1)]
    parameters: list[Node] = []
    values = [
        None if port is None else _source(port, array, parameters)
        for port, array in zip(name.ports, drawn[0], strict=True)
    ]
    if forbidden:
        node = forbidden_node(operator, values, name.attributes)
    else:
        node = make_node(Node, operator, values, dict(name.attributes), name="op")
    turned = "turned" in name.flags
    outputs = [_turned(value) if turned else value for value in node.outputs]
    results = [make_node(Node, _operator(RESULT, 1), [value], {}, name=f"out{i}") for i, value in enumerate(outputs)]
    model = Model(results, parameters, name.operator)
    inputs = [_given(name.ports, arrays) for arrays in drawn]
    calls = name.calls * 2 if "twice" in name.flags and len(name.calls) == 1 else name.calls
    return Case(str(name), model, inputs, calls, name.flags, name.operator, name.kind, facts_of(name))


def facts_of(name: CaseName) -> dict[str, str]:
    """Return the properties of a case that failures may have in common."""
    found = {f"attribute {key}": value for key, value in name.attributes}
    found["type"] = name.base.name
    found["data"] = name.data
    for port in name.ports:
        if port is not None:
            found[f"{port.name} is"] = "constant" if port.constant else "computed"
            found[f"{port.name} rank"] = str(len(port.dims))
            found[f"{port.name} type"] = port.kind.name
            if port.order is not None:
                found[f"{port.name} layout"] = "transposed"
            if port.second is not None:
                found[f"{port.name} values"] = "change between calls"
            if any(d.at(0) == 0 for d in port.dims):
                found["empty"] = "yes"
    for flag in name.flags:
        found[flag] = "yes" if flag != FORBIDDEN else reason_of(operator_named(name.operator), name)
    return found


def computing(model: Model) -> list[Node]:
    """Return the layers that compute, without those that undo another layout of an input or result."""
    return [node for node in model.nodes if node.type not in STRUCTURAL and Transposition not in node.traits]


def _operator(type: str, version: int) -> Operator:
    return operator_named(f"{type}-{version}")


def _source(port: Port, array: Array | None, parameters: list[Node]) -> Value:
    assert array is not None
    if port.constant:
        return constant_node(Node, array, element_type=port.kind, name=port.name).outputs[0]
    parameter = parameter_node(Node, port.declared, port.kind.name, name=port.name)
    parameter.outputs[0].names.add(port.name)
    parameters.append(parameter)
    if port.order is None:
        return parameter.outputs[0]
    back = np.argsort(np.array(port.order, np.int64)).astype(np.int64)
    turned = make_node(Node, transpose_1, [parameter.outputs[0], back], {}, name=f"{port.name}_turned")
    return turned.outputs[0]


def _turned(value: Value) -> Value:
    rank = value.type.rank
    if rank is None or rank < 2:
        return value
    order = np.arange(rank, dtype=np.int64)[::-1].copy()
    return make_node(Node, transpose_1, [value, order], {}, name=f"turned{value.index}").outputs[0]


def _given(ports: Sequence[Port | None], arrays: Sequence[Array | None]) -> list[Array]:
    """Return the arrays of the model's own inputs: before the Transposes, without constants."""
    found = []
    for port, array in zip(ports, arrays, strict=True):
        if port is not None and array is not None and not port.constant:
            found.append(array if port.order is None else np.ascontiguousarray(np.transpose(array, port.order)))
    return found
