"""Summarizing: one pass over a model's layers, including bodies, that collects the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from irexec.core.diagnostics import Report
from irexec.core.diagnostics.findings import At
from irexec.core.structure import CONST, CONVERT, IF, LOOP, READ_VALUE, RESULT
from irexec.core.types import TensorType
from irexec.ir import document
from irexec.ir.xml.source import Source
from irexec.model.arrays.brief import shown
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.model.inference import Inference
from irexec.ops.spec.attributes import attribute_text
from irexec.ops.spec.work import multiply_adds
from irexec.tools.inspect.facts import (
    Attribute,
    Input,
    Layer,
    Live,
    LiveValue,
    OperatorCount,
    Output,
    Port,
    State,
    Summary,
    Totals,
)
from irexec.tools.inspect.memory import Peak, bytes_of, peak_of
from irexec.tools.inspect.provenance import provenance

_BRANCHES = {IF: ("then", "else")}
_SHOWN_CONSTANT = 64


def summarize(
    model: Model,
    report: Report | None = None,
    source: Source | None = None,
    types: Inference | None = None,
    lines: Iterable[tuple[document.Layer, str]] = (),
) -> Summary:
    """Return the facts about a model. `source` is the text from which it was read, for the places of its layers;
    `lines`: its layers in the text form.

    `types`: the types of its values for certain inputs, by default those of the model.
    """
    findings = report or Report()
    types = Inference() if types is None else types
    layers = list(_layers(model, source, types))
    texts = {id(layer): line for layer, line in lines}
    for row in layers:
        row.facts.text = texts.get(id(row.node.layer), "")
    _add_findings(layers, findings)
    facts = [row.facts for row in layers]
    return Summary(
        name=model.name,
        file=model.file,
        version=model.version,
        inputs=[_port(value, value.node.friendly_name, types) for value in model.inputs],
        outputs=[_port(value, _result_name(value.node), types) for value in model.outputs],
        totals=_totals(model, layers, types),
        states=_states(layers, types),
        provenance=provenance(model.rt_info),
        layers=facts,
        findings=[finding.to_dict() for finding in findings],
    )


@dataclass(slots=True)
class _Row:
    """A layer and its node. `times`: how often the layer runs in one inference; None if this number is unknown."""

    node: Node
    facts: Layer
    times: int | None = 1
    children: list[_Row] = field(default_factory=list)


def _layers(
    model: Model,
    source: Source | None,
    types: Inference,
    first: int = 0,
    parent: int | None = None,
    branch: str = "",
    times: int | None = 1,
) -> Iterator[_Row]:
    """Yield rows of all layers; a layer of a body comes after the layer that holds the body."""
    index = first
    known: dict[Value | None, tuple[int | None, int]] = {}
    unreachable = set(model.unreachable)
    for node in (*model.nodes, *model.unreachable):
        facts = _layer(node, index, known, source, types)
        facts.parent, facts.branch, facts.unreachable = parent, branch, node in unreachable
        yield _Row(node, facts, times)
        known |= {value: (index, number) for number, value in enumerate(node.outputs)}
        outer, index = index, index + 1
        names = _BRANCHES.get(node.type, ("body",))
        for name, body in zip(names, node.bodies, strict=False):
            often = _iterations(node, body, types)
            inside = None if often is None or times is None else often * times
            for row in _layers(body.model, source, types, index, outer, name, inside):
                yield row
                index += 1


def _layer(
    node: Node, index: int, known: dict[Value | None, tuple[int | None, int]], source: Source | None, types: Inference
) -> Layer:
    operator = node.operator
    facts = Layer(index, node.id, node.friendly_name, node.type, node.version, str(operator) if operator else None)
    facts.attributes = list(_attributes(node))
    for position, value in enumerate(node.inputs):
        name = operator.signature.port_name(position) if operator and operator.inputs else str(position)
        facts.inputs.append(Input(name, *known.get(value, (None, 0))))
    facts.outputs = [_output(value, types[value]) for value in node.outputs]
    if node.constant is not None:
        facts.constant = _constant_text(node)
    facts.multiply_adds = multiply_adds_of(node, types)
    if node.layer is not None and source is not None:
        place = source.locate(At(node.layer.at))
        facts.line, facts.column = place.line, place.column
    return facts


def _attributes(node: Node) -> Iterator[Attribute]:
    written = node.layer.data if node.layer is not None else {}
    if node.operator is None or node.type == CONST:
        yield from (Attribute(name, text) for name, text in written.items())
        if node.operator is None and node.layer is None:
            yield from (Attribute(name, str(value)) for name, value in node.attributes.items())
        return
    for attribute in node.operator.attributes:
        if attribute.name in node.attributes:
            value = node.attributes[attribute.name]
            default = attribute.file_name not in written if node.layer is not None else value == attribute.default
            yield Attribute(attribute.file_name, "" if value is None else attribute_text(value), bool(default))
        elif attribute.file_name in written:  # A finding reports an invalid value of an attribute.
            yield Attribute(attribute.file_name, written[attribute.file_name])
    known = {attribute.file_name for attribute in node.operator.attributes}
    yield from (Attribute(name, text) for name, text in written.items() if name not in known)


def _output(value: Value, type: TensorType) -> Output:
    declared = value.declared
    if value.node.type == RESULT or str(declared) == str(type):
        declared = None
    return Output(
        str(type.element_type),
        str(type.shape),
        f"{declared.element_type} {declared.shape}" if declared is not None else None,
        sorted(value.names),
        bytes_of(type),
    )


def _constant_text(node: Node) -> str:
    assert node.constant is not None
    array = node.constant
    if array.size <= _SHOWN_CONSTANT:
        return shown(array, 200)
    return shown(array.reshape(-1)[:8]).removesuffix("]") + ", ...]"


def _port(value: Value, name: str, types: Inference) -> Port:
    type = types[value]
    return Port(name, str(type.element_type), str(type.shape), sorted(value.names))


def _result_name(result: Node) -> str:
    value = result.outputs[0]
    if value.names:
        return min(value.names)
    source = result.inputs[0] if result.inputs else None
    return source.node.friendly_name if source is not None else result.friendly_name


def _iterations(node: Node, body: Body, types: Inference) -> int | None:
    """Return the number of iterations of a body, if a sliced input or a constant trip count of a Loop determines it."""
    if node.type == IF:
        return 1
    if node.type == LOOP:
        trip = types[node.inputs[0]].scalar if node.inputs and node.inputs[0] is not None else None
        goes_on = body.model.results[body.condition].inputs[0] if body.condition is not None else None
        steady = goes_on is not None and types[goes_on].scalar is not None and bool(types[goes_on].scalar)
        return int(trip) if trip is not None and trip >= 0 and steady else None
    given = types.inputs(node)
    for entry in body.inputs:
        outer = given[entry.external] if entry.external is not None and entry.external < len(given) else None
        if entry.slicing is None or outer is None or outer.rank is None:
            continue
        axis = entry.slicing.axis
        if -outer.rank <= axis < outer.rank and (extent := outer.shape[axis]).is_static:
            return entry.slicing.count(extent.value)
    return None


# Findings


def _add_findings(rows: Sequence[_Row], report: Report) -> None:
    """Add each finding to its layer. Layers of two bodies with the same name are distinguished by their place."""
    by_ref: dict[Any, list[Layer]] = {}
    for row in rows:
        by_ref.setdefault(row.node.ref, []).append(row.facts)
        if row.node.layer is not None and row.node.layer.ref != row.node.ref:
            by_ref.setdefault(row.node.layer.ref, []).append(row.facts)
    for number, finding in enumerate(report):
        found = by_ref.get(finding.layer, []) if finding.layer is not None else []
        before = [layer for layer in found if (layer.line or 0) <= (finding.line or 0)]
        if found:
            max(before or found, key=lambda layer: layer.line or 0).findings.append(number)


# Sums


def _totals(model: Model, rows: Sequence[_Row], types: Inference) -> Totals:
    constants = [node for row in rows if ((node := row.node).type == CONST or node.held is not None) and node.outputs]
    weights: Counter[str] = Counter()
    for node in constants:
        weights[str(node.outputs[0].element_type)] += stored_bytes(node)
    operators: dict[str, OperatorCount] = {}
    uncounted: list[int] = []
    for row in rows:
        facts = row.facts
        name = facts.operator or f"{facts.type} ({facts.version})"
        count = operators.setdefault(name, OperatorCount(name, 0, 0))
        count.layers += 1
        count.multiply_adds += (facts.multiply_adds or 0) * (1 if row.times is None else row.times)
        if facts.multiply_adds is None or (facts.multiply_adds and row.times is None):
            uncounted.append(facts.index)
    return Totals(
        layers=len(rows),
        constants=len(constants),
        parameters=sum(_size(node) for node in constants if _is_parameter(node)),
        weight_bytes=sum(weights.values()),
        weight_types=dict(weights.most_common()),
        multiply_adds=sum(count.multiply_adds for count in operators.values()),
        uncounted=uncounted,
        live=_live(peak_of(model, types), rows, types),
        opsets=dict(sorted(Counter(row.facts.version for row in rows).items(), key=lambda item: _natural(item[0]))),
        operators=sorted(operators.values(), key=lambda count: (-count.layers, count.operator)),
        dynamic=[row.facts.index for row in rows if any(not types[v].shape.is_static for v in row.node.outputs)],
    )


def _live(peak: Peak | None, rows: Sequence[_Row], types: Inference) -> Live:
    if peak is None:
        return Live(None)
    index = {row.node: row.facts.index for row in rows}
    values = [
        LiveValue(index[v.node], v.index, str(types[v].element_type), str(types[v].shape), bytes_of(types[v]) or 0)
        for v in peak.values
    ]
    where = None if peak.node is None else index[peak.node]
    return Live(peak.bytes, where, sorted(values, key=lambda value: -value.bytes))


def _natural(version: str) -> tuple[str, int]:
    name = version.rstrip("0123456789")
    return name, int(version[len(name) :] or 0)


def _size(node: Node) -> int:
    """Return the number of elements of a constant, even if the `.bin` does not contain them."""
    shape = node.outputs[0].type.shape
    return prod(shape.to_shape()) if shape.is_static else 0


def stored_bytes(node: Node) -> int:
    """Return the size of a constant in the `.bin`, in bytes."""
    size = node.layer.data.get("size", "") if node.layer is not None else ""
    return int(size) if size.isascii() and size.isdigit() else node.outputs[0].element_type.nbytes(_size(node))


def _is_parameter(node: Node) -> bool:
    value = node.outputs[0]
    converts = (user for user in value.users if user.type == CONVERT)
    return bool(value.element_type.is_real) or any(user.outputs[0].element_type.is_real for user in converts)


def multiply_adds_of(node: Node, types: Inference) -> int | None:
    """Return the multiply-adds of a layer, without its bodies; None if they depend on dynamic shapes."""
    if node.operator is None:
        return 0
    return multiply_adds(node.operator, types.inputs(node), node.all_attributes, types.outputs(node))


def _states(rows: Sequence[_Row], types: Inference) -> list[State]:
    found: dict[str, State] = {}
    for row in rows:
        if not row.node.has_state:
            continue
        name = str(row.node.attributes.get("variable_id", ""))
        type = types[row.node.outputs[0]] if row.node.outputs else TensorType()
        state = found.setdefault(name, State(name, str(type.element_type), str(type.shape)))
        (state.reads if row.node.type == READ_VALUE else state.assigns).append(row.facts.index)
    return list(found.values())
