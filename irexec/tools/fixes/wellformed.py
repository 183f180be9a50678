"""Fixes of a text that is not well-formed XML: its tags are corrected by the grammar, if the result is a model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from irexec.core.diagnostics import Fix, Report, Safety
from irexec.core.diagnostics.codes import CODES, Area
from irexec.frontends.pages.repairs.parts import Change
from irexec.frontends.pages.repairs.tree import read_tree
from irexec.ir.xml.events import NOT_XML, Span, events
from irexec.ir.xml.source import Source

MAX_CHARACTERS = 4_000_000
"""The size limit for this fix, which takes a second for each million characters."""

_BARE = re.compile(r"&(?!#?\w+;)")
_MOST_REPAIRS = 4
_UNTOLD = frozenset({"C002", "C010"})
"""Codes that may be caused by the absence of the weights file, which may be given separately."""

_OF_TAGS = frozenset({"Q005", "Q006", "Q007", "Q013", "Q015", "Q034"})
_STRUCTURE = frozenset({Area.TEXT, Area.ROOT, Area.LAYER, Area.PORT, Area.EDGE, Area.BODY})

Look = Callable[[Source], Report]


def with_repairs(report: Report, source: Source, look: Look) -> Report:
    """Return the findings about a text that cannot be parsed, with a fix of the first one, if a fix makes the text a
    model.

    `look` returns the findings about another text, with their fixes. The fix is safe if the remaining findings can be
    fixed.
    """
    findings = list(report)
    place = next((number for number, finding in enumerate(findings) if finding.code in ("X001", "X007")), None)
    fix = _repair(source, look) if place is not None else None
    if place is None or fix is None:
        return report
    findings[place] = replace(findings[place], fixes=(fix,))
    return report.having(findings)


def _repair(source: Source, look: Look) -> Fix | None:
    text = source.text
    if len(text) > MAX_CHARACTERS or "<net" not in text or source.encoding is None:
        return None
    removed = [Change(Span(match.start(), 1), "") for match in re.finditer(NOT_XML, text)]
    titles = [f"remove {len(removed)} character{'s' if len(removed) > 1 else ''}"] if removed else []
    tree = read_tree(re.sub(NOT_XML, "", text) if removed else text)
    bare = [Change(Span(match.start(), 1), "&amp;") for match in _BARE.finditer(text)]
    ending = _ending(source) if [repair.code for repair in tree.repairs] == ["Q015"] else []
    shift = _Shift([change.span.start for change in removed])
    if tree.refused is not None or len(tree.repairs) > _MOST_REPAIRS:
        return None
    if not all(repair.changes for repair in tree.repairs) and not ending:
        return None
    changes = (
        removed
        + bare
        + ending
        + [Change(shift(change.span), change.text) for r in tree.repairs for change in r.changes]
    )
    titles += ["write &amp;"] if bare else []
    titles += ["close the open elements"] if ending else [repair.change_title for repair in tree.repairs]
    fixed = _changed(text, changes)
    if not changes or fixed is None:
        return None
    after = Source(fixed, file=source.file)
    if not after.readable:
        return None
    # A misplaced tag is visible in the structure; a misplaced quote may be anywhere.
    only_tags = all(repair.code in _OF_TAGS for repair in tree.repairs)
    left = [other for other in look(after).errors if other.code not in _UNTOLD]
    left = [other for other in left if not only_tags or CODES[other.code].area in _STRUCTURE]
    certain = all(any(fix.safety is Safety.SAFE for fix in other.fixes) for other in left)
    outside_values = not any(_is_in_a_value(text, change.span.start) for change in removed)
    edits = tuple(source.editable.edit(*change) for change in changes)
    return Fix(", ".join(titles), Safety.SAFE if certain and outside_values else Safety.UNSAFE, edits)


def _ending(source: Source) -> list[Change]:
    """Return the end tags that are missing at the end of the text, after a tag."""
    opened: list[str] = []
    for kind, _, _, name in events(source.text):
        if kind == "start":
            opened.append(name)
        elif kind == "end" and opened and opened[-1] == name:
            opened.pop()
        elif kind == "end":
            return []
    stop = len(source.text.rstrip())
    tags = "".join(f"\n{'  ' * depth}</{name}>" for depth, name in reversed(list(enumerate(opened))))
    return [Change(Span(stop, 0), tags)] if source.text[:stop].endswith(">") else []


class _Shift:
    """Maps positions in a text from which characters were removed to positions in the original text."""

    def __init__(self, removed: list[int]) -> None:
        self._removed = removed

    def __call__(self, span: Span) -> Span:
        start, stop = self._offset(span.start), self._offset(span.stop)
        return Span(start, stop - start)

    def _offset(self, offset: int) -> int:
        for place in self._removed:
            offset += place <= offset
        return offset


def _changed(text: str, changes: list[Change]) -> str | None:
    """Return the text with changes applied; None if two of them overlap."""
    parts: list[str] = []
    done = 0
    for span, new in sorted(changes):
        if span.start < done:
            return None
        parts += [text[done : span.start], new]
        done = span.stop
    return "".join([*parts, text[done:]])


def _is_in_a_value(text: str, offset: int) -> bool:
    """Return whether an offset is in the value of an attribute, or in a text that is not blank."""
    start = max(text.rfind("<", 0, offset), text.rfind(">", 0, offset))
    if start < 0 or text[start] == "<":
        return text.count('"', start + 1, offset) % 2 == 1
    stop = text.find("<", offset)
    return bool(text[start + 1 : offset].strip() or text[offset + 1 : stop].strip())
