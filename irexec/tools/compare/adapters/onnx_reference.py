"""ONNX's reference implementation in its own process; it reads ONNX files only."""

from __future__ import annotations

from typing import Any

import numpy as np


class OnnxReference:
    """onnx.reference, which evaluates a model node by node in NumPy."""

    def __init__(self) -> None:
        import onnx
        from onnx.reference import ReferenceEvaluator

        self.onnx: Any = onnx
        self.evaluator_class: Any = ReferenceEvaluator
        self.evaluator: Any = None
        self.inputs: list[Any] = []

    def describe(self) -> dict[str, str]:
        return {"name": f"onnx.reference {self.onnx.__version__}"}

    def load(self, path: str, cache: bool) -> None:
        proto = self.onnx.load(path)
        stored = {tensor.name for tensor in proto.graph.initializer}
        self.inputs = [value for value in proto.graph.input if value.name not in stored]
        self.evaluator = self.evaluator_class(proto)

    def infer(self, inputs: list[Any]) -> list[Any]:
        pairs = zip(self.inputs, inputs, strict=True)
        results = self.evaluator.run(None, {value.name: self._typed(value, array) for value, array in pairs})
        return [_raw(np.asarray(array)) for array in results]

    def _typed(self, value: Any, array: Any) -> Any:
        if array.dtype.kind == "U":
            return array.astype(object)
        return array.view(self.onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


def _raw(array: Any) -> Any:
    """Return arrays of types that NumPy lacks as their bits."""
    if array.dtype.kind in "OTSU":
        return np.array(array.tolist(), np.str_).reshape(array.shape)
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")
