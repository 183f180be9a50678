"""The probabilities that two sides give to the next token, step by step, and how far apart these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.core.types import Array

NEAR = 0.1
"""Two tokens nearly tie if the logarithms of their probabilities on irexec's side differ by this much at most."""
NOTABLE = 1e-4
"""A divergence below this number changes probabilities by about one per cent at most."""
ROUNDING = 1e-10
"""A divergence up to this number is rounding in f32."""
_FEWER = 10.0
"""A setting explains a difference if it makes the largest divergence so many times smaller."""
_GROWS = 4.0
"""The divergence grows with the cache if that of the last third of the steps is so many times that of the first."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its probability on both sides, irexec's first."""

    id: int
    text: str
    ours: float
    theirs: float


@dataclass(frozen=True, slots=True)
class Distance:
    """The distributions of one step: the divergence (Kullback-Leibler, of the other side from irexec's, in nats), and
    the token that each side prefers. `near`: these are different tokens, between which irexec hardly prefers one.
    """

    divergence: float
    ours: Token
    theirs: Token
    near: bool

    @property
    def differs(self) -> bool:
        return self.ours.id != self.theirs.id

    def to_dict(self) -> dict[str, Any]:
        """Return the step for JSON."""
        tokens = {side: [t.id, t.text, t.ours, t.theirs] for side, t in (("ours", self.ours), ("theirs", self.theirs))}
        divergence = self.divergence if np.isfinite(self.divergence) else "Infinity"
        return {"divergence": divergence, "near": self.near} | tokens


@dataclass(frozen=True, slots=True)
class Tried:
    """A setting: the distributions with it, or the reason why the runtime does not accept it."""

    name: str
    steps: list[Distance]
    refused: str = ""

    @property
    def most(self) -> float:
        return max((step.divergence for step in self.steps), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the setting for JSON."""
        return {"name": self.name, "divergence": self.most, "different": different(self.steps), "refused": self.refused}

    def explains(self, before: float) -> bool:
        """Return whether a divergence without the setting is gone, or far smaller, with it."""
        return bool(self.steps) and self.most * _FEWER <= before


def different(steps: Sequence[Distance]) -> int:
    """Return the number of steps in which the sides prefer different tokens."""
    return sum(step.differs for step in steps)


def distance(ours: Array, theirs: Array, text: Sequence[str] | None = None) -> Distance:
    """Return the distance of two vectors of logits. A side without finite logits is infinitely far away."""
    p, q = _logarithms(ours), _logarithms(theirs)
    with np.errstate(all="ignore"):
        parts = np.where(np.exp(p) > 0, np.exp(p) * (p - q), 0.0)
        divergence = float(parts.sum()) if np.isfinite(p).any() else np.inf
    divergence = max(0.0, divergence) if np.isfinite(divergence) else np.inf
    first, second = int(np.argmax(ours)), int(np.argmax(theirs))
    tokens = [Token(i, "", float(np.exp(p[i])), float(np.exp(q[i]))) for i in (first, second)]
    return Distance(divergence, tokens[0], tokens[1], first != second and bool(p[first] - p[second] <= NEAR))


def _logarithms(logits: Array) -> Array:
    wide = logits.astype(np.float64)
    with np.errstate(all="ignore"):
        wide = wide - wide.max()
        found: Array = wide - np.log(np.exp(wide).sum())
    return found


def first_that_counts(steps: Sequence[Distance]) -> int:
    """Return the first step whose divergence is at least a tenth of the largest one; of equal sides, the first
    step that reads a cache.
    """
    most = max(step.divergence for step in steps)
    if most <= ROUNDING:
        return min(1, len(steps) - 1)
    return next(index for index, step in enumerate(steps) if step.divergence >= most / 10)


def grows(steps: Sequence[Distance]) -> bool:
    """Return whether the divergence grows with the length of the text, after the prompt."""
    later = [step.divergence for step in steps[1:]]
    third = len(later) // 3
    return third > 1 and bool(np.median(later[-third:]) > _GROWS * np.median(later[:third]))
