"""A case: accepted sizes as choices and their consequences, with the reasons of the restrictions."""

from __future__ import annotations

from random import Random

from irexec.core.records import field, record
from irexec.tools.shapes.conditions import Accepted, Condition
from irexec.tools.shapes.expressions import Expression, Linear
from irexec.tools.shapes.probe import Refusal, Sizes


@record(frozen=True)
class Reason:
    """The reason for a restriction: the refusal of `sizes`, which break a condition on the dimension `dim`."""

    dim: int
    sizes: Sizes
    refusal: Refusal


@record(frozen=True)
class Exchanged:
    """Two dimensions, one of which can grow while the second shrinks, each with the expression that counts its steps.

    Sizes with the same count are equivalent. `ratio`: a divisor of the first size.
    """

    first: int
    second: int
    count: Linear
    other_count: Linear
    ratio: int


@record
class Case:
    """Accepted sizes: sizes that can be chosen, and sizes that follow from the choices.

    `choices`: the accepted sizes of each dimension that can be chosen. `following`: the sizes of other dimensions as
    expressions of these. `broadcast`: dimensions that are 1 or an expression. `joint`: conditions on several sizes that
    can be chosen. `exchanged`: pairs of sizes, one of which can grow while the second shrinks. `unexplained`:
    combinations that the description accepts and inference refuses.
    """

    base: Sizes
    choices: dict[int, Accepted] = field(default_factory=dict)
    following: dict[int, Linear] = field(default_factory=dict)
    broadcast: dict[int, Expression] = field(default_factory=dict)
    joint: tuple[Condition, ...] = ()
    exchanged: list[Exchanged] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    unexplained: list[Reason] = field(default_factory=list)

    def contains(self, sizes: Sizes) -> bool:
        return (
            all(accepted.contains(sizes[dim]) for dim, accepted in self.choices.items() if dim not in self.broadcast)
            and all(expression.value(sizes) == sizes[dim] for dim, expression in self.following.items())
            and all(sizes[dim] in (1, expression.value(sizes)) for dim, expression in self.broadcast.items())
            and all(condition.holds(sizes) for condition in self.joint)
        )

    def broadcasts(self, sizes: Sizes) -> bool:
        """Return whether one of the sizes is 1 beside a larger one with which it is broadcast."""
        return any(expression.value(sizes) != sizes[dim] for dim, expression in self.broadcast.items())

    def fill(self, chosen: dict[int, int]) -> Sizes:
        """Return the combination with these sizes of the dimensions that can be chosen."""
        sizes = list(self.base)
        for dim, size in chosen.items():
            sizes[dim] = size
        for dim, largest in self.broadcast.items():
            if dim not in self.choices:
                anchor = next((each for each in largest.dims if each in self.choices), min(largest.dims))
                sizes[dim] = sizes[anchor]
        for dim, expression in self.following.items():
            sizes[dim] = expression.value(tuple(sizes))
        return tuple(sizes)

    def draw(self, chance: Random, largest: int = 1 << 12) -> Sizes | None:
        """Return a random combination that the case contains; None if none is found."""
        for _ in range(60):
            chosen = {
                dim: chance.choice([size for size in accepted.some(14) if 0 < size <= largest] or accepted.some(1))
                for dim, accepted in self.choices.items()
            }
            sizes = list(self.fill(chosen))
            for dim in self.broadcast:
                if chance.random() < 0.3:
                    sizes[dim] = 1
            for dim, linear in self.following.items():
                sizes[dim] = linear.value(tuple(sizes))
            if self.contains(tuple(sizes)):
                return tuple(sizes)
        return None
