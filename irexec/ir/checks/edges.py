"""Checks of edges: both ends exist, every input has exactly one producer, there are no cycles and no unused layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeAlias

from irexec.core.diagnostics.deadline import watched
from irexec.core.diagnostics.diagnostic import Severity
from irexec.core.diagnostics.findings import At
from irexec.core.diagnostics.nearest import nearest
from irexec.core.diagnostics.statements import UNCONNECTED
from irexec.core.forms import ID, read
from irexec.core.structure import CONST, CONVERT, PARAMETER
from irexec.ir.checks.scope import NetScope
from irexec.ir.document import ROOT_TYPES, Edge, Layer, Port
from irexec.ir.text import listed, quoted

END_NAMES = ("from-layer", "from-port", "to-layer", "to-port")
_OTHER_NAMES = {
    "from": "from-layer", "source": "from-layer", "src": "from-layer", "to": "to-layer", "target": "to-layer",
    "dst": "to-layer",
}  # fmt: skip
_SOURCES = (PARAMETER, CONST, "Constant")
# A Parameter remains an input of the model even if no layer uses it.
_ENDS = (*ROOT_TYPES, PARAMETER)
# The maximum number of ports that a finding lists: there may be as many findings as ports.
_MOST_CANDIDATES = 100


_End: TypeAlias = tuple[Layer, Port]


def check_edges(scope: NetScope) -> None:
    """Check the edges of a net; `scope.by_id` is filled."""
    producers: dict[int, Edge] = {}
    complete = ascending = True
    arcs: list[tuple[int, int, Edge]] = []
    # The number of edges that end at no port, all reported: by layer, or under None if the layer is unknown.
    dangling: Counter[int | None] = Counter()
    # The edges to layers that do not exist, with the number of the layer.
    lost: list[tuple[Edge, int]] = []
    _report_missing_ends(scope)
    for edge in watched(scope.net.edges, "checking edges", "edges"):
        source, target = _plain_ends(edge, scope) or _ends(edge, scope, dangling, lost)
        if target is not None:
            layer, port = target
            first = producers.setdefault(port.at, edge)
            if first is not edge and layer.at not in scope.broken:
                _second_producer(edge, first, target, scope)
        if source is None or target is None:
            complete = False
        else:
            start, end = source[0].at, target[0].at
            ascending = ascending and start < end
            arcs.append((start, end, edge))
    open_ports: list[_End] = []
    if len(producers) < sum([len(layer.inputs) for layer in scope.net.layers]):
        open_ports = _open_ports(producers, dangling, scope)
    _report_lost(lost, open_ports, scope)
    if dangling[None] + len(lost) < len(open_ports):
        for layer, port in open_ports:
            message = f"input port {port.id} is not connected"
            scope.findings.add("E004", message, at=At(port.at), layer=layer.ref, port=port.id)
    # If every layer comes after the layers on which it depends, as in nearly all files, there is no cycle, and every
    # layer that is used leads to an end.
    untaken = {layer.at for layer in scope.net.layers if layer.type not in _ENDS} - {start for start, _, _ in arcs}
    if ascending and not untaken:
        return
    layers = {layer.at: layer for layer in scope.net.layers}
    needed = _needed(layers, arcs)
    if not ascending:
        _check_cycles(layers, arcs, needed, scope)
    # A Parameter remains an input of the model in any case.
    idle = [layer for layer in scope.net.layers if layer.at not in needed and layer.type != PARAMETER]
    if complete and needed:
        _report_idle(idle, scope)


def _open_ports(producers: dict[int, Edge], dangling: Counter[int | None], scope: NetScope) -> list[_End]:
    """Return the input ports at which no edge ends, except one for each edge to an unknown port of the same layer."""
    open_ports = []
    for layer in scope.net.layers:
        for port in layer.inputs:
            if port.at in producers or _is_lost(port, layer, scope):
                continue
            if dangling[layer.at] > 0:
                dangling[layer.at] -= 1
            else:
                open_ports.append((layer, port))
    return open_ports


def _report_lost(lost: list[tuple[Edge, int]], open_ports: list[_End], scope: NetScope) -> None:
    """Report edges to layers that do not exist: an error if an input port is not connected."""
    only = open_ports[0] if len(open_ports) == len(lost) == 1 else None
    for edge, number in lost:
        hint = meant = None
        if only is not None and only[0].id and read(ID, only[1].id).value == read(ID, edge.to_port).value:
            meant = only[0].id
            hint = f"did you mean {meant}, {only[0].ref}? Its input port {only[1].id} is not connected"
        details: dict[str, Any] = {"hint": hint, "candidates": () if meant is None else (meant,)}
        if open_ports:
            details |= {"severity": Severity.ERROR, "defined": False, "openvino": UNCONNECTED}
        _unknown_layer("E009", "ends", number, At(edge.at, "to-layer"), scope, **details)


def _report_idle(idle: list[Layer], scope: NetScope) -> None:
    """Report layers on which no result depends."""
    # OpenVINO writes an LSTMCell of opset1 without its last input, and leaves the constant of that input in the file.
    leaves_constants = any(layer.type == "LSTMCell" and layer.version == "opset1" for layer in scope.net.layers)
    for layer in idle:
        if not leaves_constants or layer.type not in (CONST, CONVERT):
            message = f"no Result and no Assign depends on {layer.ref}"
            scope.findings.add("L008", message, at=At(layer.at), layer=layer.ref)


def _is_lost(port: Port, layer: Layer, scope: NetScope) -> bool:
    """Return True if no edge can refer to the port, for a reason that has been reported."""
    if layer.at in scope.broken or port.at in scope.broken:
        return True
    number = read(ID, port.id).value
    return number is None or scope.inputs(layer).get(number) is not port


def ends_of(edge: Edge) -> dict[str, str | None]:
    """Return the attributes `from-layer`, `from-port`, `to-layer` and `to-port` of an edge; None if absent."""
    texts = (edge.from_layer, edge.from_port, edge.to_layer, edge.to_port)
    return dict(zip(END_NAMES, texts, strict=True))


def meant_end(name: str, missing: Iterable[str]) -> str | None:
    """Return the missing attribute of an edge that is written under another name, such as `from` or `to_layer`."""
    missing = list(missing)
    known = _OTHER_NAMES.get(name.lower())
    near = [known] if known in missing else nearest(name.replace("_", "-"), missing, 1, 0.75)
    return near[0] if near else None


def _report_missing_ends(scope: NetScope) -> None:
    """Report edges that lack attributes, once for all edges with the same missing and unknown attributes."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Edge]] = {}
    for edge in scope.net.edges:
        if None in (edge.from_layer, edge.from_port, edge.to_layer, edge.to_port):
            missing = tuple(name for name, text in ends_of(edge).items() if text is None)
            groups.setdefault((missing, tuple(edge.other or ())), []).append(edge)
    for (missing, others), edges in groups.items():
        message = f"{listed(missing)} of the edge {'is' if len(missing) == 1 else 'are'} missing"
        if others:
            message += f": {listed(map(quoted, others))} {'is' if len(others) == 1 else 'are'} unknown"
        if len(edges) > 1:
            message += f", here and in {len(edges) - 1:,} more edges"
        meant = {other: name for other in others if (name := meant_end(other, missing))}
        hint = ", ".join(f"write {name} for {quoted(other)}" for other, name in meant.items())
        first = edges[0]
        at = At(first.at, others[0], named=True) if others else At(first.at)
        scope.findings.add("E010", message, at=at, hint=hint or None, allowed=listed(END_NAMES))
        scope.broken |= {edge.at for edge in edges}


