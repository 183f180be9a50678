"""RegexFullMatch of ONNX: whether a regular expression matches whole strings.

Source: ONNX operator page RegexFullMatch-20. Expressions have RE2's syntax, without back references and look-around. As
in RE2, matching takes time proportional to the text: all possible states are followed at once, without backtracking.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import BOOLEAN, STRING, Array, PartialShape, TensorType
from irexec.ops.spec.operator import Check, Elements, operator

S: TypeAlias = Annotated[Array, Elements(None, {STRING})]
Accepts = Callable[[str], bool]
# The transition from a state: the test of a character, and the next state.
Edge = tuple[Accepts, int]

# The maximum number of states of an expression; nested repetitions multiply their number.
_MOST_STATES = 20_000


class Unsupported(ValueError):
    """Raised for an expression that RE2 does not support, or that has too many states."""


# RE2's bracket classes such as [:alpha:] contain ASCII characters only.
_POSIX = {
    "alnum": string.ascii_letters + string.digits, "alpha": string.ascii_letters, "blank": " \t",
    "ascii": "".join(map(chr, range(128))), "cntrl": "".join(map(chr, [*range(32), 127])), "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation, "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ", "punct": string.punctuation,
    "space": " \t\n\r\f\v", "upper": string.ascii_uppercase, "word": string.ascii_letters + string.digits + "_",
    "xdigit": string.hexdigits,
}  # fmt: skip
_BRACKETED = re.compile(r"\[:(\^?)(\w+):\]")
_CATEGORY = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))")
_CATEGORIES = {
    *"LMNPSZC", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf",
    "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs",
}  # fmt: skip


class Spelling:
    """RE2's syntax translated to Python's: private-use characters replace classes that Python lacks.

    `pattern`: the expression for Python's parser. `classes`: private-use character → the test for the class.
    """

    def __init__(self, pattern: str) -> None:
        self.classes: dict[str, Accepts] = {}
        self._unused = (c for c in map(chr, range(0xF0000, 0xFFFFE)) if c not in pattern)
        parts, place, within = [], 0, False
        while place < len(pattern):
            part, place, within = self._next(pattern, place, within)
            parts.append(part)
        self.pattern = "".join(parts)

    def _next(self, pattern: str, place: int, within: bool) -> tuple[str, int, bool]:
        """Return one part in Python's syntax, the start of the next part, and whether this start is within brackets."""
        if found := _CATEGORY.match(pattern, place):
            sign, caret, long, short = found.groups()
            return self._category(long or short, (sign == "P") is not bool(caret)), found.end(), within
        if pattern.startswith("\\Q", place):
            end = pattern.find("\\E", place)
            text = pattern[place + 2 : end if end >= 0 else None]
            return re.escape(text), place + 4 + len(text), within
        if pattern[place] == "\\":
            escape = pattern[place : place + 2]
            if escape == "\\Z":
                raise Unsupported("the pattern uses \\Z, which RE2 does not support")
            return {"\\z": "\\Z"}.get(escape, escape), place + 2, within
        if within and (found := _BRACKETED.match(pattern, place)):
            if found[2] not in _POSIX:
                raise Unsupported(f"the pattern uses the class {found[0]}, which RE2 does not support")
            known, negated = _POSIX[found[2]], bool(found[1])
            return self._stand_in(lambda c: (c in known) is not negated), found.end(), True
        if pattern[place] == "[" and not within:
            # The first character of a class may be a literal `]`.
            first = re.compile(r"\[\^?\]?").match(pattern, place)
            assert first is not None
            return first[0].replace("]", "\\]"), first.end(), True
        nested = within and pattern[place] == "["
        return "\\[" if nested else pattern[place], place + 1, within and pattern[place] != "]"

    def _category(self, name: str, negated: bool) -> str:
        if name not in _CATEGORIES and name != "Any":
            raise Unsupported(f"the pattern uses the class {name!r}, which is not a Unicode general category")
        begin = "" if name == "Any" else name
        return self._stand_in(lambda c: unicodedata.category(c).startswith(begin) is not negated)

    def _stand_in(self, test: Accepts) -> str:
        character = next(self._unused)
        self.classes[character] = test
        return character


