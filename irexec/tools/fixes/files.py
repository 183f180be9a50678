"""Validating and fixing files, with fixes attached to the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irexec.api.openvino.editing import validated
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.deadline import OutOfTime
from irexec.core.diagnostics.findings import Findings, Mode
from irexec.core.records import replace
from irexec.frontends.reading import PathLike, Reading, is_onnx, read
from irexec.model.graph.model import Model
from irexec.tools.fixes.replacing import read_bytes, replace_file

if TYPE_CHECKING:
    # Fixing is imported only for a file that needs it.
    from irexec.model.graph.releases import Release
    from irexec.tools.fixes.applying import FixResult, Wanted


class NotAModel(ValueError):
    """Raised for a file that contains no IR, to which fixes cannot be applied."""


def fix_file(
    path: PathLike,
    *,
    weights: PathLike | None = None,
    unsafe: bool = False,
    wanted: Wanted = lambda _: True,
    write: bool = True,
) -> tuple[bytes, FixResult]:
    """Fix the file of a model or of loose layers. Return the original bytes and the result.

    An unchanged file is not written; with `write=False` no file is written. Raises NotAModel, FileChanged, and OSError.
    """
    before = read_bytes(path)
    fixed = fixed_bytes(before, path, weights=weights, unsafe=unsafe, wanted=wanted)
    if write:
        fixed.notes += replace_file(path, before, fixed.data)
    return before, fixed


def fixed_bytes(data: bytes, file: PathLike | None, *, weights: PathLike | None = None, **how: Any) -> FixResult:
    """Fix the bytes of a model or of loose layers, which `file` names; see `fix_file`. Raises NotAModel."""
    if is_onnx(data if file is None else file):
        raise NotAModel("irexec fix works on IR files only, not on ONNX models")
    from irexec.tools.fixes.applying import apply_fixes

    return apply_fixes(data, file, weights=weights, **how)


def validate(
    source: PathLike | bytes | Model,
    *,
    weights: PathLike | bytes | None = None,
    mode: Mode = "strict",
    strict: bool = False,
    others: bool = False,
) -> Report:
    """Return every finding about a model or snippet, in file order, as `irexec validate` does. Never raises for an
    invalid file.

    Findings carry their fixes, and findings that comments in the file suppress are left out; the settings of a project
    apply to the command only. `mode="openvino"` turns errors into warnings if `read_model` can read and run the file in
    spite of them. `strict`: repairs of a snippet count as errors. `others`: include the findings of ONNX's own checks
    about an ONNX file and, if the file has findings, the results of onnx.reference and ONNX Runtime; these run in
    separate processes.
    """
    if not isinstance(source, Model):
        return examined(read(source, weights, mode=mode, strict=strict, others=others))
    findings = Findings(file=source.file, mode=mode)
    try:
        return validated(source, findings)
    except OutOfTime as stopped:
        stopped.add_to(findings)
        return findings.report


def with_lines(reading: Reading, report: Report) -> Report:
    """Return the findings with their layers as lines of the text form, which a file in the text form shows anyway."""
    document, model = reading.document, reading.model
    if document is None or model is None or not document.source.is_xml:
        return report
    from irexec.frontends.text.printer import layer_lines

    named = {finding.layer for finding in report if finding.layer is not None}
    printed = [*layer_lines(model, document, lambda layer: layer.ref in named)]
    lines = {layer.ref: line for layer, line in reversed(printed)}  # Of equal names, the first one is meant.
    found = ((finding, lines.get(finding.layer) if finding.layer is not None else None) for finding in report)
    noted = [f if line is None else replace(f, notes=(("text", line), *f.notes)) for f, line in found]
    report.replace(noted)
    return report


def examined(reading: Reading, *, target: Release | None = None, of_broken_text: bool = True) -> Report:
    """Return every finding about a source, with its fixes, except findings that comments in the text suppress.

    `target`: also report constructs that this OpenVINO release cannot read. `of_broken_text`: see `with_fixes`. Call
    this once only, because it evaluates printed layers.
    """
    report, source = reading.report, reading.source
    if reading.snippet is not None:
        from irexec.frontends.pages.evaluate import checked

        report = checked(reading.snippet)
    elif len(report):
        from irexec.tools.fixes.table import with_fixes

        report = with_fixes(reading, of_broken_text=of_broken_text)
    if len(report):
        from irexec.ir.ignored import without_ignored

        report = without_ignored(report, source)
    return report if target is None else _with_release(report, reading, target)


def _with_release(report: Report, reading: Reading, target: Release) -> Report:
    """Return the findings, with those about constructs in a model's file that an OpenVINO release cannot read."""
    from irexec.model.graph.releases import check_release

    if reading.nodes is not None and (nodes := reading.nodes()) is not None:
        from irexec.frontends.onnx.of_openvino import check_for_openvino

        found = Findings(file=nodes.file)
        check_for_openvino(nodes, reading.model, target, found)
        return report.having([*report, *found.finished()])
    if reading.source is None or reading.document is None or reading.snippet is not None:
        return report
    findings = Findings(reading.source.locate, file=reading.source.file)
    check_release(reading.document, target, findings)
    return report.having([*report, *findings.finished()]).sorted()
