"""The study of a model: traces that decide which sizes it accepts, and conditions that agree with all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from irexec.core.records import field, record
from irexec.tools.shapes.base import find_base
from irexec.tools.shapes.conditions import Condition, Guard
from irexec.tools.shapes.formulas import number
from irexec.tools.shapes.formulas import size as size_of
from irexec.tools.shapes.implicants import Alternatives, arranged, implicants
from irexec.tools.shapes.paths import Paths, followed
from irexec.tools.shapes.probe import OutOfProbes, Refusal, Sizes
from irexec.tools.shapes.tracer import Tracer

# The number of combinations at which conditions are compared with plain inference, and how often they are corrected.
_VERIFIED, _ROUNDS = 40, 3
# The processor time for one such comparison.
_SECONDS = 0.5


@record
class Study:
    """The sizes that were found.

    `base`: accepted sizes; None with the `refusal` at the latest layer that was reached. `alternatives`: lists of
    conditions; a combination is accepted if all conditions of a list hold. `is_complete`: the conditions agree with
    every combination that was tried, and the time sufficed.
    """

    prober: Tracer
    base: Sizes | None
    refusal: Refusal | None = None
    paths: Paths | None = None
    alternatives: Alternatives = field(default_factory=list)
    is_complete: bool = False


def study(prober: Tracer, seconds: float) -> Study:
    """Find the sizes that a model accepts within a time limit, at which the sizes found so far are returned."""
    with prober.limited(seconds):
        made = Study(prober, *find_base(prober))
        if made.base is None:
            return made
        paths = followed(prober, made.base) if prober.dims else None
        if paths is None or not any(paths.accepted() == 1):
            only = [Guard(size_of(dim), "==", number(own)) for dim, own in enumerate(made.base)]
            made.alternatives, made.is_complete = [[*only]], not prober.dims
            return made
        made.paths = paths
        made.alternatives, made.is_complete = implicants(paths)
        try:
            _verify(made, paths)
            _exclude_empty(made, paths)
        except OutOfProbes:
            made.is_complete = False
    return made


def _verify(made: Study, paths: Paths) -> None:
    """Compare the conditions with plain inference at further combinations, and correct them."""
    chance = np.random.default_rng(3)
    for _ in range(_ROUNDS):
        tried = list(_further(made, paths, chance))
        wrong = [sizes for sizes in tried if made.prober.at(sizes).accepted is not _holds(made, paths, sizes)]
        if not wrong:
            return
        paths.extend(wrong)
        made.alternatives, made.is_complete = implicants(paths)
    made.is_complete = False


def _exclude_empty(made: Study, paths: Paths) -> None:
    """Add the lowest size that the conditions allow where the model refuses a size of 0 for which all of them hold."""
    accepted, groups = sorted(paths.accepted_points(), key=sum), paths.groups
    for part in made.alternatives:
        own = next((sizes for sizes in accepted if all(each.holds(sizes) for each in part)), ())
        for lead in sorted(set(groups)) if own else ():
            empty = tuple(0 if group == lead else size for group, size in zip(groups, own, strict=True))
            is_possible = all(dim.allows(size) for dim, size in zip(made.prober.dims, empty, strict=True))
            if is_possible and all(each.holds(empty) for each in part) and not made.prober.at(empty).accepted:
                alone = [each for each in part if each.dims == {lead}]
                lowest = next(size for size in range(1, own[lead] + 1) if all(_allows(each, size) for each in alone))
                part[:] = arranged([*part, Guard(size_of(lead), ">=", number(lowest))])


def _allows(condition: Condition, size: int) -> bool:
    """Return whether a condition on a single dimension holds for this size."""
    return bool(condition.holds(dict.fromkeys(condition.dims, size)))


def _holds(made: Study, paths: Paths, sizes: Sizes) -> bool:
    is_equal = all(sizes[dim] == sizes[group] for dim, group in enumerate(paths.groups))
    return is_equal and any(all(each.holds(sizes) for each in part) for part in made.alternatives)


def _further(made: Study, paths: Paths, chance: np.random.Generator) -> Iterator[Sizes]:
    """Yield combinations near accepted combinations."""
    rows = np.array([*paths.accepted_points()], np.int64)
    end = time.thread_time() + _SECONDS
    for _ in range(_VERIFIED if rows.size else 0):
        if time.thread_time() > end:
            return
        sizes = rows[chance.integers(len(rows))].copy()
        place = chance.integers(len(sizes))
        sizes[place] = max(1, sizes[place] * chance.integers(1, 4) + chance.integers(-1, 2))
        tried = tuple(sizes.tolist())
        if all(dim.allows(size) for dim, size in zip(made.prober.dims, tried, strict=True)):
            yield tried
