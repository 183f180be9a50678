"""What a comparison of two sides that continue a text has found: distributions, layers, blocks, the verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.core.structure import READ_VALUE
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.tools.compare.result import CACHE, Comparison
from irexec.tools.language.blocks import BlockRow
from irexec.tools.language.distributions import Distance, Tried, different, grows
from irexec.tools.language.folder import PARTS


@dataclass(slots=True)
class PromptComparison:
    """Two sides that continue a text. `distances`: their distributions, per step. `step`: the one whose layers are
    compared, by `found`; `parts`: the comparisons of the models before it, by name. `blocks`: the parts of the model.
    `settings`: the distributions with other settings of the runtime. `places`: the blocks of the wrong layers of each
    model before. `notes`: what could not be compared. `logits`: those of the other side, per
    step.
    """

    other: str
    prompt: int
    distances: list[Distance]
    step: int
    found: Comparison
    parts: dict[str, Comparison] = field(default_factory=dict)
    blocks: list[BlockRow] = field(default_factory=list)
    settings: list[Tried] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    logits: list[Array] = field(default_factory=list, repr=False)

    @property
    def agrees(self) -> bool:
        """Whether no layer is wrong, or only caches are rounded, which changes no token without a tie."""
        compared = all(one.agrees or self._cached(one) for one in (self.found, *self.parts.values()))
        return compared and (not self.setting or all(step.near for step in self.distances if step.differs))

    @property
    def setting(self) -> str:
        """The setting that explains the first wrong layers: caches whose values the other side keeps in fewer bits."""
        kept = (self._cached(one) for one in (self.found, *self.parts.values()))
        return next(filter(None, kept), "")

    @staticmethod
    def _cached(found: Comparison) -> str:
        nodes = found.culprit.nodes if found.culprit is not None else []
        kept = found.about.get(CACHE, "f32")
        is_cache = bool(nodes) and kept != "f32" and all(node.type == READ_VALUE for node in nodes)
        return f"{CACHE} is {kept}: the keys and values that the other side keeps are rounded" if is_cache else ""

    @property
    def first(self) -> int | None:
        """The first step in which the sides prefer different tokens."""
        return next((index for index, step in enumerate(self.distances) if step.differs), None)

    @property
    def lines(self) -> list[str]:
        """The comparison of the texts, line by line."""
        counts = f"{plural(self.prompt, 'token')}, {plural(len(self.distances), 'step')}"
        first = f"prompt: {counts}, greedy, teacher-forced by irexec"
        return [first, self._tokens(), self._divergence(), *filter(None, [self.setting]), *self.notes]

    def _tokens(self) -> str:
        if self.first is None:
            return "the same token in every step"
        step = self.distances[self.first]
        theirs, ours = (f"{t.text!r} (p {t.ours:.2g})" for t in (step.theirs, step.ours))
        end = (
            ": near tie, not a fault" if step.near else f": p {step.theirs.theirs:.2g} and {step.ours.theirs:.2g} there"
        )
        more = different(self.distances) - 1
        others = f"; {plural(more, 'later step')} as well" if more else ""
        return f"first different token: step {self.first}, {theirs} instead of {ours}{end}{others}"

    def _divergence(self) -> str:
        found = [step.divergence for step in self.distances]
        most = int(np.argmax(found))
        if not found[most]:
            return "distributions: equal in every step"
        text = f"distributions: KL {found[0]:.1g} at step 0"
        text += (
            f", {found[most]:.1g} at step {most}" if most else ", the largest of all steps" if len(found) > 1 else ""
        )
        return text + (", grows with the cache" if grows(self.distances) else "")

    @property
    def place(self) -> str:
        """The blocks of the first wrong layers, of the decoder or else of a model before it; may be empty."""
        own = ", ".join(dict.fromkeys(str(row.block) for row in self.blocks if row.wrong))
        return own or next((f"{PARTS[part]}: {place}" for part, place in self.places.items() if place), "")

    def place_in(self, title: str) -> str:
        """Return the blocks of the first wrong layers of one of the comparisons."""
        return self.places.get(title, self.place)

    @property
    def verdict(self) -> str:
        """The verdict about the first part that differs; of parts that agree, that about the step."""
        every = {f"step {self.step}": self.found, **self.parts}
        wrong = (f"{title}: {one.verdict}" for title, one in every.items() if not one.agrees)
        return next(wrong, self.found.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison in the form of that of its layers, with the steps and blocks."""
        more = {
            "verdict": self.verdict,
            "prompt": self.prompt,
            "step": self.step,
            "lines": self.lines,
            "block": self.place,
            "setting": self.setting,
            "steps": [step.to_dict() for step in self.distances],
            "blocks": [row.to_dict() for row in self.blocks],
            "settings": [one.to_dict() for one in self.settings],
            "parts": {name: part.to_dict() for name, part in self.parts.items()},
            "agrees": self.agrees,
        }
        return self.found.to_dict() | more