class Automaton:
    """The states of an expression. State 0 is the end. `free`: state → the states that follow without a character."""

    def __init__(self, pattern: str) -> None:
        self.edges: dict[int, Edge] = {}
        self.free: dict[int, list[tuple[int, str | None]]] = {}
        self.count = 1
        try:
            spelling = Spelling(pattern)
            self.classes = spelling.classes
            parsed = parser.parse(spelling.pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise Unsupported(str(error)) from None
        self.flags = parsed.state.flags
        self.start = self._sequence(parsed, 0)

    def _new(self) -> int:
        self.count += 1
        if self.count > _MOST_STATES:
            raise Unsupported(f"the pattern requires more than {_MOST_STATES} states")
        return self.count - 1

    def _sequence(self, items: Iterable[Any], after: int) -> int:
        for operation, argument in reversed(list(items)):
            after = self._item(operation, argument, after)
        return after

    def _item(self, operation: Any, argument: Any, after: int) -> int:
        """Add the states of one item; return the first, from which the item leads to the state `after`."""
        if operation in (words.LITERAL, words.NOT_LITERAL, words.ANY, words.IN):
            state = self._new()
            self.edges[state] = (_accepts(operation, argument, self.flags, self.classes), after)
            return state
        if operation is words.BRANCH:
            return self._fork([self._sequence(branch, after) for branch in argument[1]])
        if operation is words.SUBPATTERN:
            around = self.flags
            self.flags = (around | argument[1]) & ~argument[2]
            state = self._sequence(argument[3], after)
            self.flags = around
            return state
        if operation in (words.MAX_REPEAT, words.MIN_REPEAT):
            least, most, repeated = argument
            return self._repeat(least, most, repeated, after)
        if operation is words.AT:
            state = self._new()
            lines = bool(self.flags & re.MULTILINE) and str(argument) in ("AT_BEGINNING", "AT_END")
            self.free[state] = [(after, str(argument) + "_LINE" * lines)]
            return state
        raise Unsupported(f"the pattern uses {str(operation).lower()}, which RE2 does not support")

    def _repeat(self, least: int, most: Any, items: Any, after: int) -> int:
        if most is words.MAXREPEAT:
            loop = self._fork([after])
            self.free[loop].append((self._sequence(items, loop), None))
            after = loop
        else:
            for _ in range(most - least):
                after = self._fork([self._sequence(items, after), after])
        for _ in range(least):
            after = self._sequence(items, after)
        return after

    def _fork(self, states: list[int]) -> int:
        state = self._new()
        self.free[state] = [(s, None) for s in states]
        return state

    def matches(self, text: str) -> bool:
        """Return whether the expression matches the whole text."""
        states = self._reached([self.start], text, 0)
        for place, character in enumerate(text):
            taken = [edge[1] for s in states if (edge := self.edges.get(s)) is not None and edge[0](character)]
            states = self._reached(taken, text, place + 1)
            if not states:
                return False
        return 0 in states

    def _reached(self, states: Iterable[int], text: str, place: int) -> set[int]:
        """Return the given states and all states that follow without a character at this position of the text."""
        reached, pending = set(), list(states)
        while pending:
            state = pending.pop()
            if state not in reached:
                reached.add(state)
                pending += [s for s, at in self.free.get(state, ()) if at is None or _stands(at, text, place)]
        return reached


def _accepts(operation: Any, argument: Any, flags: int, classes: dict[str, Accepts]) -> Accepts:
    """Return a function that tests whether a parsed item of an expression matches a character."""
    if operation is words.ANY:
        return (lambda c: True) if flags & re.DOTALL else (lambda c: c != "\n")
    if operation is words.IN:
        return _one_of(argument, flags, classes)
    if chr(argument) in classes:
        sign = [(words.NEGATE, None)] if operation is words.NOT_LITERAL else []
        return _one_of([*sign, (words.LITERAL, argument)], flags, classes)
    fold = str.casefold if flags & re.IGNORECASE else str
    wanted = fold(chr(argument))
    return (lambda c: fold(c) == wanted) if operation is words.LITERAL else (lambda c: fold(c) != wanted)


def _one_of(items: Any, flags: int, classes: dict[str, Accepts]) -> Accepts:
    negated = bool(items) and items[0][0] is words.NEGATE
    tests = [_member(operation, argument, classes) for operation, argument in items[negated:]]

    def accepts(character: str) -> bool:
        cases = {character, character.lower(), character.upper()} if flags & re.IGNORECASE else {character}
        return any(test(c) for test in tests for c in cases) is not negated

    return accepts


# RE2's classes \d, \s and \w contain ASCII characters only.
_CLASSES = {"DIGIT": "0123456789", "SPACE": " \t\n\r\f\v"}
_CLASSES["WORD"] = _CLASSES["DIGIT"] + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"


def _member(operation: Any, argument: Any, classes: dict[str, Accepts]) -> Accepts:
    if operation is words.LITERAL:
        return classes.get(chr(argument)) or (lambda c: c == chr(argument))
    if operation is words.RANGE:
        return lambda c: argument[0] <= ord(c) <= argument[1]
    name = str(argument).removeprefix("CATEGORY_")
    known = _CLASSES.get(name.removeprefix("NOT_"))
    if operation is not words.CATEGORY or known is None:
        raise Unsupported(f"the pattern uses {str(operation).lower()}, which RE2 does not support")
    return (lambda c: c not in known) if name.startswith("NOT_") else (lambda c: c in known)


def _stands(at: str, text: str, place: int) -> bool:
    """Return whether a position in the text satisfies an anchor."""
    if at in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return place == 0
    if at in ("AT_END", "AT_END_STRING"):
        return place == len(text)
    if at == "AT_BEGINNING_LINE":
        return place == 0 or text[place - 1] == "\n"
    if at == "AT_END_LINE":
        return place == len(text) or text[place] == "\n"
    word = _CLASSES["WORD"]
    bounded = (place > 0 and text[place - 1] in word) is not (place < len(text) and text[place] in word)
    return bounded is (at == "AT_BOUNDARY")


@operator("RegexFullMatch", "onnx20")
def regex_full_match_20(x: S, /, *, pattern: str) -> Annotated[Array, Elements(None, {BOOLEAN})]:
    """True for each string of `x` that `pattern` matches completely. C1: RE2 supports the pattern."""
    automaton = Automaton(pattern)
    return np.array([automaton.matches(str(text)) for text in x.ravel()], np.bool_).reshape(x.shape)


@regex_full_match_20.shapes
def _(check: Check, x: TensorType, *, pattern: str) -> PartialShape:
    try:
        Automaton(pattern)
    except Unsupported as error:
        check("C1", False, f"the pattern cannot be read: {error}", attribute="pattern", found=pattern[:80])
    return x.shape
