"""Loops over equal blocks: statements that repeat with other numbers become the body of a `for`."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

_TOKEN = re.compile(
    r"""\[[-\d\s,.e+]*+\]|'(?:[^'\\\n]|\\.)*+'|"(?:[^"\\\n]|\\.)*+"|[^\W\d]\w*+|\d[\w.]*+(?:(?<=e)[+-]\d++)?|\s++|."""
)
_DIGITS = re.compile(r"(\d++)")
_INDENT = "    "
_LEAST_TIMES, _LEAST_PERIOD, _LEAST_SHORT = 3, 3, 4
"""The least number of repetitions; of fewer statements than the least period there must be more, and only numbers that
count may differ.
"""
_MOST_PERIOD = 2000
_MOST_TRIES, _MOST_SHIFTS = 200, 4
_LONGEST_CHOICE = 600
"""The number of characters up to which values that do not count are listed where they are used."""
_SHORTER = 0.7
"""A loop is written if it has at most this part of the length of the statements."""


class Statement(NamedTuple):
    """The lines that make one layer, and the variable of the layer. `is_whole`: they define other variables as well."""

    variable: str
    lines: list[str]
    is_whole: bool = False


class _Irregular(Exception):
    """Raised for statements that are not the same but for numbers."""


class _Own(NamedTuple):
    """The variable that a statement of the body makes, by the number of the statement."""

    number: int


class _Outer(NamedTuple):
    """The variables that are read in each iteration, which are made before the loop."""

    variables: Sequence[str]


@dataclass(slots=True)
class _Loop:
    """Statements from `start` on, `times` times as many as `period`. `body`: the parts of each statement.

    `first`: the number of the first iteration. `names`: the variables of the body; `kept`: those whose values of all
    iterations are used after the loop. `begins`: the values of variables that the first iteration reads.
    """

    start: int
    period: int
    times: int
    first: int
    names: list[str]
    kept: set[int]
    body: list[list[str | _Own | _Outer]] = field(default_factory=list)
    begins: dict[int, str] = field(default_factory=dict)

    @property
    def stop(self) -> int:
        return self.start + self.period * self.times


def with_loops(statements: Sequence[Statement], last: str, new: Callable[[str], str]) -> list[str]:
    """Return the lines of the statements, with loops, and the line `last` that follows them. `new` returns a variable
    that is not used yet.
    """
    return _Folding(statements, last, new).lines()


