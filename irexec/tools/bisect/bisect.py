"""`irexec bisect`: the first release in which the answer of a check changed, by binary search over releases."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.core.diagnostics import WrongArgument
from irexec.runtime.processes.starting import outcome
from irexec.tools.bisect.environments import Environments, NoRelease, version_key
from irexec.tools.run.values import split

Check = Callable[[str, str], bool]
"""A check of a release: (release, its Python interpreter) → whether the failure is there. Raises NoRelease."""
_TRIED = 3
"""The number of oldest releases that are tried one by one if they cannot be checked."""
THERE = {True: "there", False: "not there"}


@dataclass
class Bisection:
    """The outcome of a search. `failures`: whether the failure is there, by release, in the order of the checks.

    `release`: the first release in which this differs from the release before it, `before`; None if it never differs.
    `skipped`: releases that could not be checked, with the reason. `intermittent`: releases whose second check
    contradicts the first one. `failure`: its description, if a model shows it. `others`: releases without the failure
    that have another one.
    """

    release: str | None = None
    before: str | None = None
    failures: dict[str, bool] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    intermittent: list[str] = field(default_factory=list)
    failure: str = ""
    others: dict[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the answer, and a line for each release that was checked."""
        lines = [self.verdict]
        if self.intermittent:
            lines.append(f"intermittent: a second check of {', '.join(self.intermittent)} has another result")
        lines += [f"the failure: {self.failure}"] if self.failure else []
        lines.append("")
        for release in self._checked():
            other = f" ({self.others[release]})" if release in self.others else ""
            lines.append(f"{release:16}{THERE[self.failures[release]]}{other}")
        return "\n".join([*lines, *(f"{release:16}skipped: {why}" for release, why in self.skipped.items())]) + "\n"

    def _checked(self) -> list[str]:
        return sorted(self.failures, key=version_key)

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if self.release is None or self.before is None:
            where = " and ".join(self._checked()) or "any release"
            states = {THERE[fails] for fails in self.failures.values()}
            return f"no change: the failure is {' or '.join(sorted(states)) or 'not checked'} in {where}"
        fails = self.failures[self.release]
        what = "with the failure" if fails else "without the failure"
        return f"{self.release} is the first release {what}: from {THERE[not fails]} in {self.before} to {THERE[fails]}"

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        return {
            "release": self.release,
            "before": self.before,
            "failures": self.failures,
            "skipped": self.skipped,
            "intermittent": self.intermittent,
            "failure": self.failure,
            "others": self.others,
        }

    @property
    def exit_code(self) -> int:
        """0 if a release was found, 1 if the answer never changes, 2 if nothing could be checked."""
        return 0 if self.release is not None else 1 if self.failures else 2


class ByCommand:
    """A check by a command, in which {python} stands for the interpreter, {release} for the release, and {} for the
    model: the failure is there if it exits with another code than 0.

    `limit`: seconds; a command that does not end shows the failure. Raises WrongArgument.
    """

    def __init__(self, command: str, model: str | None = None, limit: float | None = None) -> None:
        try:
            self._words, self._model, self._limit = shlex.split(command), model, limit
        except ValueError as error:
            raise WrongArgument(f"{command}: {error}") from None
        if not any("{python}" in word for word in self._words):
            raise WrongArgument("the command must contain {python} for the interpreter with the release")
        if model is None and any("{}" in word for word in self._words):
            raise WrongArgument("the command contains {}, but no model is given")

    def __call__(self, release: str, python: str) -> bool:
        values = {"{python}": python, "{release}": release, "{}": self._model or ""}
        words = self._words
        for mark, value in values.items():
            words = [word.replace(mark, value) for word in words]
        try:
            code, _ = outcome(words, self._limit)
        except OSError as error:
            raise NoRelease(f"{words[0]} cannot be run: {error.strerror or error}") from None
        return code != 0


def bisect(
    check: Check,
    releases: Sequence[str],
    environments: Environments,
    progress: Callable[[str], None] = lambda text: None,
    known: Mapping[str, bool] | None = None,
    keep: Callable[[Mapping[str, bool]], None] = lambda failures: None,
) -> Bisection:
    """Find the first release whose answer differs from that of the oldest one.

    `releases`: the oldest first. About log2(n) + 2 of them are checked, the newest one first; the two at the change are
    checked twice, which shows an intermittent failure. Releases that cannot be checked are skipped. `progress` is told
    what is being done. `known`: the answers of an interrupted search; `keep` is called with all answers so far.
    """
    found, known = Bisection(), known or {}
    left = list(releases)

    def fails(number: int) -> bool | None:
        """Return whether the failure is there; None, and the release is left out, if it cannot be checked."""
        release = left[number]
        if release in known:
            found.failures[release] = known[release]
        if release not in found.failures:
            try:
                progress(f"{environments.package} {release}: environment")
                python = environments.python(release)
                progress(f"{environments.package} {release}: check")
                found.failures[release] = check(release, python)
                keep(found.failures)
            except NoRelease as error:
                found.skipped[release] = str(error)
                del left[number]
                return None
        return found.failures[release]

    while left and fails(len(left) - 1) is None:
        pass
    tried = 0
    while len(left) > 1 and fails(0) is None:
        tried += 1
        if tried == _TRIED:
            del left[: _first_usable(left, fails)]
    if len(left) < 2 or fails(0) == fails(len(left) - 1):
        return found
    low = 0
    while low + 1 < len(left) - 1:
        middle = (low + len(left) - 1) // 2
        state = fails(middle)
        if state is None:
            continue
        if state == found.failures[left[0]]:
            low = middle
        else:
            del left[middle + 1 :]
    found.before, found.release = left[low], left[low + 1]
    found.intermittent = [
        r for r in (found.before, found.release) if _again(check, r, environments) != found.failures[r]
    ]
    return found


def _first_usable(left: list[str], fails: Callable[[int], bool | None]) -> int:
    """Return the position of the first release that can be checked, assuming that all later ones can: old releases lack
    operators, or packages for a new version of Python.
    """
    low, high = -1, len(left) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if fails(middle) is None:
            low, high = middle - 1, high - 1
        else:
            high = middle
    return high


def _again(check: Check, release: str, environments: Environments) -> bool:
    return check(release, environments.python(release))


def interpreters(options: Sequence[str]) -> Mapping[str, str]:
    """Return the interpreters of PATH=RELEASE by release. Raises WrongArgument."""
    found: dict[str, str] = {}
    for option in options:
        path, release = split(option, last=True) or ("", "")
        if not release:
            raise WrongArgument(f"{option}: write PATH=RELEASE, such as venv/bin/python=2024.5.0")
        found[release] = path
    return found
