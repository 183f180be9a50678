"""Patterns with bodies, which run several times, once or never, and change between calls: loops, conditions, cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.api.opsets.nodes import infer_outputs, make_node, parameter_node
from irexec.core.types import PartialShape
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Model, Node, Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.case import operator_named

Pattern = Callable[..., None]
PATTERNS: dict[str, tuple[Pattern, dict[str, tuple[str, ...]]]] = {}
"""The function of each pattern, and the choices of its parameters, of which the first is the default."""
_GATES = {"LSTMCell-4": 4, "GRUCell-3": 3, "RNNCell-1": 1}


def pattern(**choices: tuple[str, ...]) -> Callable[[Pattern], Pattern]:
    """Register a pattern: `f(graph, *, parameters)`."""

    def register(function: Pattern) -> Pattern:
        PATTERNS[f"graph.{function.__name__}"] = function, choices
        return function

    return register


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _layer_of(operator: str, inputs: list[Any], attributes: dict[str, Any] | None = None) -> Value:
    """Return the first output of a layer of a body."""
    given = [value.outputs[0] if isinstance(value, Node) else value for value in inputs]
    return make_node(Node, operator_named(operator), given, attributes or {}, name="").outputs[0]


def _body_of(results: list[Value], parameters: list[Node]) -> Model:
    """Return a body with these results and inputs."""
    for number, parameter in enumerate(parameters):
        parameter.given_name = f"p{number}"
    ends = [make_node(Node, operator_named("Result-1"), [v], {}, name=f"r{i}") for i, v in enumerate(results)]
    return Model(ends, parameters, "body")


def _outer_of(g: Graph, operator: str, inputs: list[Any], bodies: list[Body], count: int) -> list[Value]:
    """Return the outputs of a layer with bodies."""
    values = [g.constant(v) if isinstance(v, np.ndarray) else v for v in inputs]
    node = Node(operator_named(operator), values, {}, name="loop")
    node.bodies = bodies
    infer_outputs(node)
    return list(node.outputs[:count])


@pattern(
    trips=("3", "1", "0", "computed", "until"),
    body=("scale", "add", "counter", "relu", "matmul", "softmax", "unchanged", "grows"),
    kept=("last", "all", "both"),
    shape=("fixed", "open"),
    after=("none", "relu", "add of the input", "matmul", "reshape", "transpose"),
    begin=("true", "false", "computed"),
)
def loop(g: Graph, *, trips: str, body: str, kept: str, shape: str, after: str, begin: str) -> None:
    """Build a Loop that changes a value."""
    if body == "grows":
        shape, kept = "open", "last"
    width = g.channels(1, 3, 8)
    dims: list[int | str] = ["N" if shape == "open" else 2, width]
    x = g.input(dims)
    declared = PartialShape([-1 if shape == "open" else 2, width])
    count: Any = np.array(3 if trips == "until" else int(trips) if trips.isdigit() else 2, np.int64)
    if trips == "computed":
        count = g.number_input(*((3, 0) if g.rng.random() < 0.5 else (1, 4)))
    inner = parameter_node(Node, declared, g.base.name)
    step = parameter_node(Node, PartialShape([1]), "i64")
    factor = g.number(float(g.pick(0.5, 1.5, -2.0)))
    y = {
        "scale": lambda: _layer_of("Multiply-1", [inner, factor]),
        "add": lambda: _layer_of("Add-1", [inner, factor]),
        "relu": lambda: _layer_of("ReLU-1", [_layer_of("Subtract-1", [inner, factor])]),
        "matmul": lambda: _layer_of("MatMul-1", [inner, g.array(width, width, scale=0.4)]),
        "softmax": lambda: _layer_of("SoftMax-8", [_layer_of("Multiply-1", [inner, factor])], {"axis": "-1"}),
        "unchanged": lambda: inner.outputs[0],
        "grows": lambda: _layer_of("Concat-1", [inner, g.array(1, width)], {"axis": 0}),
        "counter": lambda: _layer_of(
            "Add-1", [inner, _layer_of("Convert-1", [step], {"destination_type": g.base.name})]
        ),
    }[body]()
    go_on: Any = np.array([True])
    go_on = _layer_of("Less-1", [step, _axes(1)]) if trips == "until" else g.constant(go_on)
    # Each iteration contributes one element along the axis on which results are concatenated.
    row = _layer_of("Unsqueeze-1", [y, _axes(0)])
    model = _body_of([go_on, y, row], [step, inner])
    inputs = [BodyInput(0, iteration=True), BodyInput(1, external=2, back=1)]
    outputs: list[BodyOutput] = []
    if kept in ("last", "both"):
        outputs.append(BodyOutput(1, external=len(outputs)))
    if kept in ("all", "both"):
        outputs.append(BodyOutput(2, external=len(outputs), slicing=Slicing(0)))
    go = g.switch() if begin == "computed" else np.array(begin == "true")
    found = _outer_of(g, "Loop-5", [count, go, x], [Body(model, inputs, outputs, condition=0)], len(outputs))
    g.result(*(_followed(g, y, x, width, after) for y in found))


def _followed(g: Graph, y: Value, x: Value, width: int, after: str) -> Value:
    """Return a value computed from the results of a body, which may be empty."""
    if after == "relu":
        return g.op("ReLU-1", [y])
    if after == "add of the input":
        return g.op("Add-1", [y, g.op("ReduceSum-1", [x, _axes(0)], {"keep_dims": "true"})])
    if after == "matmul":
        return g.op("MatMul-1", [y, g.array(width, 5, scale=0.4)])
    if after == "reshape":
        return g.op("Reshape-1", [y, _axes(-1, width, 1)], {"special_zero": "false"})
    return g.op("Transpose-1", [y, np.arange(y.type.rank or 2)[::-1].copy()]) if after == "transpose" else y


@pattern(
    body=("sum", "scale", "previous"),
    axis=("1", "0", "2"),
    way=("forwards", "backwards"),
    kept=("last", "all", "both"),
    part=("1", "2"),
)
def iterator(g: Graph, *, body: str, axis: str, way: str, kept: str, part: str) -> None:
    """Build a TensorIterator over slices."""
    place, size = int(axis), int(part)
    dims: list[int | str] = [2, 3, 4]
    dims[place] = 4
    if place == 1 and g.rng.random() < 0.5 and size == 1:
        dims[1] = "S"
    x = g.input(dims)
    inside = [size if i == place else int(n) for i, n in enumerate(dims) if i == place or not isinstance(n, str)]
    taken = parameter_node(Node, PartialShape(inside), g.base.name)
    carried = parameter_node(Node, PartialShape(inside), g.base.name)
    total = _layer_of("Add-1", [carried, taken])
    if body == "scale":
        total = _layer_of("Multiply-1", [total, g.number(0.5)])
    given = carried.outputs[0] if body == "previous" else total
    if body == "previous":
        given = _layer_of("ReLU-1", [given])
    model = _body_of([total, given], [taken, carried])
    slicing = Slicing(place, 0, -1, size, size) if way == "forwards" else Slicing(place, -1, 0, -size, size)
    inputs = [BodyInput(0, external=0, slicing=slicing), BodyInput(1, external=1, back=0)]
    outputs: list[BodyOutput] = []
    if kept in ("last", "both"):
        outputs.append(BodyOutput(0, external=len(outputs)))
    if kept in ("all", "both"):
        outputs.append(BodyOutput(1, external=len(outputs), slicing=slicing))
    begin = g.array(*inside)
    g.result(*_outer_of(g, "TensorIterator-1", [x, begin], [Body(model, inputs, outputs)], len(outputs)))


@pattern(
    then=("add", "other shape", "unchanged", "f16 constant", "matmul", "reduced", "constant", "other rank"),
    condition=("computed", "of the data", "constant", "of the shape"),
    after=("relu", "none", "add of the input", "matmul"),
)
def condition(g: Graph, *, then: str, condition: str, after: str) -> None:
    """Build an If whose branches differ."""
    width = g.channels(2, 3, 8)
    x = g.input(["N", width])
    declared = PartialShape([-1 if g.kind != "static" else g.extent("N")[0], width])
    yes, no = (parameter_node(Node, declared, g.base.name) for _ in range(2))
    first = {
        "add": lambda: _layer_of("Add-1", [yes, g.number(1.5)]),
        "other shape": lambda: _layer_of("Concat-1", [yes, yes], {"axis": 0}),
        "unchanged": lambda: yes.outputs[0],
        "f16 constant": lambda: _layer_of(
            "Multiply-1", [yes, _layer_of("Convert-1", [g.array(width, kind="f16")], {"destination_type": g.base.name})]
        ),
        "matmul": lambda: _layer_of("MatMul-1", [yes, g.array(width, width, scale=0.4)]),
        "reduced": lambda: _layer_of("ReduceMean-1", [yes, _axes(0)], {"keep_dims": "true"}),
        "constant": lambda: _layer_of("Identity-16", [g.array(2, width)]),
        "other rank": lambda: _layer_of("Unsqueeze-1", [yes, _axes(0)]),
    }[then]()
    second = _layer_of("Multiply-1", [no, g.number(-2.0)])
    bodies = [
        Body(_body_of([first], [yes]), [BodyInput(0, external=1)], [BodyOutput(0, external=0)]),
        Body(_body_of([second], [no]), [BodyInput(0, external=1)], [BodyOutput(0, external=0)]),
    ]
    if condition == "of the data":
        mean = g.op("ReduceMean-1", [x, _axes(0, 1)], {"keep_dims": "false"})
        chosen: Any = g.op("Greater-1", [mean, g.number(0.0)])
    elif condition == "computed":
        chosen = g.switch()
    elif condition == "of the shape":
        rows = g.op("Gather-8", [g.op("ShapeOf-3", [x], {"output_type": "i64"}), np.int64(0), np.int64(0)])
        chosen = g.op("Greater-1", [rows, np.int64(1)])
    else:
        chosen = np.array(True)
    (y,) = _outer_of(g, "If-8", [chosen, x], bodies, 1)
    g.result(_followed(g, y, x, width, after))


@pattern(
    cell=("LSTMCell-4", "GRUCell-3", "RNNCell-1"),
    near=("none", "scaled input", "relu after", "kept before", "state from an input", "squeeze of another axis"),
    axis=("1", "0"),
    way=("forwards", "backwards"),
    kept=("both", "all", "last"),
)
def cells(g: Graph, *, cell: str, near: str, axis: str, way: str, kept: str) -> None:
    """Build a TensorIterator over a cell that is equivalent, or almost equivalent, to a sequence layer."""
    place, size, hidden, batch = int(axis), g.channels(1, 3, 4, 8), g.channels(1, 2, 4, 9), 2
    steps: int | str = g.pick(3, 4, "S")
    x = g.input([batch, steps, size] if place == 1 else [steps, batch, size])
    gates = _GATES[cell]
    taken = parameter_node(Node, PartialShape([batch, 1, size] if place == 1 else [1, batch, size]), g.base.name)
    states = [parameter_node(Node, PartialShape([batch, hidden]), g.base.name) for _ in range(2 if gates == 4 else 1)]
    if near == "squeeze of another axis":
        flat = _layer_of("Reshape-1", [taken, _axes(batch, size)], {"special_zero": "false"})
    else:
        flat = _layer_of("Squeeze-1", [taken, _axes(place)])
    if near == "scaled input":
        flat = _layer_of("Multiply-1", [flat, g.number(0.5)])
    arrays = [g.array(gates * hidden, size, scale=0.4), g.array(gates * hidden, hidden, scale=0.4)]
    arrays.append(g.array(gates * hidden, scale=0.4))
    given: list[Any] = [flat, *(state.outputs[0] for state in states), *arrays]
    node = make_node(Node, operator_named(cell), given, {"hidden_size": str(hidden)}, name="cell")
    outputs: list[Value] = list(node.outputs)
    row = outputs[0]
    if near == "relu after":
        row = _layer_of("ReLU-1", [row])
    if near == "kept before":
        row = states[0].outputs[0]
    row = _layer_of("Unsqueeze-1", [row, _axes(place)])
    model = _body_of([*outputs, row], [taken, *states])
    slicing = Slicing(place, 0, -1, 1, 1) if way == "forwards" else Slicing(place, -1, 0, -1, 1)
    inputs = [BodyInput(0, external=0, slicing=slicing)]
    inputs += [BodyInput(i + 1, external=i + 1, back=i) for i in range(len(states))]
    found: list[BodyOutput] = []
    if kept in ("both", "all"):
        found.append(BodyOutput(len(outputs), external=0, slicing=slicing))
    if kept in ("both", "last"):
        found += [BodyOutput(i, external=len(found) + i) for i in range(1)]
    begins = [g.input([batch, hidden]) if near == "state from an input" else g.array(batch, hidden) for _ in states]
    g.result(*_outer_of(g, "TensorIterator-1", [x, *begins], [Body(model, inputs, found)], len(found)))
