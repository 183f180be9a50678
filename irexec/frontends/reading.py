"""Reading: the single function that reads a file, a text, bytes, printed layers, the text form or an ONNX model."""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from irexec.core.collector import no_collection
from irexec.core.diagnostics import Diagnostic, IRError, Report
from irexec.core.diagnostics.deadline import OutOfTime
from irexec.core.diagnostics.findings import At, Findings, Mode
from irexec.core.records import field, record
from irexec.ir.document import Document
from irexec.ir.reader import read_document
from irexec.ir.weights.file import RandomWeights, Weights, weights_beside
from irexec.ir.xml.source import Source
from irexec.model.graph.build import build, keep_declared
from irexec.model.graph.idle import idle_layers
from irexec.model.graph.model import Model
from irexec.model.inference import infer_types

if TYPE_CHECKING:
    # Printed layers are evaluated, which needs the engine; models are checked without it.
    from irexec.frontends.pages.reader import Snippet

_TEXT_FORM = re.compile(r"(?:\s++|#[^\n]*+)*+model(?![\w./])")
PathLike = str | os.PathLike[str]
GivenWeights = PathLike | bytes | Weights | RandomWeights | None
"""The weights of a model: a file or its bytes, or a request to draw missing ones. None: the file beside the model."""


@record(frozen=True)
class Reading:
    """The contents of a file, a text or bytes. Parts that could not be built are None, and `report` lists the reasons.

    `source` is the text; ONNX has none. `document` holds its elements, `model` is the model built from them. `snippet`
    holds the printed layers of a text without a `<net>`: the report lists the repairs of their text until they are
    evaluated (pages/evaluate.py). `seconds`: the times of reading and checking. `weights`: the given weights, or
    those that were found. `again` repeats the checks in another mode; it opens a file again only for an ONNX model.
    `nodes` returns a model of an ONNX file's nodes as written, to be looked at if there is no other model.
    """

    source: Source | None
    document: Document | None
    model: Model | None
    report: Report
    again: Callable[[Mode], Reading]
    weights: GivenWeights = None
    snippet: Snippet | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    nodes: Callable[[], Model | None] | None = None


@no_collection(to_stay=True)
def read(
    given: PathLike | bytes | Source,
    weights: GivenWeights = None,
    *,
    file: PathLike | None = None,
    mode: Mode = "openvino",
    strict: bool = False,
    page: str | None = None,
    others: bool = False,
    capped: bool = True,
    model_class: type[Model] = Model,
    internal: bool = False,
) -> Reading:
    """Read and check a file, its bytes, or a text (a Source). Never raises an exception for invalid contents: the
    report lists all errors.

    `weights` defaults to the `.bin` beside the file. `file`: the file name for bytes; the file itself is not read. For
    printed layers, `strict` reports necessary repairs as errors, and `page` names the page that contains them, which
    may determine their version. For ONNX, `others` adds the findings of ONNX's checker and of other runtimes. `capped`:
    limit the number of findings for each code. `model_class`: the class of the model (see model/graph/model.py).
    `internal`: the file is a dump of OpenVINO's compiler, which may contain its internal operators.
    """
    if not isinstance(given, Source) and is_onnx(given if file is None else file):
        return _onnx(given, None if file is None else os.fspath(file), others, model_class, mode)
    if isinstance(given, bytes):
        source = Source.from_bytes(given, None if file is None else os.fspath(file))
    else:
        source = given if isinstance(given, Source) else Source.from_path(given)
    if source.encoding is not None and is_text_form(source):
        from irexec.frontends.text.source import TextSource

        source = TextSource(source.text, source.file)
    elif holds_printed_layers(source):
        return _printed_layers(source, page, strict, mode)
    return _model(source, weights, capped, model_class, internal, mode)


def for_running(reading: Reading) -> Reading:
    """Return a reading in openvino mode, given one in strict mode. Only a file with errors is checked again."""
    if not reading.report.ok or reading.model is None:
        return reading.again("openvino")
    keep_declared(reading.model, False)
    return reading


def accepted(reading: Reading) -> Model:
    """Return the model that was read, with one Python warning about its findings in the caller. Raises IRError."""
    if reading.model is None or not reading.report.ok:
        raise IRError(reading.report)
    if excused := _excused(reading.report):
        others = f" (and {len(excused) - 1} more)" if len(excused) > 1 else ""
        warnings.warn(f"{excused[0]}{others}: irexec.validate reports all findings", stacklevel=_level() - 1)
    return reading.model


