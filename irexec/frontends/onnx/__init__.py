"""ONNX: an `.onnx` file becomes a Model of IR operators, and of onnx operators where IR has none. Extra: `onnx`."""

from __future__ import annotations

import os

from irexec.diagnostics import Place, Report
from irexec.diagnostics.findings import Findings, Mode
from irexec.graph.model import Model


def read_onnx(
    given: str | os.PathLike[str] | bytes, mode: Mode = "strict", *, others: bool = False
) -> tuple[Model | None, Report]:
    """The model of an ONNX file, or of its bytes, and every finding about it; no model when one of them is an error.

    `others`: with what ONNX's checker and shape inference find, and what onnx.reference and ONNX Runtime do with a file
    that has findings. Never raises for a bad file, nor where the package `onnx` is missing (F001).
    """
    file = None if isinstance(given, bytes) else os.fspath(given)
    try:
        import irexec.frontends.onnx.messages  # noqa: F401
    except ImportError:
        findings = Findings(file=file, mode=mode)
        message = "reading ONNX takes the package onnx, which is not installed"
        findings.add("F001", message, place=Place(file=findings.file), hint="pip install 'irexec[onnx]'")
        return None, findings.report
    from irexec.frontends.onnx.convert import convert_file
    from irexec.frontends.onnx.findings import OnnxFindings

    if others and file is not None:
        from irexec.frontends.onnx.others import examined

        return examined(file, mode)
    found = OnnxFindings(file=file, mode=mode)
    model = convert_file(given, found)
    return (model if found.report.ok else None), found.report
