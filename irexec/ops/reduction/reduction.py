"""Reductions of a tensor along axes.

Source: the operation pages of these names. Common to all: with an empty `axes` every element is reduced alone (L1 and
L2 return its absolute value); floats are summed in f32 or f64; integers wrap. Constraints, as the pages list them: C1:
`axes` is a scalar or 1D. C2: axes are unique. C3: axes lie in [-r, r - 1], r being the rank of `data` (for a scalar, 0
and -1 are also accepted, as in OpenVINO).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import F8E4M3, F8E5M2, NUMERIC, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.casting import largest, wraps
from irexec.ops.compute.elementwise import half_away, truncated
from irexec.ops.compute.precision import compute_dtype, holds, is_float, limits_of, narrow, widen, wider
from irexec.ops.rules.axes import axes_of, distinct, drawn_axes, integers, known_axes
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, Elements, Operator, operator, require, rounded
from irexec.ops.spec.oracle import LARGEST, LEAST, ROUNDED, Undefined
from irexec.ops.spec.tensors import BooleanTensor, IntegerIndices, NumericTensor
from irexec.ops.spec.traits import AlongAxes, CarriesSizes, DeclaredTrait, Homogeneous, MayOverflow

if TYPE_CHECKING:
    pass


def reduced_axes(axes: Array, rank: int) -> tuple[int, ...]:
    """Return the axes counted from the front. Raises ConstraintError C2 or C3 (see reduction.py)."""
    given = integers(axes)
    if rank == 0 and all(a in (0, -1) for a in given):
        return ()
    found = tuple(axes_of("C3", axes, rank, "axes"))
    distinct(require, "C2", found, given)
    return found


def reduced_shape(check: Check, data: TensorType, axes: TensorType, *, keep_dims: bool) -> PartialShape:
    """Return the shape of a reduction; check C1 to C3, if the axes are known."""
    has_rank(check, "C1", axes, (0, 1), "axes")
    rank, given = data.rank, axes.ints
    if rank is None:
        return PartialShape.dynamic()
    if given is None:
        return _unknown_axes(data.shape, axes.shape, keep_dims)
    if rank == 0 and all(a in (0, -1) for a in given):
        return data.shape
    found = known_axes(check, "C3", axes, rank, "axes")
    if found is None:
        return PartialShape.dynamic(rank if keep_dims else None)
    along = set(found)
    distinct(check, "C2", found, given)
    if keep_dims:
        return PartialShape(1 if i in along else d for i, d in enumerate(data.shape))
    return PartialShape(d for i, d in enumerate(data.shape) if i not in along)


def _unknown_axes(data: PartialShape, axes: PartialShape, keep_dims: bool) -> PartialShape:
    """Return the shape of a reduction along unknown axes: its rank may follow from their number."""
    if keep_dims:
        return PartialShape(d.union(Dimension(1)) for d in data)
    if axes.rank == 0:
        return PartialShape.dynamic(max(0, len(data) - 1))
    if axes.is_static and axes.rank == 1:
        return PartialShape.dynamic(max(0, len(data) - axes[0].value))
    return PartialShape.dynamic()


def draw_axes(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Return unique axes of `data`."""
    return drawn_axes(rng, types, port, types["data"].rank or 0)


T_ORDERED: TypeAlias = Annotated[Array, Elements("T", NUMERIC | {F8E4M3, F8E5M2})]


def _reduce(
    ufunc: Any, data: Array, axes: Array, keep_dims: bool, out: Array | None, dtype: Any = None, **options: Any
) -> Array:
    """Return the reduction of `data` along `axes` with a ufunc; `dtype` is the type of the sums."""
    along = reduced_axes(axes, data.ndim)
    with np.errstate(all="ignore"):
        if out is not None and (dtype is None or dtype == out.dtype):
            return np.asarray(ufunc.reduce(data, axis=along, keepdims=keep_dims, out=out, dtype=dtype, **options))
        return np.asarray(ufunc.reduce(data, axis=along, keepdims=keep_dims, dtype=dtype, **options))


