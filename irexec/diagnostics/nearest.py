"""Did you mean: the known names that a wrong one looks like."""

from __future__ import annotations

from collections.abc import Callable, Iterable

LONGEST = 200
"""A longer text is no slip of any name, and comparing it would take long."""


def nearest(name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6) -> list[str]:
    """At most `count` of the known names that look like `name`, best first; letter case makes no difference.

    `cutoff` is how alike they must be, from 0 to 1 (the same).
    """
    if len(name) > LONGEST:
        return []
    import difflib  # Nobody needs it for a file without a slip.

    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(candidate.lower(), candidate)
    return [by_folded[folded] for folded in difflib.get_close_matches(name.lower(), by_folded, count, cutoff)]


def did_you_mean(
    name: str, known: Iterable[str], count: int = 3, cutoff: float = 0.6, form: Callable[[str], str] = str
) -> str | None:
    """The hint that names them, each written as `form` does; None when nothing looks like `name`."""
    return suggestion(map(form, nearest(name, known, count, cutoff)))


def suggestion(names: Iterable[str]) -> str | None:
    """The hint that one of `names` is meant; None when there is none."""
    joined = " or ".join(names)
    return f"did you mean {joined}?" if joined else None


def alike(name: str, other: str, least: float) -> bool:
    """Whether two names are at least so alike, from 0 to 1 (the same)."""
    if max(len(name), len(other)) > LONGEST:
        return name == other
    import difflib

    return difflib.SequenceMatcher(None, name, other).ratio() >= least
