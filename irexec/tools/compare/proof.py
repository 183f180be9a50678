"""The experiments of a verdict whose layers have no error that could be added to irexec's values: values of another
shape or type, and results that read another value.
"""

from __future__ import annotations

from collections.abc import Mapping

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Node, Value
from irexec.tools.compare.blame import largest
from irexec.tools.compare.culprit import Culprit, alone, function_of, listed
from irexec.tools.compare.errors import Error, measure, off, worst
from irexec.tools.compare.rounding import Results
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded
from irexec.tools.run.record import Reference, same


def proof_of(reference: Reference, loaded: Loaded, culprit: Culprit, other: Results) -> str:
    """Return the experiments as a sentence; empty if none can be run. `other`: the other side's results, per step."""
    node, *more = culprit.nodes
    if culprit.outer:
        return ""
    if node in reference.model.results:
        return _of_result(reference, loaded, node, other)
    name, texts = listed(culprit.nodes) if more else node.friendly_name, []
    try:
        made = reference.changed([culprit.outputs if step == culprit.step else {} for step in range(len(other))])
        texts.append(
            f"with the other side's {name}, irexec's results are {_differ(largest(reference.results(), made))}"
        )
        texts.append(f"compared with the other side's they are then {_differ(largest(made, other))}")
    except IRError:  # The layers after it do not accept the value.
        texts.append(f"irexec cannot be run with the other side's {name}")
    repaired = with_ours(reference, loaded, culprit)
    if repaired is not None:
        texts[1:] = [
            f"with irexec's {name}, those of the other side are {_differ(largest(reference.results(), repaired))}"
        ]
    if len(texts) == 1 and culprit.own.reason:
        texts.append(f"for the other side's inputs of {name}, its value is {_differ(culprit.own)}")
    return "; ".join(texts) if len(texts) > 1 else ""


def _differ(error: Error) -> str:
    return off(error) if error else "equal"


def with_ours(reference: Reference, loaded: Loaded, culprit: Culprit) -> Results | None:
    """Return the other model's results with irexec's values of the layers, for the other model's inputs of each step;
    None if it cannot be run with them.
    """
    if loaded.layer_pairs is None or not culprit.outputs:
        return None
    whole, ends, steps = Cutter(culprit.model), [*culprit.outputs], reference.steps
    wanted = [value for value in culprit.inputs if value not in culprit.model.inputs]
    values: list[dict[Value, Array]] = [{} for _ in steps]
    for number, inputs in enumerate(steps):
        if number and any(node.has_state for node in culprit.nodes):
            break  # Its value is what was assigned to it.
        try:
            if not number or reference.model.sinks:  # The values of earlier steps change variables.
                seen = loaded.observe_changed(steps, wanted, values)
            known = dict(zip(culprit.model.inputs, inputs, strict=True)) | seen[number]
            begins, part = alone(whole, culprit.nodes, ends, known)
            right = function_of(part)([known[value] for value in begins])
        except (IRError, KeyError):  # KeyError: an input of the layers is not known.
            return None
        values[number] = dict(zip(ends, right, strict=True))
    return loaded.changed(steps, values)


def _of_result(reference: Reference, loaded: Loaded, node: Node, other: Results) -> str:
    """Return the proof that a result is wrong, although the value that it should read is right."""
    (source,), index = node.inputs, reference.model.results.index(node)
    assert source is not None
    name = source.node.friendly_name
    wrong = worst(measure(a[index], b[index]) for a, b in zip(reference.results(), other, strict=True))
    text = f"its result that should be {name} is {_differ(wrong)}"
    theirs = _observed(reference, loaded, source)
    if theirs:
        pairs = zip(reference.record([source]), theirs, strict=True)
        apart = worst(measure(mine[source], there[source]) for mine, there in pairs if source in mine)
        return f"the other side's {name} is {_differ(apart)}; {text}"
    kind = source.element_type, source.type.shape
    alike = [v for n in reference.model.nodes for v in n.outputs if (v.element_type, v.type.shape) == kind]
    mine = reference.record(alike)
    steps = range(len(mine))
    read = next((v for v in alike if all(v in mine[k] and same(mine[k][v], other[k][index]) for k in steps)), None)
    return "" if read is None else f"irexec's {read.node.friendly_name} is equal to what the other side returns; {text}"


def _observed(reference: Reference, loaded: Loaded, value: Value) -> list[Mapping[Value, Array]]:
    """Return the other side's value in each step; none if it has no such value."""
    try:
        theirs = [*loaded.observe(reference.steps, [value])]
    except CannotRun:
        return []
    return theirs if all(value in step for step in theirs) else []
