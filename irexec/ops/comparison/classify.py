"""IsFinite, IsInf, IsNaN: a boolean per float.

Source: operation pages IsFinite-10, IsInf-10, IsNaN-10.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.precision import widen
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import operator
from irexec.ops.spec.tensors import BooleanTensor, FloatInput


@operator("IsFinite", "opset10", shapes=same_as())
def is_finite_10(data: FloatInput, /, *, out: Array | None = None) -> BooleanTensor:
    """True for numbers, false for infinities and NaN."""
    return np.asarray(np.isfinite(widen(data), out=out))


@operator("IsInf", "opset10", shapes=same_as())
def is_inf_10(
    data: FloatInput, /, *, detect_negative: bool = True, detect_positive: bool = True, out: Array | None = None
) -> BooleanTensor:
    """True for infinities whose sign is to be detected."""
    data = widen(data)
    if detect_negative and detect_positive:
        return np.asarray(np.isinf(data, out=out))
    if detect_positive:
        return np.asarray(np.equal(data, np.inf, out=out))
    if detect_negative:
        return np.asarray(np.equal(data, -np.inf, out=out))
    result = np.empty(data.shape, np.bool_) if out is None else out
    result[...] = False
    return result


@operator("IsNaN", "opset10", shapes=same_as())
def is_nan_10(data: FloatInput, /, *, out: Array | None = None) -> BooleanTensor:
    """True for NaN."""
    return np.asarray(np.isnan(widen(data), out=out))
