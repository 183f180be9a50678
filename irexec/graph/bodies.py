"""Bodies and ends of models.

The port maps of If, Loop and TensorIterator become connections between positions. The ends are the Parameters, Results
and Assigns in the order in which OpenVINO lists them: it reads a type in any letter case, but finds the inputs of a
model, its results and its assignments by exactly the names `Parameter`, `Result` and `Assign`. A layer with another
spelling is included only if one of these depends on it.

Source: OpenVINO IR, nested bodies; operation pages TensorIterator-1, Loop-5, If-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from irexec.diagnostics.findings import At, Findings
from irexec.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.graph.model import Body, Model, Node
from irexec.ir.document import ROOT_TYPES, BackEdge, Edge, Layer, Net, PortMap
from irexec.ir.text import whole

_TYPES = ("Parameter", *ROOT_TYPES)


class Ends(NamedTuple):
    """The first and last nodes of a model."""

    parameters: list[Node]
    results: list[Node]
    sinks: list[Node]


def find_ends(nodes: Sequence[Node], edges: Iterable[Edge], key: Callable[[str | None], str]) -> Ends:
    """Return the ends of a net with these nodes and edges, both in file order; `key` maps equal ids to one text."""
    ends = Ends(*([node for node in nodes if node.type == type] for type in _TYPES))
    if all(map(_has_exact_name, (node for nodes in ends for node in nodes))):
        return ends
    exact = Ends(*([node for node in nodes if _has_exact_name(node)] for nodes in ends))
    others = set[Node]().union(*ends).difference(*exact)
    # In a valid file no edge ends in a Parameter; in an invalid one the search from the Parameters includes all of the
    # model.
    roots = [node for node in nodes if node.type in ROOT_TYPES and node not in others]
    for node in _searched([*roots, *exact.parameters], nodes, edges, key):
        if node in others:
            exact[_TYPES.index(node.type)].append(node)
    return exact


def _has_exact_name(node: Node) -> bool:
    return node.layer is None or node.layer.type == node.type


def _searched(
    roots: Iterable[Node], nodes: Iterable[Node], edges: Iterable[Edge], key: Callable[[str | None], str]
) -> list[Node]:
    """Return all nodes on which roots depend, in OpenVINO's order: it follows the last of several edges first."""
    by_id: dict[str, list[Node]] = {}
    for node in nodes:
        by_id.setdefault(key(node.id), []).append(node)
    givers: dict[str, list[str]] = {}
    for edge in edges:
        givers.setdefault(key(edge.to_layer), []).append(key(edge.from_layer))
    order: dict[str, None] = {}
    for root in roots:
        path, opened = [key(root.id)], set[str]()
        while path:
            id = path[-1]
            if id in order or id in opened:
                order.setdefault(path.pop())
            else:
                opened.add(id)
                path += [giver for giver in givers.get(id, ()) if giver not in order]
    return [node for id in order for node in by_id.get(id, ())]


def build_bodies(node: Node, layer: Layer, build: Callable[[Net], Model], findings: Findings) -> list[Body]:
    """Return the bodies of a layer with their maps: one for Loop and TensorIterator, then and else for If.

    Faults that the reader has reported (such as a map to a missing layer) are skipped.
    """
    if node.type == "If":
        if layer.then_body is None or layer.else_body is None:
            return []
        then_body = _body(build(layer.then_body), layer.then_port_map, (), node)
        else_body = _body(build(layer.else_body), layer.else_port_map, (), node)
        _pair(then_body, else_body, layer, findings)
        return [then_body, else_body]
    if layer.body is None:
        return []
    body = _body(build(layer.body), layer.port_map, layer.back_edges, node)
    # The reader reports this for a whole file, but a loose layer is read without those checks.
    if node.type == "Loop" and body.condition is None and not findings.has_finding("B009", layer.ref):
        message = "no body Result has purpose execution_condition"
        findings.add("B009", message, at=At(layer.at), layer=layer.ref)
    return [body]


def _body(model: Model, maps: Sequence[PortMap] | None, edges: Sequence[BackEdge] | None, node: Node) -> Body:
    parameters = {_id(p.id): i for i, p in enumerate(model.parameters)}
    results = {_id(r.id): i for i, r in enumerate(model.results)}
    back = {_id(e.to_layer): results[_id(e.from_layer)] for e in edges or () if _id(e.from_layer) in results}
    body = Body(model)
    external_outputs = sorted(
        {n for m in maps or () if m.kind == "output" and (n := _number(m.external_port_id, -1)) >= 0}
    )
    seen: set[tuple[str, int]] = set()
    for entry in maps or ():
        external = _number(entry.external_port_id, -1)
        inner = _id(entry.internal_layer_id)
        if external >= 0 and (entry.kind, external) in seen:
            continue
        seen.add((entry.kind, external))
        if entry.kind == "input" and inner in parameters:
            body.inputs.append(
                BodyInput(
                    parameters[inner],
                    external if external >= 0 else None,
                    _slicing(entry),
                    back.get(inner),
                    iteration=entry.purpose == "current_iteration",
                    at=entry.at,
                )
            )
        elif entry.kind == "output" and inner in results:
            if entry.purpose == "execution_condition":
                body.condition = results[inner]
            if external >= 0:
                position = external_outputs.index(external)
                body.outputs.append(BodyOutput(results[inner], position, _slicing(entry), entry.at))
    return body


def _slicing(entry: PortMap) -> Slicing | None:
    if entry.axis is None:
        return None
    return Slicing(
        _number(entry.axis, 0),
        _number(entry.start, 0),
        _number(entry.end, -1),
        _number(entry.stride, 1),
        _number(entry.part_size, 1),
    )


def _pair(then_body: Body, else_body: Body, layer: Layer, findings: Findings) -> None:
    then_ports = {o.external for o in then_body.outputs}
    else_ports = {o.external for o in else_body.outputs}
    if then_ports != else_ports and not findings.has_finding("B010", layer.ref):
        message = f"then_body has {len(then_ports)} outputs, else_body {len(else_ports)}; the numbers must be equal"
        findings.add("B010", message, at=At(layer.at), layer=layer.ref)


def _id(text: str | None) -> str:
    number = whole(text).value
    return text or "" if number is None else str(number)


def _number(text: str | None, default: int) -> int:
    value = whole(text, signed=True).value if text is not None else None
    return default if value is None else value
