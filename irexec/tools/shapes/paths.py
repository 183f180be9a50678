"""Paths: traces that together decide, for thousands of combinations of sizes, whether a model accepts them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from random import Random
from typing import Any

import numpy as np

from irexec.tools.shapes.conditions import Guard
from irexec.tools.shapes.guards import equalities_of
from irexec.tools.shapes.probe import OutOfProbes, Sizes
from irexec.tools.shapes.tracer import Tracer

# Sizes that are tried along each dimension, and sizes that are tried in pairs.
_ALONG = (*range(1, 66), 70, 72, 77, 80, 96, 98, 100, 112, 126, 127, 128, 129, 160, 192, 196, 224, 255, 256, 257)
_FAR = (288, 320, 384, 448, 511, 512, 513, 640, 1023, 1024, 1025, 2048, 4095, 4096, 10007, 1 << 17)
_PAIRED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 16, 18, 20, 24, 32, 36, 48, 64, 96, 100, 128)
_SMALL, _RANDOM = (1, 2, 3, 4), 600
_LARGEST = (1 << 63) - 1
# The number of dimensions up to which all these sizes are tried; with more dimensions, fewer sizes are tried.
_MANY = 12
# The number of traces whose equalities are solved, and the number of solutions for each.
_MOST_SOLVED, _SOLVED = 8, 80
_MOST_BASES = 6
# The processor time (independent of other programs), and the maximum number of traces, for one model.
_SECONDS, _MOST_TRACES = 1.5, 160


class Paths:
    """Traces of a model, with the combinations that they decide.

    `points`: the combinations, one in each row. `decided`: for each combination the number of the trace that holds for
    it, or -1.
    """

    def __init__(self, prober: Tracer, seeds: Sequence[Sizes]) -> None:
        self._prober = prober
        self.traces = prober.traces
        self._chance = Random(11)
        self.points = np.zeros((0, len(prober.dims)), np.int64)
        self.decided = np.zeros(0, np.int64)
        self._bounds = np.array([(max(1, dim.low), dim.high or _LARGEST) for dim in prober.dims], np.int64).T
        self.add(seeds)

    def add(self, points: Iterable[Sizes]) -> None:
        """Add combinations that the declared bounds allow, each once."""
        known = set(map(tuple, self.points.tolist()))
        fresh = [sizes for sizes in dict.fromkeys(points) if sizes not in known]
        rows = np.array(fresh, np.int64).reshape(-1, len(self._prober.dims))
        rows = rows[((rows >= self._bounds[0]) & (rows <= self._bounds[1])).all(1)]
        if not len(rows):
            return
        decided = np.full(len(rows), -1)
        for number, each in enumerate(self.traces):
            decided = np.where((decided < 0) & each.tape.holds(rows), number, decided)
        self.points = np.concatenate([self.points, rows])
        self.decided = np.concatenate([self.decided, decided])

    def follow(self, seconds: float, most: int) -> None:
        """Trace the model at combinations that no trace decides, until all are decided or no processor time is left."""
        end = time.thread_time() + seconds
        while len(self.traces) < most and time.thread_time() < end:
            left = np.flatnonzero(self.decided < 0)
            if not len(left):
                return
            # The first combinations are the seeds, which come from the study.
            place = left[0] if len(self.traces) % 3 == 0 else self._chance.choice(left.tolist())
            try:
                self._prober.look()
                made = self._prober.trace(tuple(self.points[place].tolist()))
            except OutOfProbes:
                return
            holding = made.tape.holds(self.points[left])
            self.decided[left[holding]] = len(self.traces) - 1
            self.decided[place] = len(self.traces) - 1

    def extend(self, points: Iterable[Sizes]) -> None:
        """Add combinations, and trace the model at those that no trace decides."""
        self.add(points)
        self.follow(_SECONDS, 2 * _MOST_TRACES)

    def accepted(self) -> np.ndarray[Any, Any]:
        """Return for each point 1 if it is accepted, 0 if it is refused, -1 if no trace decides it."""
        outcomes = np.array([*(each.outcome.accepted for each in self.traces), False], np.int64)
        return np.where(self.decided < 0, -1, outcomes[self.decided])

    @property
    def groups(self) -> list[int]:
        """For each dimension the first dimension that it equals in all accepted combinations."""
        rows = self.points[self.accepted() == 1]
        groups = list(range(rows.shape[1]))
        for later in range(len(groups)):
            if len(np.unique(rows[:, later])) > 2:
                same = (earlier for earlier in range(later) if (rows[:, earlier] == rows[:, later]).all())
                groups[later] = next(same, later)
        return groups

    def accepted_points(self) -> Iterator[Sizes]:
        """Yield the combinations that are accepted according to traces."""
        yield from map(tuple, self.points[self.accepted() == 1].tolist())

    def is_pinned(self) -> np.ndarray[Any, Any]:
        """Return for each point whether the trace that decides it depends on a pinned number."""
        pinned = np.array([*(each.is_pinned for each in self.traces), True])
        return np.asarray(pinned[self.decided])

    def grow(self) -> None:
        """Add combinations around the accepted combinations: along dimensions, along pairs of dimensions, and along
        relations in the traces.
        """
        bases = self.points[self.accepted() == 1]
        if not len(bases):
            return
        chosen = [tuple(row) for row in bases[np.linspace(0, len(bases) - 1, _MOST_BASES).astype(int)].tolist()]
        end = time.thread_time() + _SECONDS
        self.add(self._around(list(dict.fromkeys(chosen))))
        self.add(self._beside(bases.tolist()))
        self.add(self._related(list(dict.fromkeys(chosen)), end))
        self.add(self._solved())

    def _around(self, bases: Sequence[Sizes]) -> Iterator[Sizes]:
        groups = self.groups
        leads = sorted(set(groups))
        count = len(leads)

        def moved(base: Sizes, changed: dict[int, int]) -> Sizes:
            return tuple(changed.get(group, own) for group, own in zip(groups, base, strict=True))

        for base in bases[: 3 if count <= _MANY else 1]:
            # Dimensions with equal sizes are moved alone and together.
            alike = {tuple(each for each in leads if base[each] == base[dim]) for dim in leads}
            for dims in sorted({*alike, *((dim,) for dim in leads)}):
                for size in (*_ALONG, *_FAR)[:: count // _MANY + 1]:
                    yield moved(base, dict.fromkeys(dims, size))
        pairs = list(combinations(leads, 2))
        sizes = _PAIRED if len(pairs) <= 3 else _PAIRED[:: 2 if len(pairs) <= 10 else 4]
        for one, other in pairs[:30]:
            for first, second in product(sizes, repeat=2):
                yield moved(bases[0], {one: first, other: second})
        few = len(_SMALL) ** count <= _RANDOM
        for some in (
            product(_SMALL, repeat=count) if few else (self._chance.choices(_SMALL, k=count) for _ in range(_RANDOM))
        ):
            yield moved(bases[0], dict(zip(leads, some, strict=True)))
        usual = (*_ALONG, *_FAR[:6])
        for number in range(_RANDOM):
            base = self._chance.choice(bases)
            drawn = tuple(
                own
                if (kind := self._chance.random()) < 0.4
                else self._chance.choice(base)
                if kind < 0.6
                else self._chance.choice(usual)
                for own in base
            )
            yield moved(drawn, {dim: drawn[dim] for dim in leads}) if number % 2 else drawn

    def _beside(self, rows: Sequence[Sequence[int]]) -> Iterator[Sizes]:
        """Yield combinations that differ from an accepted combination in one or two sizes."""
        for number in range(2 * _RANDOM):
            sizes = list(self._chance.choice(rows))
            for place in self._chance.sample(range(len(sizes)), min(len(sizes), 1 + number % 2)):
                own = sizes[place]
                sizes[place] = self._chance.choice((1, 2, 3, own + 1, own - 1, 2 * own, self._chance.choice(sizes)))
            yield tuple(sizes)

    def _solved(self) -> Iterator[Sizes]:
        """Yield combinations with changed sizes for which the equalities of a trace are solved for other sizes: along
        each dimension, and at random.
        """
        accepting = [number for number, each in enumerate(self.traces) if each.outcome.accepted][:_MOST_SOLVED]
        count = len(self._prober.dims)
        for number in accepting:
            equalities = [each for each in equalities_of(self.traces[number].tape) if each.solvable]
            if not equalities or count < 2:
                continue
            for dim in range(count) if number in accepting[:2] else ():
                for size in (*_ALONG, *_FAR)[:: count // _MANY + 1]:
                    yield _solve(equalities, self.traces[number].sizes, {dim: size})
            bases = self.points[self.decided == number]
            for _ in range(_SOLVED):
                sizes = tuple(map(int, bases[self._chance.randrange(len(bases))]))
                changed = self._chance.sample(range(count), self._chance.choice((1, 1, min(2, count))))
                chosen = {
                    dim: self._chance.choice((1, 2, 3, sizes[dim] + 1, self._chance.choice(_ALONG))) for dim in changed
                }
                yield _solve(equalities, sizes, chosen)

    def _related(self, bases: Sequence[Sizes], end: float) -> Iterator[Sizes]:
        """Yield combinations that differ from a base in two sizes and for which a trace of an accepted combination
        holds, until the processor time `end`.
        """
        count = len(self._prober.dims)
        accepting = [each for each in self.traces if each.outcome.accepted][:8]
        sizes = np.array((*range(1, 130), 144, 192, 196, 256, 384, 512), np.int64)
        for one in range(count):
            for other in range(count):
                if one == other or count > 6:
                    continue
                for base in bases[:2]:
                    rows = np.tile(np.array(base, np.int64), (len(_PAIRED) * len(sizes), 1))
                    rows[:, one] = np.repeat(_PAIRED, len(sizes))
                    rows[:, other] = np.tile(sizes, len(_PAIRED))
                    for each in accepting:
                        if time.thread_time() > end:
                            return
                        found = rows[each.tape.holds(rows)]
                        if 0 < len(found) < 400:
                            yield from map(tuple, found[:60].tolist())


def _solve(equalities: Sequence[Guard], sizes: Sizes, chosen: dict[int, int]) -> Sizes:
    """Return the sizes with chosen sizes of some dimensions, and with other sizes for which the equalities hold."""
    made, known = [chosen.get(dim, own) for dim, own in enumerate(sizes)], set(chosen)
    for _ in range(3):
        for each in equalities:
            free = [dim for dim in each.solvable if dim not in known]
            if free and not each.holds(made):
                made[free[0]] = each.solved(made, free[0])
                known.add(free[0])
    return tuple(made)


def followed(prober: Tracer, base: Sizes) -> Paths:
    """Return traces that decide combinations around an accepted combination."""
    paths = Paths(prober, [base])
    paths.follow(_SECONDS, 1)
    paths.add(prober.known)
    for most in (_MOST_TRACES // 2, _MOST_TRACES):
        paths.grow()
        paths.follow(_SECONDS, most)
    return paths
