"""The choice among attempts to infer a layer with errors, and what attempts with different attributes share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from irexec.core.diagnostics import Diagnostic
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import DYNAMIC, PartialShape, TensorType
from irexec.model.inference.assumptions import Attempt, are_equal
from irexec.model.inference.declared import DECLARED
from irexec.model.inference.inference import Types


class Tried(NamedTuple):
    """An attempt, the types of the node's outputs for it, whether they are known, and its findings.

    `broken`: the number of broken constraints of the inference after it.
    """

    attempt: Attempt
    types: Types
    is_known: bool
    findings: Findings
    broken: int

    @property
    def contradicts_nothing(self) -> bool:
        # Differences from declared types are warnings in "openvino" mode.
        report = self.findings.report
        return self.is_known and not report.errors and not any(finding.code in DECLARED for finding in report)


def chosen_of(tried: Sequence[Tried]) -> Tried | None:
    """Return the attempt that contradicts nothing, or else the likeliest one, if any."""
    if tried and tried[-1].contradicts_nothing:
        return tried[-1]
    return next((each for each in tried if each.attempt.is_likely), None)


def shared_by(tried: Sequence[Tried], unresolved: Collection[str], *, are_all: bool) -> Tried | None:
    """Return what all possible attempts have in common, whose types are to be compared with the declared ones; None if
    nothing is known.

    `unresolved`: the attributes whose values differ between attempts, by their names in a file; `are_all`: whether the
    attempts have all values that these may have. A value that is refused, or with which the layer has more errors than
    with others, was not meant: such attempts are impossible.
    """
    possible = [each for each in tried if not any(f.attribute in unresolved for f in each.findings.report)]
    fewest = min((_broken(each) for each in possible), default=0)
    possible = [each for each in possible if _broken(each) == fewest]
    if not tried or not unresolved:
        return None
    first, common = tried[0], tried[0].findings.trial()
    types: Types = [TensorType()] * len(first.types)
    if len({len(each.types) for each in tried}) > 1:
        return first._replace(types=types, is_known=False, findings=common)
    if len(possible) < (1 if are_all else 2):
        # No value changes the element types, unless it is an element type.
        types = [TensorType(_covering(column).element_type) for column in _columns(tried)]
        return first._replace(types=types, is_known=False, findings=common)
    for finding in _shared([each.findings.report for each in possible]):
        if finding.code not in DECLARED:
            common.keep(finding)
    if all(each.is_known for each in possible):
        types = [_covering(column) for column in _columns(possible)]
    is_known = all(each.is_known and are_equal(each.types, types) for each in possible)
    return possible[0]._replace(types=types, is_known=is_known, findings=common)


def _columns(tried: Sequence[Tried]) -> Iterator[tuple[TensorType, ...]]:
    """Yield the types of each output for all attempts."""
    return zip(*(each.types for each in tried), strict=True)


def _broken(tried: Tried) -> int:
    """Return the number of errors apart from differences from declared types."""
    return sum(finding.code not in DECLARED for finding in tried.findings.report.errors)


def _shared(reports: Sequence[Iterable[Diagnostic]]) -> list[Diagnostic]:
    """Return the findings that are in all reports."""
    others = [{(f.code, f.place, f.message) for f in report} for report in reports[1:]]
    return [f for f in reports[0] if all((f.code, f.place, f.message) in other for other in others)]


def _covering(types: Sequence[TensorType]) -> TensorType:
    """Return what is the same in all types; dims and element types that differ are unknown."""
    kinds, shapes = {type.element_type for type in types}, {type.shape for type in types}
    kind = kinds.pop() if len(kinds) == 1 else DYNAMIC
    if len(shapes) == 1:
        return TensorType(kind, shapes.pop())
    if len({type.rank for type in types}) > 1 or types[0].rank is None:
        return TensorType(kind, PartialShape.dynamic())
    columns = [set(column) for column in zip(*shapes, strict=True)]
    return TensorType(kind, PartialShape(column.pop() if len(column) == 1 else -1 for column in columns))
