"""ONNX Runtime as a judged runtime: it runs the ONNX graph of a model, if all operators have a counterpart in ONNX."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.core import read_model
from irexec.tools.conformance.onnx_graph import OnnxGraph


class OnnxRuntime:
    """ONNX Runtime's CPU provider; `optimised="no"` turns its graph transformations off."""

    def __init__(self, optimised: str = "yes") -> None:
        import onnx
        import onnxruntime

        self.onnx: Any = onnx
        self.runtime: Any = onnxruntime
        self.options: Any = onnxruntime.SessionOptions()
        self.options.log_severity_level = 4
        if optimised == "no":
            self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session: Any = None
        self.types: list[Any] = []

    def describe(self) -> dict[str, str]:
        return {"name": f"ONNX Runtime {self.runtime.__version__}"}

    def load(self, path: str, cache: bool) -> None:
        if path.endswith(".onnx"):
            proto, self.types = self.onnx.load(path), []
        else:
            model = read_model(path)
            self.types = [value.element_type for value in model.inputs]
            proto = OnnxGraph(model, self.onnx).proto
        self.session = self.runtime.InferenceSession(
            proto.SerializeToString(), self.options, providers=["CPUExecutionProvider"]
        )

    def infer(self, inputs: list[Any]) -> list[Any]:
        names = [entry.name for entry in self.session.get_inputs()]
        if any(t.dtype is None or t.dtype.isbuiltin != 1 for t in self.types):
            raise TypeError("ONNX Runtime does not accept arrays of an input's element type")
        return list(self.session.run(None, dict(zip(names, inputs, strict=True))))
