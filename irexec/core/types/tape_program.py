"""Replaying a tape (traced.py) for one combination of sizes: its guards are checked and its numbers computed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from irexec.core.types.traced import APPLY, COMPARE, Operand, Tape


class Program:
    """The operations and guards of a tape as steps, which are run for one combination of sizes."""

    def __init__(self, tape: Tape, wanted: Sequence[Operand]) -> None:
        self._blank: list[Any] = [None] * len(tape.entries)
        self._sizes: list[tuple[Operand, int]] = []
        # (function, left, right, target, result). A guard has no target: its comparison must give `result`. A call of a
        # function has its operands in `result`.
        self._steps: list[tuple[Callable[..., Any], Operand, Operand, Operand | None, Any]] = []
        self._wanted = list(wanted)
        known = [False] * len(tape.entries)
        for (operation, left, right), result in tape.guards.items():
            self._need(tape, left, known)
            self._need(tape, right, known)
            self._steps.append((COMPARE[operation], left, right, None, result))
        for entry in tape.pinned:
            self._need(tape, entry, known)
            number = tape.constant(tape.values[entry])
            if number == len(self._blank):
                self._blank.append(None)
                known.append(False)
            self._need(tape, number, known)
            self._steps.append((operator.eq, entry, number, None, True))
        for entry in wanted:
            self._need(tape, entry, known)

    def _need(self, tape: Tape, entry: Operand, known: list[bool]) -> None:
        waiting = [entry]
        while waiting:
            current = waiting.pop()
            if known[current]:
                continue
            kind, *operands = tape.entries[current]
            function = operands.pop(0) if kind == "call" else None
            if kind == "size":
                self._sizes.append((current, operands[0]))
            elif kind == "constant":
                self._blank[current] = operands[0]
            elif missing := [each for each in operands if not known[each]]:
                waiting += [current, *missing]
                continue
            elif function is not None:
                self._steps.append((function, 0, 0, current, operands))
            else:
                self._steps.append((APPLY[kind], *operands, current, None))
            known[current] = True

    def run(self, sizes: Sequence[int]) -> list[int] | None:
        """Return the numbers of the requested entries; None if the tape's guards do not hold for these sizes."""
        values = self._blank.copy()
        for entry, dim in self._sizes:
            values[entry] = sizes[dim]
        try:
            for apply, left, right, target, result in self._steps:
                if target is not None and result is not None:
                    values[target] = apply(*(values[each] for each in result))
                elif target is not None:
                    values[target] = apply(values[left], values[right])
                elif apply(values[left], values[right]) is not result:
                    return None
        except ZeroDivisionError:
            return None
        return [values[entry] for entry in self._wanted]
