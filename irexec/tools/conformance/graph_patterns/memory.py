"""Graphs with variables: caches that grow, and states that a call changes."""

from __future__ import annotations

import numpy as np

from irexec.api.opsets.nodes import make_node
from irexec.model.graph.model import Node, Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.case import operator_named
from irexec.tools.conformance.registry import pattern


def _assign(g: Graph, value: object, variable: str) -> None:
    node = make_node(Node, operator_named("Assign-6"), [value], {"variable_id": variable}, name=f"assign_{variable}")
    g.sinks.append(node)


@pattern(form=("sum", "replace", "scaled", "two readers"), start=("constant", "input"), act=("none", "relu"))
def state(g: Graph, *, form: str, start: str, act: str) -> None:
    """Build a variable that each call changes."""
    width = g.channels(1, 3, 8)
    x = g.input([2, width])
    begin = np.zeros((2, width), g.base.dtype) if start == "constant" else g.input([2, width])
    attributes = {"variable_id": "v", "variable_type": g.base.name, "variable_shape": f"2,{width}"}
    read = g.op("ReadValue-6", [begin], attributes)
    total = g.op("Add-1", [read, x]) if form != "replace" else g.op("ReLU-1", [x])
    if form == "scaled":
        total = g.op("Multiply-1", [total, g.number(0.5)])
    _assign(g, total, "v")
    y = g.op("ReLU-1", [total]) if act == "relu" else g.op("Multiply-1", [total, g.number(1.5)])
    g.result(y)
    if form in ("replace", "two readers"):
        g.result(g.op("Add-1", [read, g.number(1.0)]))


@pattern(
    attention=("layers", "operator", "none"),
    reorder=("none", "gather"),
    start=("empty", "computed"),
    heads=("1", "2"),
)
def cache(g: Graph, *, attention: str, reorder: str, start: str, heads: str) -> None:
    """Build keys or values that grow with each call."""
    count, width, batch = int(heads), g.channels(4, 8, 16), 2
    x, q = g.input([batch, count, "S", width]), g.input([batch, count, "S", width])
    empty = np.zeros((batch, count, 0, width), g.base.dtype)
    begin = g.input([batch, count, 3, width]) if start == "computed" else empty
    shape = f"{batch},{count},?,{width}"
    attributes = {"variable_id": "keys", "variable_type": g.base.name, "variable_shape": shape}
    read = g.op("ReadValue-6", [begin], attributes)
    if reorder == "gather":
        read = g.op("Gather-8", [read, np.array([1, 0], np.int64), np.int64(0)])
    keys = g.op("Concat-1", [read, x], {"axis": "2"})
    _assign(g, keys, "keys")
    if attention == "none":
        g.result(keys)
    elif attention == "operator":
        g.result(g.op("ScaledDotProductAttention-13", [q, keys, keys], {"causal": "false"}))
    else:
        scores = g.op("MatMul-1", [q, keys], {"transpose_b": "true"})
        weights = g.op("SoftMax-8", [g.op("Multiply-1", [scores, g.number(0.35)])], {"axis": "-1"})
        g.result(g.op("MatMul-1", [weights, keys]))


@pattern(
    layout=("heads first", "heads after"),
    groups=("same", "repeated"),
    reorder=("input", "none"),
    mask=("none", "rows", "boolean", "causal"),
    start=("empty", "computed"),
    near=("none", "keys read", "keys as values", "one cache", "scaled queries", "values in another order"),
)
def cached_attention(g: Graph, *, layout: str, groups: str, reorder: str, mask: str, start: str, near: str) -> None:
    """Build attention over keys and values kept in variables, in the forms that language models contain."""
    width, repeats = g.channels(4, 8, 16), 2 if groups == "repeated" else 1
    order = g.order_input(_BATCH) if reorder == "input" else None

    def heads(count: int) -> Value:
        if layout == "heads first":
            return g.input([_BATCH, count, "S", width])
        return g.op("Transpose-1", [g.input([_BATCH, "S", count, width]), _axes(0, 2, 1, 3)])

    def kept(name: str) -> Value:
        new = heads(_HEADS)
        empty = np.zeros((_BATCH, _HEADS, 0, width), g.base.dtype)
        begin = g.input([_BATCH, _HEADS, 3, width]) if start == "computed" else empty
        shape = f"{_BATCH},{_HEADS},?,{width}"
        read = g.op(
            "ReadValue-6", [begin], {"variable_id": name, "variable_type": g.base.name, "variable_shape": shape}
        )
        if order is not None:
            turned = name == "values" and near == "values in another order"
            read = g.op("Gather-8", [read, g.order_input(_BATCH) if turned else order, np.int64(0)])
        whole = g.op("Concat-1", [read, new], {"axis": "2"})
        _assign(g, whole, name)
        return whole

    q, keys = heads(_HEADS * repeats), kept("keys")
    values = keys if near == "keys as values" else heads(_HEADS) if near == "one cache" else kept("values")
    if near == "one cache":
        values = g.op("Concat-1", [g.op("ReLU-1", [keys]), values], {"axis": "2"})
        keys = g.op("Concat-1", [keys, heads(_HEADS)], {"axis": "2"})
    if near == "keys read":
        g.result(g.op("ReLU-1", [keys]))
    if near == "scaled queries":
        q = g.op("Multiply-1", [q, g.number(0.7)])
    inputs = [q, *(_repeated(g, value, repeats, width) for value in (keys, values))]
    if mask in ("rows", "boolean"):
        length = g.op("Squeeze-1", [g.op("Gather-8", [g.op("ShapeOf-3", [keys]), _axes(2), np.int64(0)]), _axes(0)])
        places = g.op("Range-4", [np.int64(0), length, np.int64(1)], {"output_type": g.base.name})
        places = g.op("Unsqueeze-1", [places, _axes(0, 1, 2)])
        rows = g.op("Multiply-1", [places, g.number(-0.25)])
        inputs.append(rows if mask == "rows" else g.op("NotEqual-1", [places, g.number(1.0)]))
    y = g.op("ScaledDotProductAttention-13", inputs, {"causal": "true" if mask == "causal" else "false"})
    if layout == "heads after":
        y = g.op("Reshape-1", [g.op("Transpose-1", [y, _axes(0, 2, 1, 3)]), _axes(0, 0, -1)], {"special_zero": "true"})
    g.result(y)


def _repeated(g: Graph, value: Value, repeats: int, width: int) -> Value:
    """Return keys or values with each head repeated, for groups of queries."""
    if repeats == 1:
        return value
    wide = g.op("Unsqueeze-1", [value, _axes(2)])
    wide = g.op("Broadcast-3", [wide, _axes(1, 1, repeats, 1, 1)], {"mode": "bidirectional"})
    return g.op("Reshape-1", [wide, _axes(_BATCH, _HEADS * repeats, -1, width)], {"special_zero": "false"})


def _axes(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


_BATCH, _HEADS = 2, 2
