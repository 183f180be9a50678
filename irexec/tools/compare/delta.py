"""Delta debugging: finding a minimal subset of items that still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

T = TypeVar("T")
Earliest = Callable[[Callable[[list[T]], bool], Iterable[list[T]]], tuple[int, int]]
"""A function that tries subsets, perhaps several at a time. Returns the position of the first subset that fails, or -1,
and the number of subsets, from the first on, whose outcome is known."""


def one_by_one(fails: Callable[[list[T]], bool], subsets: Iterable[list[T]]) -> tuple[int, int]:
    """Try subsets one after the other until one fails; see `Earliest`."""
    place = -1
    for place, subset in enumerate(subsets):
        if fails(subset):
            return place, place + 1
    return -1, place + 1


def fewest(things: Sequence[T], fails: Callable[[list[T]], bool], earliest: Earliest[T] = one_by_one) -> list[T]:
    """Return a subset of the items, in order, that is minimal: without any one of its items, `fails` is False.

    All items together are assumed to fail. Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing
    Input.
    """
    left = list(things)
    tried: set[tuple[int, ...]] = set()
    numbers = list(range(len(left)))

    def failing(subsets: Sequence[list[int]]) -> list[int] | None:
        new = [chosen for chosen in subsets if tuple(chosen) not in tried]
        place, known = earliest(fails, [[left[number] for number in chosen] for chosen in new])
        tried.update(tuple(chosen) for chosen in new[:known])
        return new[place] if place >= 0 else None

    if numbers and failing([[]]) is not None:
        return []
    pieces = 2
    while len(numbers) > 1:
        size = -(-len(numbers) // pieces)
        chunks = [numbers[begin : begin + size] for begin in range(0, len(numbers), size)]
        smaller = failing(chunks)
        if smaller is not None:
            numbers, pieces = smaller, 2
            continue
        rest = failing([[n for n in numbers if n not in set(chunk)] for chunk in chunks])
        if rest is not None:
            numbers, pieces = rest, max(2, pieces - 1)
        elif size == 1:
            break
        else:
            pieces = min(len(numbers), 2 * pieces)
    return [left[number] for number in numbers]


def first(things: Sequence[T], fails: Callable[[list[T]], bool], earliest: Earliest[T] = one_by_one) -> list[T]:
    """Return the first item that fails alone, or all items if none does."""
    place, _ = earliest(fails, [[thing] for thing in things])
    return [things[place]] if place >= 0 else list(things)
