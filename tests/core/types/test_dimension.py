"""Dimensions as sets of extents: every operation compared with the same operation on the sets."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.core.types import ANY_DIMENSION, MAX_LENGTH, Dimension, parse_dimension

LARGEST = 6
BEYOND = 3 * LARGEST
extents = st.integers(0, LARGEST)


def _interval(low: int, high: int | None) -> Dimension:
    return Dimension(low, high) if high is None or high >= low else Dimension(high, low)


dimensions = st.builds(_interval, extents, extents | st.none())
bounded = st.builds(_interval, extents, extents)


def members(dimension: Dimension) -> set[int]:
    """Return the extents that a dimension allows, up to a bound that no finite dimension here reaches."""
    return {n for n in range(BEYOND + 1) if dimension.contains(n)}


def hull(values: Iterable[int]) -> Dimension | None:
    """Return the smallest dimension that allows all the extents; extents at the bound stand for all larger ones."""
    values = set(values)
    return Dimension(min(values), None if max(values) >= BEYOND else max(values)) if values else None


@given(dimensions)
def test_a_dimension_is_an_interval(d: Dimension) -> None:
    assert hull(members(d)) == d
    assert d.is_static is (len(members(d)) == 1)
    assert d.is_dynamic is not d.is_static
    assert (d.min_length, d.max_length) == (d.min, -1 if d.max is None else d.max)


@given(dimensions, dimensions)
def test_compatible_and_merge_are_the_intersection(a: Dimension, b: Dimension) -> None:
    both = members(a) & members(b)
    assert a.compatible(b) is bool(both)
    assert a.merge(b) == hull(both)


@given(dimensions, dimensions)
def test_union_is_the_smallest_interval_around_both(a: Dimension, b: Dimension) -> None:
    assert a.union(b) == hull(members(a) | members(b))


@given(dimensions, dimensions)
def test_broadcast_is_what_numpy_can_make(a: Dimension, b: Dimension) -> None:
    made = {max(x, y) if 0 not in (x, y) else 0 for x in members(a) for y in members(b) if x == y or 1 in (x, y)}
    assert a.broadcast(b) == hull(made)
    assert b.broadcast(a) == a.broadcast(b)


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul])
@given(a=bounded, b=bounded)
def test_arithmetic(operation: Callable[..., Dimension], a: Dimension, b: Dimension) -> None:
    # An extent is never negative.
    assert operation(a, b) == hull_of_all(max(0, operation(x, y)) for x in members(a) for y in members(b))


def hull_of_all(values: Iterable[int]) -> Dimension:
    values = list(values)
    return Dimension(min(values), max(values))


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul])
@given(a=dimensions, b=dimensions)
def test_arithmetic_without_bounds_misses_nothing(
    operation: Callable[..., Dimension], a: Dimension, b: Dimension
) -> None:
    result = operation(a, b)
    assert all(result.contains(max(0, operation(x, y))) for x in members(a) for y in members(b))


@given(dimensions, st.integers(-LARGEST, LARGEST))
def test_arithmetic_with_integers(d: Dimension, n: int) -> None:
    assert all((d + n).contains(max(0, x + n)) for x in members(d))
    assert all((d - n).contains(max(0, x - n)) for x in members(d))
    assert n + d == d + n
    if n >= 0:
        assert d * n == n * d == d * Dimension(n)
        assert n - d == Dimension(n) - d


@given(bounded, st.integers(1, 5))
def test_division(d: Dimension, by: int) -> None:
    assert d // by == hull_of_all(x // by for x in members(d))
    assert d.ceildiv(by) == hull_of_all(-(-x // by) for x in members(d))


@given(st.lists(dimensions, max_size=4))
def test_a_product_of_many_is_that_of_each_with_the_next(extents: list[Dimension]) -> None:
    assert Dimension.product(extents) == functools.reduce(operator.mul, extents, Dimension(1))


def test_division_without_bound() -> None:
    assert Dimension(5, None) // 2 == Dimension(2, None)
    assert Dimension(5, None).ceildiv(2) == Dimension(3, None)


@given(dimensions, dimensions)
def test_equal_dimensions_hash_alike(a: Dimension, b: Dimension) -> None:
    assert (a == b) is (members(a) == members(b))
    if a == b:
        assert hash(a) == hash(b)


def test_integers_are_dimensions() -> None:
    assert Dimension(5) == 5
    assert hash(Dimension(5)) == hash(5)
    assert Dimension(-1) == -1 == ANY_DIMENSION
    assert hash(Dimension(-1)) == hash(-1)
    assert Dimension(0, 5) != 5
    assert int(Dimension(7)) == Dimension(7).get_length() == 7
    assert list(range(10))[Dimension(3)] == 3


def test_an_unknown_extent_is_not_a_number() -> None:
    with pytest.raises(ValueError, match=r"2\.\.5 is not static"):
        _ = Dimension(2, 5).value


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (5, 3), (-5, -1)])
def test_intervals_that_are_none(low: int, high: int) -> None:
    with pytest.raises(ValueError, match="contains no dimension"):
        Dimension(low, high)


@given(dimensions)
def test_text_is_read_back(d: Dimension) -> None:
    assert parse_dimension(str(d)) == d


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("5", Dimension(5)),
        ("00", Dimension(0)),
        ("?", Dimension(-1)),
        ("-1", Dimension(-1)),
        ("..", Dimension(-1)),
        ("1..10", Dimension(1, 10)),
        ("..10", Dimension(0, 10)),
        ("1..", Dimension(1, None)),
        ("4..4", Dimension(4)),
        (" 3\t", Dimension(3)),
    ],
)
def test_texts(text: str, dimension: Dimension) -> None:
    assert parse_dimension(text) == dimension


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-2", "negative"),
        ("5..3", r"did you mean 3\.\.5"),
        (str(MAX_LENGTH), "64-bit"),
        ("99999999999999999999", "64-bit"),
        ("1..-1", "minus sign"),
        ("-1..3", "minus sign"),
        ("+1", "not a dimension"),
        ("1.5", "not a dimension"),
        ("1..2..3", "not a dimension"),
        ("1...3", "not a dimension"),
        ("1 .. 10", "not a dimension"),
        ("N", "not a dimension"),
        ("", "not a dimension"),
        ("٣", "not a dimension"),
        ("²", "not a dimension"),
    ],
)
def test_texts_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_dimension(text)
