"""A report for people: without notes, with findings of one cause merged, and a limited number of each code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from html import escape

from irexec.core.diagnostics.diagnostic import Diagnostic, Report, Severity
from irexec.core.records import replace

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
    return report.having(kept[position] for position in sorted(kept))


def grouped(report: Report) -> Report:
    """Return the report of many files, in which a warning that several files share is shown for the first file only."""
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
    return report.having(f for position, f in enumerate(findings) if position not in dropped)


def merged(reports: Iterable[tuple[str, Report]], what: str) -> Report:
    """Return the findings about many items, each once, with a note that names the (first) items that it concerns.

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
    """Return the key that findings of one cause share, with the values found and allowed, if known."""
    what = (finding.found, finding.allowed) if finding.found and finding.allowed else finding.message
    return finding.code, finding.severity, finding.file, (what, finding.assumption)


def _files(others: list[Diagnostic]) -> str:
    """Return the first places of findings, one in each file."""
    places = [f"{finding.file}:{finding.line}" if finding.line is not None else str(finding.file) for finding in others]
    more = ", ..." if len(places) > _PLACES else ""
    return f"{len(places):,} more files: {', '.join(places[:_PLACES])}{more}; --verbose shows all"


def _where(others: list[Diagnostic]) -> str:
    return f"{len(others):,} more of this kind{in_lines(others)}; --verbose shows all"


def in_lines(findings: Iterable[Diagnostic]) -> str:
    """Return ` in lines 3, 5`, with the first lines of the findings; empty if they have none."""
    lines = list(dict.fromkeys(str(finding.line) for finding in findings if finding.line is not None))
    more = ", ..." if len(lines) > _PLACES else ""
    return f" in line{'s' * (len(lines) > 1)} {', '.join(lines[:_PLACES])}{more}" if lines else ""


MOST = 20
"""The number of findings of one code and file that are printed; JSON and SARIF contain more (`Report.capped`)."""
_COLORS = {Severity.ERROR: "#c92a2a", Severity.WARNING: "#a15c00", Severity.NOTE: "#2b7a3b"}


def for_people(report: Report, most: int = MOST, *, verbose: bool = False, fold: bool = True) -> Report:
    """Return the findings of one file to print: the first few of each cause, and at most `most` (0: all) of each code,
    in the order in which they matter.

    `verbose`: include notes, and every finding of a cause.
    """
    report = report if verbose else without_notes(report)
    if fold and not verbose and most > 0:
        report = folded(report)
    report = report.having(sorted(report, key=_rank))
    return report.capped(most) if most > 0 else report


def _rank(finding: Diagnostic) -> tuple[int, bool, bool]:
    """Order errors before warnings, and behind the other errors what an error may have caused, and missing weights."""
    return list(Severity).index(finding.severity), finding.code == "C010", finding.assumption is not None


def without_notes(report: Report) -> Report:
    """Return the report without notes."""
    left_out = {kind: count for kind, count in report.left_out.items() if kind[0] is not Severity.NOTE}
    kept = report.having(finding for finding in report if finding.severity is not Severity.NOTE)
    return Report(kept.diagnostics, Counter(left_out), kept.unchecked)


def text(report: Report) -> str:
    """Return the text that `irexec validate` prints, without the last line break."""
    from irexec.core.diagnostics.render.text import chunks

    return "".join(chunks(for_people(report), whole=without_notes(report))).rstrip("\n")


def html(report: Report) -> str:
    """Return the findings as an HTML table."""
    if not len(report):
        return "<p>no findings</p>"
    rows = []
    for finding in report.capped(MOST):
        place = ":".join(str(part) for part in (finding.file, finding.line, finding.column) if part is not None)
        color = _COLORS[finding.severity]
        message = escape(finding.message) + (f"<br><em>{escape(finding.hint)}</em>" if finding.hint else "")
        kind = f'<span style="color: {color}">{finding.severity}</span>'
        layer = escape(str(finding.layer)) if finding.layer is not None else ""
        cells = (kind, f"<code>{finding.code}</code>", escape(place), layer, message)
        rows.append("".join(f'<td style="text-align: left">{cell}</td>' for cell in cells))
    head = "".join(f"<th>{name}</th>" for name in ("", "code", "place", "layer", "finding"))
    more = len(report) - len(rows)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>" + (f"<p>and {more:,} more</p>" if more else "")
