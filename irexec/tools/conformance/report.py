"""The results of a campaign as one value: JSON, JUnit, the comparison of two results, and a table of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from irexec.ir.beside import Unreadable, shaped, written_by
from irexec.tools.conformance.clusters import Cluster, clusters_of
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
        "findings": [finding_dict(finding) for finding in tally.findings][:_SHOWN_REFUSALS],
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


def failures(tally: Tally) -> list[Finding]:
    """Return the cases in which the runtime is wrong."""
    return [finding for finding in tally.findings if finding.failed]


def compared(before: Tally, after: Tally) -> dict[str, list[str]]:
    """Return the new failures, the fixed failures, and the failures in both results, as titles of clusters."""
    old, new = ({(c.cause, c.word): c for c in clusters_of(failures(t), t)} for t in (before, after))
    ran = {key.split("|")[0] for key in after.cells} & {key.split("|")[0] for key in before.cells}
    return {
        "broke": [new[key].title for key in new if key not in old and ran & {*new[key].operators}],
        "mended": [old[key].title for key in old if key not in new and ran & {*old[key].operators}],
        "both": [new[key].title for key in new if key in old],
        "only once": sorted({name for c in (*old.values(), *new.values()) for name in c.operators} - ran),
    }


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
    """Return JUnit XML: a test case for each operator, with its clusters as failures. `known`: reasons by case name."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    by_name: dict[str, list[Cluster]] = {}
    for cluster in clusters:
        for operator in cluster.operators:
            by_name.setdefault(operator, []).append(cluster)
    rows = by_operator(tally)
    failing = sum(any(c.simplest.name not in known for c in own) for own in by_name.values())
    suite = f"irexec conformance: {tally.title}"
    lines.append(f'<testsuite name={quoteattr(_clean(suite))} tests="{len(rows)}" failures="{failing}">')
    for operator, counts in sorted(rows.items()):
        lines.append(f'  <testcase classname="conformance" name={quoteattr(operator)}>')
        for cluster in by_name.get(operator, []):
            text = f"{cluster.title}; {len(cluster.findings)} of {sum(counts.values())} cases; {cluster.simplest.name}"
            reason = known.get(cluster.simplest.name)
            tag = "failure" if reason is None else "skipped"
            lines.append(f"    <{tag} message={quoteattr(_clean(text if reason is None else reason + ': ' + text))}/>")
        lines.append("  </testcase>")
    return "\n".join([*lines, "</testsuite>"]) + "\n"


def _clean(text: str) -> str:
    return "".join(c if c >= " " or c in "\t\n" else "?" for c in text)
