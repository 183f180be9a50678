"""The public functions: read, validate, compile, save; and `Core`, so that programs for OpenVINO's API run."""

from __future__ import annotations

import os
import time
import warnings
from typing import TYPE_CHECKING, Any

from irexec.diagnostics import Diagnostic, IRError, Report
from irexec.diagnostics.findings import At, Findings, Mode
from irexec.graph.build import build
from irexec.graph.idle import idle_layers
from irexec.graph.model import Model
from irexec.inference import infer, set_types
from irexec.ir.memory import no_collection
from irexec.ir.reader import read
from irexec.ir.weights.file import Weights
from irexec.ir.xml.source import Source

if TYPE_CHECKING:
    # The engine is imported when something is run: validation starts without it.
    from irexec.engine import CompiledModel

PathLike = str | os.PathLike[str]


def read_model(model: PathLike | bytes, weights: PathLike | bytes | None = None, *, mode: Mode = "openvino") -> Model:
    """Read a model from an `.xml` file (or its bytes) and its weights, and check all of it.

    `weights` defaults to the `.bin` beside the file. What OpenVINO reads without ambiguity is read, however it is
    written, with one Python warning that says how many findings there are; `mode="strict"` refuses what `validate`
    finds an error, and holds results at run time to the dims that the file declares, too. An `.onnx` file or its bytes
    are converted (extra `onnx`).

    Raises IRError, whose `report` holds every finding, when the file has an error.
    """
    return accepted(*load(model, weights, mode=mode))


def accepted(found: Model | None, report: Report, level: int = 3) -> Model:
    """A model that was read, with the one warning about its findings, `level` calls up. Raises IRError."""
    if found is None or not report.ok:
        raise IRError(report)
    if excused := _excused(report):
        others = f" (and {len(excused) - 1} more)" if len(excused) > 1 else ""
        warnings.warn(f"{excused[0]}{others}: irexec.validate shows what is not right", stacklevel=level)
    return found


def _excused(report: Report) -> list[Diagnostic]:
    """The findings that are errors where the file is asked to be right."""
    if not report.diagnostics:
        return []
    from irexec.diagnostics.codes import CODES

    return [finding for finding in report if finding.severity is not CODES[finding.code].severity]


def load(
    model: PathLike | bytes,
    weights: PathLike | bytes | None = None,
    *,
    mode: Mode = "openvino",
    source: Source | None = None,
    seconds: dict[str, float] | None = None,
) -> tuple[Model | None, Report]:
    """As `read_model`, with every finding, warnings too; never raises for a bad file.

    `source`: the text of `model`, where it was read already. `seconds` is told how long reading and checking took.
    """
    if is_onnx(model):
        from irexec.frontends.onnx import read_onnx

        return read_onnx(model, mode)
    return _read(source or _source(model), model, weights, mode, seconds)


def validate(
    source: PathLike | bytes | Model,
    *,
    weights: PathLike | bytes | None = None,
    mode: Mode = "strict",
    strict: bool = False,
    others: bool = False,
) -> Report:
    """Every finding about a model or snippet, in file order. Never raises for a bad file.

    `mode="openvino"` makes warnings of what does not keep `read_model` from running the file. `strict`: a snippet's
    repairs count as errors. `others`: with what ONNX's own checks find in an ONNX file, and what onnx.reference and
    ONNX Runtime do with one that has findings; they are asked in processes of their own.
    """
    if isinstance(source, Model):
        return infer(source, findings=Findings(file=source.file, mode=mode)).report
    if is_onnx(source):
        from irexec.frontends.onnx import read_onnx

        return read_onnx(source, mode, others=others)[1]
    read_source = _source(source)
    if is_snippet(read_source):
        return validate_snippet(read_source, mode=mode, strict=strict)
    return _read(read_source, source, weights, mode)[1]


def validate_snippet(source: Source, *, mode: Mode = "strict", strict: bool = False) -> Report:
    """Every finding about a text of loose layers; see `validate`."""
    from irexec.snippets.evaluate import evaluate, evaluated_report, read_examples

    with no_collection():
        snippet = read_examples(source.text, file=source.file, strict=strict, mode=mode)
        evaluate(snippet, execute=False)
        return evaluated_report(snippet)


def is_onnx(model: PathLike | bytes) -> bool:
    """True for the name of an ONNX file, and for what such a file holds."""
    if not isinstance(model, bytes):
        return os.fspath(model).lower().endswith(".onnx")
    from irexec.ir.xml.foreign import is_onnx_model

    return is_onnx_model(model)


def is_snippet(source: Source) -> bool:
    """True for a text of loose layers, False for a model and for anything else."""
    text = source.text
    return ("<layer" in text or "<..." in text or "<…" in text) and "<net" not in text.lower()


def _source(model: PathLike | bytes) -> Source:
    return Source.from_bytes(model) if isinstance(model, bytes) else Source.from_path(model)


@no_collection()
def _read(
    source: Source,
    model: PathLike | bytes,
    weights: PathLike | bytes | None,
    mode: Mode,
    seconds: dict[str, float] | None = None,
) -> tuple[Model | None, Report]:
    begin = time.perf_counter()
    findings = Findings(source.locate, file=source.file, mode=mode)
    document = read(source, findings)
    if document is None:
        return None, findings.finished()
    path = None if isinstance(model, bytes) else os.fspath(model)
    try:
        found = Weights.find(path, weights)
    except OSError as error:
        where = f"{os.fspath(weights)}: " if isinstance(weights, str | os.PathLike) else ""
        findings.add("C010", f"the weights cannot be read: {where}{error.strerror or error}", at=At(0))
        found = Weights(is_reported=True)
    built = build(document, findings, found)
    read_at = time.perf_counter()
    set_types(built, infer(built, findings=findings))
    if findings.error_count:
        findings.excuse(idle_layers(built))
    if seconds is not None:
        seconds |= {"read": read_at - begin, "check": time.perf_counter() - read_at}
    return built, findings.finished()


def compile_model(model: Model | PathLike | bytes, device_name: str | None = None, config: Any = None) -> CompiledModel:
    """Make a model ready to run. `device_name` and `config` are accepted for OpenVINO's sake; there is one device.

    Raises IRError like `read_model`.
    """
    from irexec.engine import CompiledModel

    return CompiledModel(model if isinstance(model, Model) else read_model(model))


def save_model(model: Model, path: PathLike) -> None:
    """Write a model as IR v11: `path` and the `.bin` beside it. OpenVINO reads it back to an equal model."""
    from irexec.graph.write import write_model

    write_model(model, path)


class Core:
    """OpenVINO's entry point, so that `import irexec as ov` runs simple programs."""

    def read_model(self, model: PathLike | bytes, weights: PathLike | bytes | None = None) -> Model:
        return read_model(model, weights)

    def compile_model(
        self, model: Model | PathLike | bytes, device_name: str | None = None, config: Any = None
    ) -> CompiledModel:
        return compile_model(model, device_name, config)

    @property
    def available_devices(self) -> list[str]:
        return ["CPU"]
