"""Float models with a quantized form, built as NNCF builds it, with one damaged quantizer on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import irexec
from irexec import opset15 as ops
from irexec.core.types import Array


@dataclass
class Quantizing:
    """Builds one model, float or quantized. `spoilt` is the quantizer whose range is wrong by a factor."""

    quantizes: bool
    spoilt: str = ""
    factor: float = 1.0
    ranges: dict[str, float] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)

    def values(self, value: Any, name: str, largest: float = 4.0) -> Any:
        """Return a quantizer of values between -largest and largest."""
        if not self.quantizes:
            return value
        self.names.append(f"{name}/fq_output_0")
        limit = np.float32(largest * (self.factor if self.names[-1] == self.spoilt else 1))
        return ops.fake_quantize(value, -limit, limit, -limit, limit, 256, name=self.names[-1])

    def weights(self, array: Array, name: str) -> Any:
        """Return weights in int8, with a scale for each column."""
        if not self.quantizes:
            return ops.constant(array, name=f"{name}/weights")
        self.names.append(f"{name}/fq_weights_1")
        scale = np.abs(array).max(axis=0, keepdims=True) / np.float32(127)
        if self.names[-1] == self.spoilt:
            scale = scale * np.float32(1 / self.factor if self.factor < 1 else self.factor)
        codes = np.clip(np.rint(array / scale), -128, 127).astype(np.int8)
        return ops.multiply(ops.convert(ops.constant(codes), "f32"), scale.astype(np.float32), name=self.names[-1])


def chain(seed: int, quantizing: Quantizing, blocks: int = 15, width: int = 16) -> irexec.Model:
    """Return blocks of a product with weights, a bias and an activation, each added to its input."""
    rng = np.random.default_rng(seed)
    x = ops.parameter([2, width], np.float32, name="x")
    value: Any = x
    for number in range(blocks):
        weights = rng.normal(0, 1 / np.sqrt(width), (width, width)).astype(np.float32)
        bias = rng.normal(0, 0.1, width).astype(np.float32)
        bend = (ops.relu, ops.tanh, ops.gelu)[int(rng.integers(3))]
        read = quantizing.values(value, f"block{number}/in", 6.0)
        product = ops.matmul(read, quantizing.weights(weights, f"block{number}/product"), name=f"block{number}/product")
        bent = bend(ops.add(product, bias, name=f"block{number}/bias"), name=f"block{number}/bend")
        mixed = ops.multiply(bent, np.float32(0.5), name=f"block{number}/half")
        kept = ops.multiply(value, np.float32(0.9), name=f"block{number}/kept")
        value = ops.add(mixed, kept, name=f"block{number}/out")
    return irexec.Model([value], [x], "chain")


def inputs(seed: int, count: int = 4, width: int = 16) -> list[Array]:
    rng = np.random.default_rng(1000 + seed)
    return [rng.normal(0, 1, (2, width)).astype(np.float32) for _ in range(count)]


def pair(seed: int, spoilt: str = "", factor: float = 1.0, **options: Any) -> tuple[irexec.Model, irexec.Model]:
    """Return a float model and its quantized form."""
    return chain(seed, Quantizing(False), **options), chain(seed, Quantizing(True, spoilt, factor), **options)
