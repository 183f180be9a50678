"""Fixes of an edge end that names no layer or port: the only unconnected layer or port that it can refer to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from irexec.core.diagnostics import Diagnostic, Fix, Safety, Severity
from irexec.ir.checks.edges import END_NAMES, ends_of
from irexec.ir.document import Edge, Net
from irexec.tools.fixes import joins
from irexec.tools.fixes.written import Owner, Written, number


def unreadable(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E010: correct the names of an edge's attributes; an id that is not a number is treated as in `unknown`."""
    yield from unknown(finding, written) if finding.attribute is not None else joins.attributes(finding, written)


def unknown(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E001, E006, E009: name the unconnected layer if exactly one fits; if several fit, suggest each of them.

    OpenVINO ignores an edge to a missing layer (E009), and reads the file if the edge is not needed: such an edge, a
    warning, is removed.
    """
    name = finding.attribute
    if finding.at is None or name is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    if finding.severity is Severity.WARNING and (edit := written.drop_element(edge.at)) is not None:
        yield Fix("remove the edge", Safety.SAFE, (edit,))
        return
    if exchanged := _exchanged(edge, net, written):
        yield exchanged
        return
    if (named := _layer_named(edge, net, name, written)) is not None:
        yield from written.write(edge.at, name, named, Safety.SAFE)
        return
    found = list(_open_ends(edge, net, name, written))
    if not found and len(finding.candidates) == 1:
        # The types at the ends of the edge differ, which may be an error of its own.
        (meant,) = finding.candidates
        ends, texts = written.shared("ends", net, lambda: written.by_numbers(net)), ends_of(edge)
        giver = ends.get((True, number(texts["from-layer"]), number(texts["from-port"])))
        differ = finding.code == "E009" and giver is not None and number(meant) not in (None, number(giver.layer.id))
        title = f'write {name}="{meant}", although the declared types differ' if differ else ""
        yield from written.write(edge.at, name, meant, Safety.UNSAFE, title)
    if len(found) > joins.MOST_CHOICES:
        return
    safety = Safety.SAFE if len(found) == 1 else Safety.SUGGESTION
    if safety is Safety.SAFE and finding.code == "E009" and not joins.is_required(found[0]):
        safety = Safety.UNSAFE
    for owner in found:
        new = owner.layer.id if name.endswith("-layer") else owner.port.id
        if new is not None:
            yield from written.write(edge.at, name, new, safety)


def port(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E002: reverse the edge, or name another port of the layer."""
    found = written.edges.get(finding.at.element) if finding.at is not None else None
    exchanged = _exchanged(*found, written) if found is not None else None
    yield from joins.port(finding, written) if exchanged is None else (exchanged,)


def _exchanged(edge: Edge, net: Net, written: Written) -> Fix | None:
    """Return the reversed edge, if it starts at a layer without outputs or ends at a layer without inputs."""
    ends = written.shared("ends", net, lambda: written.by_numbers(net))
    texts = list(ends_of(edge).values())
    from_layer, from_port, to_layer, to_port = map(number, texts)
    given, taken = ends.get((True, to_layer, to_port)), ends.get((False, from_layer, from_port))
    if given is None or taken is None or (taken.layer.outputs and given.layer.inputs):
        return None
    edits = [
        written.set_attribute(edge.at, name, text or "")
        for name, text in zip(END_NAMES, texts[2:] + texts[:2], strict=True)
    ]
    return Fix("swap the ends of the edge", Safety.UNSAFE, tuple(edit for edit in edits if edit is not None))


def _layer_named(edge: Edge, net: Net, name: str, written: Written) -> str | None:
    """Return the id of the layer if an end of the edge contains the layer's name in place of its id."""
    text = ends_of(edge)[name]
    counts = written.shared("names of layers", net, lambda: Counter(layer.name for layer in net.layers))
    if not text or not name.endswith("-layer") or number(text) is not None or counts[text] != 1:
        return None
    return written.shared("layers by name", net, lambda: {layer.name: layer.id for layer in net.layers})[text]


def _open_ends(edge: Edge, net: Net, name: str, written: Written) -> Iterator[Owner]:
    """Return the unconnected ports that an end of an edge may refer to, given the known attributes of both its ends."""
    side, what = name.split("-")
    texts = ends_of(edge)
    known = number(texts[f"{side}-{'port' if what == 'layer' else 'layer'}"])
    if known is None:
        return
    from_here = side == "from"
    far = "to" if from_here else "from"
    ends = written.shared("ends", net, lambda: written.by_numbers(net))
    other = ends.get((not from_here, number(texts[f"{far}-layer"]), number(texts[f"{far}-port"])))
    if other is None:
        return
    candidates = joins.idle_outputs(net, written) if from_here else joins.open_inputs(net, written)
    if len(candidates) > joins.MOST_OPEN:
        return
    for owner in candidates:
        giver, taker = (owner, other) if from_here else (other, owner)
        if known == number(owner.port.id if what == "layer" else owner.layer.id) and joins.fit(giver, taker):
            yield owner
