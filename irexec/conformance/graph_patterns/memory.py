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
