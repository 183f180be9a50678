"""Several other sides that continue one text: which of them, or irexec, parts from the others, when and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irexec.tools.compare.numbers import MARGIN
from irexec.tools.compare.sides import differing
from irexec.tools.language.distributions import distance, first_that_counts
from irexec.tools.language.result import PromptComparison


class PromptSides:
    """Comparisons of irexec's continuation of a text with those of two or more sides."""

    def __init__(self, found: Sequence[PromptComparison]) -> None:
        self.found = list(found)

    @property
    def agrees(self) -> bool:
        return all(one.agrees for one in self.found)

    @property
    def verdict(self) -> str:
        """A line that names the side that parts from the others, with the step and the blocks of each that differs."""
        text = differing(self.found, _is_close, lambda wrong, right: "")
        wrong = [one for one in self.found if not one.agrees]
        settings = (f"{one.other}: {one.setting}" for one in self.found if one.agrees and one.setting)
        return "; ".join([text, *(f"{one.other}: {_parting(one)}" for one in wrong), *settings])

    def to_dict(self) -> dict[str, Any]:
        comparisons = [one.to_dict() for one in self.found]
        return {"kind": "comparisons of sides", "verdict": self.verdict, "agrees": self.agrees} | {
            "comparisons": comparisons
        }


def _parting(found: PromptComparison) -> str:
    """Return the first step that counts, and the blocks in which a side differs."""
    step = first_that_counts(found.distances)
    return f"step {step} (KL {found.distances[step].divergence:.1g}), {found.place or 'no layer is named'}"


def _is_close(one: PromptComparison, other: PromptComparison) -> bool:
    """Return whether the distributions of two sides are much closer to each other than to irexec's."""
    between = max(distance(a, b).divergence for a, b in zip(one.logits, other.logits, strict=True))
    return MARGIN * between <= min(max(step.divergence for step in side.distances) for side in (one, other))
