"""PCRE2 regular expressions with Unicode character classes, matched by the package `regex`.

Positions count bytes. As in PCRE2, `Pattern.matches` finds nothing in text that is not valid UTF-8.
"""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from irexec.core.diagnostics.deadline import ask, seconds_left
from irexec.core.environment import installing
from irexec.ops.spec.operator import ConstraintError, require

# The contents of PCRE2's classes with Unicode properties; the classes of `regex` differ in a few characters.
_CLASSES = {
    "s": r"\p{Z}\t-\r\x85\u180e",
    "w": r"\p{L}\p{N}\p{Mn}\p{Pc}",
    "d": r"\p{Nd}",
    "h": r"\t\p{Zs}\u180e",
    "v": r"\n-\r\x85\u2028\u2029",
}
_POSIX = {
    "alpha": r"\p{L}", "lower": r"\p{Ll}", "upper": r"\p{Lu}", "alnum": r"\p{L}\p{N}", "digit": r"\p{Nd}",
    "space": _CLASSES["s"], "word": _CLASSES["w"], "punct": r"\p{P}$+<=>\^`|~", "blank": _CLASSES["h"],
}  # fmt: skip
_BRACKETED = re.compile(r"\[:(\w+):\]")
# A script by name: it includes the characters that the script shares with other scripts.
_SCRIPT = re.compile(r"\\([pP])\{(\^?)([A-Za-z_]{3,})\}")
_NO_SCRIPTS = frozenset({"Any", "Xan", "Xsp", "Xps", "Xwd", "Xuc", "Letter", "Number", "Punctuation", "Symbol", "Mark"})
# Faulty patterns in tokenizers of older releases → their corrections, as in OpenVINO Tokenizers.
_OLDER = {
    r" ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't)": r"(?| ([\\.\\?\\!,])| ('[ms])| (') | ('[rv]e)| (n't))",
    r"(^)(.)": r"(^)([\s\S])",
    r"(^)(.+)": r"(^)([\s\S])",
}
# A character by its number.
_NUMBER = re.compile(r"\\x\{([0-9a-fA-F]{1,6})\}|\\x([0-9a-fA-F]{0,2})")
_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_ENDS = {"z": r"\Z", "Z": r"(?=\n?\Z)", "e": r"\x1b"}
# A counted repeat, and an item in which brackets and braces have no meaning of their own.
_REPEAT = re.compile(r"\{(\d{1,9}),?(\d{0,9})\}|\{,(\d{1,9})\}")
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]", re.DOTALL)
_MOST_STATES = 1 << 18
# The shortest time limit that `regex` accepts as a limit, and that of a first attempt, in seconds.
_SHORTEST, _FIRST = 1e-3, 0.1
_REFERENCE = re.compile(r"\$(?:(\$)|(\d+)|(\w+)|\{(\w+)\})")


class UnsetGroup(Exception):
    """Raised if a replacement refers to a group that is not part of the match: PCRE2 then replaces nothing."""


class Pattern:
    """A compiled expression. Raises ConstraintError if the package or the expression cannot be used."""

    def __init__(self, expression: bytes, constraint: str) -> None:
        try:
            import regex
        except ImportError:
            message = f"matching needs the package regex, which is not installed: {installing('tokenizers')}"
            require(constraint, False, message)
            raise
        text = _decoded(expression)
        translated = _translated(text or "")
        size = _expanded(translated)
        require(constraint, size <= _MOST_STATES, f"the pattern {text!r:.200} has more than {_MOST_STATES} states")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                self._compiled: Any = regex.compile(translated)
        except (regex.error, RecursionError, OverflowError) as error:
            message = f"the pattern {text!r:.200} cannot be compiled: {error}"
            raise ConstraintError(constraint, message) from error

    def matches(self, raw: bytes) -> Iterator[tuple[int, int, int, int]]:
        """Yield the begin and end of each match up to the first empty match, and of the last group within the match."""
        text = _decoded(raw)
        if text is None:
            return
        plain = len(text) == len(raw)
        at, behind = 0, 0
        for found in self._all(text):
            start, end = found.span()
            inner = next(
                (s for s in reversed(found.regs[1:]) if start <= s[0] <= end and s[1] <= end and s[0] < s[1]),
                (start, end),
            )
            if plain:
                yield start, end, *inner
                continue
            # Matches are in ascending order, so the bytes of each part of the text are counted once.
            first = behind + len(text[at:start].encode())
            last = first + len(text[start:end].encode())
            at, behind = end, last
            before = len(text[start : inner[0]].encode())
            yield first, last, first + before, first + before + len(text[inner[0] : inner[1]].encode())

    def _all(self, text: str) -> Iterator[Any]:
        start = 0
        while (found := _in_time(self._compiled.search, text, start)) is not None and found.start() != found.end():
            yield found
            start = found.end()

    def replaced(self, raw: bytes, by: bytes, *, everywhere: bool) -> bytes:
        """Return the bytes with all matches, or the first match, replaced; `by` may name groups as `$1` or `\\1`."""
        text = raw.decode(errors="surrogateescape")  # OpenVINO Tokenizers disables PCRE2's check of the text.
        template = re.sub(r"\\([1-9])", r"$\1", by.decode(errors="replace"))
        if template.replace("$$", "").count("$") != sum(m[1] is None for m in _REFERENCE.finditer(template)):
            return raw  # PCRE2 refuses a lone dollar sign.
        try:
            by_template, count = lambda found: _filled(template, found), 0 if everywhere else 1
            return str(_in_time(self._compiled.sub, by_template, text, count)).encode(errors="surrogateescape")
        except (UnsetGroup, IndexError):
            return raw