def _plain_ends(edge: Edge, scope: NetScope) -> tuple[_End, _End] | None:
    """Return both ends of a plainly valid edge; None for an edge that needs the detailed checks.

    Ports are looked up at the position that they have in nearly all layers, whose ids are consecutive.
    """
    numbers, layers = scope.numbers, scope.by_id
    try:
        source, target = layers[numbers[edge.from_layer]], layers[numbers[edge.to_layer]]
        given, taken = source.outputs[0], target.inputs[0]
        if given.id != edge.from_port:
            given = source.outputs[numbers[edge.from_port] - numbers[given.id]]
        if taken.id != edge.to_port:
            taken = target.inputs[numbers[edge.to_port] - numbers[taken.id]]
    except LookupError:
        return None
    if given.id != edge.from_port or taken.id != edge.to_port or target.type in _SOURCES:
        return None
    if scope.unordered and (source.at in scope.unordered or target.at in scope.unordered):
        return None
    return (source, given), (target, taken)


def _ends(
    edge: Edge, scope: NetScope, dangling: Counter[int | None], lost: list[tuple[Edge, int]]
) -> tuple[_End | None, _End | None]:
    from_layer, from_port, to_layer, to_port = (
        None if text is None else scope.whole(text, edge.at, name, "E010", name) for name, text in ends_of(edge).items()
    )
    if to_layer is None or to_port is None:
        dangling[None] += 1
    source = target = None
    if to_layer is not None and to_layer not in scope.by_id:
        # OpenVINO follows edges from their ends: it never looks at the start of an edge that ends nowhere.
        lost.append((edge, to_layer))
        return None, None
    if to_layer is not None:
        scope.findings.readers[edge.at] = scope.by_id[to_layer].ref
    if from_layer is not None and (layer := scope.by_id.get(from_layer)) is None:
        _unknown_layer("E001", "starts", from_layer, At(edge.at, "from-layer"), scope)
    elif from_layer is not None and from_port is not None and layer is not None:
        port = scope.outputs(layer).get(from_port)
        if port is None:
            _unknown_port("output", from_port, scope.outputs(layer), layer, At(edge.at, "from-port"), scope)
        else:
            source = (layer, port)
    if to_layer is not None and to_port is not None:
        layer = scope.by_id[to_layer]
        port = scope.inputs(layer).get(to_port)
        if layer.type in _SOURCES and layer.at not in scope.broken:
            dangling[None] += 1
            message = f"{layer.ref} has no inputs"
            scope.findings.add("E006", message, at=At(edge.at, "to-layer"), layer=layer.ref, attribute="to-layer")
        elif port is None:
            dangling[layer.at] += 1
            _unknown_port("input", to_port, scope.inputs(layer), layer, At(edge.at, "to-port"), scope)
        else:
            target = (layer, port)
    return source, target


