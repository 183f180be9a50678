"""Networks for written_pairs.py, each with switches: a fault, or another way to write the same computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import irexec
from irexec import Model
from irexec import opset15 as ops

F, L = np.float32, np.int64
NETS: dict[str, Callable[[str], tuple[Model, list[list[np.ndarray]]]]] = {}
FAULTS: dict[str, dict[str, str]] = {}
"""For each network, its faults, each with the layers that a verdict may name, separated by spaces."""
HARMLESS: dict[str, list[str]] = {}


def net(build: Callable[[str], tuple[Model, list[list[np.ndarray]]]]) -> Any:
    NETS[build.__name__] = build
    return build


class Weights:
    """Random constants, the same in every call, rounded to f16 so that they can be stored in f16 without a loss."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape: int, scale: float = 0.3) -> np.ndarray:
        return (self.rng.normal(size=shape) * scale).astype(np.float16).astype(F)


def c(value: Any, kind: Any = None) -> Any:
    return ops.constant(np.asarray(value), kind)


def f16(array: np.ndarray) -> Any:
    return ops.convert(ops.constant(array.astype(np.float16)), "f32")


def done(outputs: list[Any], inputs: list[Any], sinks: list[Any] | None = None) -> Model:
    return irexec.Model([ops.result(o, name=f"r{k}") for k, o in enumerate(outputs)], sinks or [], inputs)
