"""The check of a release by a model: whether its results there differ in the same way, as `reduce` judges it."""

from __future__ import annotations

from collections.abc import Callable

from irexec.tools.bisect.environments import NoRelease
from irexec.tools.compare.errors import Bounds
from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
from irexec.tools.reduce.case import Case
from irexec.tools.reduce.verdict import ByRuntime, Fault, Sameness, words_of
from irexec.tools.run.record import Reference

_SIMILAR = 0.6
"""The part of the words of an error message that has to recur: releases phrase the same error in different ways."""


class ByModel:
    """A check by the results of a model. The failure is the first one that is found, unless it is set as `fault`. A
    refusal is one only of the release that is asked first, the newest: others may lack an operator.

    `runtime_of`: the runtime in the environment of an interpreter; raises CannotRun.
    """

    def __init__(
        self,
        reference: Reference,
        runtime_of: Callable[[str], Runtime],
        bounds: Bounds | None = None,
        same: Sameness | None = None,
    ) -> None:
        self._case = Case(reference.model, reference.steps, reference.results())
        self._runtime_of, self._bounds, self._same = runtime_of, bounds, same
        self.fault: Fault | None = None
        self.others: dict[str, str] = {}
        """Release → another failure that it has instead."""
        self.has_asked = False
        """Whether a release was asked already."""

    @property
    def message(self) -> str:
        """The failure in words; empty as long as none was found."""
        return "" if self.fault is None else self.fault.message

    def __call__(self, release: str, python: str) -> bool:
        try:
            return self.fails(self._runtime_of(python), release)
        except CannotRun as error:
            raise NoRelease(str(error)) from None

    def fails(self, runtime: Runtime, release: str = "") -> bool:
        """Return whether the failure is there. Raises NoRelease if another failure makes that unknown."""
        is_first, self.has_asked = not self.has_asked, True
        found = ByRuntime(runtime, self._bounds, self._same).fault(self._case, self.fault)
        if found is None:
            return False
        if self.fault is None and found.kind == "refusal" and not is_first:
            raise NoRelease(f"it refuses the model: {found.message}")
        if self.fault is None:
            self.fault = found
        if _is_same(self.fault, found):
            return True
        if found.kind != "difference":
            # It does not come as far as the failure in question.
            what = "it refuses the model" if found.kind == "refusal" else "another failure"
            raise NoRelease(f"{what}: {found.message}")
        self.others[release] = f"another failure: {found.message}"
        return False


def _is_same(one: Fault, other: Fault) -> bool:
    if one.kind != other.kind or one.kind not in ("refusal", "crash", "hang"):
        return one == other
    if one.kind != "refusal":  # The message names the release, and the signal of a crash.
        return words_of(one.message) == words_of(other.message)
    words = {*words_of(one.message).split()}
    return len(words & {*words_of(other.message).split()}) >= _SIMILAR * len(words)
