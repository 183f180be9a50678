"""Comments in a file that suppress findings: `<!-- irexec: ignore P004, D -->`.

Before the root element, or directly in it, the comment concerns the whole file; between layers or edges, the next layer
or edge; elsewhere the element that contains it. A comment without codes suppresses all findings about this part.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from irexec.core.diagnostics import Diagnostic, Report
from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Comment, Positions
from irexec.ir.xml.source import Source

_COMMENT = re.compile(r"\s*irexec:\s*ignore\b([\w\s,]*)")
_LISTS = frozenset({"layers", "edges", "input", "output"})


class _Ignored(NamedTuple):
    """Prefixes of codes that are ignored in a range of the text."""

    codes: tuple[str, ...]
    where: Span


class _Stretches:
    """Ranges of a text; overlapping ranges are merged."""

    def __init__(self, spans: list[Span]) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        for span in sorted(spans):
            if self._stops and span.start <= self._stops[-1]:
                self._stops[-1] = max(self._stops[-1], span.stop)
            else:
                self._starts.append(span.start)
                self._stops.append(span.stop)

    def __contains__(self, offset: int) -> bool:
        place = bisect_right(self._starts, offset) - 1
        return place >= 0 and offset < self._stops[place]


def without_ignored(report: Report, source: Source | None) -> Report:
    """Return the findings that no comment in the text suppresses."""
    if source is None or "irexec:" not in source.text or not len(report):
        return report
    return report.having(not_ignored(report, source.positions))


def not_ignored(found: Iterable[Diagnostic], positions: Positions) -> Iterator[Diagnostic]:
    """Yield the findings that no comment in the text suppresses."""
    if "irexec:" not in positions.text:
        yield from found
        return
    spans: dict[str, list[Span]] = {}
    for entry in _ignored(positions):
        for code in entry.codes:
            spans.setdefault(code, []).append(entry.where)
    stretches = {code: _Stretches(found) for code, found in spans.items()}

    def is_ignored(finding: Diagnostic) -> bool:
        start = 0 if finding.line is None else positions.offset(finding.line, finding.column or 1)
        beginnings = (finding.code[:length] for length in range(len(finding.code) + 1))
        return any(start in stretches[code] for code in beginnings if code in stretches)

    yield from (finding for finding in found if not is_ignored(finding))


def _ignored(positions: Positions) -> Iterator[_Ignored]:
    for comment in positions.comments():
        if (match := _COMMENT.match(comment.text)) is not None:
            codes = tuple(re.split(r"[\s,]+", match[1].strip())) if match[1].strip() else ("",)
            element = _element_of(comment, positions)
            where = positions.extent(element) if element is not None else None
            yield _Ignored(codes, where or Span(0, len(positions.text) + 1))


def _element_of(comment: Comment, positions: Positions) -> int | None:
    """Return the element that a comment concerns; None for the whole file."""
    if comment.parent <= 0:
        return None
    return comment.latest + 1 if positions.name_text(comment.parent) in _LISTS else comment.parent
