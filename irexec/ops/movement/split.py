"""Split and VariadicSplit: a tensor cut into pieces along one axis.

Source: operation pages Split-1, VariadicSplit-1.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, INTEGERS, Array, Dimension, PartialShape, TensorType, as_dimension
from irexec.ops.rules.axes import (
    axis_of,
    filled,
    integer,
    integers,
    is_settled,
    known_axis,
    length_of,
    one_element,
    sum_of,
)
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Within
from irexec.ops.spec.operator import Check, Elements, NodeTypes, operator, require
from irexec.ops.spec.tensors import AnyTensor, IntegerAxis
from irexec.ops.spec.traits import CarriesSizes, Moving, SizesIn

T_LENGTHS: TypeAlias = Annotated[Array, Elements("T_LENGTHS", INTEGERS)]

# The maximum number of pieces; a larger number is an error in the file and must not cost memory.
_MOST_PIECES = 1 << 16
Pieces: TypeAlias = Annotated[int, Within(ge=1, le=_MOST_PIECES)]


@operator("Split", "opset1", CarriesSizes, Moving, view="data")
def split_1(data: AnyTensor, axis: IntegerAxis, /, *, num_splits: Pieces) -> list[AnyTensor]:
    """`data` in `num_splits` pieces of the same length along `axis`, a scalar.

    Raises ConstraintError C1 when `num_splits` does not divide the axis, C3 for an axis outside [-rank, rank - 1].
    Shape rule: C2 `axis` is a scalar.
    """
    at = axis_of("C3", integer(axis), data.ndim, "axis")
    _check_division(require, data.shape[at], at, num_splits)
    return _pieces(data, at, [data.shape[at] // num_splits] * num_splits)


@operator("VariadicSplit", "opset1", CarriesSizes, Moving, SizesIn(2), view="data")
def variadic_split_1(data: AnyTensor, axis: IntegerAxis, split_lengths: T_LENGTHS, /) -> list[AnyTensor]:
    """`data` in pieces of `split_lengths` (1D) along `axis` (one element); one -1 takes the remaining elements.

    Raises ConstraintError C1 when the lengths do not sum to the dimension, C2 for an axis outside [-rank, rank - 1],
    C4 for a second -1 or another negative length. Shape rule: C3 split_lengths is 1D, C5 axis is one element.
    """
    at = axis_of("C2", integer(axis), data.ndim, "axis")
    lengths, extent = integers(split_lengths), data.shape[at]
    _check_sound(require, lengths)
    if -1 in lengths:
        lengths[lengths.index(-1)] = extent - sum(lengths) - 1
    if sum(lengths) != extent or min(lengths, default=0) < 0:
        _variadic(require, *map(TensorType.of, (data, axis, split_lengths)))
    return _pieces(data, at, lengths)


def _sound(lengths: list[int]) -> bool:
    return lengths.count(-1) < 2 and min(lengths, default=0) >= -1


def _pieces(data: Array, at: int, lengths: list[int]) -> list[Array]:
    """Return the pieces as views of `data`."""
    bounds = np.cumsum([0, *lengths]).tolist()
    whole = (slice(None),) * at
    return [data[(*whole, slice(a, b))] for a, b in pairwise(bounds)]


@split_1.specialize
@variadic_split_1.specialize
def _(node: NodeTypes) -> Callable[..., Any] | None:
    """Compute the bounds of the pieces once, before the run, for constant lengths and a static shape."""
    if not is_settled(node) or not all(t.shape.is_static for t in node.outputs):
        return None
    at, shapes = integers(node.constants[1])[0], [t.shape.to_shape() for t in node.outputs]  # type: ignore[arg-type]
    ends = np.cumsum([0, *(shape[at] for shape in shapes)]).tolist()
    whole = (slice(None),) * (at % len(shapes[0]))
    regions = [(*whole, slice(a, b)) for a, b in pairwise(ends)]
    return lambda data, *_, **__: [data[region] for region in regions]


def _check_division(check: Check, extent: int, at: int, num_splits: int) -> bool:
    message = f"dimension {at} of data is {extent}, not a multiple of num_splits {num_splits}"
    return check("C1", extent % num_splits == 0, message, port="data", attribute="num_splits")


def _check_sound(check: Check, lengths: list[int]) -> bool:
    message = f"split_lengths is {lengths}, expected values of at least 0, and at most one -1"
    return check("C4", _sound(lengths), message, port="split_lengths")


@split_1.shapes
def _(check: Check, data: TensorType, axis: TensorType, *, num_splits: int) -> list[PartialShape]:
    has_rank(check, "C2", axis, 0, "axis")
    at = known_axis(check, "C3", axis, data.rank, "axis")
    if at is None:
        return [PartialShape.dynamic(data.rank)] * num_splits
    extent = data.shape[at]
    if extent.is_static and not _check_division(check, extent.value, at, num_splits):
        return [data.shape.with_dim(at, ANY_DIMENSION)] * num_splits
    low, high = extent.ceildiv(num_splits).min, (extent // num_splits).max
    piece = Dimension(low, high) if high is None or low <= high else ANY_DIMENSION
    return [data.shape.with_dim(at, piece)] * num_splits


@variadic_split_1.shapes
def _variadic(check: Check, data: TensorType, axis: TensorType, split_lengths: TensorType) -> list[PartialShape] | None:
    one_element(check, "C5", axis, "axis")
    has_rank(check, "C3", split_lengths, 1, "split_lengths")
    at = known_axis(check, "C2", axis, data.rank, "axis")
    count, lengths = length_of(split_lengths), split_lengths.known
    allowed = f"at most {_MOST_PIECES}"
    message = f"split_lengths has {count} elements, expected {allowed}: no model has so many output ports"
    few = count is None or count <= _MOST_PIECES
    if not check("outputs", few, message, port="split_lengths", found=str(count), allowed=allowed) or count is None:
        return None
    if at is None:
        return [PartialShape.dynamic(data.rank)] * count
    extent = data.shape[at]
    if lengths is None:
        return [data.shape.with_dim(at, Dimension(0, extent.max))] * count
    fixed = [n for n in lengths if isinstance(n, int)]
    if not _check_sound(check, fixed):
        return [data.shape.with_dim(at, ANY_DIMENSION)] * count
    taken = sum_of([as_dimension(n) for n in lengths if n != -1 or isinstance(n, Dimension)])
    fits = (extent.max is None or taken.min <= extent.max) and (-1 in fixed or taken.compatible(extent))
    message = f"lengths {list(map(str, lengths))} do not sum to {extent}, dimension {at} of data"
    check("C1", fits, message, port="split_lengths", found=str(taken), allowed=str(extent))
    pieces = [extent - taken if isinstance(n, int) and n == -1 else as_dimension(n) for n in lengths]
    return [data.shape.with_dim(at, piece) for piece in pieces]


@split_1.oracle.draw("axis")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, num_splits: int) -> Array:
    """Draw the first axis that can be split."""
    extents, count = types["data"].shape.to_shape(), num_splits
    return filled(types, port, next((i for i, n in enumerate(extents) if n and n % count == 0), 0))


@variadic_split_1.oracle.draw("axis", "split_lengths")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw lengths along the first axis: single elements, and the rest for the last piece."""
    if port == "axis":
        return filled(types, port, 0)
    count = types[port].shape[0].value
    lengths = [1 if types["data"].shape[0].value >= count else 0] * count
    if types[port].element_type.is_signed:
        lengths[-1:] = [-1]
    else:
        lengths[-1:] = [types["data"].shape[0].value - sum(lengths[:-1])]
    return filled(types, port, lengths)
