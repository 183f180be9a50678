"""A report for people: without notes, with equal findings merged, and a limited number of each code."""

from __future__ import annotations

from html import escape

from irexec.diagnostics.diagnostic import Report, Severity
from irexec.diagnostics.folded import folded

MOST = 20
"""The number of findings of one code and file that are printed; JSON and SARIF contain more (`Report.capped`)."""
_COLORS = {Severity.ERROR: "#c92a2a", Severity.WARNING: "#a15c00", Severity.NOTE: "#2b7a3b"}


def for_people(report: Report, most: int = MOST, *, verbose: bool = False, fold: bool = True) -> Report:
    """Return the findings of one file to print: the first few with the same cause, and at most `most` (0: all) of each
    code.

    `verbose`: notes as well, and every finding of a cause.
    """
    report = report if verbose else without_notes(report)
    if fold and not verbose and most > 0:
        report = folded(report)
    return report.capped(most) if most > 0 else report


def without_notes(report: Report) -> Report:
    """Return the report without notes."""
    left_out = {kind: count for kind, count in report.left_out.items() if kind[0] is not Severity.NOTE}
    kept = Report([finding for finding in report if finding.severity is not Severity.NOTE])
    kept.left_out.update(left_out)
    return kept


def text(report: Report) -> str:
    """Return the text that `irexec validate` prints, without the last line break."""
    from irexec.diagnostics.render.text import chunks

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
