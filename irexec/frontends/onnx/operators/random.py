"""Translators of ONNX's random numbers. Each seed yields a fixed sequence, which ONNX does not specify.

Source: ONNX operator pages.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import F32, I32, ElementType
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.quantization import typed
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value


def _seed(op: Op) -> dict[str, float]:
    return {"seed": op.number("seed")} if op.has("seed") else {}


def _drawn(op: Op, shape: Value, to: ElementType) -> Value:
    if op.type.startswith("RandomNormal"):
        options = {"mean": op.number("mean", 0.0), "scale": op.number("scale", 1.0)}
        return op.make("RandomNormal", shape, opset="onnx1", to=to, **options, **_seed(op))
    options = {"low": op.number("low", 0.0), "high": op.number("high", 1.0)}
    return op.make("RandomUniform", shape, opset="onnx1", to=to, **options, **_seed(op))


@translates("RandomNormal", "RandomUniform", since=(1, 22))
def _random(op: Op) -> Value:
    shape = op.constant(np.array(op.integers("shape") or [], np.int64))
    return _drawn(op, shape, typed(op, "dtype") or F32)


@translates("RandomNormalLike", "RandomUniformLike", since=(1, 22))
def _random_like(op: Op) -> Value:
    return _drawn(op, op.shape_of(op[0]), typed(op, "dtype") or op.kind())


@translates("Multinomial", since=(7, 22), shapes="input: N C")
def _multinomial(op: Op) -> Value:
    to, size = typed(op, "dtype") or I32, op.integer("sample_size", 1)
    return op.make("Multinomial", op[0], opset="onnx7", to=to, sample_size=size, **_seed(op))


@translates("Dropout", since=(12, 13, 22), shapes="data:; ratio: scalar; training_mode: scalar")
def _dropout(op: Op) -> list[Value]:
    """Return, outside training, the input itself, and a mask that keeps all of it."""
    training = op.known(2) if op.get(2) is not None else np.array(False)
    if training is None or training.any():
        seed = {"seed": op.integer("seed")} if op.has("seed") else {}
        return list(op.make_node("Dropout", op[0], op.get(1), op.get(2), opset="onnx12", **seed).outputs)
    return kept(op, op.constant(np.array(True)))


def kept(op: Op, each: Value) -> list[Value]:
    """Return the input and, if requested, a mask of its shape."""
    mask = [op.make("Broadcast", each, op.shape_of(op[0]), opset=3)] if op.wants(1) else []
    return [op.same(op[0]), *mask]


@translates("Dropout", since=(1, 6, 7, 10))
def _early_dropout(op: Op) -> list[Value]:
    if op.version < 7 and not op.flag("is_test"):
        op.refuse("dropout in training is not supported", attribute="is_test")
    return kept(op, op.like(1) if op.version < 10 else op.constant(np.array(True)))
