"""ONNX Runtime as a runtime for comparisons: it reads ONNX files itself, in a separate process."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irexec.core.environment import installing
from irexec.core.types import Array
from irexec.model.arrays.brief import abridged
from irexec.model.graph.model import Model
from irexec.tools.compare.runtimes.process import LIMIT
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded, Steps
from irexec.tools.compare.runtimes.separate import Apart, Shown


class OnnxRuntime(Apart):
    """ONNX Runtime's CPU provider. Raises CannotRun."""

    def __init__(self, *, limit: float | None = LIMIT) -> None:
        super().__init__(f"{__name__}:Server", (), title="ONNX Runtime", runs_parts=False, limit=limit)

    def load(self, model: Model) -> Loaded:
        if model.file is None or not model.file.lower().endswith(".onnx"):
            raise CannotRun("ONNX Runtime can run .onnx files only", "U012")
        return self.reads(Path(model.file))


class Server:
    """ONNX Runtime itself, in the other process; values are shown by adding them to the outputs of the graph."""

    def __init__(self) -> None:
        try:
            import onnx
            import onnxruntime
        except ImportError:
            raise CannotRun(f"ONNX Runtime is not installed: {installing('compare')}", "F001") from None
        self._onnx: Any = onnx
        self._runtime: Any = onnxruntime
        self._proto: Any = None

    def describe(self) -> str:
        return f"ONNX Runtime {self._runtime.__version__}"

    def load(self, file: str) -> str:
        self._proto = self._onnx.load(file)
        graph = self._proto.graph
        constants = {c.name for c in graph.initializer}
        self._inputs = [entry.name for entry in graph.input if entry.name not in constants]
        self._outputs = [entry.name for entry in graph.output]
        self._tensors = {name for node in graph.node for name in node.output if name}
        return ""

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._run(self._proto, self._outputs, steps)

    def observe(self, steps: Steps, values: Sequence[Shown]) -> list[dict[int, Array]]:
        known = [next((name for name in value.names if name in self._tensors), None) for value in values]
        names = {index: name for index, name in enumerate(known) if name is not None}
        proto = self._onnx.ModelProto()
        proto.CopyFrom(self._proto)
        proto.graph.output.extend(
            self._onnx.ValueInfoProto(name=name) for name in sorted({*names.values()} - {*self._outputs})
        )
        wanted = sorted({*names.values()})
        runs = self._run(proto, wanted, steps)
        return [{index: step[wanted.index(name)] for index, name in names.items()} for step in runs]

    def fused(self) -> list[list[str]]:
        return []

    def states(self, steps: Steps) -> list[dict[str, Array]]:
        """Return no states: ONNX models have no variables."""
        return [{} for _ in steps]

    def about(self) -> dict[str, str]:
        return {"providers": "CPUExecutionProvider", "machine": platform.machine()} | (
            {"processor": name} if (name := platform.processor()) else {}
        )

    def _run(self, proto: Any, outputs: Sequence[str], steps: Steps) -> list[list[Array]]:
        try:
            session = self._runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            feeds = [dict(zip(self._inputs, map(_fed, step), strict=True)) for step in steps]
            return [[_taken(array) for array in session.run(outputs, feed)] for feed in feeds]
        except Exception as error:  # ONNX Runtime documents no common class of errors.
            raise CannotRun(f"ONNX Runtime cannot run the model: {abridged(str(error).splitlines()[0])}") from None


def _fed(array: Array) -> Array:
    """Return an array as ONNX Runtime takes it: texts as objects."""
    return array.astype(object) if array.dtype.kind == "T" else array


def _taken(array: Array) -> Array:
    return array.astype(np.dtypes.StringDType()) if array.dtype == object else array
