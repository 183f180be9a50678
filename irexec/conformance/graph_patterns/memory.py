"""Graphs with variables: caches that grow, and states that a call changes."""

from __future__ import annotations

import numpy as np

from irexec.conformance.builder import Graph
from irexec.conformance.case import operator_named
from irexec.conformance.registry import pattern
from irexec.graph.model import Node
from irexec.opsets.nodes import make_node


def _assign(g: Graph, value: object, variable: str) -> None:
    node = make_node(Node, operator_named("Assign-6"), [value], {"variable_id": variable}, name=f"assign_{variable}")
    g.sinks.append(node)


@pattern(form=("sum", "replace", "scaled", "two readers"), start=("constant", "input"), act=("none", "relu"))
def state(g: Graph, *, form: str, start: str, act: str) -> None:
    """A variable that each call changes."""
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
    """Keys or values that grow with each call."""
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
