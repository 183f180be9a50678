"""Partial shapes as sets of static shapes: every operation against the sets, and NumPy's broadcasting."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irexec.core.types import (
    Dimension,
    PartialShape,
    ShapeFault,
    UnknownRank,
    UnreadableShape,
    element_count,
    shape_like,
)

LARGEST = 3
Static = tuple[int, ...]


def _interval(low: int, high: int | None) -> Dimension:
    return Dimension(low, high) if high is None or high >= low else Dimension(high, low)


extents = st.integers(0, LARGEST)
dimensions = st.builds(_interval, extents, extents | st.none())
shapes = st.builds(PartialShape, st.none() | st.lists(dimensions, max_size=2))
static_shapes = [shape for rank in range(4) for shape in product(range(LARGEST + 2), repeat=rank)]


def members(shape: PartialShape, rank: int = 2) -> set[Static]:
    """Return the static shapes of at most this rank that a partial shape allows, up to a bound for each extent."""
    return {s for s in static_shapes if len(s) <= rank and shape.accepts(s)}


@given(shapes, shapes)
def test_compatible_and_merge_are_the_intersection(a: PartialShape, b: PartialShape) -> None:
    both = members(a) & members(b)
    merged = a.merge(b)
    assert a.compatible(b) is b.compatible(a) is bool(both)
    assert (set() if merged is None else members(merged)) == both


@given(shapes, shapes)
def test_union_holds_both_and_is_the_smallest_of_its_rank(a: PartialShape, b: PartialShape) -> None:
    union = a.union(b)
    assert members(a) | members(b) <= members(union)
    if a.rank == b.rank and a.rank is not None:
        for axis in range(a.rank):
            assert union[axis] == a[axis].union(b[axis])
    else:
        assert union.rank is None


@settings(max_examples=60)
@given(shapes, shapes)
def test_broadcast_holds_what_numpy_makes(a: PartialShape, b: PartialShape) -> None:
    made = set()
    for x, y in product(members(a), members(b)):
        try:
            made.add(np.broadcast_shapes(x, y))
        except ValueError:
            continue
    result = a.broadcast(b)
    if result is None:
        assert not made
    else:
        assert made
        assert made <= members(result)


@given(shapes)
def test_text_is_read_back(shape: PartialShape) -> None:
    assert PartialShape.parse(shape.to_string()) == shape
    assert PartialShape.parse(str(shape)) == shape
    assert hash(PartialShape.parse(str(shape))) == hash(shape)


@given(st.lists(extents, max_size=3))
def test_static_shapes(dims: list[int]) -> None:
    shape = PartialShape(dims)
    assert shape.is_static
    assert shape.to_shape() == shape.get_shape() == tuple(dims)
    assert shape == dims
    assert shape == tuple(dims)
    assert shape.size == element_count(dims) == int(np.prod(dims, dtype=int))
    assert len(shape) == shape.rank == len(dims)


def test_a_dynamic_rank_has_no_extents() -> None:
    shape = PartialShape.dynamic()
    assert shape.rank is None
    assert shape.is_dynamic
    for ask in (len, list, lambda s: s[0], lambda s: s.dims, lambda s: s.size, lambda s: s.to_shape()):
        with pytest.raises(UnknownRank):
            ask(shape)


def test_parts_and_sums() -> None:
    shape = PartialShape.parse("1,?,3..4")
    assert shape[1:] == PartialShape.parse("?,3..4")
    assert shape[-1] == Dimension(3, 4)
    five = (5,)
    assert shape + five == PartialShape.parse("1,?,3..4,5")
    assert five + shape[:1] == [5, 1]
    assert shape.with_dim(0, 9)[0] == 9
    assert shape.with_dim(-1, -1) == PartialShape.parse("1,?,?")
    assert PartialShape.dynamic(2) == PartialShape.parse("?,?")
    assert not shape.is_static


@pytest.mark.parametrize(
    ("value", "text"),
    [("1,?", "1,?"), ([1, -1, None], "1,?,?"), ((), ""), (PartialShape.dynamic(), "..."), ("...", "...")],
)
def test_values_that_can_represent_a_shape(value: object, text: str) -> None:
    assert shape_like(value).to_string() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,,3", "empty dimension"),
        (",1", "empty dimension"),
        ("1,3,", "trailing comma"),
        ("[1,3", "only one of its brackets"),
        ("1,3]", "only one of its brackets"),
        ("1,...", "not a dimension"),
        ("1 3", "not a dimension"),
        ("2,-3", "negative"),
    ],
)
def test_texts_that_are_not_shapes(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        PartialShape.parse(text)


@pytest.mark.parametrize("text", ["", "[]", " [ ] "])
def test_a_scalar(text: str) -> None:
    assert PartialShape.parse(text) == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("4..2", ShapeFault.REVERSED),
        *((text, ShapeFault.NEGATIVE) for text in ("-3", "-", "--1", "1-2", "-1..8", "1..-5", "[2,-]")),
        ("9223372036854775807", ShapeFault.TOO_LARGE),
        ("1,,2", ShapeFault.FORM),
    ],
)
def test_an_error_states_what_kind_of_fault_it_is(text: str, fault: ShapeFault) -> None:
    with pytest.raises(UnreadableShape) as caught:
        PartialShape.parse(text)
    assert caught.value.fault is fault
