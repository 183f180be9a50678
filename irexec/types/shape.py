"""Dimensions and partial shapes: what is known of a tensor's extents before it exists.

Source: OpenVINO `Dimension` and `PartialShape`, text forms of the `Parameter` operation's `shape` attribute.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from functools import reduce
from typing import Any, Union, overload

DimLike = Union["Dimension", int]
MAX_LENGTH = 2**63 - 1


class UnknownRank(Exception):
    """A rule asked for the extents of a shape whose rank is dynamic; inference answers with a dynamic shape."""


class Dimension:
    """An extent, known (`min == max`) or within the interval [min, max]; `max` None means without bound."""

    __slots__ = ("max", "min")

    def __init__(self, minimum: int = 0, maximum: int | None = -1) -> None:
        """`Dimension(5)` is 5, `Dimension(1, 10)` is 1..10, `Dimension(2, None)` is 2.., `Dimension(-1)` is ?."""
        if minimum == -1:
            minimum, maximum = 0, None
        elif maximum == -1:
            maximum = minimum
        if minimum < 0 or (maximum is not None and maximum < minimum):
            raise ValueError(f"no dimension lies in {minimum}..{maximum}")
        self.min = minimum
        self.max = maximum

    @staticmethod
    def of(value: DimLike) -> Dimension:
        return value if isinstance(value, Dimension) else Dimension(int(value))

    @property
    def is_static(self) -> bool:
        return self.min == self.max

    @property
    def is_dynamic(self) -> bool:
        return self.min != self.max

    @property
    def value(self) -> int:
        """The known extent. Raises ValueError when it is not known."""
        if self.min != self.max:
            raise ValueError(f"the dimension {self} is not static")
        return self.min

    def get_length(self) -> int:
        return self.value

    @property
    def min_length(self) -> int:
        return self.min

    @property
    def max_length(self) -> int:
        return -1 if self.max is None else self.max

    def compatible(self, other: DimLike) -> bool:
        """True when some extent satisfies both."""
        other = Dimension.of(other)
        return (self.max is None or other.min <= self.max) and (other.max is None or self.min <= other.max)

    def contains(self, extent: int) -> bool:
        return self.min <= extent and (self.max is None or extent <= self.max)

    def merge(self, other: DimLike) -> Dimension | None:
        """The extents that satisfy both; None when there are none."""
        other = Dimension.of(other)
        if not self.compatible(other):
            return None
        bounds = [m for m in (self.max, other.max) if m is not None]
        return Dimension(max(self.min, other.min), min(bounds) if bounds else None)

    def union(self, other: DimLike) -> Dimension:
        """The smallest interval that holds both."""
        other = Dimension.of(other)
        high = None if self.max is None or other.max is None else max(self.max, other.max)
        return Dimension(min(self.min, other.min), high)

    def broadcast(self, other: DimLike) -> Dimension | None:
        """The extent of a NumPy broadcast of both; None when they cannot broadcast."""
        other = Dimension.of(other)
        if self.min == self.max == other.min == other.max:
            return self
        # An extent of 1 broadcasts to the other one; otherwise the two must be equal.
        results = [other] if self.contains(1) else []
        if other.contains(1):
            results.append(self)
        if (merged := self.merge(other)) is not None:
            results.append(merged)
        return reduce(Dimension.union, results) if results else None

    def _combine(self, low: int, high: int | None) -> Dimension:
        return Dimension(max(0, low), None if high is None else max(0, high))

    def __add__(self, other: DimLike) -> Dimension:
        if isinstance(other, int) and other < 0:
            return self - (-other)
        o = Dimension.of(other)
        return Dimension(self.min + o.min, None if self.max is None or o.max is None else self.max + o.max)

    __radd__ = __add__

    def __sub__(self, other: DimLike) -> Dimension:
        if isinstance(other, int) and other < 0:
            return self + (-other)
        o = Dimension.of(other)
        low = 0 if o.max is None else self.min - o.max
        return self._combine(low, None if self.max is None else self.max - o.min)

    def __rsub__(self, other: int) -> Dimension:
        return Dimension.of(other) - self

    def __mul__(self, other: DimLike) -> Dimension:
        o = Dimension.of(other)
        if o.max == 0 or self.max == 0:
            return Dimension(0)
        return Dimension(self.min * o.min, None if self.max is None or o.max is None else self.max * o.max)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Dimension:
        return Dimension(self.min // divisor, None if self.max is None else self.max // divisor)

    def ceildiv(self, divisor: int) -> Dimension:
        return Dimension(-(-self.min // divisor), None if self.max is None else -(-self.max // divisor))

    @staticmethod
    def larger(a: DimLike, b: DimLike) -> DimLike:
        """The larger of two values that are known as intervals."""
        if isinstance(a, int) and isinstance(b, int):
            return max(a, b)
        first, second = (Dimension.of(max(v, 0)) if isinstance(v, int) else v for v in (a, b))
        high = None if first.max is None or second.max is None else max(first.max, second.max)
        return Dimension(max(first.min, second.min), high)

    @staticmethod
    def smaller(a: DimLike, b: DimLike) -> DimLike:
        """The smaller of two values that are known as intervals."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        first, second = (Dimension.of(max(v, 0)) if isinstance(v, int) else v for v in (a, b))
        # A value that is not known at all may be negative.
        if ANY_DIMENSION in (first, second) or any(isinstance(v, int) and v < 0 for v in (a, b)):
            return ANY_DIMENSION
        highs = [d.max for d in (first, second) if d.max is not None]
        return Dimension(min(first.min, second.min), min(highs) if highs else None)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dimension):
            return self.min == other.min and self.max == other.max
        if isinstance(other, int):
            return self.min == self.max == other or (other == -1 and self.min == 0 and self.max is None)
        return NotImplemented

    def __hash__(self) -> int:
        if self.min == self.max:
            return hash(self.min)
        return hash(-1) if self.max is None and self.min == 0 else hash((self.min, self.max))

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __str__(self) -> str:
        if self.min == self.max:
            return str(self.min)
        if self.max is None:
            return f"{self.min}.." if self.min else "?"
        return f"{self.min or ''}..{self.max}"

    def __repr__(self) -> str:
        return f"<Dimension: {self}>"


