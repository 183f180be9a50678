"""RegexSplit and SpecialTokensSplit: strings cut into pieces by a regular expression.

Source: OpenVINO Tokenizers, which runs PCRE2 with UTF-8 and the properties of Unicode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Literal

import numpy as np

from irexec.core.types import BOOLEAN, U8, Array, TensorType
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Within
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.tokenizers.patterns import Pattern
from irexec.ops.tokenizers.strings import (
    ANY_LENGTH,
    Chars,
    Index,
    Part,
    are_ragged_strings,
    borders,
    indices,
    is_flags,
    places,
    ragged_string_types,
    rows,
    strings,
)

Behaviour = Literal["remove", "isolate", "contiguous", "mergedwithprevious", "mergedwithnext"]
Piece = tuple[int, int, bool]
"""The begin and end of a piece in its string, and whether later operators leave it unchanged."""


@operator("RegexSplit", "extension")
def regex_split(
    ragged_begins: Index,
    ragged_ends: Index,
    begins: Index,
    ends: Index,
    chars: Chars,
    /,
    *rest: Part,
    behaviour: Behaviour = "remove",
    invert: bool = False,
    max_splits: Annotated[int, Within(ge=-1)] = -1,
) -> list[Part]:
    """Cut each string where the pattern matches. `rest`: the pattern; flags of unchanged strings and the pattern; or
    the pattern and the begins, ends and chars of unchanged strings. Flags are also the last result.

    behaviour: matches are removed, become separate pieces (`contiguous`: adjacent matches are one piece), or belong to
    the piece before or after them. invert: exchange matches and the text between them.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 6, 7 or
    9 inputs. C4: the pattern is a regular expression. C5: max_splits is -1 or positive.
    """
    has_skips = len(rest) == 2
    expression = rest[-1 if has_skips else 0].tobytes()
    if behaviour == "contiguous" and not expression.endswith(b"+"):
        expression = b"(" + expression + b")+"
    kept = set(strings(*rest[1:])) if len(rest) == 4 else set()
    pattern = Pattern(expression, "C4")
    if not chars.size:
        # Rows of empty strings have no pieces. (OpenVINO returns a single row instead.)
        nothing = np.zeros_like(ragged_begins)
        return [nothing, nothing, begins, ends, chars, *rest[:has_skips]]

    def cut(raw: bytes) -> Iterable[Piece]:
        if raw in kept:
            return [(0, len(raw), False)]
        return _pieces(pattern, raw, behaviour, invert, max_splits)

    return _cut(ragged_begins, ragged_ends, begins, ends, chars, rest[0] if has_skips else None, cut, flags=has_skips)


def _pieces(pattern: Pattern, raw: bytes, behaviour: Behaviour, invert: bool, most: int) -> Iterator[Piece]:
    count, held, dropped = 0, -1, not raw and not invert
    for begin, end, is_match in _parts(pattern, raw):
        dropped = is_match is not invert
        if behaviour == "remove" and dropped:
            continue
        if behaviour == "mergedwithprevious":
            if not dropped and end != len(raw):
                held = begin
                continue
            begin = max(0, held) if dropped else begin
        elif behaviour == "mergedwithnext":
            if dropped:
                held = begin
                continue
            begin = begin if held == -1 else held
        # The last piece that max_splits allows contains the remainder; as in OpenVINO, further pieces follow it.
        yield begin, len(raw) if count == most else end, False
        count += 1
    if behaviour == "mergedwithnext" and dropped and not invert:
        yield max(0, held), len(raw), False


def _parts(pattern: Pattern, raw: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield the matches and the texts between them: begin, end, and True for a match."""
    start = 0
    for begin, end, *_ in pattern.matches(raw):
        if begin != start:
            yield start, begin, False
        yield begin, end, True
        start = end
    if start < len(raw):
        yield start, len(raw), False


