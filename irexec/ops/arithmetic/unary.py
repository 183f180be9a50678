"""Elementwise arithmetic with one operand: each is one real function, applied at the declared precision.

Integers: the pages of Sqrt and Tanh state "rounded (half up)", and the page of Tan shows such results. irexec therefore
rounds the results of all these functions, halves away from zero. (OpenVINO's core truncates the results of Exp, Log and
Sin; no page states this.) Results outside the integer type's range are converted as by `truncated`. Source: the
operation pages of these names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import FLOATS, SIGNED, Array
from irexec.ops.arithmetic.error_function import erf_f32, erf_f64, erfinv_f64, erfinv_near
from irexec.ops.compute.casting import largest, wraps
from irexec.ops.compute.elementwise import blockwise, elementwise, half_away, in_doubles, result_like, through_floats
from irexec.ops.compute.named import ufunc
from irexec.ops.compute.precision import is_float
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import Elements, Operator, operator, rounded
from irexec.ops.spec.oracle import ROUNDED, Allowed
from irexec.ops.spec.tensors import FloatTensor, NumericTensor
from irexec.ops.spec.traits import ComputesSizes, DeclaredTrait, Homogeneous, MayOverflow, Rounding, SquareRoot, Steps

T_SIGNED: TypeAlias = Annotated[Array, Elements("T", FLOATS | SIGNED)]


def _real(type: str, opset: str, function: Any, doc: str, *traits: DeclaredTrait, ulp: int = 4) -> Operator:
    """Return an operator that applies a real function, to integers in f64 with a rounded result."""

    def kernel(x: NumericTensor, /, *, out: Array | None = None) -> NumericTensor:
        return elementwise(function, x, out) if is_float(x.dtype) else through_floats(function, x, out)

    made = operator(type, opset, *traits, shapes=same_as(), inplace="x", tolerance=rounded(ulp), doc=doc)(kernel)
    made.oracle.allowed = ROUNDED
    return made


acos_1 = _real("Acos", "opset1", ufunc("arccos"), "The inverse cosine of each element; NaN outside [-1, 1].")
acosh_4 = _real(
    "Acosh",
    "opset4",
    ufunc("arccosh"),
    "The inverse hyperbolic cosine of each element; NaN below 1. (Its page: Acosh-3.)",
)
asin_1 = _real("Asin", "opset1", ufunc("arcsin"), "The inverse sine of each element; NaN outside [-1, 1].")
asinh_4 = _real(
    "Asinh", "opset4", ufunc("arcsinh"), "The inverse hyperbolic sine of each element. (Its page: Asinh-3.)"
)
atan_1 = _real("Atan", "opset1", ufunc("arctan"), "The inverse tangent of each element.")
cos_1 = _real("Cos", "opset1", ufunc("cos"), "The cosine of each element, in radians.")
cosh_1 = _real("Cosh", "opset1", ufunc("cosh"), "The hyperbolic cosine of each element.")
exp_1 = _real("Exp", "opset1", ufunc("exp"), "e to the power of each element.")
log_1 = _real("Log", "opset1", ufunc("log"), "The natural logarithm of each element; -infinity at 0, NaN below.")
sin_1 = _real("Sin", "opset1", ufunc("sin"), "The sine of each element, in radians.")
sinh_1 = _real("Sinh", "opset1", ufunc("sinh"), "The hyperbolic sine of each element.")
sqrt_1 = _real(
    "Sqrt", "opset1", ufunc("sqrt"), "The square root of each element; NaN for negative floats.", SquareRoot, ulp=1
)
tan_1 = _real("Tan", "opset1", ufunc("tan"), "The tangent of each element, in radians.")
tanh_1 = _real("Tanh", "opset1", ufunc("tanh"), "The hyperbolic tangent of each element.")


def _whole(function: Any, x: Array, out: Array | None) -> Array:
    """Apply a function that rounds floats to integers; integers are returned unchanged."""
    return elementwise(function if is_float(x.dtype) else np.positive, x, out)


def _exact(
    type: str,
    function: Any,
    doc: str,
    apply: Callable[..., Array] = elementwise,
    *,
    traits: tuple[DeclaredTrait, ...] = (),
) -> Operator:
    """Return an operator that applies a function whose results are exact in the element type."""

    def kernel(x: NumericTensor, /, *, out: Array | None = None) -> NumericTensor:
        return apply(function, x, out)

    return operator(type, "opset1", *traits, shapes=same_as(), inplace="x", doc=doc)(kernel)


abs_1 = _exact(
    "Abs",
    ufunc("absolute"),
    "The absolute value of each element; the lowest integer stays itself (it wraps).",
    traits=(
        ComputesSizes,
        MayOverflow,
        Homogeneous,
    ),
)
abs_1.oracle.undefined_for(lambda x: wraps(x.dtype, largest(x)))
ceiling_1 = _exact(
    "Ceiling", ufunc("ceil"), "Each element rounded up to an integer.", _whole, traits=(ComputesSizes, Steps)
)
floor_1 = _exact(
    "Floor", ufunc("floor"), "Each element rounded down to an integer.", _whole, traits=(ComputesSizes, Steps)
)
sign_1 = _exact(
    "Sign", ufunc("sign"), "-1, 0 or 1 for negative, zero and positive elements; NaN stays NaN.", traits=(Steps,)
)


@operator("Atanh", "opset4", shapes=same_as(), inplace="x", tolerance=rounded(4))
def atanh_4(x: NumericTensor, /, *, out: Array | None = None) -> NumericTensor:
    """The inverse hyperbolic tangent of each element; positive integers give the type's highest value, negative
    integers its lowest value. (Its page: Atanh-3.)
    """
    if is_float(x.dtype):
        return elementwise(np.arctanh, x, out)
    bounds = np.iinfo(x.dtype)
    result = result_like(x, out)
    np.copyto(result, np.where(x > 0, bounds.max, np.where(x < 0, bounds.min, 0)), casting="unsafe")
    return result


@operator("Erf", "opset1", shapes=same_as(), inplace="x", tolerance=rounded(8, least=1.0))
def erf_1(x: NumericTensor, /, *, out: Array | None = None) -> NumericTensor:
    """The Gauss error function of each element: 2/√π times the integral of exp(-t²) from 0 to x.

    The page prints 1/π and the bounds -x, x by mistake; irexec and OpenVINO compute the usual function.
    """
    if x.dtype == np.float64:
        return in_doubles(erf_f64, x, out)
    return blockwise(erf_f32, x, out) if is_float(x.dtype) else through_floats(erf_f64, x, out)


atanh_4.oracle.allowed = erf_1.oracle.allowed = ROUNDED


@operator("ErfInv", "opset17", shapes=same_as(), inplace="x", tolerance=rounded(4))
def erfinv_17(x: FloatTensor, /, *, out: Array | None = None) -> FloatTensor:
    """The y with erf(y) = x: 0 at 0, ±infinity at ±1, NaN outside [-1, 1]."""
    return in_doubles(erfinv_f64 if x.dtype == np.float64 else erfinv_near, x, out)


erfinv_17.oracle.allowed = Allowed(composes=False)


@operator("Negative", "opset1", Homogeneous, MayOverflow, shapes=same_as(), inplace="x")
def negative_1(x: T_SIGNED, /, *, out: Array | None = None) -> T_SIGNED:
    """Each element with the opposite sign; the lowest integer stays itself (it wraps)."""
    return elementwise(np.negative, x, out)


@operator("Round", "opset5", Rounding, Steps, shapes=same_as(), inplace="x")
def round_5(
    x: NumericTensor,
    /,
    *,
    mode: Literal["half_to_even", "half_away_from_zero"] = "half_to_even",
    out: Array | None = None,
) -> NumericTensor:
    """Each element rounded to the nearest integer; `mode` determines how halves are rounded."""
    return _whole(np.rint if mode == "half_to_even" else half_away, x, out)