def _count(data: Array, axes: Array) -> int:
    """Return the number of elements that are reduced to each result."""
    return int(np.prod([data.shape[a] for a in reduced_axes(axes, data.ndim)]))


_ALLOWED = {"ReduceMax": LARGEST, "ReduceMin": LEAST, "ReduceMean": ROUNDED, "ReduceL2": ROUNDED}
_CHOOSING = frozenset({"ReduceMin", "ReduceMax", "ReduceMean"})


_POWERS = {"ReduceMean": 1, "ReduceL1": 1, "ReduceL2": 2}
"""The powers of the elements in sums of integers that may exceed their type on the way to the result."""


def _undefined(data: Array, axes: Array, *, type: str) -> Undefined:
    """The result is undefined for axes of a scalar, for the minimum, maximum or mean of no elements, and for integers
    whose sum of magnitudes or squares may exceed their type.
    """
    if not data.ndim and axes.size:
        return "no result"
    power = _POWERS.get(type)
    return (type in _CHOOSING and not data.size) or (
        power is not None and wraps(data.dtype, largest(data) ** power * _count(data, axes))
    )


def _made(type: str, opset: str, kernel: Callable[..., Array], *traits: DeclaredTrait, **declared: Any) -> Operator:
    made = operator(type, opset, AlongAxes, *traits, shapes=reduced_shape, **declared)(kernel)
    made.oracle.draw("axes")(draw_axes)
    made.oracle.undefined_for(partial(_undefined, type=type))
    made.oracle.allowed = _ALLOWED.get(type, made.oracle.allowed)
    return made


def _reduction(
    type: str, opset: str = "opset1", *traits: DeclaredTrait, **declared: Any
) -> Callable[[Callable[..., Array]], Operator]:
    """Return a decorator that turns a function of data, axes, keep_dims and out into an operator on numbers."""

    def declare(function: Callable[..., Array]) -> Operator:
        def kernel(
            data: NumericTensor, axes: IntegerIndices, /, *, keep_dims: bool = False, out: Array | None = None
        ) -> NumericTensor:
            return function(data, axes, keep_dims, out)

        return _made(type, opset, kernel, *traits, doc=function.__doc__, **declared)

    return declare


def _accumulated(type: str, ufunc: str, doc: str, *traits: DeclaredTrait) -> Operator:
    """Make an operator that reduces with a binary NumPy function, in the precision of sums."""

    def kernel(
        data: NumericTensor, axes: IntegerIndices, /, *, keep_dims: bool = False, out: Array | None = None
    ) -> NumericTensor:
        return narrow(
            _reduce(getattr(np, ufunc), data, axes, keep_dims, out, compute_dtype(data.dtype)), data.dtype, out
        )

    return _made(type, "opset1", kernel, MayOverflow, CarriesSizes, *traits, tolerance=rounded(16), doc=doc)


reduce_sum_1 = _accumulated("ReduceSum", "add", "The sum of the elements; 0 if there are none.", Homogeneous)
reduce_prod_1 = _accumulated("ReduceProd", "multiply", "The product of the elements; 1 if there are none.")


