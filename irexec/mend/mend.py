"""Applying fixes: what is certain first, round after round, and nothing that leads to new errors."""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from irexec.api import load
from irexec.diagnostics import Diagnostic, Edit, Fix, Report, Safety, Severity
from irexec.diagnostics.codes import CODES, Area
from irexec.inference.declared import DECLARED
from irexec.ir.xml.edits import apply
from irexec.ir.xml.source import Source
from irexec.mend.ignored import without_ignored
from irexec.mend.table import with_fixes

PathLike = str | os.PathLike[str]
Wanted = Callable[[Diagnostic], bool]

MAX_ROUNDS = 50
"""How often a file is read again; each round but the last removes a finding."""

# What is wrong earlier hides what is wrong later: a layer whose type is unknown has no attributes to be judged.
# A stage holds areas and, before these, single codes: a layer's type comes before its opset, which attributes there are
# before their values, and what a constant says before what it holds.
_STAGES: tuple[set[Area | str], ...] = (
    {Area.TEXT, Area.ROOT, Area.FORMAT},
    {"L004", "L009"},
    {Area.LAYER, Area.PORT, Area.EDGE, Area.BODY},
    {"D001", "D002"},
    {Area.ATTRIBUTE, Area.VARIABLE, Area.RT_INFO, Area.SHAPE, "C001", "C012"},
    {Area.CONSTANT},
    {Area.OPERATOR, Area.REPAIR, Area.DOCUMENTED, Area.USAGE, Area.WRITER},
)


@dataclass(frozen=True, slots=True)
class Examined:
    """The bytes of a file, and everything that is found in them, with fixes."""

    data: bytes
    report: Report


@dataclass(slots=True)
class Mended:
    """A file after its fixes: its bytes, the fixes that were made, and what is still found."""

    data: bytes
    report: Report
    made: list[tuple[Diagnostic, Fix]] = field(default_factory=list)


def examine(data: bytes, file: PathLike | None = None, weights: PathLike | bytes | None = None) -> Examined:
    """Every finding about a model, with its fixes. `file` names it and is what its weights stand beside."""
    source = Source.from_bytes(data, None if file is None else os.fspath(file))
    model, report = load(data if file is None else file, weights, mode="strict", source=source)
    return Examined(data, without_ignored(with_fixes(report, data, source, model), source.text))


def mend(
    data: bytes,
    file: PathLike | None = None,
    *,
    weights: PathLike | bytes | None = None,
    unsafe: bool = False,
    wanted: Wanted = lambda _: True,
) -> Mended:
    """Make the safe fixes of a model's findings, and the unsafe ones if asked for, until nothing more can be done.

    `wanted` picks the findings to mend. A fix that leads to new errors, other than those that were hidden by what it
    mends, is not made.
    """
    return improve(data, lambda changed: examine(changed, file, weights), unsafe=unsafe, wanted=wanted)


def improve(
    data: bytes,
    look: Callable[[bytes], Examined],
    *,
    unsafe: bool = False,
    wanted: Wanted = lambda _: True,
    hidden: bool = True,
) -> Mended:
    """As `mend`, of any file: `look` finds what is wrong in it. `hidden`: what is wrong may hide something else."""
    allowed = {Safety.SAFE, Safety.UNSAFE} if unsafe else {Safety.SAFE}
    now = look(data)
    mended = Mended(data, now.report)
    refused: set[tuple[object, ...]] = set()
    for _ in range(MAX_ROUNDS):
        batch = _batch(f for f in _choices(now.report, allowed, wanted) if _key(f) not in refused)
        if not batch:
            break
        made, after = _attempt(now, batch, look, hidden=hidden)
        refused.update(_key(choice) for choice in batch if choice not in made)
        mended.made += made
        now = after
    mended.data, mended.report = now.data, now.report
    return mended


Choice = tuple[Diagnostic, Fix]


def _key(choice: Choice) -> tuple[object, ...]:
    """What tells a choice from others, wherever edits before it have moved it."""
    finding, fix = choice
    place = finding.place.source_line, finding.column
    return finding.code, fix.title, finding.layer, finding.port, finding.attribute, place


def _choices(report: Report, allowed: set[Safety], wanted: Wanted) -> Iterable[Choice]:
    """The fixes that may be made, one for each finding."""
    for finding in report:
        if wanted(finding):
            yield from [(finding, fix) for fix in finding.fixes if fix.safety in allowed][:1]


def _batch(choices: Iterable[Choice]) -> list[Choice]:
    """Fixes that can be made at once: of the earliest stage, safe ones before others, none of which overlap.

    An edit that two fixes have in common is made once.
    """
    ranked = sorted(choices, key=_rank)
    batch: list[Choice] = []
    taken: list[Edit] = []
    for choice in ranked:
        if _rank(choice) == _rank(ranked[0]) and all(_fits(edit, taken) for edit in choice[1].edits):
            for edit in choice[1].edits:
                insort(taken, edit)
            batch.append(choice)
    return batch


def _fits(edit: Edit, taken: list[Edit]) -> bool:
    """Whether an edit is one of those taken, or lies apart from all of them."""
    place = bisect_left(taken, edit)
    before, after = taken[place - 1 : place] if place else [], taken[place : place + 1]
    if after == [edit]:
        return True
    return all(other.stop <= edit.start and other.start < edit.start for other in before) and all(
        edit.stop <= other.start and edit.start < other.start for other in after
    )


def _rank(choice: Choice) -> tuple[int, bool]:
    return _stage(choice[0].code), choice[1].safety is not Safety.SAFE


def _stage(code: str) -> int:
    if code in DECLARED:
        return len(_STAGES)
    return next(stage for stage, members in enumerate(_STAGES) if code in members or CODES[code].area in members)


def _attempt(
    now: Examined, batch: list[Choice], look: Callable[[bytes], Examined], *, hidden: bool
) -> tuple[list[Choice], Examined]:
    """The fixes of a batch that better the file, and the file with them: all together, or those of each half."""
    kept: list[Choice] = []
    best = now
    pending = [batch]
    while pending:
        part = pending.pop()
        after = look(apply(now.data, list({edit for _, fix in [*kept, *part] for edit in fix.edits})))
        stage = min(_stage(finding.code) for finding, _ in part) if hidden else len(_STAGES)
        if _is_better(after.report, best.report, stage):
            kept += part
            best = after
        elif len(part) > 1:
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
    return kept, best


def _is_better(after: Report, before: Report, stage: int) -> bool:
    """Fewer findings of some stage and no more of earlier ones; new errors only where they were hidden until now."""
    old, new = _errors(before), _errors(after)
    if any(count > old[code] and _stage(code) <= stage for code, count in new.items()):
        return False
    return _measure(after) < _measure(before)


def _errors(report: Report) -> Counter[str]:
    return Counter(finding.code for finding in report.errors) + Counter(
        {code: count for (severity, code), count in report.left_out.items() if severity is Severity.ERROR}
    )


def _measure(report: Report) -> list[int]:
    """The number of errors of each stage, then of all other findings."""
    counts = [0] * (len(_STAGES) + 1)
    errors = _errors(report)
    for code, count in errors.items():
        counts[_stage(code)] += count
    return [*counts, len(report) + report.left_out.total() - errors.total()]
