"""Findings that a file asks not to hear of: `<!-- irexec: ignore P004, D -->`.

Before the root element, or directly in it, the comment concerns the whole file; between layers or edges, the next one;
elsewhere the element that it stands in. Without codes it concerns all findings there.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from irexec.diagnostics import Diagnostic, Report
from irexec.ir.xml.positions import Comment, Positions, Span

_COMMENT = re.compile(r"\s*irexec:\s*ignore\b([\w\s,]*)")
_LISTS = re.compile(r"<(layers|edges|input|output)\b")


class _Ignored(NamedTuple):
    """Codes, by their beginnings, that are ignored in a stretch of the text."""

    codes: tuple[str, ...]
    where: Span


def without_ignored(report: Report, text: str) -> Report:
    """The findings that the text does not ask to ignore."""
    if "irexec:" not in text or not len(report):
        return report
    positions = Positions(text)
    ignored = [found for comment in positions.comments() if (found := _read(comment, positions)) is not None]

    def is_ignored(finding: Diagnostic) -> bool:
        start = 0 if finding.line is None else positions.offset(finding.line, finding.column or 1)
        return any(
            finding.code.startswith(entry.codes) and entry.where.start <= start < entry.where.stop for entry in ignored
        )

    return Report([finding for finding in report if not is_ignored(finding)], report.left_out.copy())


def _read(comment: Comment, positions: Positions) -> _Ignored | None:
    match = _COMMENT.match(comment.text)
    if match is None:
        return None
    codes = tuple(re.split(r"[\s,]+", match[1].strip())) if match[1].strip() else ("",)
    everything = Span(0, len(positions.text) + 1)
    if comment.parent <= 0:
        return _Ignored(codes, everything)
    parent = positions.tag(comment.parent)
    is_list = parent is not None and _LISTS.match(positions.text, parent.start) is not None
    element = comment.latest + 1 if is_list else comment.parent
    return _Ignored(codes, positions.extent(element) or everything)
