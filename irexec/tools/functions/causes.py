"""`bisect` and `blame` as functions."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from irexec.tools.bisect.bisect import Bisection
from irexec.tools.bisect.environments import Environments, package_of
from irexec.tools.bisect.of_model import OfModel
from irexec.tools.bisect.settings import SettingsFound
from irexec.tools.blame.blame import Blame as Blamed
from irexec.tools.blame.blame import Blaming
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.choose import runtime_of
from irexec.tools.functions.given import Inputs, ModelLike, model_of, name_of, reference_of
from irexec.tools.functions.result import Result
from irexec.tools.render.printing import Printout
from irexec.tools.status import NotebookStatus


@dataclass(frozen=True, slots=True, repr=False)
class Bisected(Result):
    """The outcome of a search for a failure. `releases`: the search in releases, whose `release` is the first one with
    another answer; `settings`: the search in settings, which are in its `removes`. None for a search that was not
    asked for.
    """

    releases: Bisection | None
    settings: SettingsFound | None

    @property
    def _answers(self) -> list[Bisection | SettingsFound]:
        return [found for found in (self.releases, self.settings) if found is not None]

    @property
    def verdict(self) -> str:
        """The answers in one line."""
        return "; ".join(found.verdict for found in self._answers)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON-ready values."""
        return {
            k: v for found in (self.releases, self.settings) if found is not None for k, v in found.to_dict().items()
        }

    def show(self, page: Printout) -> None:
        _print("\n".join(found.text() for found in self._answers), page)


def bisect(
    model: ModelLike,
    other: str = "openvino",
    inputs: Inputs | None = None,
    *,
    releases: str | None = None,
    settings: bool = False,
    environments: str | os.PathLike[str] | None = None,
    pythons: Mapping[str, str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    config: Mapping[str, str] | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    limit: float | None = 600.0,
) -> Bisected:
    """Find the release in which a failure appeared or disappeared, or the settings that remove it, as `irexec bisect`.

    `other`: "openvino", "openvino:DEVICE" or "onnxruntime". `releases`: "A,B,C", "A..B" or "A..". `environments`: the
    folder in which pip makes environments; `pythons`: interpreters by release. The other arguments are those of
    `compare`. Raises IRError for a model that cannot be run, ValueError without a question, LookupError for releases
    that are not known, and RuntimeError for a runtime that cannot be used.
    """
    if releases is None and not settings:
        raise ValueError("bisect needs releases, settings=True or both")
    reference = reference_of(model_of(model, weights), inputs, shapes, seed)
    made = Environments(package_of(other), environments, pythons)
    with NotebookStatus() as status:
        search = OfModel(reference, other, made, config or {}, Bounds.given(atol, rtol), limit, status.show)
        searched = None if releases is None else search.releases(releases)
        return Bisected(searched, search.settings(searched) if settings else None)


@dataclass(slots=True, repr=False)
class Blame(Result, Blamed):
    """What is known about the cause of a failure: `failure`, the answers in `parts`, and the `files` of the archive."""

    @property
    def verdict(self) -> str:
        """The failure in one line."""
        return self.failure

    def show(self, page: Printout) -> None:
        _print(self.text(), page)


def blame(
    model: ModelLike,
    other: str = "openvino",
    inputs: Inputs | None = None,
    *,
    output: str | os.PathLike[str] = "blame.zip",
    skip: Collection[str] = (),
    releases: str | None = None,
    environments: str | os.PathLike[str] | None = None,
    pythons: Mapping[str, str] | None = None,
    weights: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    config: Mapping[str, str] | None = None,
    atol: float | None = None,
    rtol: float | None = None,
    limit: float | None = 120.0,
) -> Blame:
    """Find all that can be known about the cause of a failure, and write the archive `output`, as `irexec blame` does.

    `skip`: the questions to leave out, of "reduce", "layer", "passes", "release" and "settings". The other arguments
    are those of `bisect`. Raises IRError for a model that cannot be run, ValueError for a model that does not fail,
    and RuntimeError for a runtime that cannot be used.
    """
    reference = reference_of(model_of(model, weights), inputs, shapes, seed)
    made = Environments(package_of(other), environments, pythons)
    runtime = runtime_of(other, dict(config or {}), reference.model, limit)
    with NotebookStatus() as status:
        work = Blaming(
            reference, runtime, other, config or {}, made,
            releases=releases, skip=skip, bounds=Bounds.given(atol, rtol), limit=limit, progress=status.show,
        )  # fmt: skip
        found = work.run(Path(output))
    if found is None:
        why = f": {hint}" if (hint := work.hint()) else ""
        raise ValueError(f"nothing to blame: {runtime.name} does not fail on {name_of(model)} with these inputs{why}")
    return Blame(**{field.name: getattr(found, field.name) for field in fields(found)})


def _print(text: str, page: Printout) -> None:
    for line in text.rstrip("\n").split("\n"):
        page.line(line)
