"""Applying fixes: in rounds, safe fixes first, and no fix that introduces new errors."""

from __future__ import annotations

import os
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

from irexec.core.diagnostics import Diagnostic, Edit, Fix, Report, Safety, Severity
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.deadline import ask
from irexec.core.diagnostics.findings import Mode
from irexec.frontends.reading import PathLike, holds_printed_layers, read
from irexec.ir.ignored import without_ignored
from irexec.ir.weights.file import Weights
from irexec.ir.xml.edits import apply
from irexec.ir.xml.source import Source
from irexec.model.inference.declared import DECLARED
from irexec.tools.fixes.table import with_fixes

Wanted = Callable[[Diagnostic], bool]

LEAST_READS, MOST_READ = 32, 32_000_000
"""Limits on how often a file is read: until the bytes read reach `MOST_READ`, but at least `LEAST_READS` times."""

_MOST_CONSEQUENCES = 3
"""The number of further attempts to fix a file after the fix of a cause, before the fix of the cause is dropped."""

# Errors of an early stage hide errors of later stages: the attributes of a layer of unknown type cannot be checked.
# Each stage is a set of areas, preceded where needed by stages of single codes: a layer's type comes before its opset,
# the names of attributes before their values, and the attributes of a constant before its contents.
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
    """The bytes of a file, and all findings about it, with fixes.

    `accepted`: returns the modes in which irexec accepts the file; it is called only if its result is needed.
    `hiding`: errors may hide other errors; this is False for examples, which are short.
    """

    data: bytes
    report: Report
    accepted: Callable[[], frozenset[Mode]] = frozenset
    hiding: bool = True