class _Folding:
    def __init__(self, statements: Sequence[Statement], last: str, new: Callable[[str], str]) -> None:
        self._statements, self._new = statements, new
        self._number = {one.variable: number for number, one in enumerate(statements)}
        self._texts = ["\n".join(one.lines) for one in statements]
        self._tokens = [self._split(text) for text in (*self._texts, last)]
        self._last_use: dict[str, int] = {}
        for number, tokens in enumerate(self._tokens):
            for kind, text in tokens:
                if kind == "variable":
                    self._last_use[text] = number
        # Where the value of a variable is after the loop that contains its statement.
        self._places: dict[str, str] = {}

    def lines(self) -> list[str]:
        found: list[str] = []
        for part in self._parts(0, len(self._statements)):
            if isinstance(part, _Loop):
                found += self._loop_lines(part)
            else:
                found += self._replaced(part).split("\n")
        return [*found, self._replaced(len(self._statements))]

    # Tokens

    def _split(self, text: str) -> list[tuple[str, str]]:
        """Return the tokens of a statement with their kinds: variable, number, string or another text."""
        tokens = _TOKEN.findall(text)
        found = []
        for place, token in enumerate(tokens):
            before = tokens[place - 1] if place else "\n"
            after = tokens[place + 1] if place + 1 < len(tokens) else ""
            is_name = token in self._number and before != "." and (after != "=" or "\n" in before)
            kind = "variable" if is_name else "other"
            if token[0] in "'\"":
                kind = "string"
            elif token[0].isdigit() or (len(token) > 1 and token[0] == "["):
                kind = "number"
            found.append((kind, token))
        return found

    def _replaced(self, number: int) -> str:
        """Return a statement with the places of the variables that a loop defines."""
        return "".join(self._place(text) if kind == "variable" else text for kind, text in self._tokens[number])

    # The search

    def _parts(self, start: int, stop: int) -> Iterator[int | _Loop]:
        """Yield the loops and the other statements of a range, in order."""
        loop = next(self._loops(start, stop), None)
        if loop is None:
            yield from range(start, stop)
            return
        yield from self._parts(start, loop.start)
        yield loop
        yield from self._parts(loop.stop, stop)

    def _loops(self, start: int, stop: int) -> Iterator[_Loop]:
        for period, first, count in islice(self._divisions(start, stop), _MOST_TRIES):
            with suppress(_Irregular):
                yield self._loop(first, period, count)

    def _divisions(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield the period, start and number of iterations of loops to try: a run of statements may be divided at
        another one, and its last block may be used in another way.
        """
        for period, first, count in self._repeats(start, stop):
            for shift in range(min(max(period, _MOST_SHIFTS), count - period * _LEAST_TIMES + 1)):
                most = (count - shift) // period
                for times in range(most, max(most - 2, _LEAST_TIMES - 1), -1):
                    yield period, first + shift, times

    def _repeats(self, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Return the period, start and number of statements of repetitions, the best first."""
        shapes: dict[tuple[str, ...], int] = {}
        known = []
        for number in range(start, stop):
            shape = tuple(text if kind == "other" else kind for kind, text in self._tokens[number])
            shape = (*shape, str(number)) if self._statements[number].is_whole else shape
            known.append(shapes.setdefault(shape, len(shapes)))
        ids, found = np.array(known), list[tuple[int, int, int]]()
        for period in range(1, min(len(ids) // _LEAST_TIMES, _MOST_PERIOD) + 1):
            same = np.concatenate([[False], ids[period:] == ids[:-period], [False]])
            edges = np.flatnonzero(same[1:] != same[:-1])
            for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                if (end - begin) >= period * (_LEAST_TIMES - 1):
                    found.append((period, start + begin, end - begin + period))
        # Of two ways to divide the same statements, that with the shorter body is easier to read.
        return sorted(found, key=lambda each: 2 * each[0] - each[2] // each[0] * each[0])

    # A loop

    def _loop(self, start: int, period: int, times: int) -> _Loop:
        """Return the loop of these statements. Raises _Irregular."""
        if period < _LEAST_PERIOD and times < _LEAST_SHORT:
            raise _Irregular
        blocks = [range(start + turn * period, start + (turn + 1) * period) for turn in range(times)]
        rows = [[self._tokens[number] for number in numbers] for numbers in zip(*blocks, strict=True)]
        made = [[self._statements[n].variable for n in numbers] for numbers in zip(*blocks, strict=True)]
        stop = start + period * times
        kept = {k for k, each in enumerate(made) if any(self._last_use.get(v, 0) >= stop for v in each[:-1])}
        loop = _Loop(start, period, times, _first(rows), [_common(each) for each in made], kept)
        for k, row in enumerate(rows):
            columns = [*zip(*row, strict=True)]
            loop.body.append([])
            for place, column in enumerate(columns):
                is_negative = place > 0 and columns[place - 1][0][1] == "-"
                loop.body[k].append(self._part(loop, k, column, is_negative=is_negative))
        length = sum(len(self._texts[number]) for number in range(start, stop))
        if sum(len(self._shown(loop, part)) for parts in loop.body for part in parts) > _SHORTER * length:
            raise _Irregular
        return loop

    def _part(
        self, loop: _Loop, k: int, tokens: Sequence[tuple[str, str]], *, is_negative: bool
    ) -> str | _Own | _Outer:
        """Return a part of the body. `tokens`: it in each iteration."""
        kind, texts = tokens[0][0], [text for _, text in tokens]
        if kind == "variable":
            return self._variable(loop, k, texts)
        if len(set(texts)) == 1:
            return texts[0]
        if kind == "number" and not is_negative and (step := _progression(texts)) is not None:
            return _formula(*step, loop.first)
        if kind == "string" and (text := _formatted(texts, loop.first)) is not None:
            return text
        return self._chosen(loop, texts)

    @staticmethod
    def _chosen(loop: _Loop, texts: Sequence[str]) -> str:
        """Return the one of several texts that belongs to the iteration. Raises _Irregular."""
        text = f"({', '.join(texts)})[{_formula(0, 1, loop.first)}]"
        if loop.period < _LEAST_PERIOD or len(text) > _LONGEST_CHOICE:
            raise _Irregular
        return text

    def _variable(self, loop: _Loop, k: int, texts: Sequence[str]) -> _Own | _Outer:
        places = [self._number[text] - loop.start for text in texts]
        if all(place < 0 for place in places):
            return _Outer(texts)
        turns, positions = [place // loop.period for place in places], [place % loop.period for place in places]
        if turns == [*range(loop.times)] and len(set(positions)) == 1:
            return _Own(positions[0])
        made = positions[1]
        # The value of the iteration before, whose variable is made again after its uses.
        is_before = places[0] < 0 and turns[1:] == [*range(loop.times - 1)] and {*positions[1:]} == {made} and k <= made
        if not is_before or loop.begins.setdefault(made, texts[0]) != texts[0]:
            raise _Irregular
        return _Own(made)

    def _loop_lines(self, loop: _Loop) -> Iterator[str]:
        before = {k: self._place(value) for k, value in loop.begins.items()}
        loop.names = [self._new(name) for name in loop.names]
        lists = {k: self._new(f"all_{loop.names[k]}") for k in sorted(loop.kept)}
        yield from (f"{name} = []" for name in lists.values())
        yield from (f"{loop.names[k]} = {value}" for k, value in sorted(before.items()))
        numbers = str(loop.times) if loop.first == 0 else f"{loop.first}, {loop.first + loop.times}"
        yield f"for i in range({numbers}):"
        for k, parts in enumerate(loop.body):
            yield from (f"{_INDENT}{line}" for line in "".join(self._shown(loop, part) for part in parts).split("\n"))
            if k in lists:
                yield f"{_INDENT}{lists[k]}.append({loop.names[k]})"
        for number in range(loop.start, loop.stop):
            turn, k = divmod(number - loop.start, loop.period)
            kept = f"{lists[k]}[{turn}]" if k in lists else loop.names[k]
            self._places[self._statements[number].variable] = kept

    def _place(self, variable: str) -> str:
        return self._places.get(variable, variable)

    def _shown(self, loop: _Loop, part: str | _Own | _Outer) -> str:
        if isinstance(part, _Own):
            return loop.names[part.number]
        if isinstance(part, str):
            return part
        places = [self._place(variable) for variable in part.variables]
        if len(set(places)) == 1:
            return places[0]
        names = {place.partition("[")[0] for place in places}
        if len(names) == 1 and places == [f"{min(names)}[{turn}]" for turn in range(loop.times)]:
            return f"{min(names)}[{_formula(0, 1, loop.first)}]"
        return self._chosen(loop, places)


def _first(rows: Sequence[Sequence[Sequence[tuple[str, str]]]]) -> int:
    """Return the number that most names have in the first iteration, and count on in the others."""
    found = Counter[int]()
    for row in rows:
        for column in zip(*row, strict=True):
            if column[0][0] == "string":
                for digits in zip(*(_DIGITS.findall(text) for _, text in column), strict=False):
                    step = _progression(digits)
                    if step is not None and step[1] == 1:
                        found[step[0]] += 1
    return found.most_common(1)[0][0] if found else 0


def _common(names: Sequence[str]) -> str:
    """Return a name for variables that differ in numbers."""
    parts = [_DIGITS.split(name) for name in names]
    first = [part for n, part in enumerate(parts[0]) if not n % 2 or len({*(p[n] for p in parts if n < len(p))}) == 1]
    name = re.sub("__+", "_", "".join(first)).strip("_")
    return name if name.isidentifier() and not keyword.iskeyword(name) else f"layer_{name}".rstrip("_")


def _progression(texts: Sequence[str]) -> tuple[int, int] | None:
    """Return the first number and the step of texts that count; None for other texts."""
    if any(not text.isdecimal() or (len(text) > 1 and text[0] == "0") for text in texts):
        return None
    numbers = [int(text) for text in texts]
    step = numbers[1] - numbers[0]
    counts = numbers == [numbers[0] + step * turn for turn in range(len(numbers))]
    return (numbers[0], step) if counts and step > 0 else None


def _formula(begin: int, step: int, first: int) -> str:
    """Return the text of a number that is `begin` in the first iteration, and grows by `step`."""
    offset = begin - step * first
    term = "i" if step == 1 else f"{step} * i"
    return term if offset == 0 else f"{term} {'+' if offset > 0 else '-'} {abs(offset)}"


def _formatted(texts: Sequence[str], first: int) -> str | None:
    """Return a formatted string literal for texts that differ in numbers that count; None for other texts."""
    parts = [_DIGITS.split(ast.literal_eval(text)) for text in texts]
    if len({len(each) for each in parts}) > 1:
        return None
    made = ""
    for n, column in enumerate(zip(*parts, strict=True)):
        if len(set(column)) == 1:
            made += column[0].replace("{", "{{").replace("}", "}}")
        elif n % 2 and (step := _progression(column)) is not None:
            made += f"{{{_formula(*step, first)}}}"
        else:
            return None
    return None if "\\" in repr(made) else f"f{made!r}"
