"""The accepted sizes along a line: any span with a period is found from any of its sizes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irexec.tools.shapes.conditions import Span
from irexec.tools.shapes.lines import Line

pytestmark = pytest.mark.any_python


@settings(max_examples=150, deadline=None)
@given(
    modulus=st.sampled_from([1, 2, 3, 4, 7, 8, 14, 16, 28, 32]),
    offset=st.integers(0, 31),
    low=st.integers(0, 40),
    periods=st.one_of(st.none(), st.integers(5, 4000)),
    start=st.integers(0, 6),
)
def test_a_span_is_found(modulus: int, offset: int, low: int, periods: int | None, start: int) -> None:
    residue = offset % modulus
    first = low + (residue - low) % modulus
    high = None if periods is None else first + periods * modulus
    span = Span(first, high, modulus, (residue,))
    base = first + min(start, periods or start) * modulus
    found = Line(span.contains, base, 0, None).describe()
    for size in (*range(200), *(first + modulus * k for k in range(200, 5000, 37)), 70001):
        assert found.contains(size) == span.contains(size), (found, span, base, size)


@pytest.mark.parametrize("sizes", [{5}, {1, 5}, {1, 64}, {3, 4}, {1, 2, 4, 8}])
def test_single_sizes(sizes: set[int]) -> None:
    for base in sizes:
        found = Line(lambda size: size in sizes, base, 0, None).describe()
        assert {size for size in range(100) if found.contains(size)} == {
            size for size in sizes if size <= 18 or size >= base
        }


def test_one_and_multiples() -> None:
    found = Line(lambda size: size == 1 or (size % 8 == 0 and size >= 16), 64, 0, None).describe()
    assert [size for size in range(50) if found.contains(size)] == [1, 16, 24, 32, 40, 48]


def test_irregular_small_sizes_before_a_period() -> None:
    for base in (1, 3, 4, 8):
        found = Line(lambda size: size in (1, 3) or (size % 2 == 0 and size >= 4), base, 0, None).describe()
        assert found.span == Span(4, None, 2, (0,))
        assert found.singles == (1, 3)


def test_many_sizes_before_a_period() -> None:
    found = Line(lambda size: 3 <= size <= 12 or (size % 6 == 0 and size > 12), 4, 0, None).describe()
    assert found.span == Span(6, None, 6, (0,)) and found.singles == (3, 4, 5, 7, 8, 9, 10, 11)


def test_several_residues() -> None:
    found = Line(lambda size: size % 4 in (0, 3), 64, 0, None).describe()
    assert [size for size in range(12) if found.contains(size)] == [0, 3, 4, 7, 8, 11]


def test_a_long_period_with_several_residues() -> None:
    """As for a network that halves five times with padding: two periods fit into the window."""
    for base in (64, 96, 224):
        found = Line(lambda size: size >= 29 and size % 32 in (0, 29, 30, 31), base, 0, None).describe()
        assert found.span == Span(29, None, 32, (0, 29, 30, 31)) and found.singles == ()


def test_declared_bounds_are_kept() -> None:
    found = Line(lambda size: True, 8, 4, 20).describe()
    assert found.span == Span(4, 20)
