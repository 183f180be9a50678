"""ONNX Runtime as a runtime to compare with: of ONNX files, which it reads itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.graph.model import Model, Value
from irexec.trust.runtimes import CannotRun, Loaded, Steps
from irexec.types import Array


class OnnxRuntime:
    """ONNX Runtime's CPU provider."""

    runs_parts = False

    def __init__(self) -> None:
        try:
            import onnx
            import onnxruntime
        except ImportError:
            raise CannotRun("ONNX Runtime is not installed: pip install 'irexec[compare]'") from None
        self._onnx: Any = onnx
        self._runtime: Any = onnxruntime
        self.name = f"ONNX Runtime {onnxruntime.__version__}"

    def load(self, model: Model) -> Loaded:
        if model.file is None or not model.file.lower().endswith(".onnx"):
            raise CannotRun("ONNX Runtime runs .onnx files only")
        return _Loaded(self._onnx.load(model.file), self._onnx, self._runtime, model)


class _Loaded:
    """An ONNX model; values are shown by adding them to the outputs of its graph."""

    def __init__(self, proto: Any, onnx: Any, runtime: Any, model: Model) -> None:
        self._proto, self._onnx, self._runtime, self._model = proto, onnx, runtime, model
        graph = proto.graph
        constants = {c.name for c in graph.initializer}
        self._inputs = [entry.name for entry in graph.input if entry.name not in constants]
        self._outputs = [entry.name for entry in graph.output]
        self._tensors = {name for node in graph.node for name in node.output if name}

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._run(self._proto, self._outputs, steps)

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        names = {v: name for v in values if (name := next(iter(sorted(v.names & self._tensors)), None)) is not None}
        proto = self._onnx.ModelProto()
        proto.CopyFrom(self._proto)
        proto.graph.output.extend(
            self._onnx.ValueInfoProto(name=name) for name in sorted({*names.values()} - {*self._outputs})
        )
        wanted = sorted({*names.values()})
        runs = self._run(proto, wanted, steps)
        return [{v: step[wanted.index(name)] for v, name in names.items()} for step in runs]

    def fused(self) -> list[list[str]]:
        return []

    def _run(self, proto: Any, outputs: Sequence[str], steps: Steps) -> list[list[Array]]:
        try:
            session = self._runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
            return [session.run(outputs, dict(zip(self._inputs, step, strict=True))) for step in steps]
        except Exception as error:  # ONNX Runtime documents no common class
            raise CannotRun(f"ONNX Runtime does not run the model: {str(error).splitlines()[0][:300]}") from None
