"""Fixes of edges: their attributes, the ports that they name, edges that are missing or there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from irexec.diagnostics import Diagnostic, Edit, Fix, Safety
from irexec.graph.build import declared_type
from irexec.ir.checks.edges import END_NAMES, ends_of, meant_end
from irexec.ir.document import Edge, Layer, Net, Port
from irexec.mend.written import Owner, Written, number
from irexec.types import F32, ElementType

_Shape = tuple[tuple[str, ...], tuple[str, ...]]

MOST_CHOICES = 8
"""Of more outputs than this that may be meant, none is suggested."""


def attributes(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E010: the names of an edge's attributes, in all edges that have the same, and ports that are the only ones."""
    if finding.at is None or finding.at.element not in written.edges:
        return
    first, net = written.edges[finding.at.element]
    shape = _shape(first)
    edits = written.shared(f"completed {shape}", net, lambda: _all_completed(shape, net, written))
    if edits:
        names = [f"{name} to {meant}" for name, meant in _meant(first).items()]
        title = f"rename {', '.join(names)}" if names else "add the port"
        yield Fix(title, Safety.SAFE, edits)


def _all_completed(shape: _Shape, net: Net, written: Written) -> tuple[Edit, ...]:
    return tuple(edit for edge in net.edges if _shape(edge) == shape for edit in _completed(edge, net, written))


def _shape(edge: Edge) -> _Shape:
    """Which attributes an edge lacks, and which unknown ones it has."""
    return tuple(name for name, text in ends_of(edge).items() if text is None), tuple(edge.other or ())


def _meant(edge: Edge) -> dict[str, str]:
    """The unknown attributes of an edge that stand for missing ones."""
    missing, others = _shape(edge)
    found = {other: name for other in others if (name := meant_end(other, missing))}
    return found if len(set(found.values())) == len(found) else {}


def _completed(edge: Edge, net: Net, written: Written) -> Iterator[Edit]:
    """The edits that complete an edge; none where an attribute stays missing."""
    meant = _meant(edge)
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
    """The ports of a side of a layer."""
    id = number(layer_id)
    layers = written.layers_by_number(net).get(id, []) if id is not None else []
    return () if len(layers) != 1 else layers[0].outputs if is_output else layers[0].inputs


