"""Findings with one cause, such as a precision that is wrong everywhere: a few in full, then where the others are."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from irexec.diagnostics.diagnostic import Diagnostic, Report

IN_FULL = 3
"""How many findings with one cause are shown in full, where more than one other follows."""
_LINES = 10


def folded(report: Report) -> Report:
    """The report with the first findings of each cause; the last of these says where the others are."""
    causes: dict[Hashable, list[Diagnostic]] = {}
    for finding in report:
        causes.setdefault(_cause(finding), []).append(finding)
    kept: dict[int, Diagnostic] = {}
    for alike in causes.values():
        shown = IN_FULL if len(alike) > IN_FULL + 1 else len(alike)
        kept.update((id(finding), finding) for finding in alike[:shown])
        if shown < len(alike):
            last = alike[shown - 1]
            kept[id(last)] = replace(last, notes=(*last.notes, ("and", _where(alike[shown:]))))
    return Report([kept[id(finding)] for finding in report if id(finding) in kept], report.left_out.copy())


def _cause(finding: Diagnostic) -> Hashable:
    """What findings of one cause have in common: what is found and what is allowed, where that is known."""
    what = (finding.found, finding.allowed) if finding.found and finding.allowed else finding.message
    return finding.code, finding.severity, finding.file, what


def _where(others: list[Diagnostic]) -> str:
    lines = list(dict.fromkeys(str(finding.line) for finding in others if finding.line is not None))
    more = ", ..." if len(lines) > _LINES else ""
    places = f" in line{'s' * (len(lines) > 1)} {', '.join(lines[:_LINES])}{more}" if lines else ""
    return f"{len(others):,} more like it{places}; --verbose shows all"
