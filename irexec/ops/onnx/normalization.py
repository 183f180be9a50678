"""Normalization of ONNX that IR lacks: training, regions of an even size, any norm.

Source: ONNX operator pages BatchNormalization-15, LRN-13, LpNormalization-22.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from irexec.core.types import PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, narrow, widen
from irexec.ops.rules.extents import Extents
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.attributes import Positive
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.tensors import FloatTensor, FloatTensor1, FloatTensor2


@operator("BatchNormalization", "onnx15", tolerance=rounded(64))
def batch_normalization_15(
    x: FloatTensor,
    scale: FloatTensor1,
    bias: FloatTensor1,
    input_mean: FloatTensor2,
    input_var: FloatTensor2,
    /,
    *,
    epsilon: float,
    momentum: float,
) -> tuple[FloatTensor, FloatTensor2, FloatTensor2]:
    """In training: x normalized by the mean and variance of each channel, and the updated running statistics.

    The mean of a channel without elements is NaN.

    C1: x is [N, C, *X], the other inputs are [C].
    """
    wide = x.astype(np.result_type(compute_dtype(x.dtype), np.float32), copy=False)
    axes = (0, *range(2, x.ndim))
    shape = (-1, *[1] * (x.ndim - 2))
    with np.errstate(invalid="ignore"):
        count = wide.dtype.type(prod(x.shape[axis] for axis in axes))
        mean = wide.sum(axis=axes) / count
        centred = wide - mean.reshape(shape)
        variance = (centred * centred).sum(axis=axes) / count
    normal = centred / np.sqrt(variance + wide.dtype.type(epsilon)).reshape(shape)
    y = normal * widen(scale).reshape(shape) + widen(bias).reshape(shape)
    running = [
        narrow(widen(before) * np.float32(momentum) + now * np.float32(1 - momentum), before.dtype)
        for before, now in ((input_mean, mean), (input_var, variance))
    ]
    return narrow(y, x.dtype), running[0], running[1]


@batch_normalization_15.shapes
def _(
    check: Check, x: TensorType, scale: TensorType, bias: TensorType, mean: TensorType, var: TensorType, **a: Any
) -> list[PartialShape]:
    extents = Extents(check)
    if x.rank is not None:
        extents.match("C1", "x", x, "N", "C", *(f"X{axis}" for axis in range(2, x.rank)))
    for name, tensor in {"scale": scale, "bias": bias, "input_mean": mean, "input_var": var}.items():
        extents.match("C1", name, tensor, "C")
    return [x.shape, extents.shape("C"), extents.shape("C")]


@operator("LRN", "onnx1", tolerance=rounded(64))
def lrn_1(x: FloatTensor, /, *, size: Positive, alpha: float, beta: float, bias: float) -> FloatTensor:
    """`x` / (`bias` + `alpha` / `size` * sum of squares over `size` neighbouring channels) ** `beta`.

    The region extends (size - 1) / 2 channels to both sides; a region of even size includes one more channel of higher
    index.

    C1: x has rank 2 or more.
    """
    wide = widen(x)
    padded = np.pad(wide * wide, [(0, 0), ((size - 1) // 2, size // 2), *[(0, 0)] * (x.ndim - 2)])
    total = sum(padded[:, step : step + x.shape[1]] for step in range(size))
    return narrow(
        wide / (wide.dtype.type(bias) + wide.dtype.type(alpha / size) * total) ** wide.dtype.type(beta), x.dtype
    )


@lrn_1.shapes
def _(check: Check, x: TensorType, **attributes: Any) -> PartialShape:
    has_rank(check, "C1", x, AnyRank[2:], "x")
    return x.shape
