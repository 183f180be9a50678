"""`bisect` and `blame` as functions."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import Any

from irexec.core.diagnostics import IRError, WrongArgument
from irexec.core.diagnostics.findings import Findings
from irexec.ir.beside import Unreadable
from irexec.tools.bisect.bisect import Bisection
from irexec.tools.bisect.log import Log
from irexec.tools.bisect.of_model import OfModel
from irexec.tools.bisect.settings import SettingsFound
from irexec.tools.blame.blame import Blame as Blamed
from irexec.tools.blame.blame import Blaming
from irexec.tools.functions.beside import InReleases, NoFailure
from irexec.tools.functions.command import function_of
from irexec.tools.functions.given import name_of
from irexec.tools.functions.result import Result
from irexec.tools.reduce.repro import identity
from irexec.tools.render.printing import Printout
from irexec.tools.status import Status


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

    @property
    def exit_code(self) -> int:
        return max(found.exit_code for found in self._answers)

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as JSON-ready values."""
        return {name: value for found in self._answers for name, value in found.to_dict().items()}

    def show(self, page: Printout) -> None:
        _print("\n".join(found.text() for found in self._answers), page)


@dataclass(frozen=True)
class Bisect(InReleases[Bisected]):
    """Find the release in which a failure appeared or disappeared, or the settings that remove it, as `irexec bisect`.

    `other`: "openvino", "openvino:DEVICE" or "onnxruntime". `releases`: "A,B,C", "A..B" or "A..". `environments`: the
    folder in which pip makes environments; `pythons`: interpreters by release. `resume`: a file that keeps the answers
    of an interrupted search. The other arguments are those of `compare`. Raises IRError for a model that cannot be run,
    ValueError without a question, LookupError for releases that are not known, and RuntimeError for a runtime that
    cannot be used.
    """

    _: KW_ONLY
    settings: bool = False
    resume: str | os.PathLike[str] | None = None

    def work(self, status: Status) -> Bisected:
        if self.releases is None and not self.settings:
            raise WrongArgument("bisect needs releases, settings or both")
        reference, config = self.reference(), self.config or {}
        search = OfModel(reference, self.other, self.made(), config, self.bounds, self.timeout, status.show)
        asked = [self.other, self.releases, *sorted(config.items()), self.bounds]
        log = None if self.resume is None else log_of(self.resume, identity(reference, repr(asked)))
        searched = None if self.releases is None else search.releases(self.releases, log)
        return Bisected(searched, search.settings(searched) if self.settings else None)


bisect = function_of(Bisect, "bisect")


def log_of(path: str | os.PathLike[str], asked: str) -> Log:
    """Return the answers of an interrupted search. Raises IRError and OSError."""
    try:
        return Log(os.fspath(path), asked)
    except Unreadable as error:
        findings = Findings(file=os.fspath(path))
        findings.add("U012", str(error))
        raise IRError(findings.report) from None


@dataclass(slots=True, repr=False)
class Blame(Result, Blamed):
    """What is known about the cause of a failure: `failure`, the answers in `parts`, and the `files` of the archive."""

    @property
    def verdict(self) -> str:
        """The failure in one line."""
        return self.failure

    def show(self, page: Printout) -> None:
        _print(self.text(), page)


@dataclass(frozen=True)
class FindCauses(InReleases[Blame]):
    """Find all that can be known about the cause of a failure, and write the archive `output`, as `irexec blame` does.

    `skip`: the questions to leave out, of "reduce", "layer", "passes", "release" and "settings". The other arguments
    are those of `bisect`. Raises IRError for a model that cannot be run, ValueError for a model that does not fail,
    and RuntimeError for a runtime that cannot be used.
    """

    _: KW_ONLY
    output: str | os.PathLike[str] = "blame.zip"
    skip: Collection[str] = ()
    timeout: float | None = 120.0

    def work(self, status: Status) -> Blame:
        reference, config, environments = self.reference(), self.config or {}, self.made()
        runtime = self.runtime(reference.model)
        work = Blaming(
            reference, runtime, self.other, config, environments,
            releases=self.releases, skip=self.skip, bounds=self.bounds, limit=self.timeout, progress=status.show,
        )  # fmt: skip
        found = work.run(Path(self.output))
        if found is None:
            raise NoFailure("blame", runtime.name, name_of(self.given), work.hint())
        return Blame(**{field.name: getattr(found, field.name) for field in fields(found)})


blame = function_of(FindCauses, "blame")


def _print(text: str, page: Printout) -> None:
    for line in text.rstrip("\n").split("\n"):
        page.line(line)
