"""PatternSymbolValue: the value of a symbol of a pattern: a number, a string, or several values."""

from __future__ import annotations

from typing import Any

from irexec.core.arguments import expected
from irexec.core.types import Dimension


class PatternSymbolValue:
    """The value that a match binds to a symbol."""

    def __init__(self, value: Any = None) -> None:
        self._value = value

    def is_static(self) -> bool:
        """Return whether the value is known: a number, a text, a list, or a Dimension of one extent."""
        return self._value is not None and not (isinstance(self._value, Dimension) and self._value.is_dynamic)

    def is_dynamic(self) -> bool:
        return isinstance(self._value, Dimension) and bool(self._value.is_dynamic)

    def is_group(self) -> bool:
        return isinstance(self._value, (list, tuple))

    def is_integer(self) -> bool:
        return isinstance(self._value, int) and not isinstance(self._value, bool)

    def is_double(self) -> bool:
        return isinstance(self._value, float)

    def is_string(self) -> bool:
        return isinstance(self._value, str)

    def i(self) -> int:
        """Return the value as an integer."""
        return int(self._value)

    def d(self) -> float:
        """Return the value as a floating-point number."""
        return float(self._value)

    def s(self) -> str:
        """Return the value as a text. Raises RuntimeError for another value."""
        if not isinstance(self._value, str):
            raise RuntimeError(f"{self._value!r} is not a string")
        return self._value

    def g(self) -> list[Any]:
        """Return the values of a group. Raises RuntimeError for a single value."""
        if not isinstance(self._value, (list, tuple)):
            raise RuntimeError(f"{self._value!r} is not a group of values")
        return list(self._value)

    def equals_to(self, other: PatternSymbolValue) -> bool:
        return bool(self._value == expected(other, PatternSymbolValue, "equals_to()")._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PatternSymbolValue) and self.equals_to(other)

    def __hash__(self) -> int:
        return hash(str(self._value))
