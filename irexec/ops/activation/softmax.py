"""SoftMax and LogSoftmax along one axis.

Source: operation pages SoftMax-1, SoftMax-8, LogSoftmax-5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from irexec.core.threads.parallel import scratch
from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.elementwise import BLOCK, for_blocks
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.attributes import AsRead, NonNegative
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import FloatTensor
from irexec.ops.spec.traits import AlongAxes


@operator("SoftMax", "opset8", AlongAxes, inplace="x", tolerance=rounded(8))
def softmax_8(x: FloatTensor, /, *, axis: int = 1, out: Array | None = None) -> FloatTensor:
    """exp(x) divided by its sum along `axis`.

    C1: `axis` lies in [-rank, rank - 1]. A row that contains +infinity, or only -infinity, becomes NaN.
    """
    return _along(_softmax_rows, x, axis, out)


@softmax_8.shapes
def _axis_exists(check: Check, x: TensorType, *, axis: int) -> PartialShape:
    axis_in(check, "C1", axis, x.rank, attribute="axis")
    return x.shape


@softmax_8.older
def _(form: OlderForm, x: TensorType, *, axis: int) -> None:
    form.need(axis >= 0 or x.rank is not None, f"axis is {axis}, and the rank is not known")
    form.attributes["axis"] = axis if axis >= 0 else axis + (x.rank or 0)


@operator("SoftMax", "opset1", AlongAxes, shapes=_axis_exists, inplace="x", tolerance=rounded(8))
def softmax_1(
    x: FloatTensor, /, *, axis: Annotated[NonNegative, AsRead(default=0)] = 1, out: Array | None = None
) -> FloatTensor:
    """SoftMax-8 without negative axes. C1: `axis` lies in [0, rank - 1]."""
    return _along(_softmax_rows, x, axis, out)


# The sum of exponentials is at least 1 and is rounded in units of 1, also where its logarithm is nearly 0.
@operator("LogSoftmax", "opset5", AlongAxes, shapes=_axis_exists, inplace="x", tolerance=rounded(8, least=1.0))
def log_softmax_5(x: FloatTensor, /, *, axis: int = 1, out: Array | None = None) -> FloatTensor:
    """The logarithm of the softmax: t - ln(sum(exp(t))) with t = x - max(x), along `axis`. C1 as SoftMax-8."""
    return _along(_log_softmax_rows, x, axis, out)


Rows = Callable[[Array, Array, Array, int], None]


softmax_1.oracle.allowed = softmax_8.oracle.allowed = log_softmax_5.oracle.allowed = Allowed(special=False, mixes=True)


def _along(rows: Rows, x: Array, axis: int, out: Array | None) -> Array:
    """Apply `rows(x, out, powers, axis)` to slices of x that fit into the cache, in the compute dtype."""
    result = np.empty(x.shape, x.dtype) if out is None else out
    if x.size == 0:
        return result
    axis %= x.ndim
    if not result.flags.c_contiguous:
        np.copyto(result, _along(rows, x, axis, None))
        return result
    # The view of x: [count, length] if no axis of extent above 1 follows, otherwise [before, length, after].
    after = math.prod(x.shape[axis + 1 :])
    shape = (-1, x.shape[axis]) if after == 1 else (-1, x.shape[axis], after)
    source, target = x.reshape(shape), result.reshape(shape)
    step = max(1, BLOCK // math.prod(shape[1:]))
    dtype = compute_dtype(x.dtype)

    def compute(index: int) -> None:
        part = source[index * step :][:step]
        rows(part, target[index * step :][:step], scratch("softmax", part.shape, dtype), 1)

    for_blocks(-(-source.shape[0] // step), compute)
    return result


def _softmax_rows(x: Array, out: Array, powers: Array, axis: int) -> None:
    highest = _wide(np.maximum.reduce(x, axis=axis, keepdims=True), powers.dtype)
    np.subtract(x, highest, powers, casting="unsafe")
    np.exp(powers, powers)
    np.divide(powers, np.add.reduce(powers, axis=axis, keepdims=True), out, casting="unsafe")


def _log_softmax_rows(x: Array, out: Array, powers: Array, axis: int) -> None:
    highest = _wide(np.maximum.reduce(x, axis=axis, keepdims=True), powers.dtype)
    np.subtract(x, highest, powers, casting="unsafe")
    total = np.log(np.add.reduce(np.exp(powers), axis=axis, keepdims=True))
    np.subtract(powers, total, out, casting="unsafe")


def _wide(array: Any, dtype: np.dtype[Any]) -> Array:
    return np.asarray(array, dtype)
