"""The study of a model: the cases of sizes that it accepts, each with the relations between its sizes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from irexec.core.records import record
from irexec.tools.shapes.base import find_base
from irexec.tools.shapes.case import Case
from irexec.tools.shapes.conditions import Accepted
from irexec.tools.shapes.description import Description
from irexec.tools.shapes.paths import Paths, followed
from irexec.tools.shapes.probe import OutOfProbes, Refusal, Sizes
from irexec.tools.shapes.tracer import Tracer

# The number of random combinations in the search for accepted sizes outside the cases.
_UNCOVERED = 40
_MOST_CASES = 6
# The time limit of the search for further cases: a multiple of the time for the first case, and at least some seconds.
_FURTHER, _LEAST_SECONDS = 4, 5.0


@record
class Study:
    """The cases that were found.

    Without a case, `refusal` is the refusal at the latest layer that was reached. `is_complete`: the description agrees
    with every combination that was tried, and the time sufficed. `paths`: traces that decide thousands of combinations.
    """

    prober: Tracer
    cases: list[Case]
    refusal: Refusal | None = None
    is_complete: bool = True
    paths: Paths | None = None

    def contains(self, sizes: Sizes) -> bool:
        return any(case.contains(sizes) for case in self.cases)


def study(prober: Tracer, seconds: float) -> Study:
    """Find the cases of a model within a time limit, at which the cases found so far are returned."""
    made = Study(prober, [])
    with prober.limited(seconds):
        base, made.refusal = find_base(prober)
        if base is None:
            made.is_complete = False
            return made
        try:
            _explore(prober, base, made)
        except OutOfProbes:
            made.is_complete = False
        if prober.dims:
            made.paths = followed(prober, [base, *(case.base for case in made.cases), *prober.known])
    if not made.cases:
        made.cases.append(Case(base, {dim: Accepted(None, (size,)) for dim, size in enumerate(base)}))
    made.is_complete = made.is_complete and not any(case.unexplained for case in made.cases)
    return made


def _explore(prober: Tracer, base: Sizes, made: Study) -> None:
    """Describe the case of the base, then the cases of accepted sizes outside the cases described so far."""
    seeds = [base]
    chance = random.Random(0)
    begin, end = time.thread_time(), float("inf")
    while seeds:
        seed = seeds.pop(0)
        if made.contains(seed):
            continue
        if len(made.cases) == _MOST_CASES or time.thread_time() > end:
            made.is_complete = False
            return
        case = Description(prober, seed).case()
        made.cases.append(case)
        seeds += _uncovered(prober, made, case, chance)
        if len(made.cases) == 1:
            now = time.thread_time()
            end = now + max(_LEAST_SECONDS, _FURTHER * (now - begin))


def _uncovered(prober: Tracer, made: Study, case: Case, chance: random.Random) -> Iterator[Sizes]:
    """Yield accepted sizes outside the cases, near sizes that a case describes."""
    count = len(case.base)
    near = [
        tuple(size if other == number else own for other, own in enumerate(case.base))
        for number in range(count)
        for size in (1, 2, 3, case.base[number] + 1, 2 * case.base[number])
    ]
    for _ in range(_UNCOVERED if count > 1 else 0):
        drawn = list(case.draw(chance) or case.base)
        for number in chance.sample(range(count), min(count, chance.choice((1, 1, 2)))):
            drawn[number] = chance.choice((1, chance.choice(drawn), drawn[number] + 1, chance.randint(1, 64)))
        near.append(tuple(drawn))
    for sizes in near:
        if min(sizes) > 0 and not made.contains(sizes) and prober.accepts(sizes):
            yield sizes
