"""Moves: accepted combinations in which some sizes are chosen, and other sizes follow from the conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import prod

from irexec.core.structure import PARAMETER
from irexec.model.graph.model import Node
from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.formulas import Extreme
from irexec.tools.shapes.probe import Prober, Refusal, Sizes

# The sizes of a dimension that are tried.
_TRIED = range(1, 300)


class Moves:
    """The combinations around `base` that satisfy a list of conditions. Dimensions of one group have equal sizes.

    `leads`: the dimensions whose sizes can be chosen; other sizes follow from these, or are fixed.
    """

    def __init__(self, prober: Prober, base: Sizes, groups: Sequence[int], conditions: Sequence[Condition]) -> None:
        self._prober, self.base, self._groups = prober, base, groups
        self._following: dict[int, Condition] = {}
        fixed: set[int] = set()
        for each in conditions:
            if isinstance(each, Guard) and each.is_single:
                fixed |= {groups[dim] for dim in each.dims}
            elif (dim := self._follower(each)) is not None:
                self._following[dim] = each
        self.leads = [
            dim for dim, group in enumerate(groups) if dim == group and dim not in self._following.keys() | fixed
        ]

    def _follower(self, condition: Condition) -> int | None:
        """Return the dimension whose size follows from a condition; None if there is none."""
        own = condition.subject
        if isinstance(condition, OneOf) and condition.is_choice and own is not None:
            # Of sizes that are broadcast together, all follow the first.
            return self._groups[own] if own not in condition.values[-1].dims or own != min(condition.dims) else None
        free = [self._groups[dim] for dim in getattr(condition, "solvable", ()) if dim not in self._following]
        return None if not free else self._groups[own] if own is not None and self._groups[own] in free else free[-1]

    def fill(self, chosen: Mapping[int, int], base: Sizes | None = None) -> Sizes:
        """Return the base with chosen sizes of some dimensions, and the sizes that follow from these."""
        sizes = list(base or self.base)
        for dim, size in chosen.items():
            self._set(sizes, dim, size)
        for dim, condition in self._following.items():
            if dim in chosen:
                continue
            if isinstance(condition, Guard):
                own = next(each for each in condition.solvable if self._groups[each] == dim)
                self._set(sizes, dim, condition.solved(sizes, own))
            elif isinstance(condition, OneOf):
                other = condition.values[-1]
                among = isinstance(other.only, Extreme) and dim in other.dims
                self._set(sizes, dim, sizes[min(other.dims)] if among else int(other.value(sizes)))
        return tuple(sizes)

    def _set(self, sizes: list[int], dim: int, size: int) -> None:
        for each, group in enumerate(self._groups):
            if group == self._groups[dim]:
                sizes[each] = size

    def _accepts(self, sizes: Sizes) -> bool:
        return min(sizes, default=1) > 0 and self._prober.accepts(sizes)

    def regular(self, leads: Sequence[int], count: int, multiple: int, start: int = 0) -> list[Sizes]:
        """Return accepted combinations of up to `count` sizes of each given lead, preferably multiples of `multiple`.

        Other leads have the sizes of the base. `start`: the first size to use if a lead accepts no such multiple.
        """
        if not set(self.leads) >= set(leads):
            raise ValueError(f"{leads!r} are not among the leads {self.leads}")
        sizes: list[list[int]] = []
        for lead in leads:
            steps = range(multiple, 40 * multiple, multiple) if multiple > 1 else ()
            regular = list(islice(self._along(lead, steps), count))
            # Every fourth size: neighbouring sizes may cost the same, because strides round them.
            sizes.append(regular or list(islice(self._along(lead, _TRIED), start, 4 * count, 4)))
        combined = (self.fill(dict(zip(leads, chosen, strict=True))) for chosen in product(*sizes))
        return [each for each in combined if self._accepts(each)]

    def _along(self, lead: int, sizes: Sequence[int]) -> Iterator[int]:
        return (size for size in sizes if self._accepts(self.fill({lead: size})))

    def least(self, sizes: Sizes) -> Sizes:
        """Return accepted sizes with fewer elements, of which no single one can be reduced."""
        for _ in range(3):
            for dim in range(len(sizes)):
                smaller = (self.fill({dim: size}, sizes) for size in range(1, sizes[dim]))
                fewer = (each for each in smaller if self._accepts(each) and self.elements(each) < self.elements(sizes))
                sizes = next(fewer, sizes)
        return sizes

    def elements(self, sizes: Sizes) -> int:
        """Return the number of elements of all inputs."""
        return sum(prod(extent.value for extent in shape) for shape in self._prober.inputs_at(sizes))

    def unequal(self) -> Iterator[tuple[int, Sizes, Refusal]]:
        """Yield a refused combination for each dimension that must equal another: the base with another size of it."""
        for dim, group in enumerate(self._groups):
            for step in (1, -1, 2, 16) if dim != group else ():
                sizes = (*self.base[:dim], self.base[dim] + step, *self.base[dim + 1 :])
                allowed = self._prober.dims[dim].allows(sizes[dim]) and sizes[dim] > 0
                if allowed and (refusal := self._prober.at(sizes).refusal) is not None:
                    yield dim, sizes, refusal
                    break


def path_to(prober: Prober, dim: int, refusal: Refusal) -> tuple[Node, ...]:
    """Return the layers from the input of a dimension to the layer that refuses its size."""
    bits, path, node = prober.dims[dim].bits, list[Node](), refusal.node
    while node is not None and node.type != PARAMETER:
        path.append(node)
        node = next((v.node for v in node.inputs if v is not None and prober.reached.get(v.node, 0) & bits), None)
    return tuple(reversed(path))
