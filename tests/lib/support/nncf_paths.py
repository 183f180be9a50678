"""Quantizes and compresses small models with NNCF, and prints their layers and constants as JSON, by path.

A program: with OpenVINO, or with irexec in its place (in_openvinos_place.py).
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from typing import Any

import nncf
import numpy as np
import openvino as ov
from openvino import opset13 as ops

F32 = {"INFERENCE_PRECISION_HINT": "f32"}


class Weights:
    """Random constants, the same in every run."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, name: str, *shape: int) -> Any:
        node = ops.constant(self._rng.normal(size=shape).astype(np.float32) * 0.3)
        node.friendly_name = name
        return node


def image_model() -> Any:
    w = Weights(0)
    x = ops.parameter([1, 3, 8, 8], np.float32, name="x")
    h = ops.convolution(x, w("k1", 8, 3, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1], name="conv1")
    h = ops.relu(ops.add(h, w("b1", 1, 8, 1, 1), name="bias1"), name="relu1")
    h = ops.relu(ops.convolution(h, w("k2", 8, 8, 3, 3), [2, 2], [1, 1], [1, 1], [1, 1], name="conv2"), name="relu2")
    h = ops.reduce_mean(h, ops.constant(np.int64([2, 3])), False, name="mean")
    return finished(ops.matmul(h, w("w1", 4, 8), False, True, name="fc"), x)


def language_model() -> Any:
    w = Weights(1)
    ids = ops.parameter([1, -1], np.int64, name="ids")
    h = ops.gather(w("embedding", 64, 64), ids, ops.constant(np.int64(0)), name="embed")
    for i in range(2):
        up = ops.gelu(ops.matmul(h, w(f"up{i}", 128, 64), False, True, name=f"matmul_up{i}"), "erf", name=f"gelu{i}")
        h = ops.add(h, ops.matmul(up, w(f"down{i}", 64, 128), False, True, name=f"matmul_down{i}"), name=f"sum{i}")
    return finished(ops.matmul(h, w("head", 64, 64), False, True, name="matmul_head"), ids)


def finished(node: Any, parameter: Any) -> Any:
    result = ops.result(node, name="result")
    result.get_output_tensor(0).set_names({"result"})
    return ov.Model([result], [parameter], "small")


def layers(model: Any) -> list[Any]:
    """Return type, element type and, for constants, all elements of every layer."""
    return [
        [
            node.get_type_name(),
            node.get_output_element_type(0).get_type_name(),
            np.asarray(node.data).astype(float).ravel().tolist() if node.get_type_name() == "Constant" else None,
        ]
        for node in model.get_ordered_ops()
    ]


RNG = np.random.default_rng(5)
IMAGES = [RNG.normal(size=(1, 3, 8, 8)).astype(np.float32) for _ in range(10)]
IDS = [RNG.integers(0, 64, (1, 12)) for _ in range(6)]


def quantized(**options: Any) -> Any:
    return nncf.quantize(image_model(), nncf.Dataset(IMAGES), subset_size=8, **options)


def compressed(mode: Any = None, *, with_data: bool = False, **options: Any) -> Any:
    data = {"dataset": nncf.Dataset(IDS)} if with_data else {}
    return nncf.compress_weights(language_model(), **({} if mode is None else {"mode": mode}), **data, **options)


def accuracy_controlled() -> Any:
    wanted = [ov.Core().compile_model(image_model(), "CPU", F32)([image])[0] for image in IMAGES]

    def score(compiled: Any, items: Any) -> tuple[float, list[float]]:
        errors = [float(np.abs(compiled([x])[0] - y).mean()) for x, y in zip(items, wanted, strict=False)]
        return 10 - float(np.mean(errors)), [-error for error in errors]

    data = nncf.Dataset(IMAGES)
    return nncf.quantize_with_accuracy_control(image_model(), data, data, score, max_drop=0.001)


INT4 = nncf.CompressWeightsMode.INT4_SYM
PATHS: dict[str, Callable[[], Any]] = {
    "quantize": quantized,
    "quantize, mixed preset, bias correction": lambda: quantized(
        preset=nncf.QuantizationPreset.MIXED, fast_bias_correction=False
    ),
    "quantize a transformer": lambda: nncf.quantize(
        language_model(), nncf.Dataset(IDS), model_type=nncf.ModelType.TRANSFORMER, subset_size=5
    ),
    "int8": compressed,
    "int4": lambda: compressed(INT4, group_size=32, ratio=0.8),
    "int4 with AWQ": lambda: compressed(nncf.CompressWeightsMode.INT4_ASYM, group_size=64, awq=True, with_data=True),
    "int4 with scale estimation": lambda: compressed(INT4, group_size=64, scale_estimation=True, with_data=True),
    "nf4": lambda: compressed(nncf.CompressWeightsMode.NF4, group_size=32),
    "accuracy control": accuracy_controlled,
}

if __name__ == "__main__":
    nncf.set_log_level(logging.ERROR)
    print(json.dumps({name: layers(make()) for name, make in PATHS.items()}), file=sys.__stderr__)
