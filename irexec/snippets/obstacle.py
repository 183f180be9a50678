"""Why an example cannot be run, and what would help."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Obstacle:
    """`reason` in words. `advice`: what the caller can give. `by_chance`: values drawn at random are why."""

    reason: str
    advice: str | None = None
    by_chance: bool = False

    def __str__(self) -> str:
        return self.reason
