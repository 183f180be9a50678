"""Cells in iterators, which compilers turn into sequences, and sequences among other layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.opsets.nodes import make_node, parameter_node
from irexec.core.types import PartialShape
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Node, Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.case import operator_named
from irexec.tools.conformance.graph_patterns.loops import body_of, layer_of, outer_of
from irexec.tools.conformance.registry import pattern

_GATES = {"LSTMCell-4": 4, "GRUCell-3": 3, "RNNCell-1": 1}


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


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
        flat = layer_of("Reshape-1", [taken, _axes(batch, size)], {"special_zero": "false"})
    else:
        flat = layer_of("Squeeze-1", [taken, _axes(place)])
    if near == "scaled input":
        flat = layer_of("Multiply-1", [flat, g.number(0.5)])
    arrays = [g.array(gates * hidden, size, scale=0.4), g.array(gates * hidden, hidden, scale=0.4)]
    arrays.append(g.array(gates * hidden, scale=0.4))
    given: list[Any] = [flat, *(state.outputs[0] for state in states), *arrays]
    node = make_node(Node, operator_named(cell), given, {"hidden_size": str(hidden)}, name="cell")
    outputs: list[Value] = list(node.outputs)
    row = outputs[0]
    if near == "relu after":
        row = layer_of("ReLU-1", [row])
    if near == "kept before":
        row = states[0].outputs[0]
    row = layer_of("Unsqueeze-1", [row, _axes(place)])
    model = body_of([*outputs, row], [taken, *states])
    slicing = Slicing(place, 0, -1, 1, 1) if way == "forwards" else Slicing(place, -1, 0, -1, 1)
    inputs = [BodyInput(0, external=0, slicing=slicing)]
    inputs += [BodyInput(i + 1, external=i + 1, back=i) for i in range(len(states))]
    found: list[BodyOutput] = []
    if kept in ("both", "all"):
        found.append(BodyOutput(len(outputs), external=0, slicing=slicing))
    if kept in ("both", "last"):
        found += [BodyOutput(i, external=len(found) + i) for i in range(1)]
    begins = [g.input([batch, hidden]) if near == "state from an input" else g.array(batch, hidden) for _ in states]
    g.result(*outer_of(g, "TensorIterator-1", [x, *begins], [Body(model, inputs, found)], len(found)))


@pattern(
    cell=("LSTMSequence-5", "GRUSequence-5", "RNNSequence-5"),
    direction=("forward", "reverse", "bidirectional"),
    before=("none", "transpose", "relu", "concat"),
    after=("none", "transpose", "squeeze", "split", "next"),
    lengths=("full", "shorter", "input"),
    batch=("1", "2", "N"),
)
def sequences(g: Graph, *, cell: str, direction: str, before: str, after: str, lengths: str, batch: str) -> None:
    """Build a recurrent sequence between layers that change the layout, and sequences one after the other."""
    size, hidden = g.channels(1, 3, 8, 16), g.channels(2, 4, 8)
    rows: int | str = batch if batch == "N" else int(batch)
    steps: int | str = g.pick(3, 5, "S") if lengths == "full" else 4
    x = g.input([steps, rows, size] if before == "transpose" else [rows, steps, size])
    if before == "transpose":
        x = g.op("Transpose-1", [x, _axes(1, 0, 2)])
    elif before == "relu":
        x = g.op("ReLU-1", [x])
    elif before == "concat":
        x = g.op("Concat-1", [x, x], {"axis": "2"})
        size *= 2
    ways = 2 if direction == "bidirectional" else 1
    y = _sequence(g, x, cell, direction, (size, hidden, ways), lengths)
    if after == "next":
        flat = g.op(
            "Reshape-1", [g.op("Transpose-1", [y, _axes(0, 2, 1, 3)]), _axes(0, 0, -1)], {"special_zero": "true"}
        )
        y = _sequence(g, flat, cell, direction, (ways * hidden, hidden, ways), lengths)
    elif after == "transpose":
        y = g.op("Transpose-1", [y, _axes(2, 1, 0, 3)])
    elif after == "squeeze" and ways == 1:
        y = g.op("Squeeze-1", [y, _axes(1)])
    elif after == "split" and ways == 2:
        first, second = g.ops("Split-1", [y, np.int64(1)], {"num_splits": "2"})
        y = g.op("Add-1", [first, second])
    g.result(y)


def _sequence(g: Graph, x: Value, cell: str, direction: str, sizes: tuple[int, int, int], lengths: str) -> Value:
    size, hidden, ways = sizes
    gates = {"LSTMSequence-5": 4, "GRUSequence-5": 3, "RNNSequence-5": 1}[cell]
    shape = g.op("ShapeOf-3", [x], {"output_type": "i64"})
    rows, steps = (g.op("Gather-8", [shape, _axes(i), np.int64(0)]) for i in (0, 1))
    target = g.op("Concat-1", [rows, _axes(ways, hidden)], {"axis": "0"})
    states = [g.op("Broadcast-3", [g.array(1, ways, hidden), target], {"mode": "bidirectional"})]
    if gates == 4:
        states.append(g.op("Broadcast-3", [g.array(1, ways, hidden), target], {"mode": "bidirectional"}))
    count = steps if lengths != "shorter" else g.op("Subtract-1", [steps, _axes(1)])
    ends = g.op("Broadcast-3", [count, rows], {"mode": "numpy"})
    if lengths == "input":
        ends = g.op("Maximum-1", [g.op("Subtract-1", [ends, g.number_input(1, 2)]), _axes(1)])
    arrays = [g.array(ways, gates * hidden, n, scale=0.4) for n in (size, hidden)]
    arrays.append(g.array(ways, gates * hidden, scale=0.4))
    attributes = {"hidden_size": str(hidden), "direction": direction}
    return g.op(cell, [x, *states, ends, *arrays], attributes)
