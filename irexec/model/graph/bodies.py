"""Bodies: the port maps of If, Loop and TensorIterator as connections between positions.

Source: OpenVINO IR, nested bodies; operation pages TensorIterator-1, Loop-5, If-8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.forms import SIGNED, Ids, read
from irexec.core.structure import IF, LOOP
from irexec.ir.document import BackEdge, Layer, Net, PortMap
from irexec.model.graph.body_maps import BodyInput, BodyOutput, Slicing
from irexec.model.graph.model import Body, Model, Node


def build_bodies(node: Node, layer: Layer, build: Callable[[Net], Model], findings: Findings) -> list[Body]:
    """Return the bodies of a layer with their maps: one for Loop and TensorIterator, then and else for If.

    Faults that the reader has reported (such as a map to a missing layer) are skipped.
    """
    if node.type == IF:
        if layer.then_body is None or layer.else_body is None:
            return []
        then_body = _body(build(layer.then_body), layer.then_port_map, (), node)
        else_body = _body(build(layer.else_body), layer.else_port_map, (), node)
        _pair(then_body, else_body, layer, findings)
        return [then_body, else_body]
    if layer.body is None:
        return []
    if node.type == "Subgraph":  # Its inputs are those of the body, in order; its port map may be incomplete.
        model = build(layer.body)
        whole_body = Body(model)
        whole_body.inputs = [BodyInput(n, n) for n in range(len(model.parameters))]
        whole_body.outputs = [BodyOutput(n, n) for n in range(len(model.results))]
        return [whole_body]
    body = _body(build(layer.body), layer.port_map, layer.back_edges, node)
    # The reader reports this for a whole file, but a loose layer is read without those checks.
    if node.type == LOOP and body.condition is None and not findings.has_finding("B009", layer.ref):
        message = "no body Result has purpose execution_condition"
        findings.add("B009", message, at=At(layer.at), layer=layer.ref)
    return [body]


def _body(model: Model, maps: Sequence[PortMap] | None, edges: Sequence[BackEdge] | None, node: Node) -> Body:
    ids = Ids()
    parameters = {ids[p.id]: i for i, p in enumerate(model.parameters)}
    results = {ids[r.id]: i for i, r in enumerate(model.results)}
    back = {ids[e.to_layer]: results[ids[e.from_layer]] for e in edges or () if ids[e.from_layer] in results}
    body = Body(model)
    external_outputs = sorted(
        {n for m in maps or () if m.kind == "output" and (n := _number(m.external_port_id, -1)) >= 0}
    )
    seen: set[tuple[str, int]] = set()
    for entry in maps or ():
        external = _number(entry.external_port_id, -1)
        inner = ids[entry.internal_layer_id]
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


def _number(text: str | None, default: int) -> int:
    value = read(SIGNED, text).value if text is not None else None
    return default if value is None else value
