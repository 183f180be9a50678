"""Relations: the directions in which sizes can move together from an accepted base."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irexec.core.records import record
from irexec.tools.shapes.probe import Prober, Sizes

# The distances that are tried: small distances and usual strides.
_STEPS = (1, 2, 3, 4, 8, 16, 32, 64, 128, 224, 5, 6, 7, 12, 14, 28, 96, 112)
_FACTORS = (1, 2, -1, 3, 4)


@record(frozen=True)
class Direction:
    """Dimensions that move together: `factors[i]` times as far as the leading dimension `lead`, whose factor is 1."""

    lead: int
    factors: tuple[int, ...]

    def moved(self, base: Sizes, size: int) -> Sizes:
        """Return the base moved so that the leading dimension has this size."""
        distance = size - base[self.lead]
        return tuple(own + distance * factor for own, factor in zip(base, self.factors, strict=True))

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(number for number, factor in enumerate(self.factors) if factor)


def directions(prober: Prober, base: Sizes) -> list[Direction]:
    """Return independent directions in which the model accepts sizes near the base, each with its own lead."""
    found: list[list[int]] = []
    joined: set[int] = set()
    bound = list(range(len(base)))
    for number in range(len(base)):
        if number in joined:
            continue
        if _moves_alone(prober, base, number):
            bound.remove(number)
            found.append(_as_list({number: 1}, len(base)))
        elif (together := _together(prober, base, number, bound)) is not None:
            joined |= together.keys()
            found.append(_as_list(together, len(base)))
    return _reduced(found)


def _moves_alone(prober: Prober, base: Sizes, number: int) -> bool:
    """Return whether a dimension can have many other sizes while all other dimensions stay the same."""
    return sum(1 for _ in _accepted_steps(prober, base, {number: 1}, 2)) >= 2


def _accepted_steps(prober: Prober, base: Sizes, factors: dict[int, int], enough: int) -> Iterator[int]:
    """Yield distances upwards, then downwards, at which the base moved by these factors is accepted."""
    count = 0
    for step in (*_STEPS, *(-step for step in _STEPS)):
        moved = tuple(own + step * factors.get(number, 0) for number, own in enumerate(base))
        if min(moved[number] for number in factors) > 1 and prober.accepts(moved):
            yield step
            count += 1
            if count == enough:
                return


def _together(prober: Prober, base: Sizes, number: int, bound: Sequence[int]) -> dict[int, int] | None:
    """Return factors by which dimensions change together with a dimension; None if it cannot change."""
    others = [other for other in bound if other != number]
    equal = [other for other in others if base[other] == base[number]]
    for group in ([other for other in equal if _alike(prober, other, number)], equal):
        factors = dict.fromkeys((number, *group), 1)
        for step in _accepted_steps(prober, base, factors, 1) if group else ():
            return _minimal(prober, base, factors, number, step)
    for step in _STEPS:
        for signed in (step, -step):
            grown = _grown(prober, base, number, others, signed)
            # A second step excludes a coincidence.
            if grown is not None and len(list(_accepted_steps(prober, base, grown, 2))) == 2:
                return _minimal(prober, base, grown, number, signed)
    return None


def _alike(prober: Prober, first: int, second: int) -> bool:
    """Return whether two dimensions are the same axis of different inputs."""
    return prober.dims[first].axis == prober.dims[second].axis


def _grown(prober: Prober, base: Sizes, number: int, others: Sequence[int], step: int) -> dict[int, int] | None:
    """Return factors with which a step is accepted. Dimensions are added as long as inference then reaches later
    layers.
    """
    factors = {number: 1}
    position: int | None = _position(prober, base, factors, step)
    while position is not None:
        best: tuple[int, int, int] | None = None
        for other in others:
            if other in factors:
                continue
            for factor in _FACTORS:
                reached = _position(prober, base, {**factors, other: factor}, step)
                if reached is None:
                    return {**factors, other: factor}
                if reached > position and (best is None or reached > best[0]):
                    best = reached, other, factor
        if best is None:
            return None
        position, factors = best[0], {**factors, best[1]: best[2]}
    return None if len(factors) == 1 else factors


def _position(prober: Prober, base: Sizes, factors: dict[int, int], step: int) -> int | None:
    """Return the position of the layer that refuses a step; None if it is accepted, -1 if it cannot be taken."""
    moved = tuple(own + step * factors.get(number, 0) for number, own in enumerate(base))
    # A size of 1 or 0 broadcasts, or is empty: it does not show that dimensions move together.
    if min(moved[number] for number in factors) < 2 or not all(
        dim.allows(size) for dim, size in zip(prober.dims, moved, strict=True)
    ):
        return -1
    return prober.position(moved)


def _minimal(prober: Prober, base: Sizes, factors: dict[int, int], number: int, step: int) -> dict[int, int]:
    """Return the factors, except for factors of dimensions that need not change in an accepted step."""
    for other in [other for other in factors if other != number]:
        fewer = {each: factor for each, factor in factors.items() if each != other}
        if _position(prober, base, fewer, step) is None:
            factors = fewer
    return factors


def _as_list(factors: dict[int, int], count: int) -> list[int]:
    return [factors.get(number, 0) for number in range(count)]


def _reduced(found: list[list[int]]) -> list[Direction]:
    """Return directions whose leading dimensions do not move in any other direction."""
    leads: list[int] = []
    kept: list[list[int]] = []
    for row in found:
        for lead, other in zip(leads, kept, strict=True):
            row = _less(row, other, row[lead])
        own = next((number for number, factor in enumerate(row) if abs(factor) == 1), None)
        if own is None:
            continue
        if row[own] < 0:
            row = [-factor for factor in row]
        kept = [_less(other, row, other[own]) for other in kept]
        leads.append(own)
        kept.append(row)
    _without_negative(leads, kept)
    made = [Direction(lead, tuple(row)) for lead, row in zip(leads, kept, strict=True)]
    return sorted(made, key=lambda direction: direction.lead)


def _less(row: list[int], other: list[int], factor: int) -> list[int]:
    return [mine - factor * theirs for mine, theirs in zip(row, other, strict=True)]


def _without_negative(leads: list[int], rows: list[list[int]]) -> None:
    """Exchange leading dimensions so that `past = mask - seq` becomes `mask = past + seq`."""
    for number in range(len(rows[0]) if rows else 0):
        negative = next((index for index, row in enumerate(rows) if row[number] == -1), None)
        positive = next((index for index, row in enumerate(rows) if row[number] == 1), None)
        if negative is None or positive is None:
            continue
        # number = positive lead - negative lead, so the positive lead = number + negative lead.
        rows[negative] = [mine + theirs for mine, theirs in zip(rows[negative], rows[positive], strict=True)]
        leads[positive] = number
