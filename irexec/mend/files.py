"""Mending a file in its place: replaced whole or not at all, and only if nobody else changed it meanwhile."""

from __future__ import annotations

from irexec.api import is_onnx, is_snippet, load, validate
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Mode
from irexec.graph.model import Model
from irexec.ir.files import open_regular, staged
from irexec.ir.xml.source import Source
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
    before = _read(path)
    if is_onnx(path):
        raise NotAModel("this is an ONNX model; fixes are made in an IR")
    if is_snippet(Source.from_bytes(before)):
        raise NotAModel("these are loose layers, repaired as they are read; fixes are made in models only")
    mended = mend(before, path, weights=weights, unsafe=unsafe, wanted=wanted)
    if write and mended.data != before:
        with staged(path) as (stream,):
            stream.write(mended.data)
            if _read(path) != before:
                raise FileChanged("the file was changed by somebody else meanwhile; it is left as it is")
    return before, mended


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
    """As `irexec.validate` of a file; findings about a model have their fixes."""
    source = None if is_onnx(path) else Source.from_path(path)
    if source is None or is_snippet(source):
        return validate(path, weights=weights, mode=mode, strict=strict, others=others)
    return load_file(path, source, weights=weights, mode=mode)[1]


def load_file(
    path: PathLike, source: Source, *, weights: PathLike | None = None, mode: Mode = "strict"
) -> tuple[Model | None, Report]:
    """The model of a file that was read as `source`, as `irexec.api.load`; findings have their fixes."""
    model, report = load(path, weights, mode=mode, source=source)
    if source.root is None or not len(report):
        return model, report
    return model, with_fixes(report, _read(path), source, model)


def _read(path: PathLike) -> bytes:
    with open_regular(path) as stream:
        return stream.read()