ANY_DIMENSION = Dimension(-1)
# NumPy's limit. A file can claim any rank.
MAX_RANK = 64


def is_unknown(value: DimLike) -> bool:
    """True for a value of which nothing is known, not even its sign. (-1 equals any extent, and is known.)"""
    return isinstance(value, Dimension) and value.min == 0 and value.max is None


_DIMENSION = re.compile(r"(?:(?P<any>\?|-1)|(?P<exact>[0-9]+)|(?P<low>[0-9]*)\.\.(?P<high>[0-9]*))\Z")


class ShapeFault(Enum):
    """Kinds of faults in the text of a shape."""

    REVERSED = auto()
    NEGATIVE = auto()
    TOO_LARGE = auto()
    FORM = auto()


class UnreadableShape(ValueError):
    """A text that is not a shape. The message says why; `fault` is the kind of fault."""

    def __init__(self, message: str, fault: ShapeFault = ShapeFault.FORM) -> None:
        super().__init__(message)
        self.fault = fault


def parse_dimension(text: str) -> Dimension:
    """Read `5`, `?`, `-1`, `1..10`, `..10`, `1..`. Raises UnreadableShape."""
    text = text.strip(" \t\r\n")
    match = _DIMENSION.match(text)
    if match is None:
        if re.fullmatch(r"-\d+", text):
            raise UnreadableShape(f"{text} is negative: only -1 (any extent) may be", ShapeFault.NEGATIVE)
        raise UnreadableShape(f"{text!r} is not a dimension: expected a number, `?`, -1 or a range such as 1..10")
    if match["any"]:
        return ANY_DIMENSION
    low = int(match["exact"] or match["low"] or 0)
    high: int | None = low if match["exact"] else int(match["high"]) if match["high"] else None
    if low >= MAX_LENGTH or (high is not None and high >= MAX_LENGTH):
        raise UnreadableShape(f"{text} is beyond the 64-bit range of a dimension", ShapeFault.TOO_LARGE)
    if high is not None and high < low:
        raise UnreadableShape(f"the range {text} is reversed: did you mean {high}..{low}?", ShapeFault.REVERSED)
    return Dimension(low, high)


