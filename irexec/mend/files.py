"""Mending a file in its place: replaced whole or not at all, and only if nobody else changed it meanwhile."""

from __future__ import annotations

import os

from irexec.api import is_onnx, is_snippet, load, validate, validate_snippet
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Mode
from irexec.graph.model import Model
from irexec.ir.files import open_regular, staged
from irexec.ir.xml.source import Source
from irexec.mend.ignored import without_ignored
from irexec.mend.mend import Mended, PathLike, Wanted, mend
from irexec.mend.table import with_fixes


class NotAModel(ValueError):
    """A file that holds no model, so that there is nothing that fixes could be made to."""


class FileChanged(RuntimeError):
    """Somebody else wrote the file while it was being mended."""


def mend_file(
    path: PathLike,
    *,
    weights: PathLike | None = None,
    unsafe: bool = False,
    wanted: Wanted = lambda _: True,
    write: bool = True,
) -> tuple[bytes, Mended]:
    """Mend a model's file; see `mend`. Returns the bytes that it held, and the outcome.

    A file that stays as it is is not written; without `write`, none is. Raises NotAModel, FileChanged, and OSError.
    """
    before = read_bytes(path)
    if is_onnx(path):
        raise NotAModel("this is an ONNX model; fixes are made in an IR")
    if is_snippet(Source.from_bytes(before)):
        raise NotAModel(
            "these are loose layers, repaired as they are read; `irexec doctest --fix` mends the text itself"
        )
    mended = mend(before, path, weights=weights, unsafe=unsafe, wanted=wanted)
    if write:
        replace_file(path, before, mended.data)
    return before, mended


def replace_file(path: PathLike, before: bytes, after: bytes) -> None:
    """Write a file whole or not at all, unless somebody else changed it. Raises FileChanged."""
    if after == before:
        return
    with staged(path) as (stream,):
        stream.write(after)
        if read_bytes(path) != before:
            raise FileChanged("the file was changed by somebody else meanwhile; it is left as it is")


def is_model_file(path: PathLike) -> bool:
    """True for the file of an IR, whatever is wrong with it; False for loose layers and for ONNX."""
    return not is_onnx(path) and not is_snippet(Source.from_path(path))


def validate_file(
    path: PathLike,
    *,
    weights: PathLike | None = None,
    mode: Mode = "strict",
    strict: bool = False,
    others: bool = False,
) -> Report:
    """As `irexec.validate` of a file; findings about a model have their fixes, and the file may ask to ignore some."""
    if is_onnx(path):
        return validate(path, weights=weights, mode=mode, strict=strict, others=others)
    source = Source.from_path(path)
    if is_snippet(source):
        return without_ignored(validate_snippet(source, mode=mode, strict=strict), source.text)
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
        return without_ignored(validate_snippet(source, mode=mode, strict=strict), source.text)
    return _load(data if file is None else file, source, data, weights, mode)[1]


def load_file(
    path: PathLike, source: Source, *, weights: PathLike | None = None, mode: Mode = "strict"
) -> tuple[Model | None, Report]:
    """The model of a file that was read as `source`, as `irexec.api.load`; findings as `validate_file` gives them."""
    return _load(path, source, None, weights, mode)


def _load(
    model: PathLike | bytes, source: Source, data: bytes | None, weights: PathLike | bytes | None, mode: Mode
) -> tuple[Model | None, Report]:
    found, report = load(model, weights, mode=mode, source=source)
    if source.root is None or not len(report):
        return found, report
    if data is None:
        data = model if isinstance(model, bytes) else read_bytes(model)
    return found, without_ignored(with_fixes(report, data, source, found), source.text)


def read_bytes(path: PathLike) -> bytes:
    with open_regular(path) as stream:
        return stream.read()
