"""Inference of If, Loop and TensorIterator: types are passed into the bodies, and returned through their maps.

Source: operation pages If-8, Loop-5, TensorIterator-1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.structure import IF, LOOP, TENSOR_ITERATOR
from irexec.core.types import (
    BOOLEAN,
    DYNAMIC,
    INDICES,
    U8,
    Dimension,
    ElementType,
    PartialShape,
    TensorType,
    UnknownRank,
)
from irexec.model.graph.body_maps import BodyInput, BodyOutput
from irexec.model.graph.model import Body, Node, Value
from irexec.model.inference.inference import Inference

Inputs = Sequence[TensorType | None]
_NOT_COMPARED = "accepts the file; the result is undefined, or the layer fails when it runs"


class Inferring(Protocol):
    """The part of an inference that operators with bodies use."""

    findings: Findings
    inference: Inference
    broken: int
    has_given_types: bool

    def body(self, body: Body, parameters: Sequence[TensorType]) -> Inferring:
        """Return the inference of a body for these types of its Parameters."""

    def take(self, trial: Inferring) -> None:
        """Add the types and findings of a body to this inference."""


def infer_if(node: Node, inputs: Inputs, run: Inferring) -> list[TensorType]:
    """Infer both branches. Outputs have the union of the branches' types, or the types of the branch that a known cond
    selects.

    The second branch is then inferred for the types that its Parameters declare: it never runs with these inputs. In an
    inference for given inputs, cond also counts as known if only one branch can run with them; if cond selects the
    second branch at run time, a layer of that branch reports the error.
    """
    condition = inputs[0]
    known = condition.scalar if condition is not None else None
    _check_single(node, "cond", condition, {BOOLEAN}, run.findings)
    trials = [run.body(body, declared_parameters(body)) for body in node.bodies]
    sound = not any(trial.broken for trial in trials)
    selected = [number for number, trial in enumerate(trials) if not trial.broken]
    if known is not None:
        selected = [number for number in selected if bool(known) == (number == 0)]
    actual = {
        number: run.body(node.bodies[number], parameter_types(node.bodies[number], inputs, None)) for number in selected
    }
    fitting = [number for number, trial in actual.items() if not trial.broken]
    if known is None and run.has_given_types and sound and len(fitting) == 1:
        known, actual = fitting[0] == 0, {fitting[0]: actual[fitting[0]]}
    branches: list[dict[int | None, TensorType]] = []
    for number, body in enumerate(node.bodies):
        trial = actual.get(number, trials[number])
        run.take(trial)
        results = body.model.results
        branches.append({o.external: trial.inference.outputs(results[o.result])[0] for o in body.outputs})
    if known is not None:
        return _as_list(branches[0 if known else 1], node)
    # The inferred outputs of a body with errors are not reliable.
    findings = run.findings if sound else run.findings.trial()
    merged = {
        port: _union(branches[0][port], branches[1][port], node, findings)
        for port in branches[0]
        if port in branches[1]
    }
    return _as_list(merged, node)


def infer_tensor_iterator(node: Node, inputs: Inputs, run: Inferring) -> list[TensorType]:
    """Infer one iteration; the number of iterations follows from the sliced inputs."""
    body = node.bodies[0]
    _check_slices(node, body, inputs, run.findings)
    outputs, _ = _infer_body(node, body, inputs, _iterations(body, inputs), run)
    return outputs


def infer_loop(node: Node, inputs: Inputs, run: Inferring) -> list[TensorType]:
    """Infer one iteration; a known trip count bounds the number of iterations."""
    body = node.bodies[0]
    _check_single(node, "trip_count", inputs[0] if inputs else None, INDICES, run.findings)
    _check_single(node, "execution_condition", inputs[1] if len(inputs) > 1 else None, {BOOLEAN}, run.findings)
    trips = inputs[0].scalar if inputs and inputs[0] is not None else None
    ends_early = _condition(body) is None
    count = Dimension(0, None if trips is None or trips < 0 else trips)
    if trips is not None and trips >= 0 and not ends_early and _always_true(body, inputs):
        count = Dimension(trips)
    _check_slices(node, body, inputs, run.findings, count.value if count.is_static else None)
    outputs, results = _infer_body(node, body, inputs, count, run)
    if body.condition is not None:
        _check_single(node, "the execution condition of the body", results[body.condition], {BOOLEAN}, run.findings)
    return outputs


def _condition(body: Body) -> Value | None:
    """Return the value that determines whether a Loop continues; None if no Result of the body returns it."""
    inputs = [] if body.condition is None else body.model.results[body.condition].inputs
    return inputs[0] if inputs else None


def _always_true(body: Body, inputs: Inputs) -> bool:
    """Return True if the initial condition and the body's condition are the constant true, so that only the trip count
    ends the Loop.
    """
    initial = inputs[1].scalar if len(inputs) > 1 and inputs[1] is not None else None
    source = _condition(body)
    constant = source.node.constant if source is not None else None
    return bool(initial) and constant is not None and constant.size == 1 and bool(constant.reshape(-1)[0])


def _widened(before: PartialShape, after: PartialShape, grows: bool) -> PartialShape:
    """Return a shape that includes both shapes. With `grows`, extents that differ become dynamic, because they would
    change in every iteration.
    """
    union = before.union(after)
    if not grows or union.rank is None:
        return union
    return PartialShape(u if u == b else Dimension(-1) for u, b in zip(union, before, strict=True))


def _check_single(
    node: Node, name: str, tensor: TensorType | None, kinds: Collection[ElementType], findings: Findings
) -> None:
    """Report a count or condition that has none of these types, or is neither a scalar nor a single element."""
    if tensor is None:
        return
    details: dict[str, Any] = {"at": At(_at(node)), "layer": node.ref, "port": name}
    # Passes of OpenVINO's compiler replace boolean by u8.
    is_replaced = findings.internal and BOOLEAN in kinds and tensor.element_type is U8
    if tensor.element_type not in (*kinds, DYNAMIC) and not is_replaced:
        allowed = " or ".join(sorted(str(kind) for kind in kinds))
        findings.add("O002", f"{name} is {tensor.element_type}, expected {allowed}", **details)
    if not any(tensor.shape.compatible(PartialShape(shape)) for shape in ((), (1,))):
        findings.add("O001", f"{name} has shape {tensor.shape}, expected a scalar or one element", **details)


def _infer_body(
    node: Node, body: Body, inputs: Inputs, count: Dimension, run: Inferring
) -> tuple[list[TensorType], list[TensorType]]:
    """Return the types of the node's outputs, and the types of the body's results.

    The body is first checked with the types that its Parameters declare: types from outside could hide its errors.
    """
    trial = run.body(body, declared_parameters(body))
    if not trial.broken:
        trial = _settled(body, parameter_types(body, inputs, count), run)
    run.take(trial)
    results = [trial.inference.outputs(result)[0] for result in body.model.results]
    _check_back_edges(node, body, trial, results, run.findings)
    outer: dict[int | None, TensorType] = {}
    for output in body.outputs:
        type = results[output.result].without_value()
        joined = _concatenated(node, type, output, count, run.findings) if output.slicing is not None else type
        outer[output.external] = joined
    return _as_list(outer, node), results


def _check_back_edges(
    node: Node, body: Body, trial: Inferring, results: Sequence[TensorType], findings: Findings
) -> None:
    """Report a back edge whose Result has another element type than the Parameter that receives it."""
    written = {edge.to_layer: edge for edge in (node.layer.back_edges if node.layer is not None else None) or ()}
    for entry in body.inputs:
        if entry.back is None:
            continue
        parameter, result = body.model.parameters[entry.parameter], body.model.results[entry.back]
        kind, made = trial.inference.outputs(parameter)[0].element_type, results[entry.back].element_type
        if DYNAMIC in (kind, made) or kind is made:
            continue
        edge = written.get(parameter.id)
        message = f"the back edge returns {made} from {result.ref} to {parameter.ref}, which is {kind}"
        details: dict[str, Any] = {"at": At(_at(node) if edge is None else edge.at), "layer": node.ref}
        findings.add("O003", message, found=str(made), allowed=str(kind), openvino=_NOT_COMPARED, **details)


def _settled(body: Body, parameters: list[TensorType], run: Inferring) -> Inferring:
    """Return the body's inference for types that hold in every iteration (a fixed point).

    Types that a back edge carries are widened until another iteration does not change them.
    """
    for attempt in range(8):
        trial = run.body(body, parameters)
        widened = list(parameters)
        for entry in body.inputs:
            if entry.back is not None:
                before = parameters[entry.parameter]
                returned = trial.inference.outputs(body.model.results[entry.back])[0]
                shape = _widened(before.shape, returned.shape, attempt > 1)
                widened[entry.parameter] = TensorType(before.element_type, shape)
        # Widening makes types less specific, which must not lose the findings of the first iteration.
        if trial.findings.error_count or all(a.shape == b.shape for a, b in zip(parameters, widened, strict=True)):
            break
        parameters = widened
    return trial


def declared_parameters(body: Body) -> list[TensorType]:
    """Return the types that the body's Parameters declare."""
    types = [(p.outputs[0].declared if p.outputs else None) or TensorType() for p in body.model.parameters]
    for index, parameter in enumerate(body.model.parameters):
        declared = parameter.attributes.get("element_type"), parameter.attributes.get("shape")
        types[index] = TensorType(
            declared[0] or DYNAMIC, declared[1] if declared[1] is not None else types[index].shape
        )
    return types