def port(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E002: the only port of the layer, or the only one that no edge leads to; of several each is a suggestion."""
    if finding.at is None or finding.attribute is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    is_output = finding.attribute == "from-port"
    ports = _ports(written, net, edge.from_layer if is_output else edge.to_layer, is_output=is_output)
    if is_output and not ports:
        yield from _missing_output(edge, net, written)
    if shifted := () if is_output else tuple(_shifted(edge, ports, net, written)):
        yield Fix("count the ports as the layer does", Safety.UNSAFE, shifted)
        return
    free = [p for p in ports if p.at not in written.given_by] if not is_output else list(ports)
    ids = [number(p.id) for p in ports]
    choices = [p for p in free or ports if ids.count(number(p.id)) == 1]
    if is_output and len(choices) > 1:
        choices = _that_fit(choices, edge, net, written)
    for choice in choices:
        safety = Safety.SAFE if len(choices) == 1 else Safety.SUGGESTION
        if choice.id is not None and (edit := written.set_attribute(edge.at, finding.attribute, choice.id)) is not None:
            yield Fix(f'write {finding.attribute}="{choice.id}"', safety, (edit,))


def _that_fit(outputs: list[Port], edge: Edge, net: Net, written: Written) -> list[Port]:
    """Those of a layer's outputs whose type is that of the input port that an edge leads to; all where none is."""
    ends = written.shared("ends", net, lambda: written.by_numbers(net))
    taker = ends.get((False, number(edge.to_layer), number(edge.to_port)))
    owners = [owner for port in outputs if (owner := written.ports.get(port.at)) is not None]
    fitting = [owner.port for owner in owners if taker is not None and fit(owner, taker)]
    return fitting or outputs


def _missing_output(edge: Edge, net: Net, written: Written) -> Iterator[Fix]:
    """The output that edges start at, of a layer that has none. If it is not f32, another finding says so then."""
    layers = written.layers_by_number(net).get(number(edge.from_layer), [])
    named = written.ports_named(net).get((True, number(edge.from_layer)), set())
    if len(layers) == 1 and len(named) == 1 and layers[0].type != "Result":
        (id,) = named
        free = all(number(port.id) != id for port in layers[0].inputs)
        kind = ElementType.from_attribute(layers[0].data.get("element_type", "")) or F32
        text = f'<output><port id="{id}" precision="{kind.port_name}"/></output>'
        edit = written.add_last(layers[0].at, text) if free else None
        if edit is not None:
            yield Fix(f"add output port {id}", Safety.SAFE, (edit,))


def _shifted(edge: Edge, ports: tuple[Port, ...], net: Net, written: Written) -> Iterator[Edit]:
    """The ports of all edges into a layer, where these count its several inputs from another number on."""
    id = number(edge.to_layer)
    named = sorted(written.ports_named(net).get((False, id), set()))
    ids = sorted(found for port in ports if (found := number(port.id)) is not None)
    if len(ids) < 2 or len(named) != len(ids) or [name + ids[0] - named[0] for name in named] != ids:
        return
    for other in net.edges:
        name = number(other.to_port)
        if number(other.to_layer) == id and name is not None:
            edit = written.set_attribute(other.at, "to-port", str(name + ids[0] - named[0]))
            yield from () if edit is None else (edit,)


def again(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E003: without an edge that is there already."""
    if finding.at is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    counts = written.shared("edges", net, lambda: Counter(map(_numbers, net.edges)))
    if counts[_numbers(edge)] > 1 and (edit := written.drop_element(edge.at)):
        yield Fix("remove the second edge", Safety.SAFE, (edit,))


def _numbers(edge: Edge) -> tuple[int | None, ...]:
    return tuple(map(number, ends_of(edge).values()))


def missing(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E004: an edge from an output that nothing takes; where both are the only ones of the model, that is certain."""
    owner = written.ports.get(finding.at.element) if finding.at is not None else None
    if owner is None:
        return
    net = owner.net
    if not net.edges:
        edit = written.shared("all edges", net, lambda: _all_edges(net, written))
        if edit is not None:
            yield Fix("connect the layers in their order", Safety.UNSAFE, (edit,))
        return
    unused = unused_outputs(net, written)
    # An edge that leads nowhere may be meant for this port.
    if len(unused) > MOST_CHOICES or written.shared("astray", net, lambda: _has_edges_astray(net, written)):
        return
    unused = [giver for giver in unused if fit(giver, owner)]
    certain = len(unused) == 1 and len(open_inputs(net, written)) == 1 and unused[0] in idle_outputs(net, written)
    for giver in unused:
        edge = _edge_text(giver.layer, giver.port, owner)
        if (edit := written.add_edge(net, edge)) is not None:
            yield Fix(f"connect it with {giver.layer.ref}", Safety.SAFE if certain else Safety.SUGGESTION, (edit,))


def result(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N008: a Result for the one output that nothing takes."""
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
        yield Fix(f"make the output of {giver.layer.ref} a result", Safety.UNSAFE, tuple(filter(None, edits)))


def _all_edges(net: Net, written: Written) -> Edit | None:
    """The edges of a model that has none: each layer takes what the last ones before it made and nothing has taken."""
    made: list[Owner] = []
    texts = []
    for layer in net.layers:
        for port in layer.inputs:
            taker = Owner(port, layer, net, False)
            fitting = [giver for giver in made if fit(giver, taker)]
            left = len(layer.inputs) - layer.inputs.index(port)
            if len(fitting) < left:
                return None
            giver = fitting[-left]
            made.remove(giver)
            texts.append(_edge_text(giver.layer, giver.port, taker))
        made += [Owner(port, layer, net, True) for port in layer.outputs]
    return written.add_edges(net, texts) if texts else None


def _has_edges_astray(net: Net, written: Written) -> bool:
    """Whether an edge does not join two ports."""
    joined = sum(len(written.taken_by.get(port.at, ())) for layer in net.layers for port in layer.outputs)
    return joined < len(net.edges)


def unused_outputs(net: Net, written: Written) -> list[Owner]:
    """Output ports that no edge starts at."""

    def make() -> list[Owner]:
        ports = (Owner(port, layer, net, True) for layer in net.layers for port in layer.outputs)
        return [owner for owner in ports if not written.taken_by.get(owner.port.at)]

    return written.shared("unused outputs", net, make)


def idle_outputs(net: Net, written: Written) -> list[Owner]:
    """Output ports of layers that no edge starts at. Of others an output may be left unused, and that of an Assign."""

    def make() -> list[Owner]:
        used = {owner.layer.at for port in written.taken_by if (owner := written.ports.get(port)) is not None}
        idle = [layer for layer in net.layers if layer.at not in used and layer.type not in ("Assign", "Result")]
        return [Owner(port, layer, net, True) for layer in idle for port in layer.outputs]

    return written.shared("idle outputs", net, make)


def open_inputs(net: Net, written: Written) -> list[Owner]:
    """Input ports that no edge leads to."""

    def make() -> list[Owner]:
        ports = (Owner(port, layer, net, False) for layer in net.layers for port in layer.inputs)
        return [owner for owner in ports if owner.port.at not in written.given_by]

    return written.shared("open inputs", net, make)


def fit(giver: Owner, taker: Owner) -> bool:
    """True when the types that two ports declare agree, and the layers have ids that an edge can name."""
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
