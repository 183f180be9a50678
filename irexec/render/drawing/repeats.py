"""Repeated blocks: stretches of a sequence of layers in which the same layers recur."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

# The lengths of stretches that become a block: shorter stretches need no box, longer stretches are not searched.
SHORTEST, LONGEST = 4, 4000


class Run(NamedTuple):
    """`times` consecutive blocks of `period` layers each, beginning at `start`."""

    start: int
    period: int
    times: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.times


def repeats(signatures: Sequence[Hashable], joined: Sequence[float]) -> list[Run]:
    """Return the runs of equal blocks in a sequence, in order and without overlap; runs that cover most are chosen
    first.

    `joined[i]` is the number of connections across position i; blocks start at positions with few connections.
    """
    numbers: dict[Hashable, int] = {}
    sequence = np.array([numbers.setdefault(s, len(numbers)) for s in signatures], np.int32)
    found = sorted(_candidates(sequence), key=lambda c: (-(c[1] - c[0]), c[2], c[0]))
    chosen: list[Run] = []
    taken = np.zeros(len(sequence), bool)
    for start, end, period in found:
        if taken[start:end].any():
            continue
        run = _turned(start, end, period, joined)
        if run is not None:
            chosen.append(run)
            taken[run.start : run.end] = True
    return sorted(chosen)


def _candidates(sequence: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[tuple[int, int, int]]:
    """Return stretches (start, end, period) of two or more periods, in which layers equal those one period before."""
    found = []
    for period in range(SHORTEST, min(len(sequence) // 2, LONGEST) + 1):
        same = np.zeros(len(sequence) - period + 2, np.int8)
        same[1:-1] = sequence[:-period] == sequence[period:]
        edges = np.flatnonzero(np.diff(same))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - start >= period and end - start + period >= 3 * SHORTEST:
                found.append((start, end + period, period))
    return found


def _turned(start: int, end: int, period: int, joined: Sequence[float]) -> Run | None:
    """Return the run of blocks within a stretch whose boundaries cut the fewest connections."""
    best: tuple[float, int] | None = None
    for first in range(start, start + period):
        count = (end - first) // period
        if count < 2:
            break
        cost = sum(joined[first + k * period] for k in range(count + 1)) / (count + 1)
        if best is None or cost < best[0]:
            best = cost, first
    return None if best is None else Run(best[1], period, (end - best[1]) // period)
