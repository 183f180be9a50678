"""Operator names in other spellings: `ScatterNdUpdate`, `MatrixNonMaxSuppression`, a page called `slice-scatter-15`."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePath

from irexec.core.diagnostics.nearest import nearest

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VERSIONED = re.compile(r"(?:\d+[_-])?(?P<name>[A-Za-z].*?)(?P<version>[_-]\d+)?")


def known_type(written: str, known: Collection[str]) -> str | None:
    """Return the operator type that `written` means: `written` itself if it is known, None if no name is similar.

    Another letter case, a written-out abbreviation (Non Max Suppression for Nms), and one or two wrong letters count as
    similar; a name that differs in its capitals or digits is another operator, not a typo.
    """
    if written in known:
        return written
    candidates = sorted(known)
    if same := [name for name in candidates if name.lower() == written.lower()]:
        return same[0]
    shorter = [name for name in candidates if _abbreviates(_words(written), _words(name))]
    if len(shorter) == 1:
        return shorter[0]
    near = nearest(written, [name for name in candidates if _marks(name) == _marks(written)], 1, 0.85)
    return near[0] if near and len(written) > 4 else None


def version_from_name(path: str, operator: str) -> str | None:
    """Return the number in the name of a page or file named after the operator: "15" for `slice-scatter-15/2.xml`.

    The number is the operator's own version, which is not always the operator set's (ScatterNDUpdate-3 is in opset4).
    """
    for part in reversed(PurePath(path).parts):
        stem = part.split("@")[0].split(".")[0]
        match = _VERSIONED.fullmatch(stem)
        if match is None or match["version"] is None:
            continue
        named, wanted = _letters(match["name"]), _letters(operator)
        words = _words(match["name"]) if not match["name"].islower() else re.findall(r"[a-z0-9]+", match["name"])
        if named == wanted or _abbreviates(words, _words(operator)) or _abbreviates(_words(operator), words):
            return match["version"][1:].lstrip("0") or "0"
    return None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _marks(name: str) -> str:
    return "".join(c for c in name if c.isupper() or c.isdigit())


def _abbreviates(long: list[str], short: list[str]) -> bool:
    """Return whether `short` has the words of `long`, with some consecutive words abbreviated: `matrix_nms`."""
    long, short = list(long), list(short)
    while long and short:
        if long[0] == short[0]:
            long, short = long[1:], short[1:]
            continue
        count = len(short[0])
        if count < 2 or "".join(word[0] for word in long[:count]) != short[0] or len(long) < count:
            return False
        long, short = long[count:], short[1:]
    return not long and not short
