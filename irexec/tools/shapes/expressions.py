"""Expressions over the sizes of dynamic dimensions, and fitting an expression to inferred values."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm, prod
from typing import Any, Protocol

import numpy as np

from irexec.core.records import record
from irexec.tools.shapes.probe import Sizes

Names = Sequence[str]
"""The symbol of each dynamic dimension."""

Samples = Sequence[tuple[Sizes, int]]
"""Values of one dimension of an output, with the sizes at which inference gave them."""

# Divisors above this limit do not come from a model's strides and factors.
_LARGEST_DIVISOR = 4096
# The number of groups of sizes whose maximum and product are tried.
_MOST_GROUPS = 40


class Expression(Protocol):
    """An integer that depends on sizes; for columns of sizes, a column of numbers."""

    def value(self, sizes: Any) -> Any: ...

    def text(self, names: Names) -> str: ...

    @property
    def dims(self) -> frozenset[int]:
        """The numbers of the dynamic dimensions in the expression."""
        ...


@record(frozen=True)
class Linear:
    """`(a·x + b·y + constant) // divisor`. `terms`: the coefficients with the numbers of the dimensions."""

    terms: tuple[tuple[int, int], ...] = ()
    constant: int = 0
    divisor: int = 1

    def value(self, sizes: Any) -> Any:
        return (sum(factor * sizes[dim] for factor, dim in self.terms) + self.constant) // self.divisor

    @property
    def dims(self) -> frozenset[int]:
        return frozenset(dim for _, dim in self.terms)

    @property
    def is_plain(self) -> bool:
        """True for a single dimension, and for a constant."""
        return self.divisor == 1 and (
            not self.terms or (self.constant == 0 and self.terms[0][0] == 1 == len(self.terms))
        )

    def text(self, names: Names) -> str:
        parts: list[str] = []
        for factor, dim in self.terms:
            size = names[dim] if abs(factor) == 1 else f"{abs(factor)}*{names[dim]}"
            parts.append(f"{'- ' if factor < 0 else '+ '}{size}")
        if self.constant or not parts:
            parts.append(f"{'- ' if self.constant < 0 else '+ '}{abs(self.constant)}")
        text = " ".join(parts)
        text = text[2:] if text.startswith("+ ") else f"-{text[2:]}"
        if self.divisor == 1:
            return text
        is_single = len(parts) == 1 and "*" not in text and not text.startswith("-")
        return f"{text} // {self.divisor}" if is_single else f"({text}) // {self.divisor}"


@record(frozen=True)
class Combined:
    """A sum or product of expressions (`operator` is + or *), or their `max` or `min`."""

    operator: str
    parts: tuple[Expression, ...]

    def value(self, sizes: Any) -> Any:
        values = [part.value(sizes) for part in self.parts]
        if self.operator == "*":
            return prod(values)
        if self.operator == "+":
            return sum(values)
        if any(isinstance(value, np.ndarray) for value in values):
            return reduce(np.maximum if self.operator == "max" else np.minimum, values)
        return max(values) if self.operator == "max" else min(values)

    @property
    def dims(self) -> frozenset[int]:
        return frozenset().union(*(part.dims for part in self.parts))

    def text(self, names: Names) -> str:
        texts = [part.text(names) for part in self.parts]
        if self.operator in ("max", "min"):
            return f"{self.operator}({', '.join(texts)})"
        if self.operator == "*":
            return "*".join(text if text.replace("_", "").isalnum() else f"({text})" for text in texts)
        return " + ".join(texts).replace("+ -", "- ")


@record(frozen=True)
class Quotient:
    """`expression // divisor`."""

    expression: Expression
    divisor: int

    def value(self, sizes: Any) -> Any:
        return self.expression.value(sizes) // self.divisor

    @property
    def dims(self) -> frozenset[int]:
        return self.expression.dims

    def text(self, names: Names) -> str:
        return f"{self.expression.text(names)} // {self.divisor}"


def constant(value: int) -> Linear:
    return Linear((), value)


def size_of(dim: int) -> Linear:
    return Linear(((1, dim),))


def fit(samples: Samples, base: Sizes, symbols: Sequence[int]) -> Expression | None:
    """Return an expression over these dimensions that reproduces all samples; None if no form fits.

    Forms: a linear expression with a floored division, a product or a sum of such with a constant, and the minimum or
    maximum of such and a constant. `samples` vary one dimension at a time around `base`, and several at once.
    """
    values = {value for _, value in samples}
    if len(values) == 1:
        return constant(values.pop())
    alone = {dim: [each for each in samples if _varies_only(each[0], base, dim, symbols)] for dim in symbols}
    moving = [dim for dim in symbols if len({value for _, value in alone[dim]}) > 1]
    if not moving:
        moving = [dim for dim in symbols if len({sizes[dim] for sizes, _ in samples}) > 1]
    if not moving:
        return None  # The values depend on dimensions that are not in `symbols`.
    for found in (
        _linear(samples, moving),
        _clamped(samples, moving),
        _product(samples, base, moving, alone),
        _sum(samples, base, moving, alone),
        *_of_all(samples, symbols),
    ):
        if found is not None and all(found.value(sizes) == value for sizes, value in samples):
            return found
    return None


def _varies_only(sizes: Sizes, base: Sizes, dim: int, symbols: Sequence[int]) -> bool:
    return all(other == dim or sizes[other] == base[other] for other in symbols)


def _rate(samples: Samples, dim: int) -> Fraction | None:
    """Return the simplest slope that a floored linear expression through all samples can have."""
    ordered = sorted((sizes[dim], value) for sizes, value in samples)
    low, high = Fraction(-(10**12)), Fraction(10**12)
    for end, last in (ordered[0], ordered[-1]):
        for size, value in ordered:
            if size != end:
                # Flooring moves a value by less than 1.
                slope, slack = Fraction(last - value, end - size), Fraction(1, abs(end - size))
                low, high = max(low, slope - slack), min(high, slope + slack)
    if low >= high or ordered[0][0] == ordered[-1][0]:
        return None
    found = _simplest(low, high)
    return found if found.denominator <= _LARGEST_DIVISOR else None


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator strictly between two fractions."""
    if low < 0 < high:
        return Fraction(0)
    if high <= 0:
        return -_simplest(-high, -low)
    whole = low.numerator // low.denominator
    if whole + 1 < high:
        return Fraction(whole + 1) if whole or low > 0 or high > 1 else Fraction(1)
    if low == whole:
        # `low` is an integer: add the largest unit fraction with which the sum stays below `high`.
        return whole + Fraction(1, (1 / (high - whole)).__floor__() + 1)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))


