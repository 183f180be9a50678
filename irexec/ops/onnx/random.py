"""Random numbers in ONNX: normal and uniform distributions, and draws by probability.

Source: ONNX operator pages, which do not define the generator. With a seed, the numbers are those of ONNX's reference
implementation (NumPy's RandomState); a node without a seed produces new numbers in each run.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from irexec.core.types import BOOLEAN, FLOATS, INTEGERS, Array, ElementType, PartialShape, TensorType, shape_like
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range
from irexec.ops.spec.attributes import Positive
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.tensors import I64Tensor, TensorOfTargetType
from irexec.ops.spec.traits import Random


def _generator(seed: float | None) -> np.random.RandomState:
    return np.random.RandomState(None if seed is None or np.isnan(seed) else int(abs(seed)) % 2**32)


def _extents(shape: Array) -> list[int]:
    extents: list[int] = shape.reshape(-1).tolist()
    in_range(require, "C1", "shape", extents, 0)
    return extents


@operator("RandomNormal", "onnx1", Random)
def random_normal_1(
    shape: I64Tensor, /, *, to: ElementType, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> TensorOfTargetType:
    """Numbers of a normal distribution. C1: the shape has no negative extent."""
    return _generator(seed).normal(mean, abs(scale), _extents(shape)).astype(to.dtype)


@operator("RandomUniform", "onnx1", Random)
def random_uniform_1(
    shape: I64Tensor, /, *, to: ElementType, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> TensorOfTargetType:
    """Numbers between `low` and `high`. C1: the shape has no negative extent."""
    return np.asarray(_generator(seed).random_sample(_extents(shape)) * (high - low) + low).astype(to.dtype)


@operator("Multinomial", "onnx7", Random)
def multinomial_7(
    x: Annotated[Array, Elements("T", FLOATS)],
    /,
    *,
    to: ElementType,
    sample_size: Positive = 1,
    seed: float | None = None,
) -> TensorOfTargetType:
    """Random classes [batch, sample_size]; `x` [batch, classes] contains the unnormalized logarithms of their
    probabilities.

    C1: x has rank 2 and at least one class. C2: `to` is an integer type.
    """
    weights = np.exp(x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True))
    edges = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    drawn = _generator(seed).random_sample((len(x), sample_size, 1))
    return np.asarray((drawn > edges[:, None, :-1]).sum(axis=2)).astype(to.dtype)


@operator("Dropout", "onnx12", Random)
def dropout_12(
    x: Annotated[Array, Elements("T", FLOATS)],
    ratio: Annotated[Array, Elements(None, FLOATS)] | None = None,
    training_mode: Annotated[Array, Elements(None, {BOOLEAN})] | None = None,
    /,
    *,
    seed: int | None = None,
) -> tuple[Annotated[Array, Elements("T", FLOATS)], Annotated[Array, Elements(None, {BOOLEAN})]]:
    """In training: `x` with a fraction of about `ratio` of its elements set to 0 and the remaining elements scaled up,
    and a mask of the remaining elements.

    C1: ratio is one number in [0, 1).
    """
    share = 0.5 if ratio is None else float(ratio.reshape(-1)[0]) if ratio.size == 1 else -1.0
    require("C1", 0 <= share < 1, f"ratio is {share}, expected at least 0 and less than 1", port="ratio")
    if training_mode is None or not training_mode.any() or not share:
        return x, np.ones(x.shape, np.bool_)
    mask = np.asarray(_generator(seed).uniform(0, 1, x.shape) >= share)
    return narrow(mask * widen(x) * np.float32(1 / (1 - share)), x.dtype), mask


@dropout_12.shapes
def _(check: Check, x: TensorType, *rest: TensorType | None, seed: int | None) -> list[PartialShape]:
    return [x.shape, x.shape]


@random_normal_1.shapes
@random_uniform_1.shapes
def _(check: Check, shape: TensorType, **attributes: Any) -> PartialShape:
    if shape.known is None:
        return PartialShape.dynamic()
    fits = in_range(check, "C1", "shape", shape.known, 0)
    return shape_like(shape.known) if fits else PartialShape.dynamic(len(shape.known))


@multinomial_7.shapes
def _(check: Check, x: TensorType, *, sample_size: int, to: ElementType, **attributes: Any) -> PartialShape:
    fits = x.rank is None or (x.rank == 2 and x.shape[1].max != 0)
    check("C1", fits, f"x has shape {x.shape}, expected rank 2 and at least one class", port="x")
    check("C2", to in INTEGERS, f"to is {to}, expected an integer type", attribute="to")
    return PartialShape([x.shape[0] if x.rank else -1, sample_size])
