"""Selecting layers by name as an extract; problems are reported as findings."""

from __future__ import annotations

from irexec.core.diagnostics import IRError, Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.nearest import likely_names
from irexec.core.structure import STRUCTURAL
from irexec.model.graph.cut import around as layers_around
from irexec.model.graph.cut import between, leaving, needed_by
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Stateful
from irexec.tools.cut.extract import Extract, anonymised, extract, find
from irexec.tools.run.record import Reference

"""Types of layers that compute nothing, so that they cannot be cut out."""


def select(
    reference: Reference,
    *,
    begin: str | None = None,
    end: str | None = None,
    around: str | None = None,
    distance: int = 0,
    call: int = 0,
    anonymise: bool = False,
    report: Report,
) -> Extract | None:
    """Return the layers from `begin` to `end`, or around one layer; None, with findings in `report`, if this is
    impossible.

    For a layer of a body the extract is a part of the body, with the values of its `call`-th iteration.
    """
    findings = Findings(file=reference.model.file)
    made = None
    try:
        if (around is None) == (end is None):
            findings.add("U003", "select the part to extract with --to LAYER (and --from LAYER) or --around LAYER")
        elif around is not None:
            made = _around(reference, around, distance, call, findings)
        else:
            assert end is not None
            made = _between(reference, begin, end, call, findings)
        if made is not None and anonymise:
            made = anonymised(made)
    except ValueError as error:
        findings.add("U005", str(error))
    except IRError as error:
        findings.report.extend(error.report)
    report.extend(findings.report)
    return made if findings.report.ok else None


def _around(reference: Reference, name: str, distance: int, call: int, findings: Findings) -> Extract | None:
    found = _find(reference.model, "--around", name, findings)
    if found is None:
        return None
    whole, centre = found
    nodes = {node for node in layers_around(whole, centre, distance) if not node.has_state}
    return extract(reference, whole, nodes, leaving(whole, nodes), call=call)


def _between(reference: Reference, begin: str | None, end: str, call: int, findings: Findings) -> Extract | None:
    last = _find(reference.model, "--to", end, findings)
    first = _find(reference.model, "--from", begin, findings) if begin is not None else None
    if last is None or (begin is not None and first is None):
        return None
    whole, node = last
    if first is None:
        nodes = needed_by([node])
    elif first[0] is not whole or not (nodes := between(whole, first[1], node)):
        findings.add("U003", f"--from {begin} --to {end}: the second layer does not depend on the first")
        return None
    ends: list[Value] = list(node.outputs)
    return extract(reference, whole, nodes, ends, call=call)


def can_be_cut(type: str, operator: Operator | None) -> bool:
    """Return whether layers of this operator compute their results from their inputs alone, as `cut` requires."""
    return type not in STRUCTURAL and not (operator is not None and Stateful in operator.traits)


def _find(model: Model, option: str, name: str, findings: Findings) -> tuple[Model, Node] | None:
    found = find(model, name)
    if found is None:
        names = [node.friendly_name for node in model.walk() if node.friendly_name]
        findings.add("U005", f"{option} {name}: no layer has this name", hint=likely_names(name, names))
    elif not can_be_cut(found[1].type, found[1].operator):
        findings.add("U003", f"{option} {name}: a {found[1].type} cannot be extracted because it computes nothing")
        return None
    return found
