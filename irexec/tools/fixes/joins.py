"""Fixes of edges: their attributes, the ports that they name, and missing or duplicate edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from irexec.core.diagnostics import Diagnostic, Edit, Fix, Safety
from irexec.core.structure import RESULT
from irexec.core.types import F32, ElementType
from irexec.ir.checks.edges import END_NAMES, ends_of, meant_end
from irexec.ir.document import ROOT_TYPES, Edge, Layer, Net, Port
from irexec.model.graph.build import declared_type
from irexec.ops.spec import contents
from irexec.tools.fixes.written import Owner, Written, number

_Shape = tuple[tuple[str, ...], tuple[str, ...]]

MOST_CHOICES, MOST_OPEN = 8, 100
"""The largest numbers of candidate ports that are suggested, and that are examined."""


def attributes(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E010: correct the attribute names of all edges with the same fault, and add ports if there is only one
    possibility.
    """
    if finding.at is None or finding.at.element not in written.edges:
        return
    first, net = written.edges[finding.at.element]
    shape = _shape(first)
    edits = written.shared(f"completed {shape}", net, lambda: _all_completed(shape, net, written))
    if edits:
        names = [f"{name} to {meant}" for name, meant in _intended_names(first).items()]
        title = f"rename {', '.join(names)}" if names else "add the port"
        yield Fix(title, Safety.SAFE, edits)


def _all_completed(shape: _Shape, net: Net, written: Written) -> tuple[Edit, ...]:
    return tuple(edit for edge in net.edges if _shape(edge) == shape for edit in _completed(edge, net, written))


def _shape(edge: Edge) -> _Shape:
    """Return the attributes that an edge lacks, and its unknown attributes."""
    return tuple(name for name, text in ends_of(edge).items() if text is None), tuple(edge.other or ())


def _intended_names(edge: Edge) -> dict[str, str]:
    """Return the unknown attributes of an edge, with the missing attributes that they stand for."""
    missing, others = _shape(edge)
    found = {other: name for other in others if (name := meant_end(other, missing))}
    return found if len(set(found.values())) == len(found) else {}


def _completed(edge: Edge, net: Net, written: Written) -> Iterator[Edit]:
    """Return the edits that complete an edge; an empty list if an attribute would still be missing."""
    meant = _intended_names(edge)
    texts = ends_of(edge) | {name: (edge.other or {})[other] for other, name in meant.items()}
    edits = [written.rename_attribute(edge.at, other, name) for other, name in meant.items()]
    for side in ("from", "to"):
        if texts[f"{side}-port"] is None:
            owners = _ports(written, net, texts[f"{side}-layer"], is_output=side == "from")
            if len(owners) != 1:
                return
            edits.append(written.set_attribute(edge.at, f"{side}-port", owners[0].id or "0"))
    if all(texts[f"{side}-layer"] is not None for side in ("from", "to")):
        yield from (edit for edit in edits if edit is not None)


def _ports(written: Written, net: Net, layer_id: str | None, *, is_output: bool) -> tuple[Port, ...]:
    """Return the ports on a side of a layer."""
    id = number(layer_id)
    layers = written.layers_by_number(net).get(id, []) if id is not None else []
    return () if len(layers) != 1 else layers[0].outputs if is_output else layers[0].inputs


