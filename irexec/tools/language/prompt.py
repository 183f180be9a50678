"""`irexec compare FOLDER --prompt`: two sides continue the same text, and are compared where they part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from irexec.core.structure import READ_VALUE
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model, Node
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.result import CACHE, Comparison
from irexec.tools.compare.runtimes.runtime import OtherModel, Runtime
from irexec.tools.language.blocks import BlockRow, blocks_of, rows
from irexec.tools.language.decoder import Decoder
from irexec.tools.language.distributions import (
    NOTABLE,
    Distance,
    Tried,
    different,
    distance,
    first_that_counts,
    grows,
)
from irexec.tools.language.folder import EMBEDDINGS, ENCODER, PER_LAYER, Folder
from irexec.tools.language.generate import steps
from irexec.tools.language.text import Texts, as_chat
from irexec.tools.language.weights import ratios
from irexec.tools.run.record import Reference

Progress = Callable[[str], None]
PADDED, BEAMS = "two texts, with padding and beams", "two texts, with beams"
"""The comparisons of calls that exercise masks and the order of caches, or the order alone."""


class OtherSide(Protocol):
    """The other side of a comparison: a runtime for each model of the folder, and the logits of a text."""

    name: str

    def runtime(self, part: str) -> Runtime:
        """Return the runtime with which a model of the folder is compared. Raises CannotRun."""

    def logits(self, teacher: Teacher) -> list[Array]:
        """Return the logits of each step of the teacher. Raises CannotRun and IRError."""

    def ratios(self, model: Model, part: str) -> dict[Node, float]:
        """Return the signal-to-noise ratios of the weights that differ from those of a model, by layer."""


class Teacher:
    """irexec's own greedy continuation of a prompt, which the other side has to follow. Raises IRError."""

    def __init__(self, folder: Folder, prompt: str, most: int, *, raw: bool = False, seed: int = 0) -> None:
        self.folder, self.texts = folder, Texts(folder)
        self.tokens = self.texts.tokens(prompt if raw else as_chat(folder, prompt))
        self.decoder = Decoder(folder, self.tokens, seed)
        times = _Times()
        self.steps = list(steps(self.decoder, CompiledModel(self.decoder.model), most, listeners=[times]))
        self.seconds = {node: seconds / len(self.steps) for node, seconds in times.seconds.items()}

    @property
    def forced(self) -> list[int]:
        """The token that each step chose."""
        return [step.token for step in self.steps]

    @property
    def inputs(self) -> list[list[Array]]:
        return [step.inputs for step in self.steps]

    def text(self, token: int) -> str:
        return self.texts.text([token])

    def reaching(self, step: int) -> list[list[Array]]:
        """Return the inputs of a short run that ends with a step: one call for all tokens before, then the step."""
        if step == 0 or self.decoder.has_caches_as_inputs:
            return [self.inputs[step]]
        before = np.concatenate([self.decoder.start, np.array([self.forced[: step - 1]], np.int64)], axis=1)
        return [self.decoder.inputs(before, 0), self.inputs[step]]

    def batch(self) -> tuple[str, list[list[Array]]]:
        """Return the inputs of two calls on two texts, whose caches then change places, as a search with beams does,
        and their title. The second text is shorter by two tokens, unless the model computes no numbers for padding.
        """
        text = np.concatenate([self.decoder.start, np.array([self.forced], np.int64)], axis=1)
        padded = self._texts(text, min(2, text.shape[1] - 2))
        results = Reference(self.decoder.model, padded).results()
        if any(np.isnan(self.decoder.scores(step)).any() for step in results):
            return BEAMS, self._texts(text, 0)
        return PADDED, padded

    def _texts(self, text: Array, padding: int) -> list[list[Array]]:
        later = np.roll(text, 1, axis=1)[:, :-1]
        both, last = np.concatenate([text[:, :-1], later]), np.array([self.forced[-1:], self.forced[:1]], np.int64)
        return [
            self.decoder.inputs(both, 0, padding=padding),
            self.decoder.inputs(last, both.shape[1], padding=padding),
        ]


class _Times:
    """A listener that adds up the time of each layer."""

    def __init__(self) -> None:
        self.seconds: dict[Node, float] = {}

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        pass

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        self.seconds[node] = self.seconds.get(node, 0.0) + seconds


class OfRuntime:
    """A program as the other side, such as OpenVINO on a device. `runtime_of` returns it for a model."""

    def __init__(self, runtime_of: Callable[[Model], Runtime], folder: Folder) -> None:
        self._runtime_of, self._folder = runtime_of, folder
        self._runtime = runtime_of(folder.part(folder.generating))
        self.name = self._runtime.name

    def runtime(self, part: str) -> Runtime:
        return self._runtime if part == self._folder.generating else self._runtime_of(self._folder.part(part))

    def logits(self, teacher: Teacher) -> list[Array]:
        found = self._runtime.load(teacher.decoder.model).results(teacher.inputs)
        return [teacher.decoder.scores(results) for results in found]

    def ratios(self, model: Model, part: str) -> dict[Node, float]:
        return {}


