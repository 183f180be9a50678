"""Reads a file and surveys its model; obstacles are in the report."""

from __future__ import annotations

from collections.abc import Mapping

from irexec.api import PathLike, is_onnx, is_snippet, load
from irexec.arrays.options import check_names
from irexec.diagnostics import Place, Report
from irexec.diagnostics.findings import Findings
from irexec.graph.model import Model
from irexec.inference import infer, set_types
from irexec.ir.xml.source import Source
from irexec.mend.files import load_file
from irexec.survey.facts import Survey
from irexec.survey.survey import survey
from irexec.types import PartialShape, TensorType


def read_survey(
    path: PathLike, weights: PathLike | None = None, shapes: Mapping[str, tuple[int, ...]] | None = None
) -> tuple[Survey | None, Report]:
    """The facts about a model in a file, and what `validate` finds in it; None where the file holds no model.

    `shapes`: of inputs, by name, which the model leaves open; what follows from them is then known.
    """
    if is_onnx(path):
        source = None
        model, report = load(path, mode="strict")
    else:
        source = Source.from_path(path)
        if is_snippet(source):
            findings = Findings()
            hint = "irexec run shows snippets, irexec report the examples of a page"
            findings.add("U003", "the file holds loose layers and no model", place=Place(file=source.file), hint=hint)
            return None, findings.report
        model, report = load_file(path, source, weights=weights)
    if model is None:
        return None, report
    if shapes and len(wrong := _give_shapes(model, shapes)):
        return None, wrong
    return survey(model, report, source), report


def _give_shapes(model: Model, shapes: Mapping[str, tuple[int, ...]]) -> Report:
    """Infer the model anew with these shapes; what is wrong with them is reported."""
    findings = Findings(file=model.file)
    names = {p.friendly_name: (str(i), *sorted(p.outputs[0].names)) for i, p in enumerate(model.parameters)}
    check_names("--shape", shapes, names, findings)
    types = []
    for name, parameter in zip(names, model.parameters, strict=True):
        type = parameter.outputs[0].type
        given = next((shapes[key] for key in (name, *names[name]) if key in shapes), None)
        if given is not None and not type.shape.accepts(given):
            message = f"--shape {name}: {list(given)} is none of the model's shapes {type.shape}"
            findings.add("O008", message, layer=parameter.ref, found=str(list(given)), allowed=str(type.shape))
        types.append(type if given is None else TensorType(type.element_type, PartialShape(given)))
    if findings.report.ok:
        trial = findings.trial()
        set_types(model, infer(model, types, trial))
        findings.report.extend(trial.report.errors)
    return findings.report
