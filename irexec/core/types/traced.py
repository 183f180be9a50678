"""Traced numbers: integers that record on a tape the computations and comparisons made with them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import isinf
from typing import Any

import numpy as np

Operand = int
"""The number of an entry of a tape."""

Entry = tuple[Any, ...]
"""("size", dim), ("constant", number), ("call", function, operands...), or an operation with its operands."""


def _extreme(choose: Callable[[Any, Any], Any], of_arrays: str) -> Callable[[Any, Any], Any]:
    """Return `choose` (min or max) extended to arrays. `of_arrays`: the name of NumPy's function for arrays."""

    def apply(one: Any, other: Any) -> Any:
        is_plain = type(one) is int and type(other) is int
        return choose(one, other) if is_plain else getattr(np, of_arrays)(one, other)

    return apply


APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "min": _extreme(min, "minimum"), "max": _extreme(max, "maximum"),
}  # fmt: skip
COMPARE: dict[str, Callable[[Any, Any], Any]] = {"==": operator.eq, "<": operator.lt, "<=": operator.le}
# Intervals are clipped at this magnitude; sizes and their expressions are far smaller.
_FAR = 1 << 62


class Tape:
    """The numbers that one inference computed with the sizes of dynamic dimensions.

    `entries`: every number that was computed; equal expressions share an entry. `guards`: every comparison whose result
    depends on the sizes, with this result. `pinned`: the entries that were turned into plain numbers, each with the
    number of earlier guards; the tape holds for these numbers only. `reads`: the number of times that values outside
    the tape were read.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.values: list[int] = []
        self.guards: dict[tuple[str, Operand, Operand], bool] = {}
        self.pinned: dict[Operand, int] = {}
        self.reads = 0
        self._has_large = False
        self._bounds: list[tuple[int, int]] = []
        self._known: dict[Entry, Operand] = {}

    def size(self, dim: int, value: int, low: int, high: int | None) -> Traced:
        """Return the size of a dynamic dimension, which lies between its declared bounds."""
        return Traced(self, self._entry(("size", dim), value, (low, _FAR if high is None else high)))

    def constant(self, value: int) -> Operand:
        # Such a number is compared with one that wraps around in its type; only Python's integers represent both.
        self._has_large = self._has_large or not -_FAR <= value <= _FAR
        return self._entry(("constant", value), value, (value, value))

    def call(self, function: Callable[..., int], operands: Sequence[Operand]) -> Traced:
        """Return the result of a function; it is called again for each combination of sizes."""
        value = function(*(self.values[each] for each in operands))
        return Traced(self, self._entry(("call", function, *operands), value, (-_FAR, _FAR)))

    def apply(self, operation: str, left: Operand, right: Operand) -> Any:
        """Return the result of an operation: a plain number if it does not depend on the sizes."""
        neutral = self._simplified(operation, left, right)
        if neutral is not None:
            low, high = self._bounds[neutral]
            return low if low == high else Traced(self, neutral)
        value = APPLY[operation](self.values[left], self.values[right])
        bounds = self._interval(operation, left, right)
        if bounds[0] == bounds[1]:
            return bounds[0]
        return Traced(self, self._entry((operation, left, right), value, bounds))

    def compare(self, operation: str, left: Operand, right: Operand) -> bool:
        """Return the result of a comparison, which becomes a guard if it depends on the sizes."""
        result = bool(COMPARE[operation](self.values[left], self.values[right]))
        if left == right:
            return result
        (low, high), (other_low, other_high) = self._bounds[left], self._bounds[right]
        if operation == "==":
            decided = high < other_low or other_high < low
            left, right = min(left, right), max(left, right)
        elif operation == "<":
            decided = high < other_low or low >= other_high
        else:
            decided = high <= other_low or low > other_high
        if not decided:
            self.guards.setdefault((operation, left, right), result)
        return result

    def pin(self, entry: Operand) -> int:
        """Return the number itself; from then on the tape holds for this number only."""
        self.pinned.setdefault(entry, len(self.guards))
        return self.values[entry]

    def rewind(self, pins: int, guards: int | None = None) -> None:
        """Forget the pinned entries after the first `pins`, and later guards.

        `guards`: the number of guards to keep; by default the guards before the first forgotten entry.
        """
        forgotten = list(self.pinned.items())[pins:]
        for entry, _ in forgotten:
            del self.pinned[entry]
        if guards is None:
            guards = forgotten[0][1] if forgotten else len(self.guards)
        for guard in list(self.guards)[guards:]:
            del self.guards[guard]

    def evaluate(
        self, sizes: np.ndarray[Any, Any], known: dict[Operand, Any] | None = None
    ) -> Callable[[Operand], Any]:
        """Return a function that computes an entry for many combinations of sizes, one in each row.

        `known`: entries that were computed before; the function adds the entries that it computes.
        """
        known = {} if known is None else known
        if self._has_large:
            sizes = sizes.astype(object)

        def value(entry: Operand) -> Any:
            # A stack instead of recursion: chains of operands can be long.
            waiting = [entry]
            while waiting:
                current = waiting[-1]
                kind, *operands = self.entries[current]
                function = operands.pop(0) if kind == "call" else None
                if current in known:
                    waiting.pop()
                elif kind == "size":
                    known[current] = sizes[:, operands[0]]
                elif kind == "constant":
                    known[current] = np.asarray(operands[0], object if self._has_large else np.int64)
                elif missing := [each for each in operands if each not in known]:
                    waiting += missing
                elif function is not None:
                    known[current] = _called(function, [known[each] for each in operands])
                else:
                    left, right = (known[each] for each in operands)
                    if kind in ("//", "%"):
                        right = np.where(right == 0, 1, right)
                    known[current] = APPLY[kind](left, right)
            return known[entry]

        return value

    def holds(self, sizes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return for each row of sizes whether all guards hold and all pinned entries keep their recorded values."""
        rows, known = np.arange(len(sizes)), dict[Operand, Any]()
        value = self.evaluate(sizes, known)
        pins = [("==", entry, None, True) for entry in self.pinned]
        for operation, left, right, result in (*((*guard, result) for guard, result in self.guards.items()), *pins):
            other = self.values[left] if right is None else value(right)
            holding = np.broadcast_to(COMPARE[operation](value(left), other) == result, len(rows))
            if not holding.all():
                # Most combinations fail one of the first guards: later guards are evaluated for the remaining rows
                # only.
                rows = rows[holding]
                if not len(rows):
                    break
                known = {entry: each[holding] if np.ndim(each) else each for entry, each in known.items()}
                value = self.evaluate(sizes[rows], known)
        found = np.zeros(len(sizes), bool)
        found[rows] = True
        return found

    def _entry(self, entry: Entry, value: int, bounds: tuple[int, int]) -> Operand:
        found = self._known.get(entry)
        if found is None:
            found = self._known[entry] = len(self.entries)
            self.entries.append(entry)
            self.values.append(value)
            self._bounds.append(bounds)
        return found

    def _simplified(self, operation: str, left: Operand, right: Operand) -> Operand | None:
        other = self.entries[right]
        if operation == "+" and other == ("constant", 0):
            return left
        if operation == "+" and self.entries[left] == ("constant", 0):
            return right
        if operation == "-" and other == ("constant", 0):
            return left
        if operation == "-" and self.entries[left] == ("constant", 0) and other[:2] == ("-", left):
            return int(other[2])
        if operation in ("*", "//") and other == ("constant", 1):
            return left
        if operation in ("min", "max"):
            (low, high), (other_low, other_high) = self._bounds[left], self._bounds[right]
            if left == right or high <= other_low:
                return left if operation == "min" else right
            return None if low < other_high else right if operation == "min" else left
        if operation == "*":
            # (x // y) * y is x if x % y was found to be 0.
            for quotient, factor in ((left, right), (right, left)):
                kind, *operands = self.entries[quotient]
                if kind == "//" and operands[1] == factor and self._is_exact(operands[0], factor):
                    return int(operands[0])
        if operation in ("//", "%") and self.entries[left][0] == "*" and right in self.entries[left][1:]:
            # (x * y) // y is x, and the remainder is 0.
            _, one, factor = self.entries[left]
            return int(one if factor == right else factor) if operation == "//" else self.constant(0)
        if operation == "*" and self.entries[left] == ("constant", 1):
            return right
        if operation in ("+", "-") and other[0] == "constant" and self.entries[left][0] in ("+", "-"):
            # (x + 3) - 2 becomes x + 1.
            inner, first, second = self.entries[left]
            if self.entries[second][0] == "constant":
                whole = self.values[second] * (1 if inner == "+" else -1)
                whole += self.values[right] * (1 if operation == "+" else -1)
                if whole == 0:
                    return int(first)
                made = self.apply("+" if whole > 0 else "-", first, self.constant(abs(whole)))
                return made.entry if type(made) is Traced else None
        return None

    def _is_exact(self, left: Operand, right: Operand) -> bool:
        remainder = self._known.get(("%", left, right))
        zero = self._known.get(("constant", 0))
        if remainder is None or zero is None:
            return False
        return self.guards.get(("==", min(remainder, zero), max(remainder, zero)), False)

    def _interval(self, operation: str, left: Operand, right: Operand) -> tuple[int, int]:
        (low, high), (other_low, other_high) = self._bounds[left], self._bounds[right]
        if operation == "+":
            found = low + other_low, high + other_high
        elif operation == "-":
            found = (0, 0) if left == right else (low - other_high, high - other_low)
        elif operation in ("min", "max"):
            choose = min if operation == "min" else max
            found = choose(low, other_low), choose(high, other_high)
        elif operation == "*":
            corners = [one * other for one in (low, high) for other in (other_low, other_high)]
            found = min(corners), max(corners)
        elif operation == "//" and other_low > 0:
            corners = [one // other for one in (low, high) for other in (other_low, other_high)]
            found = min(corners), max(corners)
        elif operation == "%" and other_low > 0:
            found = (low, high) if low >= 0 and high < other_low else (0, other_high - 1)
        else:
            found = -_FAR, _FAR
        return max(found[0], -_FAR), min(found[1], _FAR)


class Traced:
    """An integer on a tape. Its `__class__` is int, so that `isinstance(number, int)` is true.

    NumPy, `range` and all other code that needs the number itself call `__index__`, which pins it; a subclass of int
    would be read without that call.
    """

    __slots__ = ("entry", "tape")

    def __init__(self, tape: Tape, entry: Operand) -> None:
        self.tape, self.entry = tape, entry

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return int

    @property
    def number(self) -> int:
        """The number, for messages only: no later computation may depend on it."""
        return self.tape.values[self.entry]

    def __index__(self) -> int:
        return self.tape.pin(self.entry)

    __int__ = __index__
    __hash__ = __index__

    def __float__(self) -> float:
        return float(self.tape.pin(self.entry))

    def __bool__(self) -> bool:
        return not self.tape.compare("==", self.entry, self.tape.constant(0))

    def __repr__(self) -> str:
        return str(self.number)

    def __format__(self, form: str) -> str:
        return format(self.number, form)

    def _operand(self, other: object) -> Operand | None:
        if type(other) is Traced:
            return other.entry
        return self.tape.constant(int(other)) if isinstance(other, (int, np.integer)) else None

    def __neg__(self) -> Any:
        return self.tape.apply("-", self.tape.constant(0), self.entry)

    def __pos__(self) -> Traced:
        return self

    def __abs__(self) -> Any:
        return -self if self.tape.compare("<", self.entry, self.tape.constant(0)) else self

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other


def _arithmetic(operation: str, reverse: bool) -> Callable[[Traced, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        operand = self._operand(other)
        if operand is None:
            return NotImplemented
        pair = (operand, self.entry) if reverse else (self.entry, operand)
        if operation in ("//", "%") and self.tape.compare("==", pair[1], self.tape.constant(0)):
            raise ZeroDivisionError("division by zero")
        return self.tape.apply(operation, *pair)

    return method


def _comparison(operation: str) -> Callable[[Traced, Any], Any]:
    def method(self: Traced, other: Any) -> Any:
        if isinstance(other, float) and isinf(other):
            return bool(COMPARE[operation](self.number, other))
        operand = self._operand(other)
        return NotImplemented if operand is None else self.tape.compare(operation, self.entry, operand)

    return method


for _operation, _name in (("+", "add"), ("-", "sub"), ("*", "mul"), ("//", "floordiv"), ("%", "mod")):
    setattr(Traced, f"__{_name}__", _arithmetic(_operation, False))
    setattr(Traced, f"__r{_name}__", _arithmetic(_operation, True))
for _operation, _name in (("==", "eq"), ("<", "lt"), ("<=", "le")):
    setattr(Traced, f"__{_name}__", _comparison(_operation))


def _called(function: Callable[..., int], columns: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Return the result of a function for each row of its arguments; it is called once for equal rows."""
    rows = np.stack(np.broadcast_arrays(*columns), -1).reshape(-1, len(columns))
    if rows.dtype == object:  # Which np.unique does not compare.
        return np.array([function(*row) for row in rows.tolist()], object)
    different, places = np.unique(rows, axis=0, return_inverse=True)
    return np.array([function(*row) for row in different.tolist()], np.int64)[places.reshape(-1)]


def smaller(one: Any, other: Any) -> Any:
    """Return the smaller of two numbers as one entry of the tape, without a guard."""
    return _chosen("min", one, other) if type(one) is Traced or type(other) is Traced else min(one, other)


def larger(one: Any, other: Any) -> Any:
    """Return the larger of two numbers as one entry of the tape, without a guard."""
    return _chosen("max", one, other) if type(one) is Traced or type(other) is Traced else max(one, other)


def _chosen(operation: str, one: Any, other: Any) -> Any:
    number, rest = (one, other) if type(one) is Traced else (other, one)
    operand = number._operand(rest)
    if operand is None:
        return min(one, other) if operation == "min" else max(one, other)
    return number.tape.apply(operation, number.entry, operand)


def is_traced(value: object) -> bool:
    """Return whether a number is on a tape."""
    return type(value) is Traced


def plain_number(value: Any) -> Any:
    """Return a traced number unchanged, any other number as a Python integer."""
    return value if type(value) is Traced else int(value)


def untraced(values: Sequence[Any]) -> list[Any]:
    """Return the numbers without recording anything on their tape, for comparison with another inference."""
    return [value.number if type(value) is Traced else value for value in values]