def pattern(expression: bytes, constraint: str) -> Pattern:
    """Return the compiled expression; `constraint` is the constraint to report if it is invalid."""
    return Pattern(expression, constraint)


def normalization_pattern(expression: bytes, constraint: str) -> Pattern:
    """Return the compiled expression of a RegexNormalization, after correction if an older release wrote it."""
    text = _decoded(expression)
    return Pattern(_OLDER.get(text or "", text or "").encode() if text is not None else expression, constraint)


def _in_time(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a method of the package `regex`, which stops at the deadline.

    `regex` measures the processor time of the process, a deadline the time of the clock: a first short attempt shows
    how much of it this process gets.
    """
    left = seconds_left(math.inf)
    if math.isinf(left):
        return work(*arguments)
    attempt = min(left, _FIRST)
    while True:
        ask("matching a pattern")
        clock, processor = time.monotonic(), time.process_time()
        try:
            return work(*arguments, timeout=max(attempt, _SHORTEST))
        except TimeoutError:
            share = (time.process_time() - processor) / (time.monotonic() - clock)
            attempt = seconds_left(math.inf) * share


def _filled(template: str, found: Any) -> str:
    def value(reference: re.Match[str]) -> str:
        if reference[1]:
            return "$"
        name = reference[2] or reference[3] or reference[4]
        taken = found[int(name) if name.isdigit() else name]
        if taken is None:
            raise UnsetGroup
        return str(taken)

    return _REFERENCE.sub(value, template)


def _expanded(pattern: str) -> int:
    """Return the number of states of a pattern whose counted repeats are written out, as `regex` compiles them."""
    groups, last, at = [0], 0, 0
    while at < len(pattern) and groups[-1] <= _MOST_STATES:
        if (repeat := _REPEAT.match(pattern, at)) is not None:
            factor = max(1, *(int(number) for number in repeat.groups("0") if number))
            groups[-1] += last * (factor - 1)
            last *= factor
            at = repeat.end()
            continue
        item = _ATOM.match(pattern, at)
        if item is None and pattern[at] == "(":
            groups.append(1)
        else:
            last = groups.pop() if item is None and pattern[at] == ")" and len(groups) > 1 else 1
            groups[-1] += last
        at = at + 1 if item is None else item.end()
    return max(groups)


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _translated(text: str) -> str:
    """Return the expression with PCRE2's classes spelled out, both inside and outside of brackets."""
    parts: list[str] = []
    inside = False
    at = 0
    while at < len(text):
        char = text[at]
        if (found := _SCRIPT.match(text, at)) and found[3] not in _NO_SCRIPTS:
            parts.append(f"\\{found[1]}{{{found[2]}scx={found[3]}}}")
            at = found.end()
            continue
        if found := _QUOTED.match(text, at):
            parts.append(re.sub(r"(\W)", r"\\\1", found[1]))
            at = found.end()
            continue
        if (found := _NUMBER.match(text, at)) and int(found[1] or "0", 16) < 0x110000:
            parts.append(f"\\U{int(found[1] or found[2] or '0', 16):08x}")
            at = found.end()
            continue
        if char == "\\" and at + 1 < len(text):
            parts.append(_escape(text[at + 1], inside))
            at += 2
            continue
        if inside and (found := _BRACKETED.match(text, at)):
            parts.append(_POSIX.get(found[1], found[0]))
            at = found.end()
            continue
        if char == "[" and not inside:
            inside = True
            # A closing bracket directly after the opening one is a character of the class.
            begin = 2 if text.startswith("[^", at) else 1
            length = begin + text.startswith("]", at + begin)
            parts.append(text[at : at + begin] + ("\\]" if length > begin else ""))
            at += length
            continue
        if char == "]":
            inside = False
        parts.append("\\[" if inside and char == "[" else char)
        at += 1
    return "".join(parts)


def _escape(letter: str, inside: bool) -> str:
    if letter in _CLASSES:
        return _CLASSES[letter] if inside else f"[{_CLASSES[letter]}]"
    if letter.lower() in _CLASSES and not inside:
        return f"[^{_CLASSES[letter.lower()]}]"
    if letter in _ENDS and not inside:
        return _ENDS[letter]
    return "\\" + letter
