"""The results of a campaign as one value: JSON, JUnit, the comparison of two results, and a table of several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from irexec.ir.beside import Unreadable, shaped, written_by
from irexec.tools.conformance.clusters import Cluster, cause_of, clusters_of
from irexec.tools.conformance.results import FORMAT, Finding, Tally, finding_dict
from irexec.tools.conformance.verdict import FAILED

Json = dict[str, Any]
_SHOWN_REFUSALS = 20_000


def to_json(tally: Tally, clusters: Sequence[Cluster], unexpected: Sequence[Finding], seed: int) -> Json:
    """Return the results for JSON, as schemas/conformance.schema.json describes them."""
    return {
        "format": FORMAT,
        "runtime": tally.runtime,
        "processor": tally.processor,
        "seed": seed,
        "totals": tally.totals,
        "coverage": tally.coverage,
        "cells": [
            dict(zip(("operator", "type", "kind"), key.split("|"), strict=True)) | {"verdicts": counts}
            for key, counts in sorted(tally.cells.items())
        ],
        "values": tally.values,
        "facts": tally.facts,
        "clusters": [cluster.to_dict() for cluster in clusters],
        "accepted": [cluster.to_dict() for cluster in clusters_of(accepted(tally), tally)],
        "refusals": [cluster.to_dict() for cluster in clusters_of(refusals(tally), tally)],
        "open": [cluster.to_dict() for cluster in clusters_of(left_open(tally), tally)],
        "findings": [*map(finding_dict, failures(tally)), *map(finding_dict, _others(tally)[:_SHOWN_REFUSALS])],
        "unexpected": [finding.name for finding in unexpected],
    }


def from_json(value: Any) -> Tally:
    """Return the results that `to_json` wrote. Raises Unreadable."""
    with written_by("irexec conformance"):
        if value["format"] != FORMAT:
            raise Unreadable(f"the results have format {value['format']!r:.40}, expected {FORMAT}")
        cells = {f"{cell['operator']}|{cell['type']}|{cell['kind']}": cell["verdicts"] for cell in value["cells"]}
        findings = [{_NAMES.get(name, name): entry for name, entry in found.items()} for found in value["findings"]]
        found = {"cells": cells, "findings": findings, "processor": ""} | {
            name: value[name] for name in ("values", "facts", "runtime", "processor") if name in value
        }
        tally: Tally = shaped(Tally, found)
        return tally


# Names of JSON → fields of a finding.
_NAMES = {"case": "name", "verdict": "word"}


def refusals(tally: Tally) -> list[Finding]:
    """Return the legal cases that the runtime refused."""
    return [finding for finding in tally.findings if finding.word == "refused"]


def accepted(tally: Tally) -> list[Finding]:
    """Return the cases that the specification forbids and the runtime computed."""
    return [finding for finding in tally.findings if finding.word == "accepted"]


def left_open(tally: Tally) -> list[Finding]:
    """Return the cases whose results differ from irexec's, but are allowed by the operators' pages."""
    return [finding for finding in tally.findings if finding.word == "open"]


def _others(tally: Tally) -> list[Finding]:
    """Return the findings that are no failures: a file lists all failures, but not all of these."""
    return [finding for finding in tally.findings if not finding.failed]


def failures(tally: Tally) -> list[Finding]:
    """Return the cases in which the runtime is wrong."""
    return [finding for finding in tally.findings if finding.failed]


def compared(before: Tally, after: Tally) -> dict[str, list[str]]:
    """Return the new failures, the fixed failures, and the failures in both results, as titles of clusters.

    If both ran the same number of cases of an operator, they ran the same cases: then a failure is new if its case did
    not fail before. Otherwise it is new if no failure had its cause.
    """
    old, new = failures(before), failures(after)
    counts = [{name: sum(own.values()) for name, own in by_operator(tally).items()} for tally in (before, after)]
    ran = counts[0].keys() & counts[1].keys()
    same = {name for name in ran if counts[0][name] == counts[1][name]}
    broke, both = _divided([f for f in new if f.operator in ran], old, same)
    mended, _ = _divided([f for f in old if f.operator in ran], new, same)
    return {
        "broke": [cluster.counted for cluster in clusters_of(broke, after)],
        "mended": [cluster.counted for cluster in clusters_of(mended, before)],
        "both": [cluster.counted for cluster in clusters_of(both, after)],
        "only once": sorted({finding.operator for finding in (*old, *new)} - ran),
    }


def _divided(
    findings: Iterable[Finding], others: Iterable[Finding], same: Collection[str]
) -> tuple[list[Finding], list[Finding]]:
    """Return the failures that are not among others, and the rest. `same`: operators with the same cases in both."""
    names, causes = set[str](), set[tuple[str, ...]]()
    for other in others:
        names.add(other.name)
        causes.add(cause_of(other))
    parts: tuple[list[Finding], list[Finding]] = [], []
    for finding in findings:
        known = finding.name in names if finding.operator in same else cause_of(finding) in causes
        parts[known].append(finding)
    return parts


def scoreboard(tallies: Sequence[Tally]) -> Json:
    """Return the names of the runtimes and of their processors, and for each operator a text per runtime, such as
    `2/16 (1 refused)`: failures and cases; an empty text if there are no cases.
    """
    rows: dict[str, list[str]] = {}
    for place, tally in enumerate(tallies):
        for operator, counts in by_operator(tally).items():
            row = rows.setdefault(operator, [""] * len(tallies))
            wrong, total = sum(counts.get(word, 0) for word in FAILED), sum(counts.values())
            refused = counts.get("refused", 0)
            row[place] = f"{wrong}/{total}" + (f" ({refused} refused)" if refused else "")
    return {
        "runtimes": [tally.runtime for tally in tallies],
        "processors": [tally.processor for tally in tallies],
        "operators": dict(sorted(rows.items())),
    }


def by_operator(tally: Tally) -> dict[str, dict[str, int]]:
    """Return the verdicts of each operator."""
    found: dict[str, dict[str, int]] = {}
    for key, counts in tally.cells.items():
        own = found.setdefault(key.split("|")[0], {})
        for word, number in counts.items():
            own[word] = own.get(word, 0) + number
    return found


def merged(tallies: Iterable[Tally]) -> list[Tally]:
    """Return the results of several machines, with results of the same runtime on the same processor added up."""
    found: dict[tuple[str, str], Tally] = {}
    for tally in tallies:
        found.setdefault((tally.runtime, tally.processor), Tally()).add(tally)
    return [found[key] for key in sorted(found)]


def junit(tally: Tally, clusters: Sequence[Cluster], known: Mapping[str, str]) -> str:
    """Return JUnit XML: a test case for each operator, with its new failures by cluster, or else with its known ones as
    skipped. `known`: reasons by case name.
    """
    by_name: dict[str, list[Cluster]] = {}
    for cluster in clusters:
        for operator in cluster.operators:
            by_name.setdefault(operator, []).append(cluster)
    cases, failing = list[str](), 0
    for operator, counts in sorted(by_operator(tally).items()):
        own = [
            (cluster, [f for f in cluster.findings if f.operator == operator]) for cluster in by_name.get(operator, [])
        ]
        new = [(cluster, left) for cluster, part in own if (left := [f for f in part if f.name not in known])]
        failing += bool(new)
        cases.append(f'  <testcase classname="conformance" name={quoteattr(operator)}>')
        for cluster, part in new or own:
            simplest = min(part, key=lambda finding: (len(finding.name), finding.name)).name
            text = f"{cluster.title}; {len(part)} of {sum(counts.values())} cases; {simplest}"
            tag, text = ("failure", text) if new else ("skipped", f"{known[simplest]}: {text}")
            cases.append(f"    <{tag} message={quoteattr(_clean(text))}/>")
        cases.append("  </testcase>")
    suite = quoteattr(_clean(f"irexec conformance: {tally.title}"))
    head = f'<testsuite name={suite} tests="{len(by_operator(tally))}" failures="{failing}">'
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"]) + "\n"


def _clean(text: str) -> str:
    return "".join(c if c >= " " or c in "\t\n" else "?" for c in text)
