"""ONNX Runtime with one wrong operator, and an ONNX model to reduce with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from irexec.tools.compare.adapters.onnx_runtime import OnnxRuntime as Server
from irexec.tools.compare.runtimes.onnx_runtime import OnnxRuntime

WRONG = {"HardSigmoid": "Sigmoid", "Softsign": "Tanh"}
"""Operator in the file → the operator that runs in its place."""


class WrongServer(Server):
    def load(self, path: str, cache: bool) -> str:
        said = super().load(path, cache)
        for node in self.proto.graph.node:
            if node.op_type in WRONG:
                node.op_type = WRONG[node.op_type]
                del node.attribute[:]
        self.session = self._session(self.proto)
        return said


class WrongOnnxRuntime(OnnxRuntime):
    def __init__(self) -> None:
        super().__init__(host=f"{__name__}:WrongServer")


def deep(path: Path) -> None:
    """Write a convolution, a normalization, the wrong layer, and further layers, with a dynamic batch and two
    outputs.
    """
    rng = np.random.default_rng(0)
    weights = {
        "kernel": rng.normal(0, 0.3, (6, 3, 3, 3)).astype(np.float32),
        "scale": np.linspace(0.5, 1.5, 6, dtype=np.float32),
        "bias": np.zeros(6, np.float32),
        "table": rng.normal(0, 1, (6, 4)).astype(np.float32),
        "flat": np.int64([0, -1]),
    }
    nodes = [
        helper.make_node("Conv", ["x", "kernel"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("InstanceNormalization", ["c", "scale", "bias"], ["n"], epsilon=1e-3),
        helper.make_node("HardSigmoid", ["n"], ["h"], alpha=0.3, beta=0.4),
        helper.make_node("Mul", ["h", "n"], ["gated"]),
        helper.make_node("GlobalAveragePool", ["gated"], ["pooled"]),
        helper.make_node("Reshape", ["pooled", "flat"], ["rows"]),
        helper.make_node("MatMul", ["rows", "table"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["probabilities"], axis=-1),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in ("probabilities", "scores")
    ]
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "deep", inputs, outputs, tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
