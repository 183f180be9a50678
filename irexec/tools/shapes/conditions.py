"""Conditions on sizes: comparisons, remainders and choices, evaluated and formatted."""

from __future__ import annotations

from functools import reduce
from operator import eq, ge, le, ne, or_
from typing import Any, Protocol

from irexec.core.records import record
from irexec.tools.shapes.formulas import Formula, Names, Size

_COMPARE = {"==": eq, "!=": ne, "<=": le, ">=": ge}


class Condition(Protocol):
    """A condition on the sizes of dynamic dimensions."""

    def holds(self, sizes: Any) -> Any:
        """Return whether the condition holds for some sizes; for columns of sizes, for each row."""
        ...

    def text(self, names: Names) -> str: ...

    @property
    def dims(self) -> frozenset[int]: ...

    @property
    def subject(self) -> int | None:
        """The dimension that the condition restricts; None for a condition on several sizes."""
        ...

    @property
    def weight(self) -> tuple[int, int, int]:
        """A key that sorts conditions by readability, the simplest first."""
        ...


@record(frozen=True)
class Guard:
    """`left operator right`, where the operator is ==, !=, <= or >=, or `left % modulus == right`."""

    left: Formula
    operator: str
    right: Formula
    modulus: int = 1

    def holds(self, sizes: Any) -> Any:
        left = self.left.value(sizes)
        return _COMPARE[self.operator](left % self.modulus if self.modulus > 1 else left, self.right.value(sizes))

    @property
    def dims(self) -> frozenset[int]:
        return self.left.dims | self.right.dims

    @property
    def subject(self) -> int | None:
        alone = self.left.only
        if isinstance(alone, Size) and (self.right.is_constant or self.operator == "=="):
            return alone.dim
        return next(iter(self.dims)) if len(self.dims) == 1 else None

    def text(self, names: Names) -> str:
        return f"{_divided(self.left, self.modulus, names)} {self.operator} {self.right.text(names)}"

    @property
    def weight(self) -> tuple[int, int, int]:
        order = {"==": 0, ">=": 1, "<=": 1, "!=": 2}[self.operator]
        return order, len(self.dims), len(self.left.key) + len(self.right.key)

    @property
    def is_plain(self) -> bool:
        """True for a comparison of two sizes."""
        return self.modulus == 1 and isinstance(self.left.only, Size) and isinstance(self.right.only, Size)

    @property
    def is_single(self) -> bool:
        """True if the condition fixes one size."""
        is_size = isinstance(self.left.only, Size) and self.right.is_constant
        return is_size and self.operator == "==" and self.modulus == 1

    @property
    def solvable(self) -> list[int]:
        """The dimensions for which an equality can be solved: dimensions that are a term of their own."""
        if self.operator != "==" or self.modulus > 1 or len(self.dims) < 2:
            return []
        terms = [*self.left.terms, *self.right.terms]
        found = [
            term[0].dim for term, factor in terms if len(term) == 1 and isinstance(term[0], Size) and abs(factor) == 1
        ]
        return [dim for dim in found if sum(dim in atom.dims for term, _ in terms for atom in term) == 1]

    def solved(self, sizes: Any, dim: int) -> int:
        """Return the size of a dimension with which the equality holds."""
        sign = next((factor for term, factor in self.left.terms if term == (Size(dim),)), None)
        excess = self.left.value(sizes) - self.right.value(sizes)
        if sign is None:
            sign = -next(factor for term, factor in self.right.terms if term == (Size(dim),))
        return int(sizes[dim] - sign * excess)


@record(frozen=True)
class OneOf:
    """`left`, or `left % modulus`, is one of `values`, as broadcasting allows a size to be 1 or another size."""

    left: Formula
    values: tuple[Formula, ...]
    modulus: int = 1

    def holds(self, sizes: Any) -> Any:
        left = self.left.value(sizes)
        left = left % self.modulus if self.modulus > 1 else left
        return reduce(or_, [left == value.value(sizes) for value in self.values])

    def is_broadcast(self, sizes: Any) -> Any:
        """Return whether a size is 1 that could equal a larger size instead."""
        return (self.left.value(sizes) == 1) & (self.values[-1].value(sizes) != 1)

    @property
    def is_choice(self) -> bool:
        """True for a choice between 1 and a size that depends on other sizes."""
        return bool(self.values[-1].dims)

    @property
    def dims(self) -> frozenset[int]:
        return self.left.dims.union(*(value.dims for value in self.values))

    @property
    def subject(self) -> int | None:
        alone = self.left.only
        return alone.dim if isinstance(alone, Size) else None

    def text(self, names: Names) -> str:
        return f"{_divided(self.left, self.modulus, names)} in [{', '.join(each.text(names) for each in self.values)}]"

    @property
    def weight(self) -> tuple[int, int, int]:
        return -1 if len(self.values) == 2 and self.modulus == 1 else 3, len(self.dims), len(self.values)


def _divided(left: Formula, modulus: int, names: Names) -> str:
    text = left.text(names)
    return text if modulus == 1 else f"{text if text.isidentifier() else f'({text})'} % {modulus}"
