"""Shapes and similar classes: OpenVINO's PartialShape, Shape, Strides, AxisSet, coordinates."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, SupportsIndex, SupportsInt, TypeAlias, overload

import numpy as np

from irexec.api.openvino.checks import not_negative
from irexec.core import types
from irexec.core.types.shape import dims_of
from irexec.model.graph.ports import position

DimLike: TypeAlias = types.Dimension | int | str | tuple[int, int]


class Symbol:
    """Marks two dimensions as equal without stating their value.

    Dimensions and shapes keep symbols; models do not.
    """

    def __bool__(self) -> bool:
        return True


class IntVector(list[int]):
    """A list of integers that can also be compared with tuples and arrays."""

    def __init__(self, values: Iterable[SupportsInt] = ()) -> None:
        super().__init__(_whole(value) for value in values)

    @overload
    def __setitem__(self, index: SupportsIndex, value: SupportsInt) -> None: ...

    @overload
    def __setitem__(self, index: slice, value: Iterable[SupportsInt]) -> None: ...

    def __setitem__(self, index: SupportsIndex | slice, value: SupportsInt | Iterable[SupportsInt]) -> None:
        if isinstance(index, slice):
            super().__setitem__(index, [int(each) for each in value])  # type: ignore[union-attr]
        else:
            super().__setitem__(index, int(value))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, tuple, np.ndarray, types.PartialShape)):
            return _integers(other) == list(self)
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __str__(self) -> str:
        return f"[{','.join(map(str, self))}]"

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: ({', '.join(map(str, self))})>"

    def to_string(self) -> str:
        """Return the list as text, such as [1,2]."""
        return str(self)


def _whole(value: Any) -> int:
    """Return a value as int. Raises TypeError for a float."""
    if isinstance(value, (float, np.floating)):
        raise TypeError(f"incompatible function arguments: {value!r} is not an integer")
    return int(value)


def _check_not_negative(values: list[int]) -> None:
    """Raise TypeError if one of the values is negative."""
    if any(value < 0 for value in values):
        raise TypeError(f"negative values are not allowed: {values}")


def _integers(values: Any) -> list[int] | None:
    if isinstance(values, types.PartialShape):
        return list(values.to_shape()) if values.is_static else None
    return list(values)


class Shape(IntVector):
    """A static shape."""

    def __init__(self, axis_lengths: Iterable[SupportsInt] | str = (), *, shape: str | None = None) -> None:
        values = axis_lengths if shape is None else shape
        if isinstance(values, str):
            values = types.PartialShape.parse(values).to_shape()
        super().__init__(values)
        _check_not_negative(self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Shape: ...

    def __getitem__(self, index: SupportsIndex | slice) -> int | Shape:
        found = super().__getitem__(index)
        return Shape(found) if isinstance(found, list) else found

    def __repr__(self) -> str:
        return f"<Shape: {self}>"


class Strides(IntVector):
    """Steps along the axes."""

    def __init__(self, axis_strides: Iterable[SupportsInt] = ()) -> None:
        super().__init__(axis_strides)
        _check_not_negative(self)

    def __str__(self) -> str:
        return ", ".join(map(str, self))


class CoordinateDiff(IntVector):
    """Differences of coordinates, such as paddings."""

    def __str__(self) -> str:
        return ", ".join(map(str, self))


class Coordinate(IntVector):
    """A position in a tensor."""

    def __init__(self, values: Iterable[SupportsInt] = ()) -> None:
        super().__init__(values)
        _check_not_negative(self)

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> list[int]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> int | list[int]:
        return super().__getitem__(index if isinstance(index, slice) else not_negative(operator.index(index)))

    def __repr__(self) -> str:
        return "<Coordinate>"


class AxisVector(IntVector):
    """Axes in a given order."""

    def __init__(self, axes: Iterable[SupportsInt] = ()) -> None:
        super().__init__(axes)
        _check_not_negative(self)

    def __repr__(self) -> str:
        return f"<AxisVector {{{', '.join(map(str, self))}}}>"


class AxisSet:
    """Axes without an order: iteration is sorted."""

    def __init__(self, axes: Iterable[SupportsInt] = ()) -> None:
        self._axes = sorted({int(axis) for axis in axes})
        _check_not_negative(self._axes)

    def __len__(self) -> int:
        return len(self._axes)

    def __iter__(self) -> Iterator[int]:
        return iter(self._axes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (AxisSet, set, frozenset, list, tuple)) and set(self) == set(other)

    def __hash__(self) -> int:
        return hash(tuple(self._axes))

    def __repr__(self) -> str:
        return f"<AxisSet {{{', '.join(map(str, self._axes))}}}>"


class PartialShape(types.PartialShape):
    """A shape that may be partly unknown. It is mutable, and its rank is a Dimension."""

    __slots__ = ()

    def __init__(self, shape: types.ShapeLike | None = None) -> None:
        if shape is None:
            super().__init__(())
        elif isinstance(shape, str):
            super().__init__(dims_of(types.PartialShape.parse(shape)))
        elif isinstance(shape, types.PartialShape):
            super().__init__(dims_of(shape))
        else:
            super().__init__([_dimension(item) for item in shape])

    @staticmethod
    def dynamic(rank: types.Dimension | int | None = None) -> PartialShape:
        """Return a shape of known rank only, or of unknown rank."""
        known = None if rank is None or types.as_dimension(rank).is_dynamic else int(rank)
        return PartialShape(types.PartialShape.dynamic(known))

    @property
    def rank(self) -> types.Dimension:  # type: ignore[override]
        """The number of dimensions, as a Dimension."""
        return types.ANY_DIMENSION if self._dims is None else types.Dimension(len(self._dims))

    @property
    def all_non_negative(self) -> bool:
        """Whether no size is negative, which holds for every shape."""
        return True

    def __setitem__(self, index: int, value: DimLike) -> None:
        dims = list(self.dims)
        dims[position(dims, index)] = _dimension(value)
        self._dims = tuple(dims)

    @overload
    def __getitem__(self, index: int) -> types.Dimension: ...

    @overload
    def __getitem__(self, index: slice) -> PartialShape: ...

    def __getitem__(self, index: int | slice) -> types.Dimension | PartialShape:
        if isinstance(index, slice):
            return PartialShape(super().__getitem__(index))
        return _copied(self.dims[position(self.dims, index)])

    def __str__(self) -> str:
        return f"[{super().to_string()}]"

    def to_string(self) -> str:
        """Return the shape in brackets, as OpenVINO prints it; files have no brackets."""
        return str(self)

    def __iter__(self) -> Iterator[types.Dimension]:
        return map(_copied, self._dims or ())

    def get_dimension(self, index: int) -> types.Dimension:
        """Return the dimension of an axis."""
        return self[not_negative(index)]

    def get_shape(self) -> Shape:  # type: ignore[override]
        """Return the static shape. Raises RuntimeError if it is dynamic."""
        return self.to_shape()

    def to_shape(self) -> Shape:  # type: ignore[override]
        """Return the static shape. Raises RuntimeError if it is dynamic."""
        return Shape(super().to_shape())

    def get_min_shape(self) -> Shape:
        """Return the shape of the smallest sizes."""
        return Shape() if self._dims is None else Shape(d.min for d in self._dims)

    def get_max_shape(self) -> Shape:
        """Return the shape of the largest sizes."""
        largest = types.MAX_LENGTH
        return Shape() if self._dims is None else Shape(largest if d.max is None else d.max for d in self._dims)

    def refines(self, shape: types.PartialShape) -> bool:
        """Return True if every shape that this one allows is also allowed by `shape`."""
        mine, theirs = dims_of(self), dims_of(shape)
        if theirs is None or mine is None:
            return theirs is None
        return len(mine) == len(theirs) and all(a.refines(b) for a, b in zip(mine, theirs, strict=True))

    def relaxes(self, shape: types.PartialShape) -> bool:
        """Return True if this shape allows every shape that `shape` allows."""
        return PartialShape(shape).refines(self)

    def same_scheme(self, shape: types.PartialShape) -> bool:
        """Return True if both have the same rank and extents, all dynamic ones being equal."""
        mine, theirs = dims_of(self), dims_of(shape)
        if mine is None or theirs is None:
            return mine is theirs
        return len(mine) == len(theirs) and all(a.same_scheme(b) for a, b in zip(mine, theirs, strict=True))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, tuple)):
            return self._dims is not None and [*self._dims] == [_dimension(item) for item in other]
        return super().__eq__(other)

    __hash__ = types.PartialShape.__hash__

    def __copy__(self) -> PartialShape:
        return PartialShape(self)

    def __deepcopy__(self, memo: Any) -> PartialShape:
        return PartialShape(self)


def _copied(dim: types.Dimension) -> types.Dimension:
    """Return a copy of a dimension, which may get a different symbol: shapes share dimensions."""
    made = types.Dimension(dim.min, dim.max)
    if hasattr(dim, "symbol"):
        made.symbol = dim.symbol
    return made


def _dimension(item: DimLike) -> types.Dimension:
    """Return a dimension from a number, a text, a Dimension or a pair (lower, upper). Raises TypeError."""
    if isinstance(item, (types.Dimension, str)):
        return item if isinstance(item, types.Dimension) else types.parse_dimension(item)
    if isinstance(item, (list, tuple)):
        if len(item) != 2:
            raise TypeError(
                "Two elements are expected in tuple(lower, upper) for dynamic dimension, "
                f"but {len(item)} elements were given."
            )
        if not all(isinstance(bound, (int, np.integer)) for bound in item):
            raise TypeError(
                f"Incorrect pair of types ({type(item[0])}, {type(item[1])}) for dynamic dimension, ints are expected."
            )
        return types.Dimension(int(item[0]), int(item[1]))
    if isinstance(item, (int, np.integer)):
        return types.Dimension(int(item))
    raise TypeError(
        f"Incorrect type {type(item)} for dimension. Expected types are: int, str, openvino.Dimension, "
        "list/tuple with lower and upper values for dynamic dimension."
    )


def partial_shape(given: types.ShapeLike) -> types.PartialShape:
    """Return the core's own PartialShape from any object that represents a shape."""
    return types.without_symbols(PartialShape(given))