def parameter_types(body: Body, inputs: Inputs, count: Dimension | None) -> list[TensorType]:
    """Return the types of the body's Parameters: the types of the outer inputs, sliced where the map requires it."""
    types = declared_parameters(body)
    for entry in body.inputs:
        if entry.external is None or entry.external >= len(inputs) or inputs[entry.external] is None:
            continue
        outer = inputs[entry.external]
        assert outer is not None
        if entry.slicing is not None:
            size = Dimension(abs(entry.slicing.part_size))
            try:
                outer = TensorType(outer.element_type, outer.shape.with_dim(entry.slicing.axis, size))
            except (UnknownRank, IndexError):
                outer = TensorType(outer.element_type)
        elif entry.back is not None:
            outer = outer.without_value()
        types[entry.parameter] = outer
    return types


def _iterations(body: Body, inputs: Inputs) -> Dimension:
    for entry in body.inputs:
        outer = inputs[entry.external] if entry.external is not None and entry.external < len(inputs) else None
        if entry.slicing is None or outer is None:
            continue
        try:
            extent = outer.shape[entry.slicing.axis]
        except (UnknownRank, IndexError):
            continue
        if extent.is_static:
            return Dimension(entry.slicing.count(extent.value))
    return Dimension(-1)


def _concatenated(node: Node, type: TensorType, output: BodyOutput, count: Dimension, findings: Findings) -> TensorType:
    assert output.slicing is not None
    axis = output.slicing.axis
    if type.rank is None:
        return TensorType(type.element_type)
    if type.rank == 0:
        return TensorType(type.element_type, PartialShape([count]))
    if not -type.rank <= axis < type.rank:
        message = f"axis {axis} of the output map is out of range for the rank {type.rank} of the body's result"
        _add_axis(message, output, node, findings)
        return TensorType(type.element_type)
    return TensorType(type.element_type, type.shape.with_dim(axis, type.shape[axis] * count))


