"""ONNX Runtime as a judged runtime: it runs the ONNX graph of a model, if all operators have a counterpart in ONNX.

ONNX files need onnxruntime, onnx and NumPy alone.
"""

from __future__ import annotations

from typing import Any

_VERBOSE, _FATAL = 1, 4


class OnnxRuntime:
    """ONNX Runtime's CPU provider; `optimised="no"` turns its graph transformations off.

    `level`: of the graph transformations: all, extended, basic or disable_all; `execution`: sequential or parallel;
    `threads`: of one operator; `without`: the names of graph transformations that are turned off, with commas;
    `verbose="yes"`: ONNX Runtime prints its transformations.
    """

    def __init__(
        self,
        optimised: str = "yes",
        level: str = "all",
        execution: str = "sequential",
        threads: str = "0",
        without: str = "",
        verbose: str = "no",
    ) -> None:
        import onnx
        import onnxruntime

        self.onnx: Any = onnx
        self.runtime: Any = onnxruntime
        self.options: Any = onnxruntime.SessionOptions()
        self.options.log_severity_level = _VERBOSE if verbose == "yes" else _FATAL
        level = "disable_all" if optimised == "no" else level if level == "disable_all" else f"enable_{level}"
        levels = onnxruntime.GraphOptimizationLevel
        self.options.graph_optimization_level = getattr(levels, f"ORT_{level.upper()}")
        self.options.execution_mode = getattr(onnxruntime.ExecutionMode, f"ORT_{execution.upper()}")
        self.options.intra_op_num_threads = int(threads)
        self.without = [name for name in without.split(",") if name]
        self.session: Any = None
        self.types: list[Any] = []

    def describe(self) -> dict[str, str]:
        return {"name": f"ONNX Runtime {self.runtime.__version__}"}

    def load(self, path: str, cache: bool) -> None:
        if path.endswith(".onnx"):
            proto, self.types = self.onnx.load(path), []
        else:
            from irexec.api.openvino.core import read_model
            from irexec.tools.conformance.onnx_graph import OnnxGraph

            model = read_model(path)
            self.types = [value.element_type for value in model.inputs]
            proto = OnnxGraph(model, self.onnx).proto
        self.session = self.runtime.InferenceSession(
            proto.SerializeToString(),
            self.options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=self.without,
        )

    def infer(self, inputs: list[Any]) -> list[Any]:
        names = [entry.name for entry in self.session.get_inputs()]
        if any(t.dtype is None or t.dtype.isbuiltin != 1 for t in self.types):
            raise TypeError("ONNX Runtime does not accept arrays of an input's element type")
        return list(self.session.run(None, dict(zip(names, inputs, strict=True))))
