"""The values that a missing constant could have, given the shapes around the layer that reads it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, permutations, product

import numpy as np

from irexec.core.types import Array, Dimension, ElementType, PartialShape, TensorType

Candidate = tuple[int | float, ...]
_MOST = 2000
"""The number of candidates of one constant."""
_LONGEST = 7
"""The longest constant of which all orders of axes are tried."""


def candidates(
    kind: ElementType, shape: tuple[int, ...], inputs: Sequence[TensorType | None], outputs: Sequence[PartialShape]
) -> list[Array]:
    """Return arrays to try for a constant that describes shapes. `inputs`: the types of the layer's other inputs,
    `outputs`: the declared shapes of its outputs.
    """
    count = math.prod(shape)
    taken = [type.shape for type in inputs if type is not None and type.rank is not None]
    made = [output for output in outputs if output.rank is not None]
    numbers = _real if kind.is_real else _whole
    found = dict.fromkeys(islice(numbers(count, taken, made), _MOST))
    if kind.dtype is None:
        return []
    return [np.array(each, kind.dtype).reshape(shape) for each in found if _fits(each, kind)]


def _fits(values: Candidate, kind: ElementType) -> bool:
    return bool(kind.is_real) or kind.kind != "u" or min(values, default=0) >= 0


def _whole(count: int, taken: Sequence[PartialShape], made: Sequence[PartialShape]) -> Iterator[Candidate]:
    rank = max((shape.rank or 0 for shape in (*taken, *made)), default=0)
    for shape in made:
        yield from _patterns(shape, count)
    yield from combinations(range(rank), count)
    if count == rank <= _LONGEST:
        yield from permutations(range(rank))
    yield from _lengths(count, made)
    for change in (_differences, _ratios):
        yield from change(count, taken, made)
    extents = dict.fromkeys(extent for shape in (*made, *taken) for extent in _static(shape))
    if count == 1:
        yield from ((extent,) for extent in extents)
        yield from ((number,) for number in (0, 1, -1))
    for number in (0, 1, -1):
        yield (number,) * count
    for shape in made:
        known = _static(shape)
        if len(known) == shape.rank:
            yield from combinations(known, count)


def _real(count: int, taken: Sequence[PartialShape], made: Sequence[PartialShape]) -> Iterator[Candidate]:
    """Yield factors by which axes grow."""
    for old, new in product(taken, made):
        if old.rank == new.rank and len(_static(old)) == len(_static(new)) == old.rank:
            factors = [b / a if a else 1.0 for a, b in zip(_static(old), _static(new), strict=True)]
            yield from combinations(factors, count)


def _patterns(shape: PartialShape, count: int) -> Iterator[Candidate]:
    """Yield the shape itself, with 0 (the extent of the input) or one -1 (the rest) for dynamic extents."""
    if shape.rank != count:
        return
    choices = [(extent.value,) if extent.is_static else (0, -1) for extent in shape]
    yield from (each for each in islice(product(*choices), _MOST) if each.count(-1) <= 1)


def _lengths(count: int, made: Sequence[PartialShape]) -> Iterator[Candidate]:
    """Yield the extents of several outputs along each axis."""
    ranks = {shape.rank for shape in made}
    if count == len(made) and len(ranks) == 1 and (rank := ranks.pop()) is not None:
        for axis in range(rank):
            extents = [shape[axis] for shape in made]
            if all(extent.is_static for extent in extents):
                yield tuple(extent.value for extent in extents)


def _differences(count: int, taken: Iterable[PartialShape], made: Iterable[PartialShape]) -> Iterator[Candidate]:
    """Yield what axes gain, and the halves of it."""
    for old, new in product(taken, made):
        if old.rank == new.rank == count:
            gains = [_gain(a, b) for a, b in zip(old, new, strict=True)]
            yield tuple(gains)
            yield tuple(gain // 2 for gain in gains)
            yield tuple(gain - gain // 2 for gain in gains)


def _gain(old: Dimension, new: Dimension) -> int:
    return new.value - old.value if old.is_static and new.is_static else 0


def _ratios(count: int, taken: Iterable[PartialShape], made: Iterable[PartialShape]) -> Iterator[Candidate]:
    """Yield how many times axes are repeated."""
    for old, new in product(taken, made):
        if new.rank is not None and old.rank is not None and max(new.rank, old.rank) == count:
            before, after = (_filled(shape, count) for shape in (old, new))
            yield tuple(b // a if a and b and b % a == 0 else 1 for a, b in zip(before, after, strict=True))


def _filled(shape: PartialShape, count: int) -> list[int]:
    """Return the extents with ones before them; 0 for a dynamic extent."""
    return [1] * (count - len(shape)) + [extent.value if extent.is_static else 0 for extent in shape]


def _static(shape: PartialShape) -> list[int]:
    return [extent.value for extent in shape if extent.is_static]
