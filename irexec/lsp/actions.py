"""Findings and their fixes in the form that editors use: diagnostics and code actions."""

from __future__ import annotations

from lsprotocol import types as lsp

from irexec.core.diagnostics import Diagnostic, Edit, Fix, Place, Safety, Severity
from irexec.core.diagnostics.nearest import common_start
from irexec.core.diagnostics.render.notes import notes
from irexec.lsp.analysis import Analysis
from irexec.lsp.opened import Opened

_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}


def range_of_place(opened: Opened, place: Place) -> lsp.Range:
    """Return the range of a finding's place; the beginning of the text if the finding has no place."""
    if place.line is None or place.column is None:
        return lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    start = opened.units.start(place.line) + place.column - 1
    return opened.units.range(start, start + place.length)


def diagnostic(uri: str, opened: Opened, range: lsp.Range, finding: Diagnostic) -> lsp.Diagnostic:
    about = [f"{label}: {text}" for label, text in notes(finding) if label not in ("in", "layer")]
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri, range_of_place(opened, other.place)), other.message)
        for other in finding.related
    ]
    return lsp.Diagnostic(
        range,
        "\n".join([finding.message, *about]),
        _SEVERITIES[finding.severity],
        finding.code,
        source="irexec",
        related_information=related or None,
    )


def action(uri: str, opened: Opened, range: lsp.Range, finding: Diagnostic, fix: Fix) -> lsp.CodeAction:
    title = fix.title if fix.safety is Safety.SAFE else f"{fix.title} ({fix.safety})"
    edits = [_edit(opened, edit) for edit in fix.edits]
    return lsp.CodeAction(
        title,
        lsp.CodeActionKind.QuickFix,
        [diagnostic(uri, opened, range, finding)],
        is_preferred=fix.safety is Safety.SAFE or None,
        edit=lsp.WorkspaceEdit({uri: edits}),
    )


def fix_all(uri: str, opened: Opened, analysis: Analysis) -> list[lsp.CodeAction]:
    """Return an action that applies all safe fixes at once, as `irexec fix` does; an empty list if there are none."""
    if not any(fix.safety is Safety.SAFE for finding in analysis.report for fix in finding.fixes):
        return []
    old = opened.text.splitlines(keepends=True)
    new = analysis.fixed().splitlines(keepends=True)
    before = common_start(old, new)
    after = common_start(old[before:][::-1], new[before:][::-1])
    start, stop = sum(map(len, old[:before])), sum(map(len, old[: len(old) - after]))
    edit = lsp.TextEdit(opened.units.range(start, stop), "".join(new[before : len(new) - after]))
    whole = lsp.WorkspaceEdit({uri: [edit]})
    return [lsp.CodeAction("apply all safe fixes", lsp.CodeActionKind.SourceFixAll, edit=whole)]


def _edit(opened: Opened, edit: Edit) -> lsp.TextEdit:
    start, stop = (opened.units.start(line) + column - 1 for line, column in (edit.begin, edit.end))
    return lsp.TextEdit(opened.units.range(start, stop), edit.text)
