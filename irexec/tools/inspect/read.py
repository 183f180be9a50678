"""Summarizing the model that was read from a file, with a report of the errors in it."""

from __future__ import annotations

from collections.abc import Mapping

from irexec.core.diagnostics import Place, Report
from irexec.core.diagnostics.choice import EVERY, Choice
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import PartialShape, TensorType
from irexec.frontends.reading import Reading
from irexec.frontends.text.printer import layer_lines
from irexec.model.arrays.given import check_names
from irexec.model.graph.model import Model
from irexec.model.inference import Inference, infer
from irexec.tools.fixes.files import examined
from irexec.tools.inspect.execution import Execution, execution_of
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.summary import summarize
from irexec.tools.run.run import report_wrong_shape


def summary_of(
    reading: Reading,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    choice: Choice = EVERY,
    *,
    places: bool = True,
) -> tuple[Summary | None, Report]:
    """Return the facts about a model that was read, and the findings of `validate`; None if there is no model.

    If an ONNX model cannot be converted, its layers are the nodes of the file.

    `shapes`: shapes of dynamic inputs, by name; dependent shapes are inferred from them. `choice`: the findings that
    count. `places`: with the line of each layer, for which the text is read a second time, and its text form.
    """
    model, source = reading.model, reading.source
    if reading.snippet is not None:
        findings = Findings()
        hint = "use irexec run for snippets, and irexec report for the examples of a page"
        place = Place(file=None if source is None else source.file)
        findings.add("U012", "the file contains layers without a model", place=place, hint=hint)
        return None, findings.report
    report = examined(reading)
    if model is None and reading.nodes is not None and not shapes:
        model = reading.nodes()
    if model is None:
        return None, report
    report = choice.of(report)
    types = _types_for(model, shapes) if shapes else None
    if types is not None and not types.report.ok:
        return None, types.report
    lines = layer_lines(model, reading.document) if places and reading.document is not None else ()
    return summarize(model, report, source if places else None, types, lines), report


def execution_in(reading: Reading) -> Execution | None:
    """Return the execution graph that was read; None for a model."""
    if reading.source is None or not any(finding.code == "N011" for finding in reading.report):
        return None
    return execution_of(reading.source.text, reading.source.file or "")


def _types_for(model: Model, shapes: Mapping[str, tuple[int, ...]]) -> Inference:
    """Return the types of the model's values for these shapes of inputs; the report of the inference contains the
    errors.
    """
    findings = Findings(file=model.file)
    names = {p.friendly_name: (str(i), *sorted(p.outputs[0].names)) for i, p in enumerate(model.parameters)}
    check_names({name: f"--shape {name}" for name in shapes}, names, findings)
    types = []
    for name, parameter in zip(names, model.parameters, strict=True):
        type = parameter.outputs[0].type
        given = next((shapes[key] for key in (name, *names[name]) if key in shapes), None)
        if given is not None and not type.shape.accepts(given):
            report_wrong_shape(findings, parameter.outputs[0], f"--shape {name}", name, given)
        types.append(type if given is None else TensorType(type.element_type, PartialShape(given)))
    return infer(model, types) if findings.report.ok else Inference(findings.report)
