"""Broadcasting: groups of equal dimensions that may be 1 while all other dimensions keep their size."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.tools.shapes.probe import Prober, Sizes


def broadcast_units(prober: Prober, base: Sizes, members: Sequence[int]) -> list[list[int]]:
    """Return the smallest groups of the dimensions `members` that can be 1 together while the rest keep their size.

    Dimensions for which no smaller group was found form a group of their own.
    """
    units: list[list[int]] = []
    left = list(members)
    bound: list[int] = []
    while left:
        unit = _unit(prober, base, left)
        if unit is None or len(unit) == len(members):
            bound.append(left.pop(0))
            continue
        units.append(unit)
        left = [dim for dim in left if dim not in unit]
    return [bound, *units] if bound else units


def _unit(prober: Prober, base: Sizes, candidates: Sequence[int]) -> list[int] | None:
    """Return the group of the first candidate: dimensions are added as long as inference then reaches later layers."""
    unit = [candidates[0]]
    position = prober.position(with_ones(base, unit))
    while position is not None:
        best: tuple[int, int] | None = None
        for dim in candidates:
            if dim in unit:
                continue
            other = prober.position(with_ones(base, [*unit, dim]))
            if other is None:
                return [*unit, dim]
            if other > position and (best is None or other > best[0]):
                best = other, dim
                break
        if best is None:
            return None
        unit.append(best[1])
        position = prober.position(with_ones(base, unit))
    return unit


def with_ones(base: Sizes, dims: Sequence[int]) -> Sizes:
    """Return the base with sizes of 1 for some dimensions."""
    return tuple(1 if number in dims else size for number, size in enumerate(base))
