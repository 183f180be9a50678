"""Front end for ONNX (extra `onnx`): a file becomes a Model of IR operators, and of ONNX operators that IR lacks."""

from __future__ import annotations

import os

from irexec.core.collector import no_collection
from irexec.core.diagnostics import Place, Report
from irexec.core.diagnostics.deadline import OutOfTime
from irexec.core.diagnostics.findings import Findings, Mode
from irexec.core.environment import installing
from irexec.model.graph.model import Model


@no_collection(to_stay=True)
def read_onnx(
    given: str | os.PathLike[str] | bytes,
    mode: Mode = "strict",
    *,
    file: str | None = None,
    others: bool = False,
    model_class: type[Model] = Model,
) -> tuple[Model | None, Report]:
    """Return the model of an ONNX file, or of its bytes, and every finding about it; if a finding is an error, the
    model is None.

    `file`: the name under which findings refer to the bytes. `others`: include the findings of ONNX's checker and shape
    inference, and the results of onnx.reference and ONNX Runtime for a file with findings. Never raises for an invalid
    file, nor if the package `onnx` is missing (F001).
    """
    path = None if isinstance(given, bytes) else os.fspath(given)
    name = file if path is None else path
    try:
        import irexec.frontends.onnx.messages  # noqa: F401
    except ImportError:
        findings = Findings(file=name, mode=mode)
        message = "reading ONNX files requires the package onnx, which is not installed"
        findings.add("F001", message, place=Place(file=findings.file), hint=installing("onnx"))
        return None, findings.report
    from irexec.frontends.onnx.convert import convert_file
    from irexec.frontends.onnx.findings import OnnxFindings

    if others and path is not None:
        from irexec.frontends.onnx.others import examined

        return examined(path, mode)
    found = OnnxFindings(file=name, mode=mode)
    try:
        model = convert_file(given, found, model_class=model_class)
    except OutOfTime as stopped:
        stopped.add_to(found)
    return (model if found.report.ok else None), found.report
