"""Delta debugging: the remaining items fail, and without any one of them they do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.tools.compare.delta import Earliest, fewest, first


@given(st.integers(1, 60), st.data())
def test_the_needed_things_are_found(count: int, data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.integers(0, count - 1), max_size=6))
    asked = []

    def fails(kept: list[int]) -> bool:
        asked.append(tuple(kept))
        return needed <= set(kept)

    assert fewest(range(count), fails) == sorted(needed)
    assert len(asked) == len(set(asked))


@given(st.lists(st.sets(st.integers(0, 15), min_size=1, max_size=4), min_size=1, max_size=3))
def test_of_several_reasons_one_is_left_without_anything_more(reasons: list[set[int]]) -> None:
    def fails(kept: list[int]) -> bool:
        return any(reason <= set(kept) for reason in reasons)

    found = fewest(range(16), fails)
    assert fails(found)
    assert not any(fails([thing for thing in found if thing != left]) for left in found)


def test_one_thing_among_many_takes_few_questions() -> None:
    asked = []

    def fails(kept: list[int]) -> bool:
        asked.append(kept)
        return 700 in kept

    assert fewest(range(1000), fails) == [700]
    assert len(asked) <= 25


def test_the_first_that_fails_alone() -> None:
    assert first([1, 2, 3], lambda kept: kept == [2]) == [2]
    assert first([1, 2], lambda kept: False) == [1, 2]


def several(count: int, tried: list[list[int]]) -> Earliest[int]:
    """Return a function that judges this number of subsets at a time; the judged subsets are added to `tried`."""

    def earliest(fails: Callable[[list[int]], bool], subsets: Iterable[list[int]]) -> tuple[int, int]:
        listed = list(subsets)
        for begin in range(0, len(listed), count):
            found = [fails(subset) for subset in listed[begin : begin + count]]
            tried.extend(listed[begin : begin + count])
            if any(found):
                return begin + found.index(True), begin + found.index(True) + 1
        return -1, len(listed)

    return earliest


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("needed", [[0], [3, 11], [1, 2, 14], []])
def test_several_at_a_time_find_the_same(count: int, needed: list[int]) -> None:
    def fails(kept: list[int]) -> bool:
        return set(needed) <= set(kept)

    tried: list[list[int]] = []
    assert fewest(range(15), fails, several(count, tried)) == fewest(range(15), fails) == needed
    assert len(tried) > 0
