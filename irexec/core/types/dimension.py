"""Dimensions: the known properties of one extent of a tensor before the tensor exists.

Source: OpenVINO `Dimension`, text forms of the `Parameter` operation's `shape` attribute.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable
from enum import Enum, auto
from functools import lru_cache, reduce
from math import prod
from typing import Union

from irexec.core.forms import BLANKS, INT64_MAX, integer
from irexec.core.types.traced import is_traced, larger, smaller

DimLike = Union["Dimension", int]
MAX_LENGTH = INT64_MAX
# Marks a missing maximum, which is then equal to the minimum.
_SAME = -2


class UnknownRank(RuntimeError):
    """Raised if a rule requests the extents of a shape with dynamic rank; the inferred shape is then dynamic."""


class NotStatic(ValueError, RuntimeError):
    """Raised if the value of a dynamic extent is requested."""


class Dimension:
    """An extent, known (`min == max`) or within the interval [min, max]; `max` None means unbounded."""

    __slots__ = ("max", "min", "symbol")
    symbol: object
    """The symbol that equal dimensions share, set by `set_symbol`. The dimensions of a model have no symbols."""

    def __init__(self, minimum: int | str = -1, maximum: int | None = _SAME) -> None:
        """`Dimension(5)` is 5, `Dimension(1, 10)` 1..10, `Dimension(2, None)` 2.., `Dimension(-1)` ?: -1 is unbounded.

        A text is parsed as by `parse_dimension`.
        """
        self.min: int
        self.max: int | None
        if isinstance(minimum, str):
            parsed = _parsed(minimum)
            self.min, self.max = parsed.min, parsed.max
            return
        if isinstance(minimum, float) or isinstance(maximum, float):
            raise TypeError(f"Dimension(): incompatible constructor arguments: {minimum}, {maximum} are not integers")
        if maximum == _SAME:
            maximum = minimum
        minimum, maximum = max(minimum, 0) if minimum == -1 else minimum, None if maximum == -1 else maximum
        if minimum < 0 or (maximum is not None and maximum < minimum):
            raise ValueError(f"the range {minimum}..{maximum} contains no dimension")
        self.min = minimum
        self.max = maximum

    @staticmethod
    def product(extents: Iterable[Dimension]) -> Dimension:
        """Return the product of extents: the number of elements of a shape."""
        extents = tuple(map(as_dimension, extents))
        most = [extent.max for extent in extents]
        if 0 in most:
            return Dimension(0)
        known = [extent for extent in most if extent is not None]
        return Dimension(prod([extent.min for extent in extents]), prod(known) if len(known) == len(most) else None)

    @property
    def is_static(self) -> bool:
        """Whether the size is known."""
        return self.min == self.max

    @property
    def is_dynamic(self) -> bool:
        """Whether the size is not known."""
        return self.min != self.max

    @property
    def value(self) -> int:
        """The known extent. Raises ValueError when it is not known."""
        if self.min != self.max:
            raise NotStatic(f"the dimension {self} is not static")
        return self.min

    @staticmethod
    def dynamic() -> Dimension:
        """Return a dimension of any size."""
        return Dimension(-1)

    def get_length(self) -> int:
        """Return the size. Raises RuntimeError if it is not known."""
        return self.value

    @property
    def min_length(self) -> int:
        """The smallest size."""
        return self.min

    @property
    def max_length(self) -> int:
        """The largest size, -1 without a bound."""
        return -1 if self.max is None else self.max

    def get_min_length(self) -> int:
        """Return the smallest size."""
        return self.min_length

    def get_max_length(self) -> int:
        """Return the largest size, -1 without a bound."""
        return self.max_length

    def has_symbol(self) -> bool:
        """Return whether the dimension has a symbol."""
        return hasattr(self, "symbol")

    def get_symbol(self) -> object:
        """Return the symbol that equal dimensions share; None if the dimension has no symbol."""
        return getattr(self, "symbol", None)

    def set_symbol(self, symbol: object) -> None:
        """Give the dimension a symbol. A dimension of a shape is a copy: put it back into the shape."""
        self.symbol = symbol

    def refines(self, dim: DimLike) -> bool:
        """Return True if `dim` allows every extent that this dimension allows."""
        other = as_dimension(dim)
        return other.min <= self.min and (other.max is None or (self.max is not None and self.max <= other.max))

    def relaxes(self, dim: DimLike) -> bool:
        """Return True if this dimension allows every extent that `dim` allows."""
        return as_dimension(dim).refines(self)

    def same_scheme(self, dim: DimLike) -> bool:
        """Return True if both dimensions have the same known size, or both are dynamic."""
        other = as_dimension(dim)
        return (self.is_dynamic and other.is_dynamic) or self == other

    def compatible(self, dim: DimLike) -> bool:
        """Return True if there is a size that both dimensions allow."""
        other = as_dimension(dim)
        return (self.max is None or other.min <= self.max) and (other.max is None or self.min <= other.max)

    def contains(self, extent: int) -> bool:
        """Return whether a size lies within the bounds."""
        return self.min <= extent and (self.max is None or extent <= self.max)

    def merge(self, other: DimLike) -> Dimension | None:
        """Return the dimension of all sizes that both dimensions allow; None if there is no such size."""
        other = as_dimension(other)
        if not self.compatible(other):
            return None
        if self.min == self.max:
            return self
        if other.min == other.max:
            return other
        bounds = [m for m in (self.max, other.max) if m is not None]
        return Dimension(max(self.min, other.min), min(bounds) if bounds else None)

    def union(self, other: DimLike) -> Dimension:
        """Return the smallest interval that contains both dimensions."""
        other = as_dimension(other)
        high = None if self.max is None or other.max is None else max(self.max, other.max)
        return Dimension(min(self.min, other.min), high)

    def broadcast(self, other: DimLike) -> Dimension | None:
        """Return the extent that results from broadcasting both dimensions as NumPy does; None if they cannot
        broadcast.
        """
        other = as_dimension(other)
        if self.min == self.max and other.min == other.max:
            if self.min == other.min or other.min == 1:
                return self
            return other if self.min == 1 else None
        # An extent of 1 broadcasts to the second extent; otherwise the two must be equal.
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
        o = as_dimension(other)
        return Dimension(self.min + o.min, None if self.max is None or o.max is None else self.max + o.max)

    __radd__ = __add__

    def __sub__(self, other: DimLike) -> Dimension:
        if isinstance(other, int) and other < 0:
            return self + (-other)
        o = as_dimension(other)
        low = 0 if o.max is None else self.min - o.max
        return self._combine(low, None if self.max is None else self.max - o.min)

    def __rsub__(self, other: int) -> Dimension:
        return as_dimension(other) - self

    def __mul__(self, other: DimLike) -> Dimension:
        o = as_dimension(other)
        if o.max == 0 or self.max == 0:
            return Dimension(0)
        return Dimension(self.min * o.min, None if self.max is None or o.max is None else self.max * o.max)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> Dimension:
        return Dimension(self.min // divisor, None if self.max is None else self.max // divisor)

    def ceildiv(self, divisor: int) -> Dimension:
        """Return the dimension divided by a number, rounded up."""
        return Dimension(-(-self.min // divisor), None if self.max is None else -(-self.max // divisor))

    @staticmethod
    def larger(a: DimLike, b: DimLike) -> DimLike:
        """Return an interval that contains the larger of two values; a number if both are numbers."""
        if isinstance(a, int) and isinstance(b, int):
            most: int = larger(a, b)
            return most
        first, second = (as_dimension(max(v, 0)) if isinstance(v, int) else as_dimension(v) for v in (a, b))
        high = None if first.max is None or second.max is None else max(first.max, second.max)
        return Dimension(max(first.min, second.min), high)

    @staticmethod
    def smaller(a: DimLike, b: DimLike) -> DimLike:
        """Return an interval that contains the smaller of two values; a number if both are numbers."""
        if isinstance(a, int) and isinstance(b, int):
            least: int = smaller(a, b)
            return least
        first, second = (as_dimension(max(v, 0)) if isinstance(v, int) else as_dimension(v) for v in (a, b))
        # An unknown value may be negative.
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

    def __len__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return True

    def to_string(self) -> str:
        """Return the dimension as files write it: 5, 1..8 or ?."""
        return str(self)

    def __str__(self) -> str:
        if self.min == self.max:
            return str(self.min)
        if self.max is None:
            return f"{self.min}.." if self.min else "?"
        return f"{self.min or ''}..{self.max}"

    def __repr__(self) -> str:
        return f"<Dimension: {self}>"


# The same extents occur many times in a model: shapes share their dimensions, of which they give away only copies.
_known = lru_cache(maxsize=1 << 12)(Dimension)


def as_dimension(value: DimLike) -> Dimension:
    """Return a number as a dimension, which others may share; a dimension is returned unchanged. Raises TypeError for
    any other object.
    """
    if isinstance(value, Dimension):
        return value
    return Dimension(value) if is_traced(value) else _known(operator.index(value))


ANY_DIMENSION = Dimension(-1)
# The highest rank of a NumPy array. A file can declare any rank.
MAX_RANK = 64


def is_unknown(value: DimLike) -> bool:
    """Return True if not even the sign of the value is known. (The number -1 equals ANY_DIMENSION, but is known.)"""
    return isinstance(value, Dimension) and value.min == 0 and value.max is None


_extent = integer(0)
_RANGE = re.compile(r"(?=.)([0-9]*)(?:(\.\.)([0-9]*))?", re.ASCII)
# OpenVINO's reader accepts these characters in any order.
_SIGNED = re.compile(r"[0-9-]*(?:\.\.[0-9-]*)?")


class ShapeFault(Enum):
    """Kinds of faults in the text of a shape."""

    REVERSED = auto()
    NEGATIVE = auto()
    TOO_LARGE = auto()
    FORM = auto()


class UnreadableShape(ValueError, RuntimeError):
    """A text that is not a shape. The message gives the reason; `fault` is the kind of error.

    `lenient`: the dimensions that OpenVINO reads instead, if their meaning is clear.
    """

    def __init__(
        self, message: str, fault: ShapeFault = ShapeFault.FORM, lenient: tuple[Dimension, ...] | None = None
    ) -> None:
        super().__init__(message)
        self.fault, self.lenient = fault, lenient


def parse_dimension(text: str) -> Dimension:
    """Read `5`, `?`, `-1`, `1..10`, `..10`, `1..`. Raises UnreadableShape."""
    text = text.strip(BLANKS)
    if text in ("?", "-1"):
        return ANY_DIMENSION
    match = _RANGE.fullmatch(text)
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    if match is None:
        if "-" in text and _SIGNED.fullmatch(text):
            message = f"{shown} has a minus sign; the only negative value allowed is -1 (dynamic)"
            raise UnreadableShape(message, ShapeFault.NEGATIVE)
        raise UnreadableShape(f"{shown!r} is not a dimension: expected a number, `?`, -1 or a range such as 1..10")
    least, dots, most = match.groups()
    low, high = (0 if not part else _extent(part) for part in (least, most if dots else least))
    if low is None or high is None or max(low, high) == MAX_LENGTH:
        # OpenVINO's number for "no upper bound" is 2^63-1. It reads larger numbers as 0.
        is_open = high == MAX_LENGTH and low is not None and (not dots or low < MAX_LENGTH)
        lenient = (Dimension(low or 0 if dots else 0, None),) if is_open else None
        message = f"{shown} exceeds the 64-bit range of a dimension"
        raise UnreadableShape(message, ShapeFault.TOO_LARGE, lenient)
    if dots and most and high < low:
        message = f"the bounds of the range {text} are reversed; did you mean {high}..{low}?"
        raise UnreadableShape(message, ShapeFault.REVERSED, (ANY_DIMENSION,))
    return Dimension(low, None if dots and not most else high)


class Unreadable(ValueError, RuntimeError):
    """Raised for a caller's text that is not a dimension."""


def _parsed(text: str) -> Dimension:
    """Call `parse_dimension`, with error messages of OpenVINO's Dimension. Raises Unreadable."""
    try:
        return parse_dimension(text)
    except ValueError as error:
        low, dots, high = text.partition("..")
        bound = ("min bound", low) if dots and not low.strip().isdigit() and low else ("max bound", high)
        what, word = bound if dots else ("dimension", text)
        raise Unreadable(f'Cannot parse {what}: "{word}". {error}') from None
