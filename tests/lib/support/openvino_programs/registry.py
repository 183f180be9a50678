"""The programs by name, and the models and values that they share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Program = Callable[[ModuleType], Any]
PROGRAMS: dict[str, Program] = {}
# OpenVINO computes in bf16 on machines that support it, unless this property is set.
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
PICTURE = (np.arange(2 * 4 * 6 * 3) * 7 % 256).astype(np.uint8).reshape(2, 4, 6, 3)


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def perceptron(ov: ModuleType, batch: int = -1) -> Any:
    ops = ov.opset13
    x = ops.parameter([batch, 4], np.float32, name="x")
    weights = ops.constant(np.float32([[1, -1], [0.5, 2], [-1, 1], [3, 0]]), name="weights")
    hidden = ops.relu(ops.matmul(x, weights, False, False), name="hidden")
    return ov.Model([ops.softmax(hidden, 1, name="scores")], [x], "perceptron")


def saved(ov: ModuleType, model: Any, folder: str) -> Path:
    path = Path(folder, "model.xml")
    ov.save_model(model, path, compress_to_fp16=False)
    return path
