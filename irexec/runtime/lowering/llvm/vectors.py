"""Vectors of f32 in generated code as operands of NumPy's functions: formulas of arrays generate instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from irexec.ops.activation.formulas import mish, over_one_plus_exp, sigmoid
from irexec.ops.arithmetic.error_function import polynomial
from irexec.runtime.lowering.llvm import functions
from irexec.runtime.lowering.llvm.after import Rounding
from irexec.runtime.lowering.llvm.code import Code
from irexec.runtime.lowering.llvm.converting import rounded


class Vector(NDArrayOperatorsMixin):
    """A vector in a function under construction. Operations on it return the vector of their results; they ignore the
    parameter `out`.
    """

    dtype = np.dtype(np.float32)

    def __init__(self, code: Code, value: Any) -> None:
        self.code, self.value = code, value

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Vector:
        return self.by(_INSTRUCTIONS[function], *operands)

    def __array_function__(self, function: Any, types: Any, operands: Any, options: Any) -> Vector:
        return self.by(_INSTRUCTIONS[function], *operands)

    def by(self, write: Callable[..., Any], *operands: Any) -> Vector:
        """Return the result of `write(code, *operands)`, where numbers become vectors."""
        values = [each.value if isinstance(each, Vector) else self.code.constant(float(each)) for each in operands]
        return Vector(self.code, write(self.code, *values))

    def rounded(self, to: Rounding) -> Vector:
        return Vector(self.code, rounded(self.code, self.value, to))


def _builder(name: str) -> Callable[..., Any]:
    return lambda code, *values: getattr(code.builder, name)(*values)


def _intrinsic(name: str) -> Callable[..., Any]:
    return lambda code, *values: code.call(name, *values)


_INSTRUCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.absolute: _intrinsic("fabs"),
    np.add: _builder("fadd"),
    np.clip: functions.clamped,
    np.divide: _builder("fdiv"),
    np.fmin: _intrinsic("minnum"),
    np.less: lambda code, x, y: code.builder.fcmp_ordered("<", x, y),
    np.maximum: _intrinsic("maximum"),
    np.minimum: _intrinsic("minimum"),
    np.multiply: _builder("fmul"),
    np.negative: _builder("fneg"),
    np.rint: _intrinsic("rint"),
    np.sqrt: _intrinsic("sqrt"),
    np.square: lambda code, x: code.builder.fmul(x, x),
    np.subtract: _builder("fsub"),
    np.tanh: functions.tanh,
    np.where: _builder("select"),
}

sigmoid.register(Vector, lambda x: x.by(functions.logistic, x))
mish.register(Vector, lambda x: x.by(functions.mish, x))


@over_one_plus_exp.register
def _(x: Vector, y: Vector, out: None = None) -> Vector:
    return x.by(functions.logistic_times, -y, x)


@polynomial.register
def _(x: Vector, coefficients: Any) -> Vector:
    return x.by(lambda code, x, *numbers: functions.polynomial(code, numbers, x), x, *reversed(coefficients))
