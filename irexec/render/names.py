"""Names that are too long for a table, shortened so that they remain distinct."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from irexec.diagnostics.render.characters import width

_PART = re.compile(r"[^./]*[./]+|[^./]+")
_GAP = "..."
_LONGEST = 200
"""Characters at the end of a name that are looked at, or as many as are shown: a file may hold names of any length."""


def shortened(names: Sequence[str], limit: int) -> list[str]:
    """Return the names in `limit` cells each. Parts of a path that most of the names have are left out first."""
    longest = max(limit, _LONGEST)
    names = [name if len(name) <= longest else _GAP + name[-longest:] for name in names]
    different = {name for name in names if width(name) > limit}
    common = Counter(part for name in different for part in {*_parts(name)})
    # A short part is omitted only if it distinguishes nothing: most names contain it, and it is not a number.
    kept = {
        part
        for part, count in common.items()
        if width(part) <= len(_GAP) and (2 * count <= len(different) or any(c.isdigit() for c in part))
    }
    return [name if width(name) <= limit else _shorter(name, limit, common, kept) for name in names]


def _shorter(name: str, limit: int, common: Counter[str], stays: Collection[str]) -> str:
    parts = _parts(name)
    kept = [True] * len(parts)
    others = (index for index, part in enumerate(parts[:-1]) if part not in stays)
    # Where no other name is similar, the end is the most informative part.
    alone = len(common) == len({*parts})

    def importance(index: int) -> tuple[int, int, int]:
        size = width(parts[index])
        return -common[parts[index]], 0 if alone else -size if size > len(_GAP) else -len(name), index

    for index in sorted(others, key=importance):
        kept[index] = False
        text = _joined(parts, kept)
        if width(text) <= limit:
            return text
    end = _joined(parts, kept)
    while end and width(end) > limit - len(_GAP):
        end = end[1:]
    return _GAP + end.removeprefix(_GAP)


def _parts(name: str) -> list[str]:
    return _PART.findall(name)


def _joined(parts: Sequence[str], kept: Sequence[bool]) -> str:
    """Return the parts that are kept, with an ellipsis for each run of omitted parts."""
    text = ""
    for part, stays in zip(parts, kept, strict=True):
        text += part if stays else "" if text.endswith(_GAP) else _GAP
    return text
