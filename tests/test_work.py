"""The counts of growth tests are the same in each version of Python, and include a search for every item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest
from support.work import MOST, Work

ROUNDS = 1000


def in_one_line(items: Iterable[int]) -> None:
    for _ in items: pass  # fmt: skip  # noqa: E701


def in_lines(items: Iterable[int]) -> None:
    for item in items:
        if item < 0:
            raise ValueError(item)


def while_true(items: Iterable[int]) -> None:
    waiting = [*items]
    while waiting: waiting.pop()  # fmt: skip  # noqa: E701


def generating(items: Iterable[int]) -> Iterable[int]:
    yield from (item for item in items)


LOOPS: dict[str, Callable[[Iterable[int]], object]] = {
    "a loop in one line": in_one_line,
    "a loop in lines": in_lines,
    "a while loop": while_true,
    "a list comprehension": lambda items: [item for item in items],  # noqa: C416
    "a set comprehension": lambda items: {item for item in items},  # noqa: C416
    "a dict comprehension": lambda items: {item: 1 for item in items},  # noqa: C420
    "a comprehension that takes nothing": lambda items: [item for item in items if item < 0],
    "an expression": lambda items: any(item < 0 for item in items),
    "the next of an expression": lambda items: next((item for item in items if item < 0), None),
    "generators": lambda items: list(generating(items)),
    "a callback": lambda items: list(map(lambda item: item, items)),  # noqa: C417
    "a key": lambda items: min(items, key=lambda item: -item),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_each_round_of_a_loop_counts_from_the_first_call_on(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch)
    first = work.of(partial(LOOPS[loop], range(ROUNDS)))
    assert ROUNDS <= first["lines and calls"] < 3.1 * ROUNDS
    assert work.of(partial(LOOPS[loop], range(ROUNDS))) == first


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_for_each_item_grows_too_fast(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def task(size: int) -> Callable[[], Any]:
        return lambda: [LOOPS[loop](range(size)) for _ in range(size)]

    assert Work(monkeypatch).growth(task, 20) > 2 * MOST
