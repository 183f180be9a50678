"""A runtime for tests of irexec conformance: irexec itself, with one operator that is wrong, refuses, or ends the
process.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

import irexec


class Wrong:
    """Fails in models that contain the operator `type`: `how` is wrong, late, shape, refuse, raise, raise later,
    unsupported later, crash or hang.
    """

    def __init__(self, type: str, how: str = "wrong") -> None:
        self.type, self.how = type, how

    def describe(self) -> dict[str, str]:
        return {"name": f"irexec with a wrong {self.type}"}

    def load(self, path: str, cache: bool) -> None:
        model = irexec.read_model(path)
        self.fails = any(node.type == self.type for node in model.nodes)
        if self.fails and self.how == "refuse":
            raise RuntimeError(f"{self.type} is not supported")
        self.compiled, self.calls = irexec.compile_model(model), 0

    def infer(self, inputs: list[Any]) -> list[Any]:
        self.calls += 1
        ports = zip(inputs, self.compiled.inputs, strict=True)
        given = [a.view(p.element_type.dtype) if a.dtype.kind == "u" else a for a, p in ports]
        results = [np.array(a) for a in self.compiled.create_infer_request().infer(given).to_tuple()]
        if not self.fails:
            return [a if a.dtype.isbuiltin == 1 else a.view(f"u{a.dtype.itemsize}") for a in results]
        if self.how == "raise" or (self.how == "raise later" and self.calls > 1):
            raise RuntimeError(f"{self.type} has no kernel for these shapes")
        if self.how == "unsupported later" and self.calls > 1:
            raise RuntimeError(f"these shapes of {self.type} are not supported yet")
        if self.how == "crash":
            os.abort()
        if self.how == "hang":
            time.sleep(1000)
        if self.how == "shape":
            return [a[..., None] for a in results]
        wrong = self.how == "wrong" or self.calls > 1
        return [
            a * np.array(1.5, a.dtype) + np.array(1, a.dtype) if wrong and a.dtype.kind == "f" else a for a in results
        ]
