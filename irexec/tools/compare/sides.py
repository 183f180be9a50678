"""Several other sides at once: which of the runtimes, including irexec, differs from the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from irexec.tools.compare.errors import measure
from irexec.tools.compare.numbers import MARGIN
from irexec.tools.compare.result import Comparison


class Side(Protocol):
    """A comparison with one other side, whose name is `other`."""

    other: str

    @property
    def agrees(self) -> bool:
        """Whether the sides agree."""


S = TypeVar("S", bound=Side)


class Sides:
    """Comparisons of one model with several runtimes, for the same inputs."""

    def __init__(self, found: Sequence[Comparison]) -> None:
        """`found`: the comparisons of the same model with two or more sides."""
        self.found = list(found)

    @property
    def agrees(self) -> bool:
        """Whether all sides agree with irexec."""
        return all(one.agrees for one in self.found)

    @property
    def empty(self) -> bool:
        """Whether one of the comparisons compared nothing."""
        return any(one.empty for one in self.found)

    @property
    def verdict(self) -> str:
        """A sentence that names the side that differs from all others."""
        return differing(self.found, self._is_close, _also)

    @staticmethod
    def _is_close(one: Comparison, other: Comparison) -> bool:
        """Return whether two sides are much closer to each other than either is to irexec."""
        results = [[name for name, _ in side.results] for side in (one, other)]
        if not one.plain or not other.plain or results[0] != results[1]:
            return False
        pairs = (pair for a, b in zip(one.plain, other.plain, strict=True) for pair in zip(a, b, strict=True))
        apart = max(measure(a, b).ulp for a, b in pairs)
        return MARGIN * apart <= min(max(error.ulp for _, error in side.results) for side in (one, other))

    def to_dict(self) -> dict[str, Any]:
        """Return the comparisons as JSON-ready values."""
        comparisons = [one.to_dict() for one in self.found]
        return {"kind": "comparisons of sides", "verdict": self.verdict, "agrees": self.agrees} | {
            "comparisons": comparisons
        }


def differing(found: Sequence[S], is_close: Callable[[S, S], bool], also: Callable[[list[S], list[S]], str]) -> str:
    """Return a sentence that names the side that differs from all others. `is_close`: whether two sides are much closer
    to each other than to irexec; `also`: what else the sides that agree with irexec agree about.
    """
    wrong = [one for one in found if not one.agrees]
    right = [one for one in found if one.agrees]
    if not wrong:
        return f"irexec, {_listed(found)} agree"
    groups = _groups(wrong, is_close)
    if right:
        verb = "differs" if len(wrong) == 1 else "differ"
        alike = " and agree with each other" if len(wrong) > 1 == len(groups) else ""
        others = f"irexec and {_listed(right)} agree{also(wrong, right)}"
        return f"{_listed(wrong)} {verb} from the others{alike}: {others}"
    if len(groups) == 1:
        return f"irexec differs from all others: {_listed(found)} agree with each other"
    if len(groups) == len(wrong):
        return f"irexec, {_listed(found)} all differ from each other"
    agree = [f"{_listed(group)} agree with each other" for group in groups if len(group) > 1]
    alone = ["irexec", *(one.other for group in groups if len(group) == 1 for one in group)]
    return f"{', '.join(agree)}, {_joined(alone)} {'differs' if len(alone) == 1 else 'differ'} from all others"


def _groups(found: Sequence[S], is_close: Callable[[S, S], bool]) -> list[list[S]]:
    """Return the sides in groups that are much closer to each other than to irexec."""
    groups: list[list[S]] = []
    for one in found:
        group = next((g for g in groups if all(is_close(one, other) for other in g)), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    return groups


def _listed(found: Sequence[Side]) -> str:
    return _joined([one.other for one in found])


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _also(wrong: Sequence[Comparison], right: Sequence[Comparison]) -> str:
    """Return the words to add if sides whose results agree also agree about the named layer; empty otherwise."""
    culprit = wrong[0].culprit
    if culprit is None or culprit.outer or len(culprit.nodes) > 1:
        return ""
    (node,) = culprit.nodes
    rows = [row for one in right for row in one.layers if row.node.friendly_name == node.friendly_name]
    seen = [row for row in rows if row.own is not None]
    return f", also about {node.friendly_name}" if seen and all(row.agrees for row in seen) else ""