def _check_slices(node: Node, body: Body, inputs: Inputs, findings: Findings, trips: int | None = None) -> None:
    """Report inputs without the sliced axis, with invalid slices, with fewer slices than `trips`, or with another
    number of slices than the first input."""
    first: tuple[int, int] | None = None
    for entry in body.inputs:
        outer = inputs[entry.external] if entry.external is not None and entry.external < len(inputs) else None
        if entry.slicing is None or outer is None or outer.rank is None:
            continue
        axis = entry.slicing.axis
        if axis >= outer.rank:
            message = (
                f"axis {axis} of the input map is out of range for the rank {outer.rank} of input {entry.external}"
            )
            _add_axis(message, entry, node, findings)
        elif axis >= -outer.rank and outer.shape[axis].is_static and entry.slicing.moves:
            extent = outer.shape[axis].value
            count, fault = entry.slicing.count(extent), entry.slicing.fault(extent)
            if fault is None and trips is not None and count < trips:
                fault = f"{count} parts, expected one per iteration ({trips})"
            elif fault is None and node.type == TENSOR_ITERATOR and first is not None and first[1] != count:
                fault = f"{count} parts, expected {first[1]} as for input {first[0]}"
            if fault is not None:
                message = f"input {entry.external} of {node.ref}, axis {axis}: {fault}"
                findings.add("B016", message, at=At(entry.at), layer=node.ref)
            elif first is None and entry.external is not None:
                first = entry.external, count


def _add_axis(message: str, entry: BodyInput | BodyOutput, node: Node, findings: Findings) -> None:
    """Report an axis outside the rank, unless the reader has reported it for the rank that the port declares."""
    at = At(entry.at, "axis")
    if not findings.has_finding_at("B008", at):
        findings.add("B008", message, at=at, layer=node.ref)


def _union(a: TensorType, b: TensorType, node: Node, findings: Findings) -> TensorType:
    if DYNAMIC not in (a.element_type, b.element_type) and a.element_type is not b.element_type:
        message = f"then_body produces {a.element_type} and else_body {b.element_type}, expected the same element type"
        findings.add("B010", message, at=At(_at(node)), layer=node.ref)
    kind = a.element_type if a.element_type is not DYNAMIC else b.element_type
    return TensorType(kind, a.shape.union(b.shape))


def _as_list(outer: dict[int | None, TensorType], node: Node) -> list[TensorType]:
    count = max([len(node.outputs), *(1 + port for port in outer if port is not None)])
    return [outer.get(index, TensorType()) for index in range(count)]


def _at(node: Node) -> int:
    return node.layer.at if node.layer is not None else -1


BODIES: dict[str, Callable[[Node, Inputs, Inferring], list[TensorType]]] = {
    IF: infer_if,
    LOOP: infer_loop,
    TENSOR_ITERATOR: infer_tensor_iterator,
    "Subgraph": infer_tensor_iterator,
}
"""The functions that infer the outputs of the operators with bodies."""