@_reduction("ReduceMean", "opset1", Homogeneous, tolerance=rounded(16))
def reduce_mean_1(data: Array, axes: Array, keep_dims: bool, out: Array | None) -> Array:
    """The arithmetic mean. As in OpenVINO's core, it is truncated for integers, and 0 for no elements."""
    count = max(1, _count(data, axes))
    if is_float(data.dtype):
        total = _reduce(np.add, data, axes, keep_dims, out, compute_dtype(data.dtype))
        if not np.isfinite(total).all():
            total = _reduce(np.add, data, axes, keep_dims, None, wider(total.dtype))
        with np.errstate(all="ignore"):
            return narrow(np.divide(total, total.dtype.type(count), out=total), data.dtype, out)
    total = _reduce(np.add, data, axes, keep_dims, None, np.uint64 if data.dtype.kind == "u" else np.int64)
    size = total.dtype.type(count)
    return narrow((total - np.fmod(total, size)) // size, data.dtype, out)


def _ordered(type: str) -> Callable[[Callable[..., Array]], Operator]:
    """Return a decorator like `_reduction`, for operators that only compare elements; these accept 8-bit floats."""

    def declare(function: Callable[..., Array]) -> Operator:
        def kernel(
            data: T_ORDERED, axes: IntegerIndices, /, *, keep_dims: bool = False, out: Array | None = None
        ) -> T_ORDERED:
            return function(data, axes, keep_dims, out)

        return _made(type, "opset1", kernel, Homogeneous, doc=function.__doc__)

    return declare


@_ordered("ReduceMax")
def reduce_max_1(data: Array, axes: Array, keep_dims: bool, out: Array | None) -> Array:
    """The greatest element; NaN if an element is NaN (in OpenVINO it depends on the position of the NaN).

    For no elements, as in OpenVINO's core: the type's lowest finite number.
    """
    if _count(data, axes) == 0:
        return _filled(data, axes, keep_dims, out, limits_of(data.dtype).min)
    return narrow(_reduce(np.maximum, data, axes, keep_dims, out), data.dtype, out)


@_ordered("ReduceMin")
def reduce_min_1(data: Array, axes: Array, keep_dims: bool, out: Array | None) -> Array:
    """The smallest element; NaN if an element is NaN (in OpenVINO it depends on the position of the NaN).

    For no elements, as in OpenVINO's core: infinity, or the integer type's highest number.
    """
    if _count(data, axes) == 0:
        highest = np.inf if is_float(data.dtype) else limits_of(data.dtype).max
        return _filled(data, axes, keep_dims, out, highest)
    return narrow(_reduce(np.minimum, data, axes, keep_dims, out), data.dtype, out)


def _filled(data: Array, axes: Array, keep_dims: bool, out: Array | None, value: Any) -> Array:
    along = reduced_axes(axes, data.ndim)
    kept = [1 if a in along else n for a, n in enumerate(data.shape) if keep_dims or a not in along]
    result = np.empty(kept, data.dtype) if out is None else out
    result[...] = value
    return result


@_reduction("ReduceL1", "opset4", MayOverflow, tolerance=rounded(16))
def reduce_l1_4(data: Array, axes: Array, keep_dims: bool, out: Array | None) -> Array:
    """The sum of the absolute values."""
    return narrow(
        _reduce(np.add, np.abs(widen(data)), axes, keep_dims, out, compute_dtype(data.dtype)), data.dtype, out
    )


@_reduction("ReduceL2", "opset4", tolerance=rounded(16))
def reduce_l2_4(data: Array, axes: Array, keep_dims: bool, out: Array | None) -> Array:
    """The square root of the sum of squares; for integers it is rounded, halves away from zero, like Sqrt."""
    wide = widen(data) if is_float(data.dtype) else data
    with np.errstate(all="ignore"):
        total = _reduce(np.add, np.square(wide), axes, keep_dims, None, wide.dtype)
        if is_float(data.dtype):
            if not holds(total):
                wide = data.astype(wider(wide.dtype))
                total = _reduce(np.add, np.square(wide), axes, keep_dims, None, wide.dtype)
            return narrow(np.sqrt(total), data.dtype, out)
        return narrow(truncated(half_away(np.sqrt(total.astype(np.float64))), data.dtype), data.dtype, out)


def _logical(type: str, ufunc: str, doc: str) -> Operator:
    def kernel(
        data: BooleanTensor, axes: IntegerIndices, /, *, keep_dims: bool = False, out: Array | None = None
    ) -> BooleanTensor:
        return _reduce(getattr(np, ufunc), data, axes, keep_dims, out)

    return _made(type, "opset1", kernel, doc=doc)


reduce_logical_and_1 = _logical("ReduceLogicalAnd", "logical_and", "True if all elements are true (or there are none).")
reduce_logical_or_1 = _logical("ReduceLogicalOr", "logical_or", "True if any element is true.")
