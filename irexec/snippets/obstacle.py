"""The reason why an example cannot be run, and how to solve it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Obstacle:
    """`reason` in words. `advice`: the options that would help. `by_chance`: the cause is the random values."""

    reason: str
    advice: str | None = None
    by_chance: bool = False

    def __str__(self) -> str:
        return self.reason
