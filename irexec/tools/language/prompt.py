"""`irexec compare FOLDER --prompt`: two sides continue the same text, and are compared where they part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model, Node
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.runtime import OtherModel, Runtime
from irexec.tools.language.blocks import blocks_of, rows
from irexec.tools.language.decoder import Decoder
from irexec.tools.language.distributions import (
    NOTABLE,
    Distance,
    distance,
    first_that_counts,
)
from irexec.tools.language.folder import WITH_PAST, Folder, filled
from irexec.tools.language.generate import steps
from irexec.tools.language.images import unknown
from irexec.tools.language.result import PromptComparison
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

    def __init__(
        self, folder: Folder, prompt: str, most: int, *, raw: bool = False, seed: int = 0, pixels: Array | None = None
    ) -> None:
        self.folder, self.texts, self._seed, self._pixels = folder, Texts(folder), seed, pixels
        self.tokens = self.texts.tokens(prompt if raw else as_chat(folder, prompt, image=pixels is not None))
        self.decoder = self.of(folder)
        times = _Times()
        self.steps = list(steps(self.decoder, CompiledModel(self.decoder.model), most, listeners=[times]))
        self.seconds = {node: seconds / len(self.steps) for node, seconds in times.seconds.items()}

    def of(self, folder: Folder) -> Decoder:
        """Return the model of a folder for the same prompt, image and seed."""
        return Decoder(folder, self.tokens, self._seed, self._pixels)

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
        if step == 0 or self.decoder.has_caches_as_inputs or self.decoder.rereads:
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
        decoder = teacher.of(self._folder)
        found = steps(decoder, CompiledModel(decoder.model), len(teacher.steps), forced=teacher.forced)
        return [step.logits for step in found]


def compare_prompt(
    teacher: Teacher,
    side: OtherSide,
    *,
    bounds: Bounds | None = None,
    window: int | None = None,
    progress: Progress = lambda text: None,
) -> PromptComparison:
    """Compare irexec's continuation of a prompt with that of another side. Raises IRError and CannotRun."""
    decoder, folder = teacher.decoder, teacher.folder
    progress(f"{plural(len(teacher.steps), 'step')} with {side.name}")
    logits = side.logits(teacher)
    between = distances(teacher, logits)

    def compared(part: str, inputs: Sequence[Sequence[Array]]) -> Comparison:
        def show(done: int, total: int) -> None:
            progress(f"{part}: {done} of {total} layers compared with {side.name}")

        reference = Reference(folder.part(part), inputs)
        return compare(reference, side.runtime(part), bounds=bounds, window=window, progress=show)

    alone, notes = _alone(decoder)
    before = decoder.before | _later(teacher) | alone
    parts = {part: compared(part, [inputs]) for part, inputs in before.items()}
    step = first_that_counts(between)
    found = compared(decoder.name, teacher.reaching(step))
    if step > 1 and found.agrees and between[step].divergence > NOTABLE and not _shows(teacher, step, found, between):
        # What the other side keeps between calls makes the difference.
        found = compared(decoder.name, teacher.inputs[: step + 1])
    if found.agrees and decoder.reorders:
        title, inputs = teacher.batch()
        parts[title] = compared(decoder.name, inputs)
    of_model = [found, *(part for name, part in parts.items() if name not in before)]
    wrong = [node for one in of_model for node in _wrong(decoder.model, one)]
    compared_rows = [row for one in of_model for row in one.layers if row.node not in one.misleading]
    differing = side.ratios(decoder.model, decoder.name)
    blocks = rows(blocks_of(decoder.model), compared_rows, teacher.seconds, wrong, differing)
    places = {part: _place(folder.part(part), parts[part]) for part in before}
    size = int(decoder.prompt.size)
    made = PromptComparison(side.name, size, between, step, found, parts, blocks, places=places, notes=notes)
    made.logits = logits
    return made


def _later(teacher: Teacher) -> dict[str, list[Array]]:
    """Return the inputs of the model of later tokens, if there is one: the caches of the first call, and a token."""
    decoder = teacher.decoder
    if WITH_PAST not in decoder.folder.files or not decoder.rereads:
        return {}
    first = teacher.steps[0]
    caches = CompiledModel(decoder.model)(first.inputs).to_tuple()
    token, past = np.array([[first.token]], np.int64), decoder.start.shape[1]
    return {WITH_PAST: decoder.inputs(token, past, caches, model=decoder.folder.part(WITH_PAST))}


def _alone(decoder: Decoder) -> tuple[dict[str, list[Array]], list[str]]:
    """Return typical inputs of the models that are not put together, and what is said about these models."""
    found, notes = dict[str, list[Array]](), list[str]()
    for part in decoder.alone:
        model = decoder.folder.part(part)
        try:
            inputs = filled(model, {})
            Reference(model, [inputs]).results()
        except IRError as error:
            notes.append(f"{part} is not compared: {error.report.errors[0].message}")
        else:
            found[part] = inputs
    if decoder.alone:
        notes.insert(0, f"{unknown(decoder.alone)}; they are compared alone, with typical values")
    return found, notes


def _wrong(model: Model, found: Comparison) -> list[Node]:
    """Return the layers of a model that a comparison names: instead of those in a body, the layer that contains it."""
    if found.culprit is None:
        return []
    outer = found.culprit.outer[:1]
    return [node for node in model.nodes if node.friendly_name in outer] if outer else found.culprit.nodes


def _place(model: Model, found: Comparison) -> str:
    """Return the blocks of the layers that a comparison of a model before the decoder names."""
    wrong = _wrong(model, found)
    blocks = blocks_of(model) if wrong else {}
    return ", ".join(dict.fromkeys(str(blocks[node]) for node in wrong if node in blocks))


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
