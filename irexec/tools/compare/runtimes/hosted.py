"""Workers that host a runtime: those that have a name, and why one cannot be used or refuses a model."""

from __future__ import annotations

import re
from pathlib import Path

from irexec.core.diagnostics import Refusal
from irexec.model.arrays.brief import abridged
from irexec.runtime.processes.starting import is_own
from irexec.runtime.processes.worker import Ended, Refused, Worker

LIMIT = 600.0
"""Seconds that a runtime may take for one answer."""
STARTING = 600.0
"""The time in seconds for a process to start: on a busy machine, imports may take longer than any case."""
_HOME = Path(__file__).parents[1] / "adapters"
KNOWN = {
    "openvino": f"{_HOME / 'openvino.py'}:OpenVINO",
    "onnxruntime": f"{_HOME / 'onnx_runtime.py'}:OnnxRuntime",
    "reference": f"{_HOME / 'onnx_reference.py'}:OnnxReference",
    "irexec": f"{_HOME / 'lowered.py'}:Irexec",
}
"""The runtimes that have a name; any other runtime is given as FILE.py:Class."""
_PACKAGES = {
    "openvino": "OpenVINO",
    "onnxruntime": "ONNX Runtime",
    "torch": "PyTorch",
    "numpy": "NumPy",
    "onnx": "The package onnx",
}
_MISSING = re.compile(r"No module named '(\w+)")
_ONNX_NODE = re.compile(r"ONNX node .<Node\((\w{1,99})\): ([^>]{0,200})>")
_ONNX_RUNTIME = "[ONNXRuntimeError]"
_SUMMARY = ("-- Conversion is failed for", "Summary:", "Model wasn't fully converted")


class Unusable(Refusal):
    """Raised if a runtime cannot be started. `code`: the code of the finding that a command reports."""

    def __init__(self, message: str, code: str = "U010") -> None:
        super().__init__(message)
        self.code = code


def described(worker: Worker, python: str = "", limit: float | None = None) -> dict[str, str]:
    """Return the description of a worker's runtime. `limit`: that of an answer, which a start may exceed. Raises
    Unusable, and Ended if the process crashes.
    """
    patience = None if limit is None else max(limit, STARTING)
    try:
        found: dict[str, str] = worker.describe(patience)
    except Refused as error:
        missing = _MISSING.search(str(error))
        if missing is not None and missing[1] in _PACKAGES:
            place = "" if is_own(python) else f" for {python}"
            name = f"{_PACKAGES[missing[1]]} is not installed{place}"
            raise Unusable(f"{name}: pip install {missing[1]}", "F001") from None
        if error.code:
            raise Unusable(str(error), error.code) from None
        kind = f"{error.kind}: " if error.kind else ""
        raise Unusable(f"the runtime cannot be used: {kind}{error}") from None
    except Ended as error:
        if error.how == "crash":
            raise
        raise Unusable(f"the runtime cannot be used: it does not start within {patience:g} s") from None
    except OSError as error:
        raise Unusable(f"{python}: {error.strerror or error}", "U005") from None
    return found


def reason(message: str) -> str:
    """Return the reason in a runtime's message: without the places in its source, the codes, and the summary of the
    nodes that were not converted, but with the node of an ONNX file that it names.
    """
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if lines and lines[0].startswith(_ONNX_RUNTIME):
        text = lines[0].split(" : ", 3)[-1]
        return abridged(text.partition(" failed:")[2] if text.startswith("Load model from ") else text)
    reasons = [line for line in lines if not line.startswith(_SUMMARY)] or lines or ["no reason is given"]
    nodes = _ONNX_NODE.findall(message)
    return abridged("".join(f"{type_} {name}: " for type_, name in nodes[-1:]) + reasons[-1].removeprefix("-- "))
