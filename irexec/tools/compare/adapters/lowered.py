"""irexec itself in its own process: compiled as a whole (`mode="lowered"`) or by its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.core import compile_model
from irexec.version import __version__


class Irexec:
    """irexec with EXECUTION_MODE_HINT PERFORMANCE, or ACCURACY for `mode="kernels"`."""

    def __init__(self, mode: str = "lowered") -> None:
        self.hint = {"lowered": "PERFORMANCE", "kernels": "ACCURACY"}[mode]
        self.mode = mode
        self.compiled: Any = None
        self.request: Any = None

    def describe(self) -> dict[str, str]:
        return {"name": f"irexec {__version__} {self.mode}"}

    def load(self, path: str, cache: bool) -> None:
        self.compiled = compile_model(path, config={"EXECUTION_MODE_HINT": self.hint})
        self.request = self.compiled.create_infer_request()

    def infer(self, inputs: list[Any]) -> list[Any]:
        ports = zip(inputs, self.compiled.inputs, strict=True)
        given = [a if a.dtype.kind == "U" else a.view(p.element_type.dtype) for a, p in ports]
        return [_raw(array) for array in self.request.infer(given).to_tuple()]

    def reset(self) -> None:
        self.request.reset_state()


def _raw(array: Any) -> Any:
    """Return arrays of types that NumPy lacks as their bits."""
    if array.dtype.kind == "T":
        return np.array(array.tolist(), np.str_).reshape(array.shape)
    return array if array.dtype.isbuiltin == 1 or array.dtype.kind == "U" else array.view(f"u{array.dtype.itemsize}")
