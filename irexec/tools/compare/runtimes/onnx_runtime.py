"""ONNX Runtime as a runtime for comparisons: it reads ONNX files itself, in any of its releases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from irexec.model.graph.model import Model
from irexec.tools.compare.runtimes.hosted import KNOWN, LIMIT
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded
from irexec.tools.compare.runtimes.separate import Apart


class OnnxRuntime(Apart):
    """ONNX Runtime's CPU provider. `host`: the class that runs it, if not the known one; `config`: its arguments.
    `python`: see Worker. Raises CannotRun.
    """

    def __init__(
        self,
        config: Mapping[str, str] | None = None,
        *,
        limit: float | None = LIMIT,
        python: str = "",
        host: str = KNOWN["onnxruntime"],
    ) -> None:
        super().__init__(host, config or {}, title="ONNX Runtime", runs_parts=False, limit=limit, python=python)

    def load(self, model: Model) -> Loaded:
        if model.file is None or not model.file.lower().endswith(".onnx"):
            raise CannotRun("ONNX Runtime can run .onnx files only", "U012")
        return self.reads(Path(model.file).absolute())
