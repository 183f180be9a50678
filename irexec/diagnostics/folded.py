"""Findings with one cause, such as a precision that is wrong everywhere: a few in full, then the locations of the
others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable

from irexec.diagnostics.diagnostic import Diagnostic, Report, Severity
from irexec.records import replace

IN_FULL = 3
"""The number of findings with one cause that are shown in full, if there are at least two more."""
_PLACES = 10


def folded(report: Report) -> Report:
    """Return the report with the first findings of each cause; the last one contains the locations of the others."""
    findings = list(report)
    causes: dict[Hashable, list[int]] = {}
    for position, finding in enumerate(findings):
        causes.setdefault(_cause(finding), []).append(position)
    kept: dict[int, Diagnostic] = {}
    for alike in causes.values():
        shown = IN_FULL if len(alike) > IN_FULL + 1 else len(alike)
        kept.update((position, findings[position]) for position in alike[:shown])
        if shown < len(alike):
            last = findings[alike[shown - 1]]
            others = [findings[position] for position in alike[shown:]]
            kept[alike[shown - 1]] = replace(last, notes=(*last.notes, ("and", _where(others))))
    return Report([kept[position] for position in sorted(kept)], report.left_out.copy())


def grouped(report: Report) -> Report:
    """Return the report of many files with each warning that some of them share shown for the first only."""
    findings = list(report)
    causes: dict[Hashable, dict[str | None, list[int]]] = {}
    for position, finding in enumerate(findings):
        if finding.severity is not Severity.ERROR:
            code, severity, file, what = _cause(finding)
            causes.setdefault((code, severity, what), {}).setdefault(file, []).append(position)
    dropped: set[int] = set()
    for files in causes.values():
        first, *others = files.values()
        if len(others) > 1:
            dropped.update(position for alike in others for position in alike)
            text = _files([findings[alike[0]] for alike in others])
            findings[first[-1]] = replace(findings[first[-1]], notes=(*findings[first[-1]].notes, ("and", text)))
    return Report([f for position, f in enumerate(findings) if position not in dropped], report.left_out.copy())


def merged(reports: Iterable[tuple[str, Report]], what: str) -> Report:
    """Return the findings about many items, each once: a note names the items that have it, the first of many.

    `what`: the plural noun for the items, such as "inputs".
    """
    alike: dict[Hashable, tuple[Diagnostic, list[str]]] = {}
    left_out: Counter[tuple[Severity, str]] = Counter()
    for item, report in reports:
        left_out.update(report.left_out)
        for finding in report:
            key = finding.code, finding.severity, finding.message, finding.line, finding.column, finding.layer
            alike.setdefault(key, (finding, []))[1].append(item)
    return Report([_with_items(finding, items, what) for finding, items in alike.values()], left_out)


def _with_items(finding: Diagnostic, items: list[str], what: str) -> Diagnostic:
    more = f" and {len(items) - _PLACES:,} more; --format json lists all" if len(items) > _PLACES + 1 else ""
    text = ", ".join(items[:_PLACES] if more else items) + more
    return replace(finding, notes=(*finding.notes, (what if len(items) > 1 else what.removesuffix("s"), text)))


def _cause(finding: Diagnostic) -> tuple[str, Severity, str | None, Hashable]:
    """Return the parts in which findings of one cause agree: the values found and allowed, if known."""
    what = (finding.found, finding.allowed) if finding.found and finding.allowed else finding.message
    return finding.code, finding.severity, finding.file, what


def _files(others: list[Diagnostic]) -> str:
    """Return the first places of findings, one in each file."""
    places = [f"{finding.file}:{finding.line}" if finding.line is not None else str(finding.file) for finding in others]
    more = ", ..." if len(places) > _PLACES else ""
    return f"{len(places):,} more files: {', '.join(places[:_PLACES])}{more}; --verbose shows all"


def _where(others: list[Diagnostic]) -> str:
    lines = list(dict.fromkeys(str(finding.line) for finding in others if finding.line is not None))
    more = ", ..." if len(lines) > _PLACES else ""
    places = f" in line{'s' * (len(lines) > 1)} {', '.join(lines[:_PLACES])}{more}" if lines else ""
    return f"{len(others):,} more of this kind{places}; --verbose shows all"
