"""Fixes of an end of an edge that names nothing: the one layer or port that it can mean, because no other is open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from irexec.diagnostics import Diagnostic, Fix, Safety
from irexec.ir.checks.edges import END_NAMES, ends_of
from irexec.ir.document import Edge, Net
from irexec.mend import joins
from irexec.mend.written import Owner, Written, number

_MOST_OPEN = 1000
"""Of more open ends than this none is looked for: the time would grow with the square of the file."""


def unreadable(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E010: the names of an edge's attributes; a number that is none, as `unknown`."""
    yield from unknown(finding, written) if finding.attribute is not None else joins.attributes(finding, written)


def unknown(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E001, E006, E009: the layer that nothing is connected with, where one fits; of several each is a suggestion."""
    name = finding.attribute
    if finding.at is None or name is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    if exchanged := _exchanged(edge, net, written):
        yield exchanged
        return
    if (named := _layer_named(edge, net, name, written)) is not None:
        edit = written.set_attribute(edge.at, name, named)
        yield from () if edit is None else (Fix(f'write {name}="{named}"', Safety.SAFE, (edit,)),)
        return
    found = list(_open_ends(edge, net, name, written))
    if len(found) > joins.MOST_CHOICES:
        return
    safety = Safety.SAFE if len(found) == 1 else Safety.SUGGESTION
    for owner in found:
        meant = owner.layer.id if name.endswith("-layer") else owner.port.id
        if meant is not None and (edit := written.set_attribute(edge.at, name, meant)) is not None:
            yield Fix(f'write {name}="{meant}"', safety, (edit,))


def port(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E002: an edge the other way round, or another port of the layer."""
    found = written.edges.get(finding.at.element) if finding.at is not None else None
    exchanged = _exchanged(*found, written) if found is not None else None
    yield from joins.port(finding, written) if exchanged is None else (exchanged,)


def _exchanged(edge: Edge, net: Net, written: Written) -> Fix | None:
    """The edge the other way round, where it starts at a layer without outputs, or ends at one without inputs."""
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
    return Fix("exchange its ends", Safety.UNSAFE, tuple(edit for edit in edits if edit is not None))


def _layer_named(edge: Edge, net: Net, name: str, written: Written) -> str | None:
    """The id of the layer whose name an end has in place of its id."""
    text = ends_of(edge)[name]
    counts = written.shared("names of layers", net, lambda: Counter(layer.name for layer in net.layers))
    if not text or not name.endswith("-layer") or number(text) is not None or counts[text] != 1:
        return None
    return written.shared("layers by name", net, lambda: {layer.name: layer.id for layer in net.layers})[text]


def _open_ends(edge: Edge, net: Net, name: str, written: Written) -> Iterator[Owner]:
    """The ports that an edge may have at an end: open ones that agree with what is known of both its ends."""
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
    if len(candidates) > _MOST_OPEN:
        return
    for owner in candidates:
        giver, taker = (owner, other) if from_here else (other, owner)
        if known == number(owner.port.id if what == "layer" else owner.layer.id) and joins.fit(giver, taker):
            yield owner
