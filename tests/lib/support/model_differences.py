"""The differences between two models, node by node, for tests that write or change a model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.classes import maps_of

# Attributes that are file offsets, which are not compared.
_PLACES = ("offset", "size")
_Numbers = dict[Node, int]


def differences(a: Model, b: Model) -> list[str]:
    """Return every difference between two models, a sentence each; an empty list if they are equal.

    Compares operators, connections, attributes, constants (bit for bit), types, names and rt_info. Ignores layer ids,
    offsets in the `.bin`, the file that a model came from, and a node's name if one of the two nodes has none, even if
    it names a tensor.
    """
    return list(_models("", a, b))


def _models(where: str, a: Model, b: Model) -> Iterable[str]:
    yield from _unequal(f"{where}the model's name", a.name, b.name)
    yield from _unequal(f"{where}the model's rt_info", a.rt_info, b.rt_info)
    for what in ("parameters", "sinks", "results", "nodes"):
        ours, theirs = getattr(a, what), getattr(b, what)
        yield from _unequal(f"{where}the number of {what}", len(ours), len(theirs))
        if len(ours) != len(theirs):
            return
    numbers_a, numbers_b = _numbers(a.nodes), _numbers(b.nodes)
    for what in ("parameters", "sinks", "results"):
        ours = [numbers_a.get(n) for n in getattr(a, what)]
        theirs = [numbers_b.get(n) for n in getattr(b, what)]
        yield from _unequal(f"{where}the order of {what}", ours, theirs)
    ends = zip([*a.parameters, *a.results], [*b.parameters, *b.results], strict=True)
    renamed = {x.friendly_name: y.friendly_name for x, y in ends if not (x.given_name and y.given_name)}
    for ours, theirs in zip(a.nodes, b.nodes, strict=True):
        here = f"{where}{ours.type} {ours.given_name!r}: "
        yield from _nodes(here, ours, theirs, numbers_a, numbers_b)
        for x, y in zip(ours.outputs, theirs.outputs, strict=False):
            names = sorted(renamed.get(name, name) for name in x.names)
            yield from _unequal(f"{here}output {x.index}: names", names, sorted(y.names))


def _nodes(where: str, a: Node, b: Node, numbers_a: _Numbers, numbers_b: _Numbers) -> Iterable[str]:
    yield from _unequal(f"{where}operator", f"{a.type}-{a.version}", f"{b.type}-{b.version}")
    if a.given_name and b.given_name:
        yield from _unequal(f"{where}name", a.given_name, b.given_name)
    yield from _unequal(f"{where}inputs", _producers(a, numbers_a), _producers(b, numbers_b))
    yield from _unequal(f"{where}rt_info", a.rt_info, b.rt_info)
    yield from _unequal(f"{where}rt_info of input ports", a.input_rt_info, b.input_rt_info)
    ours, theirs = _attributes(a), _attributes(b)
    for name in sorted(ours.keys() | theirs.keys()):
        yield from _unequal(f"{where}attribute {name}", ours.get(name), theirs.get(name))
    if not _same_array(a.constant, b.constant):
        yield f"{where}the constants differ"
    yield from _unequal(f"{where}the number of outputs", len(a.outputs), len(b.outputs))
    for x, y in zip(a.outputs, b.outputs, strict=False):
        yield from _values(f"{where}output {x.index}: ", x, y)
    yield from _unequal(f"{where}the number of bodies", len(a.bodies), len(b.bodies))
    for index, (ours_in, theirs_in) in enumerate(zip(a.bodies, b.bodies, strict=False)):
        yield from _unequal(f"{where}port maps of body {index}", maps_of(ours_in), maps_of(theirs_in))
        yield from _models(f"{where}body {index}: ", ours_in.model, theirs_in.model)


def _values(where: str, a: Value, b: Value) -> Iterable[str]:
    yield from _unequal(f"{where}type", str(a.type), str(b.type))
    yield from _unequal(f"{where}rt_info", a.rt_info, b.rt_info)


def _unequal(what: str, a: Any, b: Any) -> Iterable[str]:
    if a != b and not _same_numbers(a, b):
        yield f"{what}: {a!r} and {b!r}"


def _same_numbers(a: Any, b: Any) -> bool:
    """Return True for floats that are both NaN, alone or in lists."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(x == y or _same_numbers(x, y) for x, y in zip(a, b, strict=True))
    return False


def _numbers(nodes: list[Node]) -> _Numbers:
    return {node: number for number, node in enumerate(nodes)}


def _producers(node: Node, numbers: _Numbers) -> list[tuple[int | None, int] | None]:
    found = [None if value is None else (numbers.get(value.node), value.index) for value in node.inputs]
    while found and found[-1] is None:
        found.pop()
    return found


def _attributes(node: Node) -> dict[str, Any]:
    declared = node.operator.attributes if node.operator else ()
    values = {a.name: a.default for a in declared if not a.required} | node.attributes
    return {k: v for k, v in values.items() if v is not None and not (node.type == "Const" and k in _PLACES)}


def _same_array(a: np.ndarray[Any, Any] | None, b: np.ndarray[Any, Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b)) if a.dtype.kind == "T" else a.tobytes() == b.tobytes()
