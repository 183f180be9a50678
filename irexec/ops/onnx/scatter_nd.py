"""ScatterND of ONNX: a copy of a tensor with updates at the positions given by index tuples.

Source: ONNX operator page ScatterND, versions 11, 13, 16 and 18; for undefined details ONNX's reference implementation
(NaN, complex numbers, booleans) and ONNX Runtime (sums of strings).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import (
    BF16,
    BOOLEAN,
    C64,
    C128,
    F16,
    F32,
    F64,
    INTEGERS,
    STRING,
    Array,
    PartialShape,
    TensorType,
)
from irexec.ops.compute.precision import is_float
from irexec.ops.movement.scatter_arguments import (
    check_indices,
    check_updates,
    copied,
    delivered,
    draw_tuples,
    flat_rows,
    open_rows,
    tuple_length,
)
from irexec.ops.movement.scatter_engine import scatter
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.oracle import Open
from irexec.ops.spec.tensors import I64Tensor
from irexec.ops.spec.traits import CarriesSizes, Scattering

_T11 = INTEGERS | {BOOLEAN, C128, C64, F64, F32, F16, STRING}
T11: TypeAlias = Annotated[Array, Elements("T", _T11)]
T: TypeAlias = Annotated[Array, Elements("T", _T11 | {BF16})]
Reduction16: TypeAlias = Literal["none", "add", "mul"]
Reduction: TypeAlias = Literal["none", "add", "mul", "max", "min"]

_OF_STRINGS = ("none", "add")
# The reductions as named in scatter_engine.py, and NumPy's functions for complex numbers, which that module does not
# support.
_ENGINE = {"none": "none", "add": "sum", "mul": "prod", "max": "max", "min": "min"}
_UFUNCS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@operator("ScatterND", "onnx18", CarriesSizes, Scattering, inplace="data", tolerance=rounded(4))
def scatter_nd_18(
    data: T, indices: I64Tensor, updates: T, /, *, reduction: Reduction = "none", out: Array | None = None
) -> T:
    """A copy of `data` with `updates` combined into the places that `indices` selects.

    data: [s_0, .., s_r-1]; indices: [.., k], each entry naming an element (k = r) or a slice (k < r) of data;
    updates: indices.shape[:-1] + data.shape[k:]. Raises ConstraintError for

    C1  data of rank 0
    C2  indices of rank 0
    C3  k greater than r
    C4  updates of another shape, even with the same number of elements
    C5  an index outside of [-s_j, s_j - 1]; negative indices count from the end, as in the page's equation
    C6  strings multiplied or compared: their only reduction is add

    The page does not define the order, and forbids duplicate entries under none: the last in row-major order is used.
    Integers wrap; f16 and bf16 are combined in f32 and rounded once; the maximum or minimum of NaN and anything is NaN.
    Complex numbers are ordered by their real parts, then by their imaginary parts. The sum of strings joins them.
    """
    return _scatter(data, indices, updates, reduction, out)


@operator("ScatterND", "onnx16", CarriesSizes, Scattering, inplace="data", tolerance=rounded(4))
def scatter_nd_16(
    data: T, indices: I64Tensor, updates: T, /, *, reduction: Reduction16 = "none", out: Array | None = None
) -> T:
    """As version 18, without the reductions max and min. The same constraints C1 to C6."""
    return _scatter(data, indices, updates, reduction, out)


@operator("ScatterND", "onnx13", CarriesSizes, Scattering, inplace="data")
def scatter_nd_13(data: T, indices: I64Tensor, updates: T, /, *, out: Array | None = None) -> T:
    """As version 16, without a reduction. The same constraints C1 to C5."""
    return _scatter(data, indices, updates, "none", out)


@operator("ScatterND", "onnx11", CarriesSizes, Scattering, inplace="data")
def scatter_nd_11(data: T11, indices: I64Tensor, updates: T11, /, *, out: Array | None = None) -> T11:
    """As version 13, without bf16. The same constraints C1 to C5."""
    return _scatter(data, indices, updates, "none", out)


def _scatter(data: Array, indices: Array, updates: Array, reduction: str, out: Array | None) -> Array:
    k = indices.shape[-1]
    rows = flat_rows("C5", indices, data.shape[:k], negative=True)
    block = math.prod(data.shape[k:])
    result = copied(data, out)
    target = result.reshape(math.prod(data.shape[:k]), block)
    _combine(target, rows, updates.reshape(rows.size, block), reduction)
    return delivered(result, out)


def _combine(target: Array, rows: Array, updates: Array, reduction: str) -> None:
    """Combine updates[i] into target[rows[i]] for each i in turn, in place. target: [slots, block]."""
    if reduction != "none" and target.dtype.kind == "T":
        _join(target, rows, updates)
    elif reduction != "none" and target.dtype.kind == "c":
        with np.errstate(all="ignore"):
            _UFUNCS[reduction].at(target, rows, updates)
    else:
        scatter(target, rows, updates, _ENGINE[reduction])
        if reduction in ("max", "min") and is_float(target.dtype):
            # The engine ignores NaN among the updates.
            entry, column = np.nonzero(np.isnan(updates))
            target[rows[entry], column] = np.nan


def _join(target: Array, rows: Array, updates: Array) -> None:
    """Append updates to strings, for which ufunc.at is not supported: each round takes the next update of every row."""
    left = np.arange(rows.size)
    while left.size:
        places, first = np.unique(rows[left], return_index=True)
        target[places] = target[places] + updates[left[first]]
        left = np.delete(left, first)


@scatter_nd_18.shapes
@scatter_nd_16.shapes
@scatter_nd_13.shapes
@scatter_nd_11.shapes
def _(
    check: Check, data: TensorType, indices: TensorType, updates: TensorType, *, reduction: str = "none"
) -> PartialShape:
    if reduction not in _OF_STRINGS and data.element_type is STRING:
        message = f"reduction {reduction!r} is not supported for strings"
        check("C6", False, message, attribute="reduction", found=reduction, allowed=", ".join(_OF_STRINGS))
    k = tuple_length(check, ("C1", "C2", "C3"), data, indices)
    if k is not None:
        expected = indices.shape[:-1] + data.shape[k:]
        if check_updates(check, "C4", updates.shape, expected, f"indices.shape[:-1] + data.shape[{k}:]"):
            check_indices(check, "C5", indices, data.shape[:k], negative=True)
    return data.shape


@scatter_nd_18.oracle.draw("indices")
@scatter_nd_16.oracle.draw("indices")
@scatter_nd_13.oracle.draw("indices")
@scatter_nd_11.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    return draw_tuples(rng, types["data"], types["indices"])


@scatter_nd_18.oracle.alternatives
@scatter_nd_16.oracle.alternatives
@scatter_nd_13.oracle.alternatives
@scatter_nd_11.oracle.alternatives
def _(data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Open | None:
    """Return the elements with several different updates if reduction is "none", which the page forbids."""
    if reduction != "none":
        return None
    k = indices.shape[-1]
    rows = flat_rows("C5", indices, data.shape[:k], negative=True)
    note = "indices select {count} more than once, which is not supported; irexec applies the last update"
    return open_rows(rows, updates.reshape(rows.size, math.prod(data.shape[k:])), note)