def _linear(samples: Samples, dims: Sequence[int]) -> Linear | None:
    """Return `(a·x + b·y + c) // d` through all samples."""
    rates: list[Fraction] = []
    for dim in dims:
        others = [other for other in dims if other != dim]
        groups: dict[Sizes, list[tuple[Sizes, int]]] = {}
        for sizes, value in samples:
            groups.setdefault(tuple(sizes[other] for other in others), []).append((sizes, value))
        widest = max(groups.values(), key=lambda group: max(s[dim] for s, _ in group) - min(s[dim] for s, _ in group))
        rate = _rate(widest, dim)
        if rate is None:
            return None
        rates.append(rate)
    divisor = lcm(*(rate.denominator for rate in rates))
    terms = tuple((int(rate * divisor), dim) for rate, dim in zip(rates, dims, strict=True) if rate)
    low, high = -(10**12), 10**12
    for sizes, value in samples:
        rest = divisor * value - sum(factor * sizes[dim] for factor, dim in terms)
        low, high = max(low, rest), min(high, rest + divisor - 1)
        if low > high:
            return None
    return Linear(terms, min(range(low, min(high, low + _LARGEST_DIVISOR) + 1), key=abs), divisor)


def _clamped(samples: Samples, dims: Sequence[int]) -> Expression | None:
    """Return the minimum or maximum of a linear expression and a constant."""
    values = [value for _, value in samples]
    for operator, bound in (("min", max(values)), ("max", min(values))):
        inner = [each for each in samples if each[1] != bound]
        if len({sizes for sizes, _ in inner}) > 2 and (found := _linear(inner, dims)) is not None:
            return Combined(operator, (found, constant(bound)))
    return None


