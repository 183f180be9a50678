"""Fixes of an end of an edge that names nothing: the one layer or port that it can mean, because no other is open."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.diagnostics import Diagnostic, Fix, Safety
from irexec.ir.checks.edges import ends_of
from irexec.ir.document import Edge, Net
from irexec.mend import joins
from irexec.mend.written import Owner, Written, number


def unreadable(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E010: the names of an edge's attributes; a number that is none, as `unknown`."""
    yield from unknown(finding, written) if finding.attribute is not None else joins.attributes(finding, written)


def unknown(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """E001, E006, E009: the layer that nothing is connected with, where one fits; of several each is a suggestion."""
    name = finding.attribute
    if finding.at is None or name is None or finding.at.element not in written.edges:
        return
    edge, net = written.edges[finding.at.element]
    found = list(_open_ends(edge, net, name, written))
    if len(found) > joins.MOST_CHOICES:
        return
    safety = Safety.SAFE if len(found) == 1 else Safety.SUGGESTION
    for owner in found:
        meant = owner.layer.id if name.endswith("-layer") else owner.port.id
        if meant is not None and (edit := written.set_attribute(edge.at, name, meant)) is not None:
            yield Fix(f'write {name}="{meant}"', safety, (edit,))


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
    for owner in joins.idle_outputs(net, written) if from_here else joins.open_inputs(net, written):
        giver, taker = (owner, other) if from_here else (other, owner)
        if known == number(owner.port.id if what == "layer" else owner.layer.id) and joins.fit(giver, taker):
            yield owner
