"""The elementwise operators that can follow another layer in compiled code, with their effects."""

from __future__ import annotations

import math

import numpy as np

from irexec.ops.activation.formulas import GELU_TANH
from irexec.ops.activation.pointwise import (
    clamp_1,
    gelu_2,
    gelu_7,
    hsigmoid_5,
    hswish_4,
    mish_4,
    prelu_1,
    relu_1,
    sigmoid_1,
    swish_4,
)
from irexec.ops.arithmetic.binary import add_1, divide_1, maximum_1, minimum_1, multiply_1, power_1, subtract_1
from irexec.ops.arithmetic.error_function import LOGIT_ABOVE, LOGIT_BELOW
from irexec.ops.arithmetic.unary import abs_1, negative_1, round_5, sqrt_1, tanh_1
from irexec.ops.normalization.batch_norm import batch_norm_inference_5, line
from irexec.ops.quantization.fake_quantize import fake_quantize_1
from irexec.ops.spec.operator import NodeTypes, Operator
from irexec.runtime.lowering.follow import Follow, follows, records_of
from irexec.runtime.lowering.llvm.after import Kind


def _follows_as(operator: Operator, kind: Kind) -> None:
    """Declare `kind` as the effect of an operator on its only input."""
    follows(operator)(lambda port, types: Follow(kind))


def _follows_with(operator: Operator, first: Kind, second: Kind) -> None:
    """Declare an operator's effects: the kind `first` on its input `a`, the kind `second` on its input `b`."""

    @follows(operator)
    def _(port: int, types: NodeTypes) -> Follow | None:
        return Follow((first, second)[port], 1 - port) if types.attributes["auto_broadcast"] == "numpy" else None


_follows_as(abs_1, "absolute")
_follows_as(hsigmoid_5, "hsigmoid")
_follows_as(hswish_4, "hswish")
_follows_as(mish_4, "mish")
_follows_as(negative_1, "negative")
_follows_as(sigmoid_1, "sigmoid")
_follows_as(sqrt_1, "sqrt")
_follows_as(tanh_1, "tanh")

_follows_with(add_1, "add", "add")
_follows_with(divide_1, "divide", "divide_by")
_follows_with(maximum_1, "maximum", "maximum")
_follows_with(minimum_1, "minimum", "minimum")
_follows_with(multiply_1, "multiply", "multiply")
_follows_with(subtract_1, "subtract", "subtract_from")


@follows(round_5)
def _(port: int, types: NodeTypes) -> Follow | None:
    return Follow("round") if types.attributes["mode"] == "half_to_even" else None


@follows(power_1)
def _(port: int, types: NodeTypes) -> Follow | None:
    return Follow("square") if port == 0 and _single(types, 1) == 2 else None


@follows(clamp_1)
def _(port: int, types: NodeTypes) -> Follow | None:
    return Follow("clamp", numbers=(types.attributes["min"], types.attributes["max"]))


@follows(relu_1)
def _(port: int, types: NodeTypes) -> Follow | None:
    return Follow("clamp", numbers=(0.0, math.inf))


@follows(prelu_1)
def _(port: int, types: NodeTypes) -> Follow | None:
    slope, data = types.constants[1], types.inputs[0]
    if port or slope is None or data is None or data.rank is None or not np.isfinite(slope).all():
        return None
    if slope.dtype != data.element_type.dtype:
        return None
    if slope.size == 1:
        return Follow("leaky", numbers=(float(slope.reshape(-1)[0]),))
    if slope.ndim == 1 and data.rank > 1 and data.shape[1].contains(slope.size):
        slope = slope.reshape(-1, *[1] * (data.rank - 2))
    return Follow("prelu", 1, constant=slope)


@follows(fake_quantize_1)
def _(port: int, types: NodeTypes) -> Follow | None:
    limits = [np.asarray(limit, np.float32) for limit in types.constants[1:5] if limit is not None]
    how = types.attributes["auto_broadcast"]
    if port or len(limits) < 4 or any(limit.size != 1 and how != "numpy" for limit in limits):
        return None
    low, high, output_low, output_high = np.broadcast_arrays(*limits)
    highest = np.float32(types.attributes["levels"] - 1)
    if not (low < high).all():
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = (low, high - low, highest, (output_high - output_low) / highest, output_low)
    if low.size == 1:
        return Follow("quantize", numbers=tuple([float(number.reshape(-1)[0]) for number in numbers]))
    return Follow("quantize", 1, constant=records_of(numbers))


@follows(batch_norm_inference_5)
def _(port: int, types: NodeTypes) -> Follow | None:
    data, (gamma, beta, mean, variance) = types.inputs[0], types.constants[1:5]
    if port or data is None or data.rank is None:
        return None
    if gamma is None or beta is None or mean is None or variance is None:
        return None
    factor, term = line(gamma, beta, mean, variance, types.attributes["epsilon"])
    records = records_of((factor.astype(np.float32), term.astype(np.float32)))
    return Follow("line", 1, constant=records.reshape(-1, *[1] * (data.rank - 2)))


@follows(swish_4)
def _(port: int, types: NodeTypes) -> Follow | None:
    beta = _single(types, 1) if len(types.constants) > 1 else 1.0
    return None if beta is None else Follow("swish", numbers=(beta,))


@follows(gelu_2, gelu_7)
def _(port: int, types: NodeTypes) -> Follow | None:
    if types.attributes.get("approximation_mode", "erf").lower() == "tanh":
        return Follow("gelu_tanh", numbers=tuple(-number for number in GELU_TANH))
    return Follow("gelu_erf", numbers=(*LOGIT_ABOVE, *LOGIT_BELOW[:3]))


def _single(types: NodeTypes, port: int) -> float | None:
    """Return the number of a constant with one element; None for any other input."""
    constant = types.constants[port]
    return float(constant.reshape(-1)[0]) if constant is not None and constant.size == 1 else None
