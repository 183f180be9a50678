"""The elementwise operators that can follow another layer in compiled code, with their effects."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from irexec.ops.activation.formulas import gelu_erf, gelu_tanh, hsigmoid, hswish, mish, prelu, sigmoid, swish
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
from irexec.ops.arithmetic.unary import abs_1, negative_1, round_5, sqrt_1, tanh_1
from irexec.ops.normalization.batch_norm import batch_norm_inference_5, line
from irexec.ops.quantization.fake_quantize import fake_quantize_1, quantize
from irexec.ops.spec.operator import NodeTypes, Operator
from irexec.runtime.lowering.follow import Follow, linear, records_of
from irexec.runtime.lowering.llvm.after import Formula

# A function that returns a layer's effect on one of its inputs; None if compiled code cannot compute it.
_Describe = Callable[[int, NodeTypes], Follow | None]


def can_follow(operator: Operator) -> bool:
    """Return whether an operator has an effect that can be computed with the layer before it."""
    return operator in _EFFECTS


def follow_of(operator: Operator, port: int, types: NodeTypes) -> Follow | None:
    """Return the effect of a layer on its input `port`; None if compiled code cannot compute it."""
    return _EFFECTS[operator](port, types) if operator in _EFFECTS else None


def _of_one(formula: Formula) -> _Describe:
    """Return the effect of an operator on its only input."""
    return lambda port, types: Follow(formula)


def _of_two(first: Formula, second: Formula) -> _Describe:
    """Return the effect of an operator: the formula `first` of `a` and `b`, or `second` of `b` and `a`."""

    def describe(port: int, types: NodeTypes) -> Follow | None:
        return Follow((first, second)[port], 1 - port) if types.attributes["auto_broadcast"] == "numpy" else None

    return describe


def _prelu(port: int, types: NodeTypes) -> Follow | None:
    slope, data = types.constants[1], types.inputs[0]
    if port or slope is None or data is None or data.rank is None:
        return None
    if slope.dtype != data.element_type.dtype:
        return None
    if slope.size == 1:
        return Follow(prelu, numbers=(slope.reshape(-1)[0],))
    if slope.ndim == 1 and data.rank > 1 and data.shape[1].contains(slope.size):
        slope = slope.reshape(-1, *[1] * (data.rank - 2))
    return Follow(prelu, 1, constant=slope)


def _fake_quantize(port: int, types: NodeTypes) -> Follow | None:
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
        return Follow(quantize, numbers=tuple([number.reshape(-1)[0] for number in numbers]))
    return Follow(quantize, 1, constant=records_of(numbers))


def _batch_norm(port: int, types: NodeTypes) -> Follow | None:
    data, (gamma, beta, mean, variance) = types.inputs[0], types.constants[1:5]
    if port or data is None or data.rank is None:
        return None
    if gamma is None or beta is None or mean is None or variance is None:
        return None
    factor, term = line(gamma, beta, mean, variance, types.attributes["epsilon"])
    records = records_of((factor.astype(np.float32), term.astype(np.float32)))
    return Follow(linear, 1, constant=records.reshape(-1, *[1] * (data.rank - 2)))


def _swish(port: int, types: NodeTypes) -> Follow | None:
    beta = _single(types, 1) if len(types.constants) > 1 else 1.0
    return None if beta is None else Follow(swish, numbers=(beta,))


def _gelu(port: int, types: NodeTypes) -> Follow:
    return Follow(gelu_erf if types.attributes.get("approximation_mode", "erf").lower() == "erf" else gelu_tanh)


def _single(types: NodeTypes, port: int) -> float | None:
    """Return the number of a constant with one element; None for any other input."""
    constant = types.constants[port]
    return float(constant.reshape(-1)[0]) if constant is not None and constant.size == 1 else None


_EFFECTS: dict[Operator, _Describe] = {
    abs_1: _of_one(np.absolute),
    add_1: _of_two(np.add, np.add),
    batch_norm_inference_5: _batch_norm,
    clamp_1: lambda port, types: Follow(np.clip, numbers=(types.attributes["min"], types.attributes["max"])),
    divide_1: _of_two(np.divide, lambda b, a: a / b),
    fake_quantize_1: _fake_quantize,
    gelu_2: _gelu,
    gelu_7: _gelu,
    hsigmoid_5: _of_one(hsigmoid),
    hswish_4: _of_one(hswish),
    maximum_1: _of_two(np.maximum, np.maximum),
    minimum_1: _of_two(np.minimum, np.minimum),
    mish_4: _of_one(mish),
    multiply_1: _of_two(np.multiply, np.multiply),
    negative_1: _of_one(np.negative),
    power_1: lambda port, types: Follow(np.square) if port == 0 and _single(types, 1) == 2 else None,
    prelu_1: _prelu,
    relu_1: lambda port, types: Follow(np.clip, numbers=(0, math.inf)),
    round_5: lambda port, types: Follow(np.rint) if types.attributes["mode"] == "half_to_even" else None,
    sigmoid_1: _of_one(sigmoid),
    sqrt_1: _of_one(np.sqrt),
    subtract_1: _of_two(np.subtract, lambda b, a: a - b),
    swish_4: _swish,
    tanh_1: _of_one(np.tanh),
}
