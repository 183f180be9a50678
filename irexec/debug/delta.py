"""Delta debugging: a minimal subset that still fails, of any kind of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def fewest(things: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A subset of the items, in order, that is minimal: without any one of its items, `fails` is False.

    All items together are assumed to fail. Source: Zeller and Hildebrandt, Simplifying and Isolating Failure-Inducing
    Input.
    """
    left = list(things)
    tried: set[tuple[int, ...]] = set()
    numbers = list(range(len(left)))

    def still(chosen: list[int]) -> bool:
        if tuple(chosen) in tried:
            return False
        tried.add(tuple(chosen))
        return fails([left[number] for number in chosen])

    if numbers and still([]):
        return []
    pieces = 2
    while len(numbers) > 1:
        size = -(-len(numbers) // pieces)
        chunks = [numbers[begin : begin + size] for begin in range(0, len(numbers), size)]
        smaller = next((chunk for chunk in chunks if still(chunk)), None)
        if smaller is not None:
            numbers, pieces = smaller, 2
            continue
        rest = next((kept for chunk in chunks if still(kept := [n for n in numbers if n not in set(chunk)])), None)
        if rest is not None:
            numbers, pieces = rest, max(2, pieces - 1)
        elif size == 1:
            break
        else:
            pieces = min(len(numbers), 2 * pieces)
    return [left[number] for number in numbers]


def first(things: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """The first thing that fails alone, or all of them where none does."""
    return next(([thing] for thing in things if fails([thing])), list(things))