def _product(
    samples: Samples, base: Sizes, dims: Sequence[int], alone: dict[int, list[tuple[Sizes, int]]]
) -> Expression | None:
    """Return a product of floored linear expressions, one for each dimension, plus a constant."""
    if len(dims) < 2:
        return None
    at_base = next((value for sizes, value in samples if all(sizes[dim] == base[dim] for dim in dims)), None)
    if at_base is None:
        return None
    for offset in _offsets(samples, base, dims, at_base):
        factors: list[Expression] = []
        for dim in dims:
            rest = [(sizes, value - offset) for sizes, value in alone[dim]]
            common = gcd(*(value for _, value in rest))
            found = _linear([(sizes, value // common) for sizes, value in rest], [dim]) if common else None
            if found is None:
                break
            factors.append(found)
        else:
            whole = prod(factor.value(base) for factor in factors)
            if not whole or (at_base - offset) % whole:
                continue
            scale = (at_base - offset) // whole
            parts = tuple(factors) if scale == 1 else (constant(scale), *factors)
            product = Combined("*", parts)
            made: Expression = product if offset == 0 else Combined("+", (product, constant(offset)))
            if all(made.value(sizes) == value for sizes, value in samples):
                return made
    return None


def _offsets(samples: Samples, base: Sizes, dims: Sequence[int], at_base: int) -> list[int]:
    """Return the constants that may be added to a product: 0, and constants that samples of two dimensions require."""
    found = [0]
    known = {tuple(sizes[dim] for dim in dims): value for sizes, value in samples}
    origin = tuple(base[dim] for dim in dims)
    for sizes, value in samples:
        own = tuple(sizes[dim] for dim in dims)
        differing = [number for number, size in enumerate(own) if size != origin[number]]
        if len(differing) != 2:
            continue
        first, second = (
            known.get(tuple(own[number] if number == each else origin[number] for number in range(len(dims))))
            for each in differing
        )
        if first is None or second is None or not (below := value + at_base - first - second):
            continue
        offset = Fraction(value * at_base - first * second, below)
        if offset.denominator == 1 and int(offset) not in found:
            found.append(int(offset))
    return found[:4]


def _sum(
    samples: Samples, base: Sizes, dims: Sequence[int], alone: dict[int, list[tuple[Sizes, int]]]
) -> Expression | None:
    """Return a sum of floored linear expressions, one for each dimension."""
    parts: list[Linear] = []
    for dim in dims:
        found = _linear(alone[dim], [dim])
        if found is None:
            return None
        # The constant of each part includes the contributions of all parts at the base; only the first part keeps it.
        parts.append(found if not parts else Linear(found.terms, found.constant % found.divisor, found.divisor))
    rest = next((value for sizes, value in samples if all(sizes[dim] == base[dim] for dim in dims)), None)
    if rest is None:
        return None
    first = parts[0]
    excess = rest - sum(part.value(base) for part in parts)
    parts[0] = Linear(first.terms, first.constant + excess * first.divisor, first.divisor)
    return Combined("+", tuple(parts))


def _of_all(samples: Samples, dims: Sequence[int]) -> list[Expression]:
    """Return expressions for the maximum of the sizes (broadcasting) and for their product (flattening)."""
    moving = tuple(size_of(dim) for dim in dims if len({sizes[dim] for sizes, _ in samples}) > 1)
    if len(moving) < 2:
        return []
    pairs = [(one, other) for number, one in enumerate(moving) for other in moving[number + 1 :]]
    groups = [moving, *pairs] if len(moving) > 2 else [moving]
    found: list[Expression] = [Combined("max", group) for group in groups[:_MOST_GROUPS]]
    sizes, value = max(samples, key=lambda sample: sample[1])
    for group in groups[:_MOST_GROUPS]:
        # A Reshape may divide the number of elements.
        share = Fraction(value, prod(each.value(sizes) for each in group) or 1)
        parts = group if share.numerator == 1 else (constant(share.numerator), *group)
        product = Combined("*", parts)
        found.append(product if share.denominator == 1 else Quotient(product, share.denominator))
    return found
