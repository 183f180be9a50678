"""Partial shapes: the known properties of a tensor's extents before the tensor exists.

Source: OpenVINO `PartialShape`, text forms of the `Parameter` operation's `shape` attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, overload

from irexec.core.arguments import expected
from irexec.core.types.dimension import (
    ANY_DIMENSION,
    MAX_RANK,
    Dimension,
    DimLike,
    UnknownRank,
    UnreadableShape,
    as_dimension,
    parse_dimension,
)

ShapeLike: TypeAlias = "PartialShape | Iterable[DimLike | str | tuple[int, int]] | str"
"""A shape whose dims may be open: `[-1, 3, (1, 8)]`, "?,3,1..8", or a PartialShape."""


class PartialShape:
    """A shape of known or dynamic rank; immutable. Iterating or indexing a dynamic rank raises UnknownRank."""

    __slots__ = ("_dims",)

    def __init__(self, dims: Iterable[DimLike] | None) -> None:
        self._dims = None if dims is None else tuple([d if d.__class__ is Dimension else as_dimension(d) for d in dims])

    @staticmethod
    def dynamic(rank: int | None = None) -> PartialShape:
        """Return a shape of dynamic dimensions; of dynamic rank when `rank` is None or more than NumPy's limit."""
        return _DYNAMIC if rank is None or rank > MAX_RANK else PartialShape([ANY_DIMENSION] * rank)

    @staticmethod
    def parse(text: str) -> PartialShape:
        """Read OpenVINO's text form: `1,3,?,1..10`, `[1,3]`, `...`, `` (rank 0). Raises UnreadableShape."""
        inner = expected(text, str, "PartialShape.parse()").strip(" \t\r\n")
        if inner.startswith("[") != inner.endswith("]"):
            raise UnreadableShape(f"{text!r} has only one of its brackets")
        if inner.startswith("["):
            inner = inner[1:-1].strip(" \t\r\n")
        if inner == "...":
            return _DYNAMIC
        if not inner:
            return PartialShape(())
        items = inner.split(",")
        for number, item in enumerate(items):
            if not item.strip():
                what = "a trailing comma" if number == len(items) - 1 else "an empty dimension"
                raise UnreadableShape(f"{text!r} has {what}")
        dims: list[Dimension] = []
        wrong: UnreadableShape | None = None
        for item in items:
            try:
                dims.append(parse_dimension(item))
            except UnreadableShape as error:
                if error.lenient is None:
                    raise
                dims += error.lenient
                wrong = wrong or error
        if wrong is not None:
            raise UnreadableShape(str(wrong), wrong.fault, tuple(dims))
        return PartialShape(dims)

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The extents. Raises UnknownRank when the rank is dynamic."""
        if self._dims is None:
            raise UnknownRank
        return self._dims

    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None when it is dynamic."""
        return None if self._dims is None else len(self._dims)

    @property
    def is_static(self) -> bool:
        """Whether the rank and all sizes are known."""
        return self._dims is not None and [d.min for d in self._dims] == [d.max for d in self._dims]

    @property
    def is_dynamic(self) -> bool:
        """Whether the rank or a size is not known."""
        return not self.is_static

    def to_shape(self) -> tuple[int, ...]:
        """Return the static shape as integers. Raises UnknownRank or ValueError when something is dynamic."""
        return tuple(d.value for d in self.dims)

    def get_shape(self) -> tuple[int, ...]:
        return self.to_shape()

    @property
    def size(self) -> Dimension:
        """The number of elements, as a dimension, which may be an interval."""
        return Dimension.product(self.dims)

    def with_dim(self, axis: int, dim: DimLike) -> PartialShape:
        """Return the same shape with one extent replaced."""
        dims = list(self.dims)
        dims[axis] = as_dimension(dim)
        return PartialShape(dims)

    def compatible(self, shape: PartialShape) -> bool:
        """Return True if there is a static shape that both partial shapes allow."""
        dims = dims_of(shape)
        if self._dims is None or dims is None or self._dims == dims:
            return True
        return len(self._dims) == len(dims) and all(a.compatible(b) for a, b in zip(self._dims, dims, strict=True))

    def merge(self, other: PartialShape) -> PartialShape | None:
        """Return the partial shape of all shapes that both allow; None if there is no such shape."""
        dims = dims_of(other)
        if self._dims is None:
            return other
        if dims is None or self._dims == dims:
            return self
        if len(self._dims) != len(dims):
            return None
        return _of_each(Dimension.merge, self._dims, dims)

    def union(self, other: PartialShape) -> PartialShape:
        """Return the most specific partial shape that includes both."""
        dims = dims_of(other)
        if self._dims is None or dims is None or len(self._dims) != len(dims):
            return _DYNAMIC
        return PartialShape(a.union(b) for a, b in zip(self._dims, dims, strict=True))

    def broadcast(self, other: PartialShape) -> PartialShape | None:
        """Return the shape that results from broadcasting both shapes as NumPy does; None if they cannot broadcast."""
        dims = dims_of(other)
        if self._dims is None or dims is None:
            return _DYNAMIC
        if self._dims == dims:
            return self
        missing = len(self._dims) - len(dims)
        ones = (as_dimension(1),) * abs(missing) if missing else ()
        if missing > 0:
            return _of_each(Dimension.broadcast, self._dims, ones + dims)
        return _of_each(Dimension.broadcast, ones + self._dims, dims)

    def accepts(self, shape: Sequence[int]) -> bool:
        """Return True when an array of this static shape satisfies the partial shape."""
        if self._dims is None:
            return True
        return len(self._dims) == len(shape) and all(d.contains(n) for d, n in zip(self._dims, shape, strict=True))

    @overload
    def __getitem__(self, index: int) -> Dimension: ...
    @overload
    def __getitem__(self, index: slice) -> PartialShape: ...
    def __getitem__(self, index: int | slice) -> Dimension | PartialShape:
        return PartialShape(self.dims[index]) if isinstance(index, slice) else self.dims[index]

    def __len__(self) -> int:
        return len(self.dims)

    def __iter__(self) -> Iterator[Dimension]:
        return iter(self.dims)

    def __add__(self, other: Iterable[DimLike]) -> PartialShape:
        return PartialShape([*self.dims, *other])

    def __radd__(self, other: Iterable[DimLike]) -> PartialShape:
        return PartialShape([*other, *self.dims])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartialShape):
            return self._dims == other._dims
        if isinstance(other, (tuple, list)):
            return self._dims is not None and self._dims == tuple(other)
        return NotImplemented

    def __hash__(self) -> int:
        # Equal to the hash of `_dims`, since a known dimension has the hash of its extent.
        return hash(None if self._dims is None else tuple([d.min if d.min == d.max else d for d in self._dims]))

    def to_string(self) -> str:
        """Return OpenVINO's attribute form, without brackets: `1,3,?`, `...`."""
        return "..." if self._dims is None else ",".join(str(d) for d in self._dims)

    def __str__(self) -> str:
        return f"[{self.to_string()}]"

    def __repr__(self) -> str:
        return f"<PartialShape: {self}>"