def _level() -> int:
    """Return the number of calls from this call up to the first caller outside of irexec."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "irexec",
        "contextlib",
    ):
        level, frame = level + 1, frame.f_back
    return level


def _excused(report: Report) -> list[Diagnostic]:
    """Return the findings that are errors in strict mode."""
    if not report.diagnostics:
        return []
    from irexec.core.diagnostics.codes import CODES

    return [finding for finding in report if finding.severity is not CODES[finding.code].severity]


def is_onnx(given: PathLike | bytes) -> bool:
    """Return True for the name of an ONNX file, and for the bytes of one."""
    if not isinstance(given, bytes):
        return os.fspath(given).lower().endswith(".onnx")
    from irexec.ir.xml.foreign import is_onnx_model

    return is_onnx_model(given)


def is_text_form(source: Source) -> bool:
    """Return True for a file with the suffix .irt, and for a text whose first word is `model`."""
    return (source.file or "").lower().endswith(".irt") or _TEXT_FORM.match(source.text) is not None


def holds_printed_layers(source: Source) -> bool:
    """Return True for a text with layers but without a `<net>`."""
    text = source.text
    return ("<layer" in text or "<..." in text or "<…" in text) and "<net" not in text.lower()


def _onnx(given: PathLike | bytes, file: str | None, others: bool, model_class: type[Model], mode: Mode) -> Reading:
    from irexec.frontends.onnx import read_onnx

    model, report = read_onnx(given, mode, file=file, others=others, model_class=model_class)
    again = partial(_onnx, given, file, others, model_class)
    return Reading(None, None, model, report, again, nodes=partial(_nodes, given, file))


def _nodes(given: PathLike | bytes, file: str | None) -> Model | None:
    try:
        from irexec.frontends.onnx.written import as_written
    except ImportError:  # Without the package onnx, whose absence has been reported.
        return None
    return as_written(given, file)


def _printed_layers(source: Source, page: str | None, strict: bool, mode: Mode) -> Reading:
    from irexec.frontends.pages.evaluate import read_examples

    again = partial(_printed_layers, source, page, strict)
    try:
        snippet = read_examples(source, page=page, strict=strict, mode=mode)
    except OutOfTime as stopped:
        findings = Findings(file=source.file)
        stopped.add_to(findings)
        return Reading(source, None, None, findings.report, again)
    return Reading(source, snippet.document, None, snippet.findings.finished(), again, None, snippet)


def _model(
    source: Source,
    given: GivenWeights,
    capped: bool,
    model_class: type[Model],
    internal: bool,
    mode: Mode,
) -> Reading:
    findings = Findings(source.locate, file=source.file, mode=mode, internal=internal)
    document: Document | None = None
    model: Model | None = None
    seconds: dict[str, float] = {}
    weights: GivenWeights = given
    begin = time.perf_counter()
    try:
        document = read_document(source, findings)
        if document is not None:
            weights = found = _weights(source, given, findings)
            found.further = source.constants or found.further
            built = build(document, findings, found, model_class)
            is_beside = source.file is not None and found.file == weights_beside(source.file)
            built.has_own_weights = is_beside and not isinstance(given, RandomWeights)
            if isinstance(given, RandomWeights):
                from irexec.model.weightless.fill import fill

                fill(built, given, findings)
                weights = given
            seconds["read"] = (built_at := time.perf_counter()) - begin
            infer_types(built, findings)
            if findings.error_count:
                findings.excuse(idle_layers(built))
            seconds["check"] = time.perf_counter() - built_at
            model = built
    except OutOfTime as stopped:
        document = None
        stopped.add_to(findings)
    again = partial(_model, source, weights, capped, model_class, internal)
    return Reading(source, document, model, findings.finished(capped=capped), again, weights, None, seconds)


def _weights(source: Source, given: GivenWeights, findings: Findings) -> Weights:
    try:
        if isinstance(given, RandomWeights):
            found = Weights.find(source.file)
            found.reason = found.reason or "they are drawn"
            return found
        return Weights.find(source.file, given)
    except OSError as error:
        where = f"{os.fspath(given)}: " if isinstance(given, str | os.PathLike) else ""
        reason = f"{where}{error.strerror or error}"
        findings.add("C010", f"the weights cannot be read: {reason}", at=At(0))
        return Weights(reason=reason)
