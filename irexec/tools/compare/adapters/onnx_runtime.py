"""ONNX Runtime in its own process; it reads ONNX files, and needs onnxruntime, onnx and NumPy alone."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

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
        self.proto: Any = None
        self.session: Any = None

    def describe(self) -> dict[str, str]:
        return {"name": f"ONNX Runtime {self.runtime.__version__}"}

    def load(self, path: str, cache: bool) -> str:
        self.proto = self.onnx.load(path)
        self.session = self._session(self.proto)
        return ""

    def infer(self, inputs: list[Any]) -> list[Any]:
        return self._run(self.session, inputs)

    def results(self, steps: list[Any]) -> list[Any]:
        return [self.infer(step) for step in steps]

    def observe(self, steps: list[Any], values: list[Any]) -> list[Any]:
        """Return for each step the values, which are added to the outputs of the graph; None for unknown values."""
        graph = self.proto.graph
        tensors = {name for node in graph.node for name in node.output if name}
        names = [next((name for name in known if name in tensors), None) for _, _, known in values]
        wanted = sorted({name for name in names if name is not None})
        proto = self.onnx.ModelProto()
        proto.CopyFrom(self.proto)
        there = {entry.name for entry in graph.output}
        proto.graph.output.extend(self.onnx.ValueInfoProto(name=name) for name in wanted if name not in there)
        session = self._session(proto)
        runs = [dict(zip(wanted, self._run(session, step, wanted))) for step in steps]  # noqa: B905 (Python 3.8)
        return [[None if name is None else run[name] for name in names] for run in runs]

    def about(self) -> dict[str, str]:
        found = {"providers": "CPUExecutionProvider", "machine": platform.machine()}
        return dict(found, processor=platform.processor()) if platform.processor() else found

    def _session(self, proto: Any) -> Any:
        return self.runtime.InferenceSession(
            proto.SerializeToString(),
            self.options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=self.without,
        )

    def _run(self, session: Any, inputs: list[Any], wanted: Any = None) -> list[Any]:
        for array in inputs:
            if array.dtype.metadata:
                raise TypeError(f"ONNX Runtime does not accept arrays of {dict(array.dtype.metadata)['type']}")
        given = [array.astype(object) if array.dtype.kind == "U" else array for array in inputs]
        names = [entry.name for entry in session.get_inputs()]
        return [np.asarray(array) for array in session.run(wanted, dict(zip(names, given)))]  # noqa: B905 (Python 3.8)
