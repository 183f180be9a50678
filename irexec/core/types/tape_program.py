"""Replaying a tape (traced.py) for one combination of sizes: its guards are checked and its numbers computed.

A tape becomes a Python function, which is compiled when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irexec.core.types.traced import Operand, Tape

# Operations and guards as Python's expressions; a function is called by its name.
_EXPRESSIONS = dict.fromkeys(("+", "-", "*", "//", "%", "==", "<", "<="), "{0} {operation} {1}") | dict.fromkeys(
    ("min", "max"), "{operation}({0}, {1})"
)


class Program:
    """The operations and guards of a tape as a function of a combination of sizes."""

    def __init__(self, tape: Tape, wanted: Sequence[Operand]) -> None:
        self._lines: list[str] = []
        self._functions: dict[str, Callable[..., int]] = {}
        # The expression of each entry that has been computed: a size, a number or a variable.
        self._texts: dict[Operand, str] = {}
        self._run: Callable[[Sequence[int]], list[int] | None] | None = None
        for (operation, left, right), result in tape.guards.items():
            self._refuse("not " if result else "", operation, self._text(tape, left), self._text(tape, right))
        for entry in tape.pinned:
            self._refuse("not ", "==", self._text(tape, entry), f"({tape.values[entry]})")
        self._lines.append(f"return [{', '.join([self._text(tape, entry) for entry in wanted])}]")

    def _refuse(self, wrong: str, operation: str, left: str, right: str) -> None:
        """Add a guard; `wrong`: "not " if the comparison must hold."""
        comparison = _EXPRESSIONS[operation].format(left, right, operation=operation)
        self._lines.append(f"if {wrong}{comparison}: return None")

    def _text(self, tape: Tape, entry: Operand) -> str:
        """Return the expression of an entry, after the lines that compute it and its operands."""
        waiting = [entry]
        while waiting:
            current = waiting.pop()
            if current in self._texts:
                continue
            kind, *operands = tape.entries[current]
            function = operands.pop(0) if kind == "call" else None
            if kind == "size":
                self._texts[current] = f"sizes[{operands[0]}]"
            elif kind == "constant":
                self._texts[current] = f"({operands[0]})"
            elif missing := [each for each in operands if each not in self._texts]:
                waiting += [current, *missing]
            else:
                given = [self._texts[each] for each in operands]
                if function is not None:
                    name = f"f{len(self._functions)}"
                    self._functions[name] = function
                    made = f"{name}({', '.join(given)})"
                else:
                    made = _EXPRESSIONS[kind].format(*given, operation=kind)
                self._texts[current] = f"v{current}"
                self._lines.append(f"v{current} = {made}")
        return self._texts[entry]

    def run(self, sizes: Sequence[int]) -> list[int] | None:
        """Return the numbers of the requested entries; None if the tape's guards do not hold for these sizes."""
        if self._run is None:
            known: dict[str, Any] = dict(self._functions)
            exec("def run(sizes):\n " + "\n ".join(self._lines), known)
            self._run = known["run"]
        try:
            return self._run(sizes)
        except ZeroDivisionError:
            return None
