"""Translators of ONNX's control flow: If, Loop, and Scan, which becomes IR's TensorIterator.

Source: ONNX operator pages. The values that a body captures from enclosing graphs become further inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irexec.core.types import BOOLEAN, CONTAINERS, DYNAMIC, I64, OPTIONALS, PartialShape, TensorType, member_of
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Inner, Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Value

_VERSIONS = (11, 13, 16, 19, 21, 23, 24, 25)
# The maximum number of batches in version 8 of Scan: each batch becomes separate nodes.
_MAX_BATCHES = 64


@dataclass(slots=True)
class _Outer:
    """The inputs of a node with bodies: the given inputs, and the values that the bodies capture, each once."""

    values: list[Value | None]

    def place(self, value: Value) -> int:
        """Return the position of a captured value, which becomes an input."""
        for index, known in enumerate(self.values):
            if known is value:
                return index
        self.values.append(value)
        return len(self.values) - 1


def _body(op: Op, inner: Inner, outer: _Outer, results: Sequence[Value] | None = None) -> Body:
    """Return a body that receives its captured values through the node's inputs."""
    places = [outer.place(value) for value, _ in inner.captures]
    parameters = [*inner.parameters, *(node for _, node in inner.captures)]
    made = [op.builder.result(value, f"{inner.name}/{i}") for i, value in enumerate(results or inner.results)]
    first = len(inner.parameters)
    entries = [BodyInput(first + i, external=place) for i, place in enumerate(places)]
    return Body(op.builder.model_class.of(made, parameters, inner.name), entries)


@translates("If", since=(1, *_VERSIONS))
def _if(op: Op) -> list[Value]:
    condition, graphs = op[0], [op.graph("then_branch"), op.graph("else_branch")]
    known = op.known(0)
    if known is not None and known.size == 1:
        # Only one branch can run: its nodes are added to the graph itself.
        return op.enter(graphs[0 if known.reshape(-1)[0] else 1], [], inline=True).results
    outer = _Outer([condition])
    branches = [op.enter(graph, []) for graph in graphs]
    bodies = []
    for inner, results in zip(branches, _alike(op, branches), strict=True):
        body = _body(op, inner, outer, results)
        body.outputs = [BodyOutput(i, external=i) for i in range(len(results))]
        bodies.append(body)
    return list(op.make_with("If", outer.values, bodies, opset=8).outputs)


def _alike(op: Op, branches: list[Inner]) -> list[list[Value]]:
    """Return the results of both branches. Raises Refused if their numbers or element types differ."""
    first, second = (inner.results for inner in branches)
    if len(first) != len(second):
        op.refuse(f"then_branch has {len(first)} outputs and else_branch {len(second)}, expected equal numbers")
    for index, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.element_type is not b.element_type and DYNAMIC not in (a.element_type, b.element_type):
            op.refuse(
                f"output {index} is {a.element_type} in then_branch, {b.element_type} in else_branch, expected one type"
            )
    return [first, second]


# The shape of a loop-carried value may change with each iteration.


def _settled(
    op: Op, types: list[TensorType | None], back: dict[int, int], sliced: dict[int, int] | None = None
) -> Inner:
    """Return the body with inputs typed loosely enough for the results of every iteration to fit the inputs of the
    next.

    `back`: position of an input → position of the result that the next iteration receives. `sliced` as in Enter.
    """
    graph, names = op.graph("body"), op.builder.names()
    for attempt in range(4):
        op.builder.restore(names)
        trial = op.enter(graph, types, sliced)
        widened = list(types)
        for place, result in back.items():
            if result >= len(trial.results):
                op.refuse(f"the body has {len(trial.results)} outputs, expected {max(back.values()) + 1} or more")
            widened[place] = _widened(op, types[place] or TensorType(), trial.results[result].type, attempt)
        if all(map(_same, types, widened)):
            return trial
        types = widened
    raise Refused("F009", "the types that the body passes to the next iteration change in every iteration")