@regex_split.shapes
def _(check: Check, *inputs: TensorType, max_splits: int) -> list[TensorType]:
    shape, rest = are_ragged_strings(check, *inputs[:5]), inputs[5:]
    number = 5 + len(rest)
    fits = number in (6, 7, 9) and is_flags(rest[0]) is (number == 7)
    check("C3", fits, f"there are {number} inputs, expected 6, 7 with flags (boolean) in front of the pattern, or 9")
    check("C5", max_splits != 0, "max_splits is 0, expected -1 or a positive number", attribute="max_splits")
    if fits:
        has_rank(check, "C4", rest[number == 7], 1, f"rest[{int(number == 7)}]")
    return ragged_string_types(shape) + [TensorType(BOOLEAN, ANY_LENGTH)] * (number == 7)


@operator("SpecialTokensSplit", "extension")
def special_tokens_split(
    ragged_begins: Index, ragged_ends: Index, begins: Index, ends: Index, chars: Chars, /, *rest: Part
) -> list[Part]:
    """Cut each string into special tokens, which the pattern matches, and other text. Later operators leave special
    tokens unchanged; the last result flags them.

    `rest`: the pattern, or the flags of an earlier split and the pattern. A special token is the text of the last group
    within the match, unless that is empty.

    C1: begins and ends have the same shape, chars has rank 1. C2: each string lies within chars. C3: there are 6 or 7
    inputs. C4: the pattern is a regular expression.
    """
    pattern = Pattern(rest[-1].tobytes(), "C4")

    def cut(raw: bytes) -> Iterator[Piece]:
        start = 0
        for begin, end, *inner in pattern.matches(raw):
            if start < begin:
                yield start, begin, False
            yield inner[0], inner[1], True
            start = end
        if start < len(raw):
            yield start, len(raw), False

    skips = rest[0] if len(rest) == 2 else None
    return _cut(ragged_begins, ragged_ends, begins, ends, chars, skips, cut, flags=True)


@special_tokens_split.shapes
def _(check: Check, *inputs: TensorType) -> list[TensorType]:
    shape, rest = are_ragged_strings(check, *inputs[:5]), inputs[5:]
    fits = len(rest) in (1, 2) and rest[-1].element_type is U8 and is_flags(rest[0]) is (len(rest) == 2)
    message = f"there are {5 + len(rest)} inputs, expected the pattern as the sixth, or flags (boolean) and the pattern"
    if check("C3", fits, message):
        has_rank(check, "C4", rest[-1], 1, f"rest[{len(rest) - 1}]")
    return [*ragged_string_types(shape), TensorType(BOOLEAN, ANY_LENGTH)]


def _cut(
    ragged_begins: Array,
    ragged_ends: Array,
    begins: Array,
    ends: Array,
    chars: Array,
    skips: Array | None,
    cut: Callable[[bytes], Iterable[Piece]],
    *,
    flags: bool,
) -> list[Array]:
    """Return the pieces of each row as ranges of the same bytes; with `flags`, also whether each piece is left
    unchanged.
    """
    raw = chars.tobytes()
    whole = places(begins, ends, len(raw), "C2")
    skipped = [False] * len(whole) if skips is None else skips.tolist()
    require("C2", len(skipped) >= len(whole), f"there are {len(skipped)} flags for {len(whole)} strings")
    counts: list[int] = []
    pieces: list[Piece] = []
    for row in rows(ragged_begins, ragged_ends, len(whole)):
        before = len(pieces)
        for number in row:
            begin, end = whole[number]
            if skipped[number]:
                pieces.append((begin, end, True))
            else:
                pieces += [(begin + a, begin + b, flag) for a, b, flag in cut(raw[begin:end])]
        counts.append(len(pieces) - before)
    first, last = borders(counts, ragged_begins.shape)
    found = [first, last, indices(p[0] for p in pieces), indices(p[1] for p in pieces), chars]
    return [*found, np.array([p[2] for p in pieces], np.bool_)] if flags else found