class PartialShape:
    """A shape of known or dynamic rank; immutable. Iterating or indexing a dynamic rank raises UnknownRank."""

    __slots__ = ("_dims",)

    def __init__(self, dims: Iterable[DimLike] | None) -> None:
        self._dims = None if dims is None else tuple(Dimension.of(d) for d in dims)

    @staticmethod
    def dynamic(rank: int | None = None) -> PartialShape:
        """A shape of dynamic dimensions; of dynamic rank when `rank` is None or more than NumPy's limit."""
        return _DYNAMIC if rank is None or rank > MAX_RANK else PartialShape([ANY_DIMENSION] * rank)

    @staticmethod
    def parse(text: str) -> PartialShape:
        """Read OpenVINO's text form: `1,3,?,1..10`, `[1,3]`, `...`, `` (rank 0). Raises UnreadableShape."""
        inner = text.strip(" \t\r\n")
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
        return PartialShape([parse_dimension(item) for item in items])

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
        return self._dims is not None and all(d.min == d.max for d in self._dims)

    @property
    def is_dynamic(self) -> bool:
        return not self.is_static

    def to_shape(self) -> tuple[int, ...]:
        """The static shape as integers. Raises UnknownRank or ValueError when something is dynamic."""
        return tuple(d.value for d in self.dims)

    def get_shape(self) -> tuple[int, ...]:
        return self.to_shape()

    @property
    def size(self) -> Dimension:
        """The number of elements, as far as it is known."""
        result = Dimension(1)
        for d in self.dims:
            result = result * d
        return result

    def with_dim(self, axis: int, dim: DimLike) -> PartialShape:
        """The same shape with one extent replaced."""
        dims = list(self.dims)
        dims[axis] = Dimension.of(dim)
        return PartialShape(dims)

    def compatible(self, other: PartialShape) -> bool:
        """True when some static shape satisfies both."""
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a.compatible(b) for a, b in zip(self._dims, other._dims, strict=True)
        )

    def merge(self, other: PartialShape) -> PartialShape | None:
        """The shapes that satisfy both; None when there are none."""
        if self._dims is None:
            return other
        if other._dims is None:
            return self
        if len(self._dims) != len(other._dims):
            return None
        merged = [a.merge(b) for a, b in zip(self._dims, other._dims, strict=True)]
        return None if any(d is None for d in merged) else PartialShape(d for d in merged if d is not None)

    def union(self, other: PartialShape) -> PartialShape:
        """The smallest partial shape that holds both."""
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return _DYNAMIC
        return PartialShape(a.union(b) for a, b in zip(self._dims, other._dims, strict=True))

    def broadcast(self, other: PartialShape) -> PartialShape | None:
        """The shape of a NumPy broadcast of both; None when they cannot broadcast."""
        if self._dims is None or other._dims is None:
            return _DYNAMIC
        rank = max(len(self._dims), len(other._dims))
        one = Dimension(1)
        a = (one,) * (rank - len(self._dims)) + self._dims
        b = (one,) * (rank - len(other._dims)) + other._dims
        dims = [x.broadcast(y) for x, y in zip(a, b, strict=True)]
        return None if any(d is None for d in dims) else PartialShape(d for d in dims if d is not None)

    def accepts(self, shape: Sequence[int]) -> bool:
        """True when an array of this static shape satisfies the partial shape."""
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
        return hash(self._dims)

    def to_string(self) -> str:
        """OpenVINO's attribute form, without brackets: `1,3,?`, `...`."""
        return "..." if self._dims is None else ",".join(str(d) for d in self._dims)

    def __str__(self) -> str:
        return f"[{self.to_string()}]"

    def __repr__(self) -> str:
        return f"<PartialShape: {self}>"


_DYNAMIC = PartialShape(None)
ANY_SHAPE = _DYNAMIC


def element_count(shape: Iterable[int]) -> int:
    """The number of elements of a static shape, exactly (Python integers do not overflow)."""
    return math.prod(shape)


def product_within(extents: Iterable[int], most: int) -> int | None:
    """The product of positive extents, None when it is more than `most`.

    A shape of a file may have any number of extents; their exact product could take minutes and megabytes.
    """
    product = 1
    for extent in extents:
        product *= extent
        if product > most:
            return None
    return product


def common_shape(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The shape of a NumPy broadcast of static shapes, of any rank; None when they do not broadcast."""
    rank = max(map(len, shapes), default=0)
    extents = []
    for axis in range(-rank, 0):
        others = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(others) > 1:
            return None
        extents.append(others.pop() if others else 1)
    return tuple(extents)


def shape_like(value: Any) -> PartialShape:
    """A PartialShape from a PartialShape, a text, or a sequence of extents (None and -1 mean any)."""
    if isinstance(value, PartialShape):
        return value
    if isinstance(value, str):
        return PartialShape.parse(value)
    return PartialShape([ANY_DIMENSION if d is None else d for d in value])