def _unknown_layer(code: str, what: str, number: int, at: At, scope: NetScope, **details: Any) -> None:
    if scope.known_ids is not None:
        message = f"the edge {what} at layer {number}, which does not exist"
        details |= {"attribute": at.attribute, "found": str(number), "allowed": f"the file has {scope.known_ids}"}
        scope.findings.add(code, message, at=at, **details)


def _unknown_port(kind: str, number: int, known: Iterable[int], layer: Layer, at: At, scope: NetScope) -> None:
    if layer.at in scope.broken or scope.has_broken(layer.inputs if kind == "input" else layer.outputs):
        return
    scope.findings.add(
        "E002",
        f"{layer.ref} has no {kind} port {number}",
        at=at,
        layer=layer.ref,
        attribute=at.attribute,
        port=str(number),
        found=str(number),
        allowed=listed(known) or f"the layer has no {kind} ports",
        candidates=tuple(str(id) for id in islice(known, _MOST_CANDIDATES)),
    )


def _second_producer(edge: Edge, first: Edge, target: _End, scope: NetScope) -> None:
    layer, port = target
    same = (edge.from_layer, edge.from_port) == (first.from_layer, first.from_port)
    what = "is connected twice by the same edge" if same else "has two producers"
    scope.findings.add(
        "E003",
        f"input port {port.id} of {layer.ref} {what}",
        at=At(edge.at),
        layer=layer.ref,
        port=port.id,
        related=(("the first edge", At(first.at)),),
    )


def _check_cycles(
    layers: dict[int, Layer], arcs: Iterable[tuple[int, int, Edge]], needed: set[int], scope: NetScope
) -> None:
    following: dict[int, list[tuple[int, Edge]]] = {}
    for source, target, edge in arcs:
        following.setdefault(source, []).append((target, edge))
    for cycle in _cycles(layers, following):
        _report_cycle(cycle, layers, following, needed, scope)


def _cycles(layers: Iterable[int], arcs: dict[int, list[tuple[int, Edge]]]) -> list[set[int]]:
    """Return the sets of layers that reach each other (Tarjan's algorithm without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    found: list[set[int]] = []
    for root in layers:
        if root in order:
            continue
        work = [(root, iter(arcs.get(root, ())))]
        order[root] = low[root] = len(order)
        path.append(root)
        on_path.add(root)
        while work:
            node, following = work[-1]
            for target, _ in following:
                if target not in order:
                    order[target] = low[target] = len(order)
                    path.append(target)
                    on_path.add(target)
                    work.append((target, iter(arcs.get(target, ()))))
                    break
                if target in on_path:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    members = set()
                    while True:
                        members.add(last := path.pop())
                        on_path.discard(last)
                        if last == node:
                            break
                    if len(members) > 1 or any(target == node for target, _ in arcs.get(node, ())):
                        found.append(members)
    return found


def _report_cycle(
    cycle: set[int],
    layers: dict[int, Layer],
    arcs: dict[int, list[tuple[int, Edge]]],
    needed: set[int],
    scope: NetScope,
) -> None:
    inside = [(node, target, edge) for node in sorted(cycle) for target, edge in arcs.get(node, ()) if target in cycle]
    # Report the edge that leads backwards in file order: it is the most likely mistake.
    node, target, edge = next((arc for arc in inside if arc[1] <= arc[0]), inside[0])
    names = ", ".join(str(layers[at].ref) for at in sorted(cycle)[:5]) + (", ..." if len(cycle) > 5 else "")
    scope.findings.add(
        "E005",
        f"an output of {layers[node].ref} is connected to its own input"
        if len(cycle) == 1
        else f"{len(cycle)} layers form a cycle: {names}",
        at=At(edge.at),
        layer=layers[target].ref,
        related=(("the edge ends here", At(target)),),
        # OpenVINO never visits layers on which no result depends.
        severity=Severity.WARNING if scope.findings.mode == "openvino" and not cycle & needed else None,
    )


def _needed(layers: dict[int, Layer], arcs: Iterable[tuple[int, int, Edge]]) -> set[int]:
    """Return the Results and Assigns, and all layers on which they depend."""
    feeds: dict[int, list[int]] = {}
    for source, target, _ in arcs:
        feeds.setdefault(target, []).append(source)
    needed = {at for at, layer in layers.items() if layer.type in ROOT_TYPES}
    work = list(needed)
    while work:
        for source in feeds.get(work.pop(), ()):
            if source not in needed:
                needed.add(source)
                work.append(source)
    return needed