def port(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E002: name the only port of the layer, or the only unconnected one; if several ports fit, suggest each."""
    if finding.at is None or finding.attribute is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    is_output = finding.attribute == "from-port"
    ports = _ports(written, net, edge.from_layer if is_output else edge.to_layer, is_output=is_output)
    if is_output and not ports:
        yield from _missing_output(edge, net, written)
    if not is_output and (shift := _shift(edge, net, written)):
        # The shift concerns all edges into the layer; the fix is attached to one finding only.
        if written.shared(f"shifted into {number(edge.to_layer)}", net, lambda: edge) is edge:
            edits = tuple(_shifted(shift, written.edges_to(net).get(number(edge.to_layer), []), written))
            yield Fix("use the port ids of the layer", Safety.UNSAFE, edits)
        return
    layer = edge.from_layer if is_output else edge.to_layer
    key = f"ports meant of {number(layer)} {is_output}"
    choices = written.shared(key, net, lambda: _candidate_ports(ports, written, is_output=is_output))
    if is_output and 1 < len(choices) <= MOST_OPEN:
        choices = _that_fit(choices, edge, net, written)
    if len(choices) > MOST_CHOICES:
        return
    for choice in choices:
        safety = Safety.SAFE if len(choices) == 1 else Safety.SUGGESTION
        if choice.id is not None:
            yield from written.write(edge.at, finding.attribute, choice.id, safety)


def _candidate_ports(ports: tuple[Port, ...], written: Written, *, is_output: bool) -> list[Port]:
    """Return the ports of a side that an edge may refer to: those with unique ids, only unconnected inputs."""
    free = ports if is_output else [port for port in ports if port.at not in written.given_by]
    counts = Counter(number(port.id) for port in ports)
    return [port for port in free or ports if counts[number(port.id)] == 1]


def _that_fit(outputs: list[Port], edge: Edge, net: Net, written: Written) -> list[Port]:
    """Return the outputs of a layer that have the type of the input at the end of the edge; all outputs if none has."""
    ends = written.shared("ends", net, lambda: written.by_numbers(net))
    taker = ends.get((False, number(edge.to_layer), number(edge.to_port)))
    owners = [owner for port in outputs if (owner := written.ports.get(port.at)) is not None]
    fitting = [owner.port for owner in owners if taker is not None and fit(owner, taker)]
    return fitting or outputs


def _missing_output(edge: Edge, net: Net, written: Written) -> Iterator[Fix]:
    """Yield the fix that adds the output port at which edges start to a layer without outputs. If its type is not f32,
    another finding reports the type afterwards."""
    layer = number(edge.from_layer)
    edit = written.shared(f"output of {layer}", net, lambda: _added_output(layer, net, written))
    if edit is not None:
        (id,) = written.ports_named(net)[True, layer]
        yield Fix(f"add output port {id}", Safety.SAFE, (edit,))


def _added_output(id_of_layer: int | None, net: Net, written: Written) -> Edit | None:
    layers = written.layers_by_number(net).get(id_of_layer, [])
    named = written.ports_named(net).get((True, id_of_layer), set())
    if len(layers) != 1 or len(named) != 1 or layers[0].type == RESULT:
        return None
    (id,) = named
    if any(number(port.id) == id for port in layers[0].inputs):
        return None
    kind = ElementType.from_attribute(layers[0].data.get("element_type", "")) or F32
    text = f'<output><port id="{id}" precision="{kind.port_name}"/></output>'
    return written.add_last(layers[0].at, text)


def _shift(edge: Edge, net: Net, written: Written) -> int:
    """Return the offset of the input ids in the edges into a layer; 0 if they are not shifted."""
    id = number(edge.to_layer)

    def make() -> int:
        layers = written.layers_by_number(net).get(id, []) if id is not None else []
        ports = layers[0].inputs if len(layers) == 1 else ()
        named = sorted(written.ports_named(net).get((False, id), set()))
        ids = sorted(found for port in ports if (found := number(port.id)) is not None)
        if len(ids) < 2 or len(named) != len(ids):
            return 0
        shift = ids[0] - named[0]
        return shift if [name + shift for name in named] == ids else 0

    return written.shared(f"shift into {id}", net, make)


def _shifted(shift: int, edges: list[Edge], written: Written) -> Iterator[Edit]:
    for edge in edges:
        name = number(edge.to_port)
        edit = written.set_attribute(edge.at, "to-port", str(name + shift)) if name is not None else None
        yield from () if edit is None else (edit,)


def again(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E003: remove a duplicate edge."""
    if finding.at is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    counts = written.shared("edges", net, lambda: Counter(map(_numbers, net.edges)))
    if counts[_numbers(edge)] > 1 and (edit := written.drop_element(edge.at)):
        yield Fix("remove the second edge", Safety.SAFE, (edit,))


def _numbers(edge: Edge) -> tuple[int | None, ...]:
    return tuple(map(number, ends_of(edge).values()))


def missing(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E004: add an edge from an unused output; this is certain if both are the only open ends of the model.

    The fix is unsafe if the operator does not need the input, because OpenVINO then reads the file as it is.
    """
    owner = written.ports.get(finding.at.element) if finding.at is not None else None
    if owner is None:
        return
    net = owner.net
    if not net.edges:
        edit = written.shared("all edges", net, lambda: _all_edges(net, written))
        # All of these findings have the same fix: it is as long as the file, so that it is attached to the first
        # finding only.
        if edit is not None and written.shared("without edges", net, lambda: finding) is finding:
            yield Fix("connect the layers in file order", Safety.UNSAFE, (edit,))
        return
    unused = unused_outputs(net, written)
    # An edge with an unknown end may have been meant for this port.
    if len(unused) > MOST_CHOICES or written.shared("dangling edges", net, lambda: _has_dangling_edges(net, written)):
        return
    unused = [giver for giver in unused if fit(giver, owner)]
    certain = len(unused) == 1 and len(open_inputs(net, written)) == 1 and unused[0] in idle_outputs(net, written)
    for giver in unused:
        edge = _edge_text(giver.layer, giver.port, owner)
        if (edit := written.add_edge(net, edge)) is not None:
            safety = Safety.SAFE if is_required(owner) else Safety.UNSAFE
            yield Fix(f"connect the port to {giver.layer.ref}", safety if certain else Safety.SUGGESTION, (edit,))


def is_required(taker: Owner) -> bool:
    """Return whether an input is required by the operator."""
    layer = taker.layer
    operator = contents.find(contents.canonical_type(layer.type or "") or "", layer.version or "")
    if operator is None or operator.signature.is_variadic:
        return False
    return any(port is taker.port for port in layer.inputs[: operator.signature.min_inputs])


def result(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N008: add a Result for the only unused output."""
    net = written.document.net
    unused = unused_outputs(net, written)
    ids = [id for layer in net.layers if (id := number(layer.id)) is not None]
    if len(unused) != 1 or len(ids) != len(net.layers) or not net.edges:
        return
    (giver,) = unused
    id = max(ids) + 1
    layer = f'<layer id="{id}" name="result" type="Result" version="opset1"><input><port id="0"/></input></layer>'
    values = (giver.layer.id, giver.port.id, str(id), "0")
    edits = (written.add_behind(net.layers[-1].at, layer), written.add_edge(net, _edge_of(values)))
    if None not in edits:
        yield Fix(f"add a Result for the output of {giver.layer.ref}", Safety.UNSAFE, tuple(filter(None, edits)))


def _all_edges(net: Net, written: Written) -> Edit | None:
    """Return an edit that adds all edges of a model without edges: layers read unused outputs of earlier layers."""
    made: list[Owner] = []
    texts = []
    for layer in net.layers:
        for place, port in enumerate(layer.inputs):
            taker = Owner(port, layer, net, False)
            last = range(len(made) - 1, max(-1, len(made) - 1 - MOST_OPEN), -1)
            left = len(layer.inputs) - place
            fitting = list(islice((number for number in last if fit(made[number], taker)), left))
            if len(fitting) < left:
                return None
            texts.append(_edge_text(made[fitting[-1]].layer, made[fitting[-1]].port, taker))
            del made[fitting[-1]]
        made += [Owner(port, layer, net, True) for port in layer.outputs]
    return written.add_edges(net, texts) if texts else None


def _has_dangling_edges(net: Net, written: Written) -> bool:
    """Return whether an edge does not connect two existing ports."""
    joined = sum(len(written.taken_by.get(port.at, ())) for layer in net.layers for port in layer.outputs)
    return joined < len(net.edges)


def unused_outputs(net: Net, written: Written) -> list[Owner]:
    """Return the output ports at which no edge starts."""

    def make() -> list[Owner]:
        ports = (Owner(port, layer, net, True) for layer in net.layers for port in layer.outputs)
        return [owner for owner in ports if not written.taken_by.get(owner.port.at)]

    return written.shared("unused outputs", net, make)


def idle_outputs(net: Net, written: Written) -> list[Owner]:
    """Return the output ports at which no edge starts, of layers without any used output. Outputs of other layers, and
    those of an Assign, may be unused."""

    def make() -> list[Owner]:
        used = {owner.layer.at for port in written.taken_by if (owner := written.ports.get(port)) is not None}
        idle = [layer for layer in net.layers if layer.at not in used and layer.type not in ROOT_TYPES]
        return [Owner(port, layer, net, True) for layer in idle for port in layer.outputs]

    return written.shared("idle outputs", net, make)


def open_inputs(net: Net, written: Written) -> list[Owner]:
    """Return the input ports without an edge."""

    def make() -> list[Owner]:
        ports = (Owner(port, layer, net, False) for layer in net.layers for port in layer.inputs)
        return [owner for owner in ports if owner.port.at not in written.given_by]

    return written.shared("open inputs", net, make)


def fit(giver: Owner, taker: Owner) -> bool:
    """Return True if the declared types of two ports agree, and an edge can refer to the ids of their layers."""
    ids = (giver.layer.id, giver.port.id, taker.layer.id, taker.port.id)
    if giver.layer is taker.layer or any(number(id) is None for id in ids):
        return False
    given, taken = declared_type(giver.port), declared_type(taker.port)
    kinds = {given.element_type, taken.element_type}
    return given.shape.compatible(taken.shape) and (len(kinds) == 1 or any(kind.is_dynamic for kind in kinds))


def _edge_text(layer: Layer, given: Port, taker: Owner) -> str:
    return _edge_of((layer.id, given.id, taker.layer.id, taker.port.id))


def _edge_of(values: tuple[str | None, ...]) -> str:
    return "<edge " + " ".join(f'{name}="{value}"' for name, value in zip(END_NAMES, values, strict=True)) + "/>"
