"""A file to the facts about its model; what stops that is in the report."""

from __future__ import annotations

from irexec.api import PathLike, is_onnx, is_snippet, load
from irexec.diagnostics import Place, Report
from irexec.diagnostics.findings import Findings
from irexec.ir.xml.source import Source
from irexec.survey.facts import Survey
from irexec.survey.survey import survey


def read_survey(path: PathLike, weights: PathLike | None = None) -> tuple[Survey | None, Report]:
    """The facts about a model in a file, and what `validate` finds in it; None where the file holds no model."""
    if is_onnx(path):
        model, report = load(path, mode="strict")
        return (None, report) if model is None else (survey(model, report), report)
    source = Source.from_path(path)
    if is_snippet(source):
        findings = Findings()
        hint = "irexec run shows snippets"
        findings.add("U003", "the file holds loose layers and no model", place=Place(file=source.file), hint=hint)
        return None, findings.report
    model, report = load(path, weights, mode="strict", source=source)
    return (None, report) if model is None else (survey(model, report, source), report)
