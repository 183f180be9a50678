"""`irexec bisect`: the first release in which the answer of a check changed, by binary search over releases."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.core.diagnostics import WrongArgument
from irexec.runtime.processes.starting import outcome
from irexec.tools.bisect.environments import Environments, NoRelease, version_key
from irexec.tools.run.values import split

Check = Callable[[str, str], bool]
"""A check of a release: (release, its Python interpreter) → whether the failure is there. Raises NoRelease."""
_TRIED = 3
"""The number of oldest releases that are tried one by one if they cannot be had."""
THERE = {True: "there", False: "not there"}


@dataclass
class Bisection:
    """The outcome of a search. `failures`: whether the failure is there, by release, in the order of the checks.

    `release`: the first release in which this differs from the release before it, `before`; None if it never differs.
    `skipped`: releases that could not be checked, with the reason. `intermittent`: releases whose second check
    contradicts the first one. `failure`: its description, if a model shows it. `others`: releases without the failure
    that have another one. `between`: a release in which the answer differs, although it is the same in the oldest and
    newest ones.
    """

    release: str | None = None
    before: str | None = None
    failures: dict[str, bool] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    intermittent: list[str] = field(default_factory=list)
    failure: str = ""
    others: dict[str, str] = field(default_factory=dict)
    between: list[str] = field(default_factory=list)

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
            states = {THERE[fails] for fails in self.failures.values()}
            if self.between:
                return self._not_monotone
            where = _listed(self._checked()) or "any release"
            older = [r for r in self.skipped if self.failures and version_key(r) < version_key(self._checked()[0])]
            last = max(older, key=version_key, default="")
            rest = f"; {last} and older ones could not be asked: {self.skipped[last]}" if last else ""
            return f"no change: the failure is {' or '.join(sorted(states)) or 'not checked'} in {where}{rest}"
        fails = self.failures[self.release]
        what = "with the failure" if fails else "without the failure"
        text = f"{self.release} is the first release {what}: from {THERE[not fails]} in {self.before} to {THERE[fails]}"
        unknown = [r for r in self.skipped if version_key(self.before) < version_key(r) < version_key(self.release)]
        text += f"; {', '.join(unknown)} between them could not be asked" if unknown else ""
        return f"{text}; {self._not_monotone}" if self.between else text

    @property
    def _not_monotone(self) -> str:
        states = {fails: [r for r in self._checked() if self.failures[r] == fails] for fails in (True, False)}
        return f"not monotone: there in {_listed(states[True])}, not there in {_listed(states[False])}"

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
            "between": self.between,
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

    `releases`: the oldest first. About log2(n) + 2 of them are checked, the newest and the oldest one first; the two at
    the change are checked twice, which shows an intermittent failure. Releases that cannot be had are skipped, and so
    are those that refuse the model: old ones lack operators, so the change is between releases that take it. If the
    newest and the oldest one agree, some between them are checked, and the last change is searched. `progress` is told
    what is being done. `known`: the answers of an interrupted search; `keep` is called with all answers so far.
    """
    found, known = Bisection(), known or {}
    left = list(releases)
    asked: set[str] = set()

    def fails(release: str) -> bool | None:
        """Return whether the failure is there; None if the release cannot be checked."""
        if release in known:
            found.failures[release] = known[release]
        if release not in found.failures and release not in found.skipped:
            try:
                progress(f"{environments.package} {release}: environment")
                python = environments.python(release)
                asked.add(release)
                progress(f"{environments.package} {release}: check")
                found.failures[release] = check(release, python)
                keep(found.failures)
            except NoRelease as error:
                found.skipped[release] = str(error)
        return found.failures.get(release)

    while left and fails(left[-1]) is None:
        left.pop()
    tries = 1
    while len(left) > 1 and fails(left[0]) is None and left[0] not in asked and tries < _TRIED:
        left.pop(0)
        tries += 1
    if len(left) < 2:
        return found
    newest = fails(left[-1])
    low, high = 0, len(left) - 1
    budget = int(math.log2(len(left)))
    if fails(left[0]) == newest:
        other = next((r for r in _spread(left[1:-1], budget) if fails(r) not in (newest, None)), None)
        if other is None:
            return found
        found.between, low = [other], left.index(other)
    while low + 1 < high:
        if found.between and len(found.failures) + len(found.skipped) >= budget + 2:
            return found
        middle_one = (low + high) // 2
        state = fails(left[middle_one])
        if state == newest:
            high = middle_one
        elif state is not None or fails(left[low]) is None:
            # What an old release cannot do, no older one can.
            low = middle_one
        else:
            del left[middle_one]
            high -= 1
    if fails(left[low]) is None:
        return found
    found.before, found.release = left[low], left[high]
    found.intermittent = [
        r for r in (found.before, found.release) if _again(check, r, environments) != found.failures[r]
    ]
    return found


def _spread(releases: Sequence[str], count: int) -> Iterator[str]:
    """Yield some releases, each in the middle of the largest part that was not looked at."""
    parts = [list(releases)]
    for _ in range(min(count, len(releases))):
        part = max(parts, key=len)
        parts.remove(part)
        middle = len(part) // 2
        yield part[middle]
        parts += [part[:middle], part[middle + 1 :]]


def _listed(releases: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(releases[:-1]), *releases[-1:])))


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
