"""Suggestions for misspelled names: the known names that are similar to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

_CLEAR, _LEAD = 0.8, 0.06
LONGEST = 200
"""The length up to which a text is compared with the known names."""


def nearest(name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return at most `count` of the known names that are similar to `name`, best first, ignoring letter case.

    `cutoff` is the least similarity, from 0 to 1 (identical).
    """
    return [] if len(name) > LONGEST else list(_nearest(name, tuple(known), count, cutoff))


@lru_cache(maxsize=64)
def _nearest(name: str, known: tuple[str, ...], count: int, cutoff: float) -> tuple[str, ...]:
    """Return similar names; cached, because a file may repeat a wrong name, and a search takes milliseconds."""
    import difflib  # Imported late: only needed when a name is wrong.

    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.lower(), candidate)
    return tuple(by_folded[folded] for folded in difflib.get_close_matches(name.lower(), by_folded, count, cutoff))


def did_you_mean(
    name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6, form: Callable[[str], str] = str
) -> str | None:
    """Return a "did you mean" hint with the nearest names, each formatted by `form`; None if no name is near."""
    return suggestion(map(form, nearest(name, known, count, cutoff)))


def clearest(names: list[str], written: str) -> str | None:
    """Return the first of the similar `names` (best first) if it is clearly the intended one, else None."""
    if len(names) < 2:
        return names[0] if names else None
    import difflib

    best, other = (difflib.SequenceMatcher(None, written.lower(), name.lower()).ratio() for name in names[:2])
    return names[0] if best >= _CLEAR and best - other >= _LEAD else None


def suggestion(names: Iterable[str]) -> str | None:
    """Return a "did you mean" hint that offers these names; None for no names."""
    joined = " or ".join(names)
    return f"did you mean {joined}?" if joined else None


def alike(name: str, other: str, least: float) -> bool:
    """Return whether the similarity of two names, from 0 to 1 (identical), is at least `least`."""
    if max(len(name), len(other)) > LONGEST:
        return name == other
    import difflib

    return difflib.SequenceMatcher(None, name, other).ratio() >= least


def likely_names(name: str, names: Iterable[str]) -> str | None:
    """Return a hint with the names that may be meant by `name`: those similar to it, then those that contain it."""
    candidates = list(dict.fromkeys(names))
    near = nearest(name, candidates, 3)
    near += [n for n in candidates if name and name.lower() in n.lower() and n not in near][: 3 - len(near)]
    return suggestion(near)


def common_start(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the number of items, or characters, in the common beginning of two sequences."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))
