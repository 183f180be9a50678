"""Conditions on sizes: evaluating and formatting them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, Protocol

from irexec.core.records import record
from irexec.tools.shapes.expressions import Expression, Names, constant, size_of
from irexec.tools.shapes.probe import OpenDim


class Condition(Protocol):
    """A condition on the sizes of dynamic dimensions."""

    def holds(self, sizes: Any) -> Any:
        """Return whether the condition holds for some sizes; for columns of sizes, for each row."""
        ...

    def text(self, names: Names) -> str: ...

    @property
    def dims(self) -> frozenset[int]: ...


@record(frozen=True)
class Compare:
    """The condition `left operator right`, where the operator is ==, <= or >=."""

    left: Expression
    operator: str
    right: Expression

    def holds(self, sizes: Any) -> Any:
        left, right = self.left.value(sizes), self.right.value(sizes)
        if self.operator == "==":
            return left == right
        return left <= right if self.operator == "<=" else left >= right

    @property
    def dims(self) -> frozenset[int]:
        return self.left.dims | self.right.dims

    def text(self, names: Names) -> str:
        return f"{self.left.text(names)} {self.operator} {self.right.text(names)}"


@record(frozen=True)
class Residue:
    """The condition that `expression % modulus` is one of `residues`."""

    expression: Expression
    modulus: int
    residues: tuple[int, ...] = (0,)

    def holds(self, sizes: Any) -> Any:
        rest = self.expression.value(sizes) % self.modulus
        return reduce(or_, [rest == residue for residue in self.residues])

    @property
    def dims(self) -> frozenset[int]:
        return self.expression.dims

    def text(self, names: Names) -> str:
        inner = self.expression.text(names)
        left = f"{inner if inner.isidentifier() else f'({inner})'} % {self.modulus}"
        if len(self.residues) == 1:
            return f"{left} == {self.residues[0]}"
        return f"{left} in [{', '.join(map(str, self.residues))}]"


@record(frozen=True)
class OneOf:
    """The condition that a size is one of `values`."""

    dim: int
    values: tuple[Expression, ...]

    def holds(self, sizes: Any) -> Any:
        return reduce(or_, [value.value(sizes) == sizes[self.dim] for value in self.values])

    @property
    def dims(self) -> frozenset[int]:
        return frozenset((self.dim,)).union(*(value.dims for value in self.values))

    def text(self, names: Names) -> str:
        if len(self.values) == 1:
            return f"{names[self.dim]} == {self.values[0].text(names)}"
        return f"{names[self.dim]} in [{', '.join(value.text(names) for value in self.values)}]"


@record(frozen=True)
class Span:
    """Sizes from `low` to `high` (None: unbounded) whose remainder modulo `modulus` is one of `residues`."""

    low: int
    high: int | None
    modulus: int = 1
    residues: tuple[int, ...] = (0,)

    def contains(self, size: int) -> bool:
        return (
            self.low <= size
            and (self.high is None or size <= self.high)
            and (self.modulus == 1 or size % self.modulus in self.residues)
        )


@record(frozen=True)
class Accepted:
    """The accepted sizes along one line: a span, and single sizes outside it."""

    span: Span | None
    singles: tuple[int, ...] = ()

    def contains(self, size: int) -> bool:
        return size in self.singles or (self.span is not None and self.span.contains(size))

    @property
    def is_single(self) -> bool:
        """Whether at most one size is accepted."""
        return self.span is None and len(self.singles) <= 1

    def alternatives(self, dim: int, bounds: OpenDim) -> list[list[Condition]]:
        """Return lists of conditions on a dimension; a size is accepted if all conditions of one list hold. Bounds that
        the model declares are omitted."""
        found: list[list[Condition]] = []
        if (span := self.span) is not None:
            conditions: list[Condition] = []
            if span.modulus > 1:
                conditions.append(Residue(size_of(dim), span.modulus, span.residues))
            if span.low > bounds.low:
                conditions.append(Compare(size_of(dim), ">=", constant(span.low)))
            if span.high is not None and (bounds.high is None or span.high + span.modulus <= bounds.high):
                conditions.append(Compare(size_of(dim), "<=", constant(span.high)))
            found.append(conditions)
        singles = self.singles
        if len(singles) > 1 and singles == tuple(range(bounds.low, singles[-1] + 1)):
            found.append([Compare(size_of(dim), "<=", constant(singles[-1]))])
        elif len(singles) > 3 and singles == tuple(range(singles[0], singles[-1] + 1)):
            found.append(
                [Compare(size_of(dim), op, constant(end)) for op, end in ((">=", singles[0]), ("<=", singles[-1]))]
            )
        elif singles:
            found.append([OneOf(dim, tuple(constant(size) for size in singles))])
        return found

    def some(self, count: int, beyond: int = 0) -> list[int]:
        """Return up to `count` accepted sizes in ascending order, at growing distances."""
        found = sorted(self.singles)
        if self.span is not None:
            span, step, size = self.span, 1, max(self.span.low, beyond)
            while len(found) < count and (span.high is None or size <= span.high) and size < 1 << 20:
                if span.contains(size):
                    found.append(size)
                    size += step
                    step = step * 2 if len(found) > count // 2 else step
                else:
                    size += 1
        return sorted(set(found))[:count]