def dims_of(shape: PartialShape) -> tuple[Dimension, ...] | None:
    """Return the dimensions of a shape, None if its rank is dynamic. Raises TypeError for any other object."""
    return expected(shape, PartialShape, "PartialShape")._dims


def _of_each(
    operation: Callable[[Dimension, Dimension], Dimension | None],
    first: tuple[Dimension, ...],
    second: tuple[Dimension, ...],
) -> PartialShape | None:
    """Return the shape of the operation's results for each axis; None if the operation returns None for an axis.

    For two equal extents the operation must return the extent.
    """
    made = []
    for a, b in zip(first, second, strict=True):
        extent = a if a is b else operation(a, b)
        if extent is None:
            return None
        made.append(extent)
    return PartialShape(made)


_DYNAMIC = PartialShape(None)
ANY_SHAPE = _DYNAMIC


def element_count(shape: Iterable[int]) -> int:
    """Return the number of elements of a static shape, exactly (Python integers do not overflow)."""
    return math.prod(shape)


def product_within(extents: Iterable[int], most: int) -> int | None:
    """Return the product of positive extents, None if it is more than `most`.

    A shape in a file can have any number of extents; computing their exact product could take minutes and megabytes.
    """
    product = 1
    for extent in extents:
        product *= extent
        if product > most:
            return None
    return product


def common_shape(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the shape that results from broadcasting static shapes, of any rank; None if they do not broadcast."""
    rank = max(map(len, shapes), default=0)
    extents = []
    for axis in range(-rank, 0):
        others = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(others) > 1:
            return None
        extents.append(others.pop() if others else 1)
    return tuple(extents)


def shape_like(value: ShapeLike) -> PartialShape:
    """Return a PartialShape from a PartialShape, a text, or a sequence of extents.

    An extent is a number, a Dimension, a text, or a pair (least, most); None and -1 mean any.
    """
    if isinstance(value, PartialShape):
        return value if value.__class__ is PartialShape else without_symbols(value)
    if isinstance(value, str):
        return PartialShape.parse(value)
    return PartialShape([_extent(item) for item in value])


def without_symbols(shape: PartialShape) -> PartialShape:
    """Return the shape with dimensions that have no symbols. Models share one object for equal shapes."""
    dims = shape._dims
    if dims is None:
        return PartialShape.dynamic()
    return PartialShape([Dimension(d.min, d.max) if hasattr(d, "symbol") else d for d in dims])


def _extent(item: Any) -> DimLike:
    if item is None:
        return ANY_DIMENSION
    if isinstance(item, str):
        return parse_dimension(item)
    if isinstance(item, (tuple, list)):
        least, most = item
        return Dimension(least, most)
    found: DimLike = item
    return found
