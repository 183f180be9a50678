"""A unified diff of two texts as `patch` reads it, computed in time linear in the size of the texts.

difflib compares every range of lines with every other, so that its time is quadratic in the number of changes.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher

from irexec.core.diagnostics import Safety
from irexec.core.diagnostics.nearest import common_start
from irexec.core.diagnostics.render.characters import visible_text
from irexec.ir.xml.encoding import EncodingProblem, decode
from irexec.tools.fixes.applying import FixResult

_FEW_LINES = 50
"""The largest number of lines on each side for which all pairs of lines are compared."""
_MOST_LEVELS = 8
"""The maximum depth of the search for unique lines between two matching lines."""

_MOST_SHOWN = 5
"""The largest number of other lines that a line about a fix names."""

_Pair = tuple[int, int]


def unified(old: Sequence[str], new: Sequence[str], name: str) -> Iterator[str]:
    """Return the lines of a unified diff, none for equal texts; only the last line may lack a line feed.

    A path below the current folder is relative to it, with the prefixes that `git apply` and `patch -p1` remove.
    """
    name, old_side, new_side = _named(name)
    for number, group in enumerate(_Lines(old, new).get_grouped_opcodes()):
        if not number:
            yield from (f"--- {_quoted(f'{old_side}{name}')}\n", f"+++ {_quoted(f'{new_side}{name}')}\n")
        (_, old_start, _, new_start, _), (_, _, old_stop, _, new_stop) = group[0], group[-1]
        yield f"@@ -{_extent(old_start, old_stop)} +{_extent(new_start, new_stop)} @@\n"
        for kind, start, stop, other_start, other_stop in group:
            if kind == "equal":
                yield from (f" {line}" for line in old[start:stop])
            else:
                yield from (f"-{line}" for line in old[start:stop])
                yield from (f"+{line}" for line in new[other_start:other_stop])


def _extent(start: int, stop: int) -> str:
    """Return the range of lines from `start` to `stop` in the notation of a unified diff: the first line, counted from
    1, and the number of lines; for an empty range, the line before it."""
    count = stop - start
    return f"{start + 1}" if count == 1 else f"{start + (count > 0)},{count}"


class _Lines(SequenceMatcher[str]):
    """difflib's grouping of changes, applied to matches that are found in a faster way."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, "", "")
        self._old, self._new = old, new

    def get_matching_blocks(self) -> list[Match]:
        """Return the matching blocks in order, followed by an empty block, as difflib does."""
        blocks: list[Match] = []
        for one, other in _alike(self._old, self._new):
            if blocks and (one, other) == (blocks[-1].a + blocks[-1].size, blocks[-1].b + blocks[-1].size):
                blocks[-1] = blocks[-1]._replace(size=blocks[-1].size + 1)
            else:
                blocks.append(Match(one, other, 1))
        return [*blocks, Match(len(self._old), len(self._new), 0)]


def _alike(old: Sequence[str], new: Sequence[str], level: int = 0) -> Iterator[_Pair]:
    """Return the numbers of matching lines, in ascending order."""
    begin = common_start(old, new)
    end = common_start(old[begin:][::-1], new[begin:][::-1])
    yield from ((number, number) for number in range(begin))
    middle = _between(old[begin : len(old) - end], new[begin : len(new) - end], level)
    yield from ((begin + one, begin + other) for one, other in middle)
    yield from ((len(old) - number, len(new) - number) for number in range(end, 0, -1))


def _between(old: Sequence[str], new: Sequence[str], level: int) -> Iterator[_Pair]:
    """Return the result of `_alike` for ranges whose first and last lines differ."""
    if len(old) <= _FEW_LINES and len(new) <= _FEW_LINES:
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            yield from ((block.a + number, block.b + number) for number in range(block.size))
    elif level < _MOST_LEVELS and (unique := _unique(old, new)):
        done = other_done = 0
        for one, other in [*unique, (len(old), len(new))]:
            inner = _alike(old[done:one], new[other_done:other], level + 1)
            yield from ((done + a, other_done + b) for a, b in inner)
            if one < len(old):
                yield one, other
            done, other_done = one + 1, other + 1
    elif len(old) == len(new):
        yield from ((number, number) for number, (a, b) in enumerate(zip(old, new, strict=True)) if a == b)


def _unique(old: Sequence[str], new: Sequence[str]) -> list[_Pair]:
    """Return the lines that occur exactly once in each text: the longest selection in the same order in both."""
    counts, other_counts = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(new)}
    pairs = [(number, places[line]) for number, line in enumerate(old) if counts[line] == other_counts[line] == 1]
    # Longest increasing subsequence: for each length the smallest last element, found by bisection.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [place], [number]
    found = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def made_text(path: str | os.PathLike[str], repaired: FixResult) -> str:
    """Return one line for each applied fix in file order, followed by their number and by notes."""
    if not repaired.made:
        return ""
    lines = []
    for finding, fix in sorted(repaired.made, key=lambda choice: (choice[0].line or 0, choice[0].column or 0)):
        unsafe = " (unsafe)" if fix.safety is Safety.UNSAFE else ""
        others = sorted({edit.begin[0] for edit in fix.edits} - {finding.line})
        where = f", also in line{'s' * (len(others) > 1)} {_listed(others)}" if others else ""
        lines.append(f"{os.fspath(path)}:{finding.line}: {finding.code} {fix.title}{where}{unsafe}")
    count = len(repaired.made)
    lines.append(f"fixed {count} finding{'' if count == 1 else 's'} in {os.fspath(path)}")
    lines += [f"note: {os.fspath(path)}: {note}" for note in repaired.notes]
    return "".join(f"{visible_text(line)}\n" for line in [*lines, ""])


def _listed(lines: list[int]) -> str:
    more = f" and {len(lines) - _MOST_SHOWN:,} more" if len(lines) > _MOST_SHOWN else ""
    return ", ".join(map(str, lines[:_MOST_SHOWN])) + more


def difference(path: str | os.PathLike[str], before: bytes, after: bytes) -> str:
    """Return the change as a unified diff, as `git apply` and `patch -p1` read it; an empty text if there is none."""
    lines = unified(list(_lines(before)), list(_lines(after)), os.fspath(path))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _named(path: str) -> tuple[str, str, str]:
    """Return the path of a file in the headers of a diff, and the prefixes of both sides."""
    relative = os.path.relpath(path).replace(os.sep, "/")
    return (path, "", "") if relative.startswith("../") else (relative, "a/", "b/")


def _quoted(name: str) -> str:
    """Return a name as `patch` and git read it: quoted as in C if it contains characters other than printable ASCII."""
    if name.isascii() and name.isprintable() and '"' not in name and "\\" not in name:
        return name
    quoted = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in os.fsencode(name))
    return f'"{"".join(quoted)}"'


def _lines(data: bytes) -> Iterator[str]:
    try:
        text = decode(data)
    except EncodingProblem:
        return
    *lines, last = text.split("\n")
    yield from (f"{line}\n" for line in lines)
    if last:
        yield last
