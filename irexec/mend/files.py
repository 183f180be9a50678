"""Files with findings that know their fixes, validated and mended."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from irexec import api
from irexec.api import is_onnx, is_snippet, load, validate_snippet
from irexec.diagnostics import Diagnostic, Edit, Report
from irexec.diagnostics.findings import Mode
from irexec.graph.model import Model
from irexec.ir.xml.source import Source
from irexec.mend.replacing import read_bytes, replace_file
from irexec.records import replace

if TYPE_CHECKING:
    # Mending is imported for a file that needs it.
    from irexec.ir.xml.edits import Editable
    from irexec.mend.mend import Mended, PathLike, Wanted


class NotAModel(ValueError):
    """A file that holds no model, so that there is nothing that fixes could be made to."""


def mend_file(
    path: PathLike,
    *,
    weights: PathLike | None = None,
    unsafe: bool = False,
    wanted: Wanted = lambda _: True,
    write: bool = True,
) -> tuple[bytes, Mended]:
    """Mend a file of a model or of loose layers; see `mend`, `mended_page`. Returns its bytes before, and the outcome.

    A file that stays as it is is not written; without `write`, none is. Raises NotAModel, FileChanged, and OSError.
    """
    before = read_bytes(path)
    mended = mended_bytes(before, path, weights=weights, unsafe=unsafe, wanted=wanted)
    if write:
        replace_file(path, before, mended.data)
    return before, mended


def mended_bytes(data: bytes, file: PathLike | None, *, weights: PathLike | None = None, **how: Any) -> Mended:
    """What becomes of a model or of loose layers, which `file` names; see `mend_file`. Raises NotAModel."""
    if file is not None and is_onnx(file):
        raise NotAModel("this is an ONNX model; fixes are made in an IR")
    if is_snippet(Source.from_bytes(data)):
        from irexec.mend.pages import mended_page

        return mended_page(data, file or "stdin.xml", **how)
    from irexec.mend.mend import mend

    return mend(data, file, weights=weights, **how)


def is_model_file(path: PathLike) -> bool:
    """True for the file of an IR, whatever is wrong with it; False for loose layers and for ONNX."""
    return not is_onnx(path) and not is_snippet(Source.from_path(path))


def validate(
    source: PathLike | bytes | Model,
    *,
    weights: PathLike | None = None,
    mode: Mode = "strict",
    strict: bool = False,
    others: bool = False,
) -> Report:
    """Every finding about a model or snippet, in file order, as `irexec validate` does. Never raises for a bad file.

    Findings know their fixes, and those that the file asks to ignore are left out; the settings of a project are the
    command's alone. `mode="openvino"` makes warnings of what does not keep `read_model` from running the file.
    `strict`: a snippet's repairs count as errors. `others`: with what ONNX's own checks find in an ONNX file, and what
    onnx.reference and ONNX Runtime do with one that has findings; they are asked in processes of their own.
    """
    if isinstance(source, Model) or is_onnx(source):
        return api.validate(source, mode=mode, others=others)
    if isinstance(source, bytes):
        return validate_text(source, None, weights=weights, mode=mode, strict=strict)
    return validate_file(source, weights=weights, mode=mode, strict=strict, others=others)


def validate_file(
    path: PathLike,
    *,
    weights: PathLike | None = None,
    mode: Mode = "strict",
    strict: bool = False,
    others: bool = False,
) -> Report:
    """As `validate`, of a file."""
    if is_onnx(path):
        return api.validate(path, weights=weights, mode=mode, strict=strict, others=others)
    source = Source.from_path(path)
    if is_snippet(source):
        return _of_layers(source, read_bytes(path), mode, strict)
    return _load(path, source, None, weights, mode)[1]


def validate_text(
    data: bytes,
    file: PathLike | None,
    *,
    weights: PathLike | bytes | None = None,
    mode: Mode = "strict",
    strict: bool = False,
) -> Report:
    """As `validate_file`, of a text that `file` may hold otherwise; its weights are those of `file`, unless given."""
    source = Source.from_bytes(data, None if file is None else os.fspath(file))
    if is_snippet(source):
        return _of_layers(source, data, mode, strict)
    return _load(data if file is None else file, source, data, weights, mode)[1]


def load_file(
    path: PathLike, source: Source, *, weights: PathLike | None = None, mode: Mode = "strict"
) -> tuple[Model | None, Report]:
    """The model of a file that was read as `source`, as `irexec.api.load`; findings as `validate_file` gives them."""
    return _load(path, source, None, weights, mode)


def _of_layers(source: Source, data: bytes, mode: Mode, strict: bool) -> Report:
    """The findings about loose layers; their fixes are made for the text in UTF-8, and here for the file's bytes."""
    from irexec.ir.xml.edits import Editable
    from irexec.ir.xml.encoding import encoding_of
    from irexec.mend.ignored import without_ignored

    report = without_ignored(validate_snippet(source, mode=mode, strict=strict), source.text)
    if encoding_of(data) == (0, "utf-8"):
        return report
    editable = Editable(source.positions, data)
    return Report([_encoded(finding, editable) for finding in report], report.left_out.copy())


def _encoded(finding: Diagnostic, editable: Editable) -> Diagnostic:
    from irexec.ir.xml.positions import Span

    offset = editable.positions.offset

    def edit(old: Edit) -> Edit:
        start = offset(*old.begin)
        return editable.edit(Span(start, offset(*old.end) - start), old.text)

    return replace(finding, fixes=tuple(replace(fix, edits=tuple(map(edit, fix.edits))) for fix in finding.fixes))


def _load(
    model: PathLike | bytes, source: Source, data: bytes | None, weights: PathLike | bytes | None, mode: Mode
) -> tuple[Model | None, Report]:
    found, report = load(model, weights, mode=mode, source=source)
    if not len(report) or not source.text:
        return found, report
    from irexec.mend.ignored import without_ignored
    from irexec.mend.table import with_fixes

    if data is None:
        data = model if isinstance(model, bytes) else read_bytes(model)
    return found, without_ignored(with_fixes(report, data, source, found), source.text)
