"""Differences: they convert the old text to the new one, and are computed in time proportional to the texts."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from support.work import MOST, Work

from irexec.tools.fixes import difference
from irexec.tools.fixes.difference import unified


def patched(old: list[str], lines: list[str]) -> list[str]:
    """Return the output of `patch` for a text."""
    new, done = [], 0
    for line in lines[2:]:
        if line.startswith("@@"):
            match = re.fullmatch(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n", line)
            assert match is not None
            start = int(match[1]) - (match[2] != "0")
            new += old[done:start]
            assert len(new) == int(match[3]) - (match[4] != "0")
            done = start
            continue
        if line[0] in " -":
            assert old[done] == line[1:]
            done += 1
        new += [line[1:]] if line[0] in " +" else []
    return new + old[done:]


def drawn(seed: int) -> tuple[list[str], list[str]]:
    """Return a text, and another text made from it: some lines changed, added and removed, or all in another order."""
    rng = random.Random(seed)
    kinds = rng.choice([2, 10, 100, 10**6])
    old = [f"{rng.randrange(kinds)}\n" for _ in range(rng.choice([0, 1, 5, 60, 300]))]
    new = list(old)
    for _ in range(rng.choice([0, 1, 5, 50])):
        place, added = rng.randrange(len(new) + 1), [f"{rng.randrange(kinds)}\n"]
        new[place : place + rng.choice([0, 1, 10])] = added * rng.choice([0, 1])
    if rng.random() < 0.2:
        rng.shuffle(new)
    return old, new


@pytest.mark.parametrize("few", [0, 3, difference._FEW_LINES])
def test_it_leads_from_one_text_to_the_other(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(difference, "_FEW_LINES", few)
    for seed in range(150):
        old, new = drawn(seed)
        lines = list(unified(old, new, "model.xml"))
        assert bool(lines) == (old != new)
        assert patched(old, lines) == new, seed


def test_what_stays_is_not_in_it() -> None:
    old = [f"<layer {number}>\n" if number % 2 else "<port FP3>\n" for number in range(1000)]
    new = [line.replace("FP3", "FP32") for line in old]
    del new[500]
    lines = list(unified(old, new, "model.xml"))
    assert sum(line[0] == "-" for line in lines) == 1 + 500
    assert sum(line[0] == "+" for line in lines) == 1 + 499


def alternating(count: int) -> list[str]:
    return [f"<port {number} FP3>\n" if number % 2 else f"<layer {number}>\n" for number in range(count)]


def alike(count: int) -> list[str]:
    return ["<port FP3>\n" if number % 2 else "<layer>\n" for number in range(count)]


@pytest.mark.parametrize("build", [alternating, alike])
def test_its_time_grows_with_the_texts(build: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def task(size: int) -> Callable[[], object]:
        old = build(size)
        new = [line.replace("FP3", "FP32") for line in old]
        return lambda: list(unified(old, new, "model.xml"))

    assert Work(monkeypatch).growth(task, 300) < MOST
