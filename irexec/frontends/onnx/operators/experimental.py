"""Translators of experimental operators that ONNX removed: old converters wrote them, and ONNX Runtime runs them.

Source: ONNX's list of experimental operators of 1.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import EXPERIMENTAL, Translator, translates
from irexec.model.graph.model import Value


def experimental(*operators: str) -> Callable[[Translator], Translator]:
    return translates(*operators, since=(EXPERIMENTAL,))


@experimental("Affine")
def _affine(op: Op) -> Value:
    scaled = op.make("Multiply", op[0], op.like(op.number("alpha", 1.0)))
    return op.make("Add", scaled, op.like(op.number("beta", 0.0)))


@experimental("Scale")
def _scale(op: Op) -> Value:
    return op.make("Multiply", op[0], op.like(op.number("scale", 1.0)))


@experimental("ImageScaler")
def _image_scaler(op: Op) -> Value:
    bias = np.array(op.numbers("bias") or [0.0]).reshape(-1, 1, 1).astype(op.kind().dtype)
    scaled = op.make("Multiply", op[0], op.like(op.number("scale", 1.0)))
    return op.make("Add", scaled, op.constant(bias, op.kind()))


@experimental("ScaledTanh")
def _scaled_tanh(op: Op) -> Value:
    inner = op.make("Multiply", op[0], op.like(op.number("beta", 1.0)))
    return op.make("Multiply", op.make("Tanh", inner), op.like(op.number("alpha", 1.0)))


@experimental("ParametricSoftplus")
def _softplus(op: Op) -> Value:
    inner = op.make("Multiply", op[0], op.like(op.number("beta", 1.0)))
    return op.make("Multiply", op.make("SoftPlus", inner, opset=4), op.like(op.number("alpha", 1.0)))


@experimental("Crop")
def _crop(op: Op) -> Value:
    """Return an image without its border (left, top, right, bottom), or a part of it of a given height and width."""
    left, top, right, bottom = (op.integers("border") or [0, 0, 0, 0])[:4]
    size = op.integers("scale")
    ends = [-bottom or 2**31, -right or 2**31] if size is None else [top + size[0], left + size[1]]
    return op.make("Slice", op[0], [top, left], ends, [1, 1], [2, 3], opset=8)


@experimental("DynamicSlice")
def _slice(op: Op) -> Value:
    axes = op.get(3)
    count = op[1].type.shape[0] if op[1].type.shape.rank == 1 else None
    if axes is None and (count is None or not count.is_static):
        op.refuse("the number of axes must be known")
    steps = op.make("Broadcast", op.number_of(1, op[1]), op.shape_of(op[1]), opset=3)
    return op.make("Slice", op[0], op[1], op[2], steps, axes, opset=8)
