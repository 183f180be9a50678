"""Elementwise activation functions.

The kernels run block by block, so that intermediate results stay in cache, and work in place without masks.
Source: the operation pages of these names.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import NUMERIC, Array, PartialShape, TensorType
from irexec.ops.activation.formulas import (
    elu,
    gelu_erf,
    gelu_tanh,
    hard_sigmoid,
    hsigmoid,
    hswish,
    mish,
    prelu,
    selu,
    sigmoid,
    softplus,
    softsign,
    swish,
)
from irexec.ops.compute.casting import largest, wraps
from irexec.ops.compute.elementwise import Ufunc, blockwise, result_like, through_floats, wide_pair
from irexec.ops.compute.precision import is_float, narrow, widen
from irexec.ops.rules.shapes import Broadcasting, has_rank, same_as
from irexec.ops.spec.attributes import Double
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, Operator, operator, rounded
from irexec.ops.spec.oracle import FINITE, LARGEST, ROUNDED, Allowed, Tolerance, Undefined
from irexec.ops.spec.tensors import FloatTensor, NumericTensor
from irexec.ops.spec.traits import Clamping, ClampingTo, Homogeneous

# On the page the slope has the type of data. In f16 models of OpenVINO's converters it may stay f32.
SLOPE: TypeAlias = Annotated[Array, Elements("slope", NUMERIC)]


# For negative x, 1 + erf(x / √2) and ln(1 + eˣ) cancel: the error is a rounding error of 1, times x. In OpenVINO, it is
# up to 2.6 units for Gelu, and 3.1 for Mish.
_TIMES_X = rounded(4, among=("x",))


def _smooth(type: str, opset: str, formula: Ufunc, doc: str, tolerance: Tolerance) -> Operator:
    """Return an operator that applies a formula without parameters to each element."""

    def kernel(x: FloatTensor, /, *, out: Array | None = None) -> FloatTensor:
        return blockwise(formula, x, out)

    return operator(type, opset, shapes=same_as(), inplace="x", tolerance=tolerance, doc=doc)(kernel)


gelu_2 = _smooth("Gelu", "opset2", gelu_erf, "x · Φ(x), Φ the normal distribution's cumulative function.", _TIMES_X)
hsigmoid_5 = _smooth("HSigmoid", "opset5", hsigmoid, "min(max(x + 3, 0), 6) / 6.", rounded(2))
hswish_4 = _smooth("HSwish", "opset4", hswish, "x · min(max(x + 3, 0), 6) / 6.", rounded(2))
mish_4 = _smooth("Mish", "opset4", mish, "x · tanh(ln(1 + eˣ)).", _TIMES_X)


@operator("Clamp", "opset1", ClampingTo, inplace="x")
def clamp_1(x: NumericTensor, /, *, min: Double, max: Double, out: Array | None = None) -> NumericTensor:
    """Each element, no lower than `min` and no higher than `max`; NaN stays NaN.

    For integers, `min` is rounded up, `max` is rounded down, and both are clipped to the type's range.
    Shape rule: C1 min is not above max (as in OpenVINO; by the page's formula every element would be max).
    """
    if is_float(x.dtype):
        low, high = x.dtype.type(min), x.dtype.type(max)
    else:
        bounds = np.iinfo(x.dtype)
        low = x.dtype.type(_bounded(min, math.ceil, bounds))
        high = x.dtype.type(_bounded(max, math.floor, bounds))
    result = result_like(x, out)
    np.clip(x, low, high, out=result)
    return result


@clamp_1.shapes
def _(check: Check, x: TensorType, *, min: float, max: float) -> PartialShape:
    check("C1", min <= max, f"min {min} is above max {max}", attribute="min", found=str(min), allowed=f"at most {max}")
    return x.shape


def _bounded(value: float, towards: Any, bounds: np.iinfo[Any]) -> int:
    """Return a limit, rounded by `towards` (floor or ceil) and brought into the range of the integer type."""
    if math.isinf(value):
        return int(bounds.max if value > 0 else bounds.min)
    return int(min(max(towards(value), int(bounds.min)), int(bounds.max)))


@operator("Elu", "opset1", shapes=same_as(), inplace="x", tolerance=rounded(8, least=1.0))
def elu_1(x: FloatTensor, /, *, alpha: Double, out: Array | None = None) -> FloatTensor:
    """x above zero, alpha · (eˣ - 1) below.

    The page requires a non-negative alpha; OpenVINO and irexec accept any value.
    """
    return blockwise(partial(elu, alpha=alpha), x, out)


@operator("Gelu", "opset7", shapes=same_as(), inplace="x", tolerance=_TIMES_X)
def gelu_7(
    x: FloatTensor, /, *, approximation_mode: Literal["erf", "tanh", "ERF", "TANH"] = "erf", out: Array | None = None
) -> FloatTensor:
    """x · Φ(x), exactly (`erf`) or with Φ approximated by a hyperbolic tangent (`tanh`).

    Files that OpenVINO writes spell the modes in capitals.
    """
    return blockwise(gelu_erf if approximation_mode.lower() == "erf" else gelu_tanh, x, out)


@gelu_7.older
def _(form: OlderForm, x: TensorType) -> None:
    form.need_attribute("approximation_mode", "erf", "ERF")


@operator("HardSigmoid", "opset1", inplace="x", tolerance=rounded(2))
def hard_sigmoid_1(
    x: FloatTensor, alpha: FloatTensor, beta: FloatTensor, /, *, out: Array | None = None
) -> FloatTensor:
    """max(0, min(1, alpha · x + beta)).

    C1: alpha is a scalar. C2: beta is a scalar.
    """
    return blockwise(partial(hard_sigmoid, alpha=_scalar(alpha), beta=_scalar(beta)), x, out)


@hard_sigmoid_1.shapes
def _(check: Check, x: TensorType, alpha: TensorType, beta: TensorType) -> PartialShape:
    has_rank(check, "C1", alpha, 0, "alpha")
    has_rank(check, "C2", beta, 0, "beta")
    return x.shape


@operator("PReLU", "opset1", Homogeneous, inplace="data", tolerance=rounded(1))
def prelu_1(data: NumericTensor, slope: SLOPE, /, *, out: Array | None = None) -> NumericTensor:
    """data if it is not negative, otherwise slope · data.

    A slope of rank 1 with the length of data's second dimension (for rank-1 data: the first) applies along that
    dimension; any other slope is broadcast by NumPy's rules. C1: slope broadcasts into data's shape (without leading
    axes of extent 1, if it has more axes). As in OpenVINO, a scalar slope and one of another element type than data are
    accepted, which the page does not mention.
    """
    if slope.ndim == 1 and data.ndim > 1 and data.shape[1] == slope.shape[0]:
        slope = slope.reshape(-1, *[1] * (data.ndim - 2))
    while slope.ndim > data.ndim and slope.shape[0] == 1:
        slope = slope[0]
    if slope.dtype != data.dtype:
        with np.errstate(all="ignore"):
            return narrow(wide_pair(_prelu, widen(data), widen(slope), Broadcasting()), data.dtype, out)
    return wide_pair(_prelu, data, slope, Broadcasting(), out)


@prelu_1.oracle.undefined_for
def _(data: Array, slope: Array) -> Undefined:
    """The result is undefined for integers whose products may exceed their type."""
    return wraps(data.dtype, max(largest(data), largest(slope)) * largest(slope))


def _prelu(data: Array, slope: Array, out: Array | None = None) -> Array:
    if np.isfinite(slope).all():
        below = np.asarray(np.multiply(np.minimum(data, 0), slope))
        return np.asarray(np.add(np.maximum(data, 0), below, out=out))
    # An infinite slope times the 0 that replaces a positive element would be NaN.
    return narrow(prelu(data, slope), data.dtype, out)


@prelu_1.shapes
def _(check: Check, data: TensorType, slope: TensorType) -> PartialShape:
    if data.rank is None or slope.rank is None:
        return data.shape
    per_channel = slope.rank == 1 and data.rank > 1 and data.shape[1].compatible(slope.shape[0])
    rest = slope.shape
    while len(rest) > data.rank and rest[0].contains(1):
        rest = rest[1:]
    common = data.shape.broadcast(rest)
    fits = common is not None and common.compatible(data.shape)
    message = f"slope {slope.shape} does not broadcast into data {data.shape}"
    check("C1", per_channel or fits, message, port="slope", found=str(slope.shape), allowed=str(data.shape))
    return data.shape


@operator("ReLU", "opset1", Clamping, Homogeneous, shapes=same_as(), inplace="x")
def relu_1(x: NumericTensor, /, *, out: Array | None = None) -> NumericTensor:
    """max(0, x); NaN stays NaN."""
    result = result_like(x, out)
    np.maximum(x, x.dtype.type(0), out=result)
    return result


@operator("Selu", "opset1", tolerance=rounded(8, least=1.0))
def selu_1(data: FloatTensor, alpha: FloatTensor, lambda_: FloatTensor, /, *, out: Array | None = None) -> FloatTensor:
    """lambda · data above zero, lambda · alpha · (e^data - 1) below.

    C1: alpha has one element. C2: lambda has one element. A scalar is also accepted, as in OpenVINO.
    """
    return blockwise(partial(selu, alpha=_scalar(alpha), factor=_scalar(lambda_)), data, out)


@selu_1.shapes
def _(check: Check, data: TensorType, alpha: TensorType, lambda_: TensorType) -> PartialShape:
    _one_element(check, "C1", alpha, "alpha")
    _one_element(check, "C2", lambda_, "lambda_")
    return data.shape


@operator("Sigmoid", "opset1", shapes=same_as(), inplace="x", tolerance=rounded(4))
def sigmoid_1(x: NumericTensor, /, *, out: Array | None = None) -> NumericTensor:
    """1 / (1 + e⁻ˣ)."""
    return blockwise(sigmoid, x, out) if is_float(x.dtype) else through_floats(sigmoid, x, out)


@operator("SoftPlus", "opset4", shapes=same_as(), inplace="x", tolerance=rounded(8))
def softplus_4(x: FloatTensor, /, *, out: Array | None = None) -> FloatTensor:
    """ln(eˣ + 1), or x above a threshold that depends on the type (f32: 20, f16: 11)."""
    return blockwise(partial(softplus, threshold=_THRESHOLDS.get(x.dtype.name, 20.0)), x, out)


_THRESHOLDS = {"float16": 11.0, "bfloat16": 20.0, "float32": 20.0, "float64": 40.0}


@operator("SoftSign", "opset9", shapes=same_as(), inplace="data", tolerance=rounded(2))
def softsign_9(data: FloatTensor, /, *, out: Array | None = None) -> FloatTensor:
    """data / (1 + |data|)."""
    return blockwise(softsign, data, out)


@operator("Swish", "opset4", inplace="data", tolerance=rounded(8, least=1e-30))
def swish_4(data: FloatTensor, beta: FloatTensor | None = None, /, *, out: Array | None = None) -> FloatTensor:
    """data · sigmoid(beta · data); beta is 1 by default.

    C1: beta is a scalar. C2: beta is not negative (OpenVINO accepts any value; only a known value is checked).
    """
    factor = 1.0 if beta is None else _scalar(beta)
    return blockwise(partial(swish, beta=factor), data, out)


@swish_4.shapes
def _(check: Check, data: TensorType, beta: TensorType | None) -> PartialShape:
    if beta is not None:
        has_rank(check, "C1", beta, 0, "beta")
        value = beta.scalar
        check(
            "C2",
            value is None or not value < 0,
            f"beta is {value}, expected a number of at least 0",
            port="beta",
            allowed="0 or more",
        )
    return data.shape


def _scalar(value: Array) -> float:
    """Return the one element of a scalar input."""
    return float(value.reshape(-1)[0])


def _one_element(check: Check, constraint: str, tensor: TensorType, port: str) -> None:
    fits = tensor.rank in (None, 0) or (tensor.rank == 1 and tensor.shape[0].contains(1))
    message = f"{port} has shape {tensor.shape}, expected one element"
    check(constraint, fits, message, port=port, found=str(tensor.shape), allowed="a scalar or [1]")


for _order, _allowed in ((relu_1, LARGEST), (clamp_1, Allowed(nan=(-math.inf, math.inf)))):
    _order.oracle.allowed = _allowed
for _product in (gelu_2, gelu_7, mish_4):
    _product.oracle.allowed = Allowed(limit=True, cancels=True, rounding="open")
softsign_9.oracle.allowed = swish_4.oracle.allowed = Allowed(limit=True, rounding="open")
elu_1.oracle.allowed = selu_1.oracle.allowed = Allowed(cancels=True, rounding="open")
sigmoid_1.oracle.allowed = softplus_4.oracle.allowed = ROUNDED
hswish_4.oracle.allowed = Allowed(special=False, limit=True, rounding="open")
hsigmoid_5.oracle.allowed = FINITE
hard_sigmoid_1.oracle.allowed = Allowed(special=False, rounding="open")