def _same(a: TensorType | None, b: TensorType | None) -> bool:
    return a is b or (a is not None and b is not None and (a.element_type, a.shape) == (b.element_type, b.shape))


def _widened(op: Op, before: TensorType, after: TensorType, attempt: int) -> TensorType:
    """Return a type that includes both: the more often the types differed, the fewer dimensions are kept."""
    kind = after.element_type if before.element_type is DYNAMIC else before.element_type
    if kind in OPTIONALS and after.element_type is member_of(kind):
        return before
    if after.element_type not in (kind, DYNAMIC):
        op.refuse(
            f"the body expects {kind} but passes {after.element_type} to the next iteration",
            found=str(after.element_type),
        )
    shape = before.shape.union(after.shape)
    if shape != before.shape and attempt:
        shape = PartialShape.dynamic(shape.rank if attempt == 1 else None)
    return TensorType(kind, shape)


@translates("Loop", since=(1, *_VERSIONS))
def _loop(op: Op) -> list[Value]:
    carried = [op[i] for i in range(2, len(op))]
    count = len(carried)
    first = op.get(1)
    # Exporters also write conditions of one element where the definition requires scalars.
    condition = TensorType(BOOLEAN, PartialShape([]) if first is None else first.type.shape)
    types: list[TensorType | None] = [TensorType(I64, PartialShape([])), condition]
    types += [value.type.without_value() for value in carried]
    inner = _settled(op, types, {1: 0} | {2 + i: 1 + i for i in range(count)})
    trips = op.get(0) if op.get(0) is not None else op.constant(np.array(-1))
    go = op.get(1) if op.get(1) is not None else op.constant(np.array(True))
    outer = _Outer([trips, go, *carried])
    scanned = [_stacked(op, value) for value in inner.results[1 + count :]]
    # A tensor that replaces an optional becomes an optional again for the next iteration.
    opened = [a.element_type is not b.element_type for a, b in zip(carried, inner.results[1:], strict=False)]
    handed = [_optional(op, value) if o else value for value, o in zip(inner.results[1:], opened, strict=False)]
    body = _body(op, inner, outer, [inner.results[0], *handed, *scanned])
    body.condition = 0
    body.inputs += [BodyInput(0, iteration=True), BodyInput(1, external=1, back=0)]
    body.inputs += [BodyInput(2 + i, external=2 + i, back=1 + i) for i in range(count)]
    body.outputs = [BodyOutput(1 + i, external=i) for i in range(count)]
    body.outputs += [BodyOutput(1 + count + i, external=count + i, slicing=Slicing(0)) for i in range(len(scanned))]
    made = list(op.make_with("Loop", outer.values, [body], opset=5).outputs)
    return [_opened(op, value) if index < count and opened[index] else value for index, value in enumerate(made)]


def _optional(op: Op, value: Value) -> Value:
    return op.make("Optional", value, opset="onnx15")


def _opened(op: Op, value: Value) -> Value:
    return op.make("OptionalGetElement", value, opset="onnx15")


def _stacked(op: Op, value: Value, axis: int = 0) -> Value:
    """Return one iteration's slice of an output that is stacked along a new axis."""
    if value.element_type in CONTAINERS:
        op.refuse(f"a value of type {value.element_type} cannot be an output of each iteration")
    return op.make("Unsqueeze", value, [axis])


@translates("Scan", since=(9, *_VERSIONS))
def _scan(op: Op) -> list[Value]:
    scans = op.integer("num_scan_inputs", 1)
    states = len(op) - scans
    if states < 0 or scans < 1:
        op.refuse(
            f"num_scan_inputs is {scans}, expected 1 to {len(op)}, the number of inputs", attribute="num_scan_inputs"
        )
    return _scanned(op, [op[i] for i in range(len(op))], states)