class OfFolder:
    """Another export as the other side, run by irexec."""

    def __init__(self, folder: Folder) -> None:
        self.name, self._folder = str(folder.path), folder

    def runtime(self, part: str) -> Runtime:
        name = self._named(part)
        return OtherModel(str(self._folder.files[name]), self._folder.part(name))

    def ratios(self, model: Model, part: str) -> dict[Node, float]:
        return ratios(model, self._folder.part(self._named(part)))

    def _named(self, part: str) -> str:
        """Return the name of the same model here, which differs if embeddings are no model of their own."""
        return part if part in self._folder.files else self._folder.generating

    def logits(self, teacher: Teacher) -> list[Array]:
        decoder = Decoder(self._folder, teacher.tokens)
        found = steps(decoder, CompiledModel(decoder.model), len(teacher.steps), forced=teacher.forced)
        return [step.logits for step in found]


@dataclass(slots=True)
class PromptComparison:
    """Two sides that continue a text. `distances`: their distributions, per step. `step`: the one whose layers are
    compared, by `found`; `parts`: the comparisons of the models before it, by name. `blocks`: the parts of the model.
    `settings`: the distributions with other settings of the runtime.
    """

    other: str
    prompt: int
    distances: list[Distance]
    step: int
    found: Comparison
    parts: dict[str, Comparison] = field(default_factory=dict)
    blocks: list[BlockRow] = field(default_factory=list)
    settings: list[Tried] = field(default_factory=list)

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
        return [first, self._tokens(), self._divergence(), *filter(None, [self.setting])]

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
        """The blocks of the first wrong layers; empty if there are none."""
        return ", ".join(dict.fromkeys(str(row.block) for row in self.blocks if row.wrong))

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


def compare_prompt(
    teacher: Teacher,
    side: OtherSide,
    *,
    bounds: Bounds | None = None,
    window: int | None = None,
    progress: Progress = lambda text: None,
) -> PromptComparison:
    """Compare irexec's continuation of a prompt with that of another side. Raises IRError and CannotRun."""
    decoder = teacher.decoder
    progress(f"{plural(len(teacher.steps), 'step')} with {side.name}")
    between = distances(teacher, side.logits(teacher))

    def compared(part: str, inputs: Sequence[Sequence[Array]]) -> Comparison:
        def show(done: int, total: int) -> None:
            progress(f"{part}: {done} of {total} layers compared with {side.name}")

        reference = Reference(teacher.folder.part(part), inputs)
        return compare(reference, side.runtime(part), bounds=bounds, window=window, progress=show)

    parts = {part: compared(part, inputs) for part, inputs in _before(teacher).items()}
    step = first_that_counts(between)
    found = compared(decoder.name, teacher.reaching(step))
    if step > 1 and found.agrees and between[step].divergence > NOTABLE and not _shows(teacher, step, found, between):
        # What the other side keeps between calls makes the difference.
        found = compared(decoder.name, teacher.inputs[: step + 1])
    if found.agrees and decoder.reorders:
        title, inputs = teacher.batch()
        parts[title] = compared(decoder.name, inputs)
    of_model = [found, *(part for name, part in parts.items() if name in (PADDED, BEAMS))]
    wrong = [node for one in of_model if one.culprit is not None for node in one.culprit.nodes]
    compared_rows = [row for one in of_model for row in one.layers]
    differing = side.ratios(decoder.model, decoder.name)
    blocks = rows(blocks_of(decoder.model), compared_rows, teacher.seconds, wrong, differing)
    return PromptComparison(side.name, int(teacher.tokens.size), between, step, found, parts, blocks)


def distances(teacher: Teacher, logits: Sequence[Array]) -> list[Distance]:
    """Return the distances of the other side's logits from irexec's, per step."""
    found = []
    for step, there in zip(teacher.steps, logits, strict=True):
        one = distance(step.logits, there)
        ours, theirs = (replace(token, text=teacher.text(token.id)) for token in (one.ours, one.theirs))
        found.append(replace(one, ours=ours, theirs=theirs))
    return found


def _shows(teacher: Teacher, step: int, found: Comparison, between: Sequence[Distance]) -> bool:
    """Return whether the distributions of the compared run differ as much as those of the step that it ends with."""
    if not found.plain:
        return True
    theirs = teacher.decoder.scores(found.plain[-1])
    return distance(teacher.steps[step].logits, theirs).divergence >= between[step].divergence / 2


def _before(teacher: Teacher) -> dict[str, list[list[Array]]]:
    """Return the inputs of the models whose results the decoder reads, by name."""
    decoder = teacher.decoder
    found = {ENCODER: [decoder.encoded]} if decoder.encoded else {}
    return found | {part: [[decoder.start]] for part in (EMBEDDINGS, PER_LAYER) if decoder.uses(part)}