@dataclass(slots=True)
class FixResult:
    """A fixed file: its bytes, the fixes that were made, and the remaining findings.

    A fix that was unsafe at first, and became safe by an unsafe fix of a cause, counts as unsafe. `notes` are about the
    written file: see `irexec.tools.fixes.replacing`.
    """

    data: bytes
    report: Report
    made: list[tuple[Diagnostic, Fix]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def examine(data: bytes, file: PathLike | None = None, weights: PathLike | bytes | Weights | None = None) -> Examined:
    """Return all findings about a model, with their fixes. The number of findings is not limited, because every finding
    may have a fix.

    `file`: the name of the model; its weights file is searched for in the same folder. Printed layers are examined as a
    page of examples.
    """
    source = Source.from_bytes(data, None if file is None else os.fspath(file))
    if holds_printed_layers(source):
        return examine_page(data, file or "stdin.xml")
    reading = read(source, weights, mode="strict", capped=False)

    @cache
    def accepted() -> frozenset[Mode]:
        if reading.report.ok or reading.source is None:
            return frozenset({"strict", "openvino"})
        return frozenset({"openvino"} if reading.again("openvino").report.ok else ())

    return Examined(data, without_ignored(with_fixes(reading), reading.source), accepted)


def examine_page(data: bytes, path: PathLike) -> Examined:
    """Return all errata of a page's examples, with their corrections."""
    from irexec.tools.doctest.doctest import check_page

    return Examined(data, check_page(path, data=data).report, hiding=False)


def apply_fixes(
    data: bytes,
    file: PathLike | None = None,
    *,
    weights: PathLike | bytes | None = None,
    unsafe: bool = False,
    wanted: Wanted = lambda _: True,
) -> FixResult:
    """Apply the safe fixes of a file's findings, and on request the unsafe ones, until no further fix is possible.

    `wanted` selects the findings to fix. A fix is not applied if it introduces errors, unless those were hidden by the
    error that it fixes; a safe fix is not applied either if irexec accepted the file before in some mode and would
    reject it afterwards.
    """
    known: PathLike | bytes | Weights | None = weights
    with suppress(OSError):  # Each reading reports that the weights cannot be read.
        known = Weights.find(file, weights)
    return improve(data, lambda changed: examine(changed, file, known), unsafe=unsafe, wanted=wanted)


def improve(
    data: bytes, look: Callable[[bytes], Examined], *, unsafe: bool = False, wanted: Wanted = lambda _: True
) -> FixResult:
    """Apply fixes as `apply_fixes` does, to any kind of file; `look` returns the findings."""
    allowed = {Safety.SAFE, Safety.UNSAFE} if unsafe else {Safety.SAFE}
    reader = _Reader(_to_the_end(look), max(LEAST_READS, MOST_READ // max(1, len(data))))
    now = reader.read(data)
    made: list[Choice] = []
    guessed = {_about(choice) for choice in _choices(now.report, {Safety.UNSAFE}, wanted)} if unsafe else set()
    refused: set[tuple[object, ...]] = set()
    while reader.left:
        batch = _batch(f for f in _choices(now.report, allowed, wanted) if _key(f) not in refused)
        if not batch:
            break
        kept, others, now = _attempt(now, batch, reader, lambda report: _choices(report, allowed, wanted))
        refused.update(map(_key, others))
        if any(fix.safety is Safety.UNSAFE for _, fix in made):
            kept = [(f, replace(fix, safety=Safety.UNSAFE) if _about((f, fix)) in guessed else fix) for f, fix in kept]
        made += kept
    is_finished = reader.left or all(_key(f) in refused for f in _choices(now.report, allowed, wanted))
    notes = [] if is_finished else ["more fixes are possible: run the command again"]
    return FixResult(now.data, now.report.capped(), made, notes)


@dataclass(slots=True)
class _Reader:
    """Reads successive versions of a file and returns their findings, at most `left` more times."""

    look: Callable[[bytes], Examined]
    left: int

    def read(self, data: bytes) -> Examined:
        self.left -= 1
        return self.look(data)


def _to_the_end(look: Callable[[bytes], Examined]) -> Callable[[bytes], Examined]:
    """Return a function that calls `look` and raises OutOfTime if a deadline stopped it: incomplete findings cannot be
    used to judge a fix."""

    def looking(data: bytes) -> Examined:
        found = look(data)
        ask("fixing")
        return found

    return looking


Choice = tuple[Diagnostic, Fix]


def _key(choice: Choice) -> tuple[object, ...]:
    """Return a key that identifies a choice even after earlier edits have moved it."""
    finding, fix = choice
    place = finding.place.source_line, finding.column
    return finding.code, fix.title, finding.layer, finding.port, finding.attribute, place


def _about(choice: Choice) -> tuple[object, ...]:
    """Return a key of a choice without its place, which edits on the same line move."""
    finding, fix = choice
    return finding.code, fix.title, finding.layer, finding.port, finding.attribute


def _choices(report: Report, allowed: set[Safety], wanted: Wanted) -> Iterable[Choice]:
    """Return the fixes that may be applied, one for each finding."""
    for finding in report:
        if wanted(finding):
            yield from [(finding, fix) for fix in finding.fixes if fix.safety in allowed][:1]


def _batch(choices: Iterable[Choice]) -> list[Choice]:
    """Return non-overlapping fixes that can be applied together: those of the earliest stage, safe fixes before unsafe
    ones.

    An edit that two fixes share is applied once.
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
    """Return whether an edit is identical with one of the edits in `taken`, or overlaps none of them."""
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
    now: Examined, batch: list[Choice], reader: _Reader, choices: Callable[[Report], Iterable[Choice]]
) -> tuple[list[Choice], list[Choice], Examined]:
    """Return the fixes of a batch that improve the file, the remaining fixes, and the improved file.

    All fixes are tried together; if that fails, each half is tried separately, for as long as the file may be read
    again. In an example of a page, where errors hide nothing, the fix of a cause may show that its consequences are
    written wrong as well: both are then fixed together. `choices` are the fixes that a report allows.
    """
    kept: list[Choice] = []
    refused: list[Choice] = []
    best = now
    pending = [batch]
    is_unsafe = any(fix.safety is not Safety.SAFE for _, fix in batch)
    while pending:
        part = pending.pop()
        if not reader.left:
            refused += part
            continue
        after = reader.read(apply(now.data, list({edit for _, fix in [*kept, *part] for edit in fix.edits})))
        stage = min(_stage(finding.code) for finding, _ in part) if now.hiding else len(_STAGES)
        if _is_better(after.report, best.report, stage) and (is_unsafe or best.accepted() <= after.accepted()):
            kept += part
            best = after
        elif len(part) > 1:
            middle = len(part) // 2
            pending += [part[middle:], part[:middle]]
        elif not now.hiding and (found := _consequences(after, best, part[0], reader, choices)) is not None:
            consequences, after = found
            return [*kept, *part, *consequences], refused, after
        else:
            refused += part
    return kept, refused, best


def _consequences(
    after: Examined, before: Examined, cause: Choice, reader: _Reader, choices: Callable[[Report], Iterable[Choice]]
) -> tuple[list[Choice], Examined] | None:
    """Return the fixes of later stages that, together with the fix of a cause, improve the file, and the fixed file.

    Return None if there are no such fixes. `before`: the file without the fix of the cause, `after`: with it.
    """
    made: list[Choice] = []
    for _ in range(_MOST_CONSEQUENCES):
        batch = _batch(choice for choice in choices(after.report) if _stage(choice[0].code) > _stage(cause[0].code))
        if not batch or not reader.left:
            return None
        made += batch
        after = reader.read(apply(after.data, list({edit for _, fix in batch for edit in fix.edits})))
        if _is_better(after.report, before.report, len(_STAGES)):
            return made, after
    return None


def _is_better(after: Report, before: Report, stage: int) -> bool:
    """Return True if a stage has fewer findings and no earlier stage has more; new errors must have been hidden."""
    old, new = _errors(before), _errors(after)
    if any(count > old[code] and _stage(code) <= stage for code, count in new.items()):
        return False
    return _measure(after) < _measure(before)


def _errors(report: Report) -> Counter[str]:
    return Counter(finding.code for finding in report.errors) + Counter(
        {code: count for (severity, code), count in report.left_out.items() if severity is Severity.ERROR}
    )


def _measure(report: Report) -> list[int]:
    """Return the number of errors of each stage, followed by the number of all other findings."""
    counts = [0] * (len(_STAGES) + 1)
    errors = _errors(report)
    for code, count in errors.items():
        counts[_stage(code)] += count
    return [*counts, len(report) + report.left_out.total() - errors.total()]
