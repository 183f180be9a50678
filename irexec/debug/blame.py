"""Where to look for the cause of a difference that the own errors of layers do not show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from irexec.debug.comparison import Row
from irexec.debug.culprit import Culprit
from irexec.debug.errors import NONE, Error, measure
from irexec.debug.record import Reference
from irexec.debug.runtimes import KnowsStates, Loaded
from irexec.debug.together import Together
from irexec.debug.tolerances import FUSED
from irexec.debug.twins import Twins
from irexec.graph.model import Model, Node, Value

_APART = 16.0
"""How many times the error of the results a variable is off that is not what was assigned to it."""
_FAR = 4.0
"""How many times its tolerance a value is off where a difference appears."""


def changed(model: Model, twins: Twins | None, nodes: Sequence[Node]) -> Culprit | None:
    """The first of these layers that the other model has otherwise, whatever that changes."""
    for node in nodes if twins is not None else ():
        if twins is not None and (changes := twins.changes(node)):
            return Culprit(model, [node], (), NONE, "exact", changes=changes)
    return None


def failing(model: Model, twins: Twins | None, layer: str) -> Culprit | None:
    """The layer that makes the other model fail in a layer of its own: the nearest one that is not the same.

    `layer`: the name of the layer that fails.
    """
    if twins is None:
        return None
    there = next((node for node in twins.alignment.b.nodes if node.friendly_name == layer), None)
    here = twins.alignment.back.get(there) if there is not None else None
    if here is None:
        return changed(model, twins, model.nodes)
    found = changed(model, twins, _backwards(here))
    return found or Culprit(model, [here], (), NONE, "exact")


def _backwards(node: Node) -> list[Node]:
    """The layer, and those that it follows from, the nearest first."""
    found, queue = {node}, [node]
    for top in queue:
        for value in top.inputs:
            if value is not None and value.node not in found:
                found.add(value.node)
                queue.append(value.node)
    return queue


def wrong_state(
    reference: Reference, loaded: Loaded, written: Mapping[Node, Value], errors: Sequence[Sequence[Error]]
) -> Culprit | None:
    """The variable that is first something else than what was assigned to it in a step whose results agree.

    `written`: the values that are assigned to the variables which layers read. `errors`: of the results, per step. A
    runtime may keep variables in another type, without showing it to anyone.
    """
    if not written or len(errors) < 2 or not isinstance(loaded, KnowsStates):
        return None
    theirs = loaded.states(reference.steps)
    mine = reference.record(set(written.values()))
    for step, (known, there) in enumerate(zip(mine, theirs, strict=True)):
        least = _APART * max(FUSED, *(error.ulp for error in errors[step]))
        for node, value in written.items():
            state = there.get(str(node.attributes.get("variable_id")))
            if state is None or value not in known or state.size != known[value].size:
                continue
            error = measure(known[value], state.reshape(known[value].shape))
            if error.ulp > least:
                text = f"the variable is not what was assigned to it in step {step}, although the results agree"
                return Culprit(reference.model, [node], (), error, "exact", step + 1, changes=[text])
    return None


def where(rows: Sequence[Row], together: Together) -> str:
    """Between which layers a difference appears that they do not explain."""
    totals = {row.node: row for row in rows if row.total is not None}
    for row in rows:
        if _is_small(row):
            continue
        sources = [value.node for value in together.of(row.node)[1]]
        if all(node not in totals or _is_small(totals[node]) for node in sources):
            names = " and ".join(node.friendly_name for node in sources[:2]) or "the inputs"
            return f"it appears between {names} and {row.node.friendly_name}"
    return ""


def _is_small(row: Row) -> bool:
    return row.total is None or row.total.ulp <= _FAR * row.limit
