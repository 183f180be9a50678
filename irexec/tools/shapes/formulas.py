"""Formulas: polynomials of sizes and their quotients in a normal form, derived from the entries of a tape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import gcd, prod
from typing import Any, Protocol

import numpy as np

from irexec.core.forms import INT64_MAX, INT64_MIN
from irexec.core.records import field, record
from irexec.core.types.traced import APPLY, Operand, Tape
from irexec.tools.shapes.calls import Number, straight

Names = Sequence[str]
"""The symbol of each dynamic dimension."""

# The maximum number of terms of a formula that a person can read.
_MOST_TERMS = 24


class TooLarge(Exception):
    """Raised for a formula with too many terms to be readable, or a factor of more than 64 bits."""


class Expression(Protocol):
    """An integer that depends on sizes; for columns of sizes, a column of numbers."""

    def value(self, sizes: Any) -> Any: ...

    def text(self, names: Names) -> str: ...

    @property
    def dims(self) -> frozenset[int]:
        """The numbers of the dynamic dimensions in the expression."""
        ...


@record(frozen=True)
class Size:
    """The size of a dynamic dimension."""

    dim: int

    def value(self, sizes: Any) -> Any:
        return sizes[self.dim]

    @property
    def dims(self) -> frozenset[int]:
        return frozenset((self.dim,))

    @property
    def key(self) -> str:
        return f"S{self.dim:03}"

    def text(self, names: Names) -> str:
        return names[self.dim]


@record(frozen=True)
class Divided:
    """`part // divisor` or `part % divisor`. `key` orders the atoms of a product."""

    part: Formula
    operator: str
    divisor: Formula
    key: str = field(default="", compare=False)

    def value(self, sizes: Any) -> Any:
        left, right = self.part.value(sizes), self.divisor.value(sizes)
        # A divisor may be 0 or negative where the trace does not hold, so that the result does not matter.
        right = np.maximum(right, 1) if isinstance(right, np.ndarray) else max(right, 1)
        return left // right if self.operator == "//" else left % right

    @property
    def dims(self) -> frozenset[int]:
        return self.part.dims | self.divisor.dims

    def text(self, names: Names) -> str:
        divisor = _inner(self.divisor, names) if self.divisor.is_positive else f"max({self.divisor.text(names)}, 1)"
        return f"{_inner(self.part, names)} {self.operator} {divisor}"


@record(frozen=True)
class Extreme:
    """The `min` or `max` of several formulas."""

    operator: str
    parts: tuple[Formula, ...]
    key: str = field(default="", compare=False)

    def value(self, sizes: Any) -> Any:
        return reduce(APPLY[self.operator], [part.value(sizes) for part in self.parts])

    @property
    def dims(self) -> frozenset[int]:
        return frozenset().union(*(part.dims for part in self.parts))

    def text(self, names: Names) -> str:
        return f"{self.operator}({', '.join(part.text(names) for part in self.parts)})"


Atom = Size | Divided | Extreme
Term = tuple[Atom, ...]


@record(frozen=True)
class Formula:
    """A sum of products: `terms` are the products with their coefficients, in a fixed order."""

    terms: tuple[tuple[Term, int], ...] = ()

    def value(self, sizes: Any) -> Any:
        return sum(factor * prod(atom.value(sizes) for atom in term) for term, factor in self.terms)

    @property
    def dims(self) -> frozenset[int]:
        return frozenset().union(*(atom.dims for term, _ in self.terms for atom in term))

    @property
    def constant(self) -> int:
        """The term without sizes."""
        return next((factor for term, factor in self.terms if not term), 0)

    @property
    def is_constant(self) -> bool:
        return all(not term for term, _ in self.terms)

    @property
    def is_positive(self) -> bool:
        """True if the formula is certainly positive: one of the products contains no quotient, which may be 0."""
        has_sizes = any(all(isinstance(atom, Size) for atom in term) for term, _ in self.terms)
        return has_sizes and all(factor > 0 for _, factor in self.terms)

    @property
    def only(self) -> Atom | None:
        """The atom of a formula that consists of a single atom; None for any other formula."""
        return self.terms[0][0][0] if len(self.terms) == 1 and self.terms[0][1] == 1 == len(self.terms[0][0]) else None

    @property
    def key(self) -> str:
        return "+".join([f"{factor}*{_key(term)}" for term, factor in self.terms])

    def text(self, names: Names) -> str:
        parts = [_term_text(term, factor, names) for term, factor in self.terms] or ["+ 0"]
        first = next((part for part in parts if part.startswith("+ ")), parts[0])
        rest = [part for part in parts if part is not first]
        # -x // 2 would be (-x) // 2.
        own = first[2:] if first.startswith("+ ") else f"-({first[2:]})" if " " in first[2:] else f"-{first[2:]}"
        return " ".join([own, *rest])


def _term_text(term: Term, factor: int, names: Names) -> str:
    sign = "-" if factor < 0 else "+"
    term = tuple(sorted(term, key=lambda atom: not isinstance(atom, Size)))
    atoms = [atom.text(names) for atom in term]
    if len(atoms) == 1 and abs(factor) == 1:
        return f"{sign} {atoms[0]}"
    parts = [text if isinstance(atom, Size) else f"({text})" for atom, text in zip(term, atoms, strict=True)]
    return f"{sign} {'*'.join(parts if abs(factor) == 1 and parts else [str(abs(factor)), *parts])}"


def _inner(formula: Formula, names: Names) -> str:
    text = formula.text(names)
    return text if text.replace("_", "").isalnum() else f"({text})"


def _key(term: Term) -> str:
    return ",".join([atom.key for atom in term])


def _divided(part: Formula, operator: str, divisor: Formula) -> Formula:
    key = f"D({part.key}{operator}{divisor.key})"
    return Formula((((Divided(part, operator, divisor, key),), 1),))


def number(value: int) -> Formula:
    return _made({(): value})


def size(dim: int) -> Formula:
    return Formula((((Size(dim),), 1),))


def _made(terms: Mapping[Term, int]) -> Formula:
    kept = {term: factor for term, factor in terms.items() if factor}
    if len(kept) > _MOST_TERMS or not all(INT64_MIN <= factor <= INT64_MAX for factor in kept.values()):
        raise TooLarge
    return Formula(tuple(sorted(kept.items(), key=lambda item: (not item[0], -len(item[0]), _key(item[0])))))


def add(one: Formula, other: Formula, sign: int = 1) -> Formula:
    terms = dict(one.terms)
    for term, factor in other.terms:
        terms[term] = terms.get(term, 0) + sign * factor
    return _made(terms)


def _negative(formula: Formula) -> Formula:
    return Formula(tuple((term, -factor) for term, factor in formula.terms))


def multiply(one: Formula, other: Formula) -> Formula:
    terms: dict[Term, int] = {}
    for term, factor in one.terms:
        for more, scale in other.terms:
            joined = tuple(sorted((*term, *more), key=lambda atom: atom.key))
            terms[joined] = terms.get(joined, 0) + factor * scale
    return _made(terms)


def divide(one: Formula, other: Formula) -> Formula:
    """Return the floored quotient `one // other`."""
    exact = _shared(one, other)
    if exact is not None:
        one, other, _ = exact
    if not other.is_constant:
        if one.terms and one.terms[0][1] < 0:
            # -x // y is -((x + y - 1) // y): sizes are at least 1.
            turned = add(number(-1), add(other, one, -1))
            return _negative(_divided(turned, "//", other))
        return _divided(one, "//", other)
    if other.constant < 0:
        return divide(_negative(one), _negative(other))
    if other.constant == 0:
        return _divided(one, "//", other)
    divisor = other.constant
    if divisor == 1:
        return one
    # Terms that the divisor divides are moved outside: (4*x + y + 9) // 4 is x + (y + 1) // 4 + 2.
    outside = {term: factor // divisor for term, factor in one.terms if not term or factor % divisor == 0}
    inside = {term: factor - divisor * outside.get(term, 0) for term, factor in one.terms}
    rest = _made(inside)
    if rest.is_constant:
        return _made(outside)
    leading = rest.terms[0][1]
    if leading < 0:
        # -x // k is -((x + k - 1) // k).
        turned = _negative(rest)
        return add(_made(outside), divide(add(turned, number(divisor - 1)), other), -1)
    common = gcd(divisor, *(factor for term, factor in rest.terms if term))
    if common > 1:
        # (4*x + 3) // 8 is x // 2.
        fewer = _made({term: factor // common for term, factor in rest.terms})
        return add(_made(outside), divide(fewer, number(divisor // common)))
    merged = _nested(rest, divisor)
    if merged is not None:
        return add(_made(outside), merged)
    return add(_made(outside), _divided(rest, "//", other))


def _nested(rest: Formula, divisor: int) -> Formula | None:
    """Return (x // m + c) // k as (x + c*m) // (m*k)."""
    variable = [(term, factor) for term, factor in rest.terms if term]
    if len(variable) != 1 or variable[0][1] != 1 or len(variable[0][0]) != 1:
        return None
    inner = variable[0][0][0]
    if not isinstance(inner, Divided) or inner.operator != "//" or not inner.divisor.is_constant:
        return None
    width = inner.divisor.constant
    return divide(add(inner.part, number(rest.constant * width)), number(width * divisor))


def _shared(one: Formula, other: Formula) -> tuple[Formula, Formula, Formula] | None:
    """Return both formulas without their common factors, which are sizes of at least 1, and the product of these
    factors; None without common factors.
    """
    if len(other.terms) != 1 or not one.terms:
        return None
    (term, factor) = other.terms[0]
    shared = []
    left = [list(each) for each, _ in one.terms]
    for atom in term:
        if all(atom in each for each in left):
            shared.append(atom)
            for each in left:
                each.remove(atom)
    common = gcd(factor, *(each for _, each in one.terms))
    if not shared and common == 1:
        return None
    rest = list(term)
    for atom in shared:
        rest.remove(atom)
    terms = {tuple(each): scale // common for each, (_, scale) in zip(left, one.terms, strict=True)}
    return _made(terms), _made({tuple(rest): factor // common}), _made({tuple(shared): common})


def remainder(one: Formula, other: Formula) -> Formula:
    if one == other:
        return number(0)
    if other.is_constant and other.constant < 0:
        return _negative(remainder(_negative(one), _negative(other)))
    if other.is_constant and other.constant > 0:
        divisor = other.constant
        one = _made({term: factor % divisor for term, factor in _without_remainders(one, divisor).terms})
        if one.is_constant:
            return one
        if all(factor == divisor - 1 for term, factor in one.terms if term) and divisor > 2:
            # (-x) % 4 is 4*((x + 3) // 4) - x.
            turned = _made({term: 1 if term else -factor for term, factor in one.terms})
            return add(multiply(other, divide(add(turned, number(divisor - 1)), other)), turned, -1)
        common = gcd(divisor, *(factor for _, factor in one.terms))
        if common > 1:
            # (4*x) % 6 is (2*x) % 3 * 2.
            fewer = _made({term: factor // common for term, factor in one.terms})
            return multiply(number(common), remainder(fewer, number(divisor // common)))
    elif (exact := _shared(one, other)) is not None:
        # (4*x*y) % (2*y) is (2*x) % 1 * 2*y.
        one, other, common_factor = exact
        return multiply(common_factor, remainder(one, other))
    return _divided(one, "%", other)


def _without_remainders(formula: Formula, divisor: int) -> Formula:
    """Return a formula with the same remainder: (3*(x % 8) + 1) % 8 is (3*x + 1) % 8."""
    found = number(0)
    for term, factor in formula.terms:
        alone = term[0] if len(term) == 1 else None
        is_remainder = isinstance(alone, Divided) and (alone.operator, alone.divisor) == ("%", number(divisor))
        own = alone.part if isinstance(alone, Divided) and is_remainder else Formula(((term, 1),))
        found = add(found, multiply(number(factor), own))
    return found


def extreme(operator: str, *formulas: Formula) -> Formula:
    """Return the smallest (min) or the largest (max) of some formulas."""
    parts: dict[Formula, None] = {}
    for each in formulas:
        alone = each.only
        is_same = isinstance(alone, Extreme) and alone.operator == operator
        parts.update(dict.fromkeys(alone.parts if isinstance(alone, Extreme) and is_same else (each,)))
    if len(parts) == 1:
        return formulas[0]
    ordered = tuple(sorted(parts, key=lambda part: part.key))
    key = f"E({operator}{','.join(part.key for part in ordered)})"
    return Formula((((Extreme(operator, ordered, key),), 1),))


def without_common_factor(formula: Formula) -> Formula:
    """Return the formula without the common factors of its terms: it has the same zeros for sizes of at least 1."""
    if not formula.terms:
        return formula
    common = reduce(gcd, (factor for _, factor in formula.terms))
    shared: list[Atom] = []
    left = [list(term) for term, _ in formula.terms]
    for atom in list(left[0]):
        # Only sizes are divided out: they are at least 1, whereas a quotient may be 0.
        if isinstance(atom, Size) and all(atom in each for each in left):
            shared.append(atom)
            for each in left:
                each.remove(atom)
    sign = -1 if formula.terms[0][1] < 0 else 1
    return _made({tuple(each): sign * factor // common for each, (_, factor) in zip(left, formula.terms, strict=True)})


class Formulas:
    """The formulas of the entries of one tape. `groups`: for each dimension the dimension whose size it has."""

    def __init__(self, tape: Tape, groups: Sequence[int] | None = None) -> None:
        self._tape, self._groups = tape, groups
        self._known: dict[Operand, Formula | None] = {}

    def of(self, entry: Operand) -> Formula | None:
        """Return the formula of an entry; None if it has too many terms, or a number of more than 64 bits."""
        waiting = [entry]
        while waiting:
            current = waiting[-1]
            if current in self._known:
                waiting.pop()
                continue
            kind, *operands = self._tape.entries[current]
            function = operands.pop(0) if kind == "call" else None
            if kind == "size":
                self._known[current] = size(operands[0] if self._groups is None else self._groups[operands[0]])
            elif kind == "constant":
                self._known[current] = number(operands[0]) if INT64_MIN <= operands[0] <= INT64_MAX else None
            elif missing := [each for each in operands if each not in self._known]:
                waiting += missing
            elif function is not None:
                self._known[current] = self._called(function, operands)
            else:
                self._known[current] = self._computed(kind, *(self._known[each] for each in operands))
        return self._known[entry]

    def _called(self, function: Any, operands: list[Operand]) -> Formula | None:
        """Return the formula of a call, if it is a quotient or a remainder of one argument."""
        own = [self._tape.values[each] for each in operands]
        found = straight(function, own) if isinstance(function, Number) else None
        argument = None if found is None else self._known[operands[found.place]]
        if found is None or argument is None:
            return None
        whole = add(multiply(number(found.factor), argument), number(found.shift))
        made = self._computed("//", whole, number(found.divisor))
        return self._computed("%", made, number(found.modulus)) if found.modulus else made

    @staticmethod
    def _computed(kind: str, one: Formula | None, other: Formula | None) -> Formula | None:
        if one is None or other is None:
            return None
        try:
            if kind in ("min", "max"):
                return extreme(kind, one, other)
            if kind in ("+", "-"):
                return add(one, other, 1 if kind == "+" else -1)
            return {"*": multiply, "//": divide, "%": remainder}[kind](one, other)
        except TooLarge:
            return None