@translates("Scan", since=(8,))
def _scan_8(op: Op) -> list[Value]:
    """Translate version 8, whose batches are scanned separately."""
    if op.get(0) is not None:
        op.refuse("sequence_lens is given; sequence lengths are not supported")
    values = [op[i] for i in range(1, len(op))]
    batches = values[-1].type.shape[0] if values and values[-1].type.shape.rank else None
    if batches is None or not batches.is_static or not 0 < batches.value <= _MAX_BATCHES:
        op.refuse(f"the number of batches must be known, and at most {_MAX_BATCHES}")
    for place, value in enumerate(values, 1):
        if value.type.shape.rank == 0 or not value.type.shape[0].compatible(batches):
            message = (
                f"input {place} has the shape {value.type.shape}, expected {batches} batches, as the last input has"
            )
            raise Refused("O001", message, found=str(value.type.shape), allowed=f"[{batches},...]")
    states = len(values) - op.count("num_scan_inputs")
    of_each = []
    for batch in range(batches.value):
        own = [op.make("Gather", value, batch, 0, opset=8) for value in values]
        of_each.append([op.make("Unsqueeze", value, [0]) for value in _scanned(op, own, states)])
    return [op.make("Concat", *parts, axis=0) for parts in zip(*of_each, strict=True)]


def _scanned(op: Op, values: list[Value], states: int) -> list[Value]:
    """Return the outputs of a TensorIterator whose first inputs are states and whose further inputs are sliced."""
    axes = _per(op, "scan_input_axes", len(values) - states)
    turned = _per(op, "scan_input_directions" if op.version > 8 else "directions", len(values) - states)
    types: list[TensorType | None] = [value.type.without_value() for value in values[:states]]
    for index, value in enumerate(values[states:]):
        rank = value.type.shape.rank
        if rank is None or not -rank <= axes[index] < rank:
            op.refuse(
                f"the axis of scan input {index} is {axes[index]}, out of range for rank {rank}",
                attribute="scan_input_axes",
            )
        axes[index] %= rank
        shape = [d for i, d in enumerate(value.type.shape) if i != axes[index]]
        types.append(TensorType(value.element_type, PartialShape(shape)))
    inner = _settled(op, types, {i: i for i in range(states)}, {states + i: axis for i, axis in enumerate(axes)})
    outputs = len(inner.results) - states
    out_axes, out_turned = _per(op, "scan_output_axes", outputs), _per(op, "scan_output_directions", outputs)
    stacked = [_stacked(op, value, axis) for value, axis in zip(inner.results[states:], out_axes, strict=True)]
    outer = _Outer(list(values))
    body = _body(op, inner, outer, [*inner.results[:states], *stacked])
    body.inputs += [BodyInput(i, external=i, back=i) for i in range(states)]
    for i, (axis, back) in enumerate(zip(axes, turned, strict=True), states):
        body.inputs.append(BodyInput(i, external=i, slicing=_slicing(axis, back)))
    body.outputs = [BodyOutput(i, external=i) for i in range(states)]
    for i, (result, axis, back) in enumerate(zip(stacked, out_axes, out_turned, strict=True), states):
        place = axis % len(result.type.shape) if axis < 0 else axis
        body.outputs.append(BodyOutput(i, external=i, slicing=_slicing(place, back)))
    return list(op.make_with("TensorIterator", outer.values, [body], opset=1).outputs)


def _per(op: Op, name: str, count: int) -> list[int]:
    values = op.integers(name) or [0] * count
    if len(values) != count:
        op.refuse(f"{name} has {len(values)} values, expected {count}", attribute=name)
    if name.endswith("directions") and not {0, 1}.issuperset(values):
        raise Refused("F004", f"{name} is {values}, expected values of 0 and 1", attribute=name)
    return values


def _slicing(axis: int, backwards: int) -> Slicing:
    return Slicing(axis, start=-1, end=0, stride=-1) if backwards else Slicing(axis)
