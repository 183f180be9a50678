"""Printed text: headings, tables with long names shortened, and findings; coloured on a terminal, otherwise plain."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from irexec.core.diagnostics import Diagnostic, Report, Severity
from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.render import render
from irexec.core.diagnostics.render.characters import visible_text, width
from irexec.ir.text import cut
from irexec.model.arrays.brief import plural

# The parts of a path, and the words and numbers of its parts.
_PART, _WORD = re.compile(r"[^./]*[./]+|[^./]+"), re.compile(r"[^./_\d]*[./_]+|[^./_\d]+|\d+[./_]*")
_GAP = "..."
_LONGEST = 200
"""The number of characters at the end of a name that are examined (or shown, if more): names may have any length."""


def shortened(names: Sequence[str], limit: int) -> list[str]:
    """Return the names, each in at most `limit` cells. Parts of a path that most names share are left out first; if
    different names look alike then, words and numbers are left out instead of parts.
    """
    longest = max(limit, _LONGEST)
    names = [name if len(name) <= longest else _GAP + name[-longest:] for name in names]
    found = _without_parts({*names}, limit, _PART)
    counts = Counter(found.values())
    if alike := {name for name, text in found.items() if counts[text] > 1}:
        words = found | _without_parts(alike, limit, _WORD)
        if len({*words.values()}) > len(counts):
            found = words
    return [found[name] for name in names]


def _without_parts(names: Collection[str], limit: int, part: re.Pattern[str]) -> dict[str, str]:
    """Return the shortened text of each name."""
    different = {name: part.findall(name) for name in names if width(name) > limit}
    common = Counter(found for parts in different.values() for found in {*parts})
    # A short part is omitted only if it distinguishes nothing: most names contain it, and it is not a number.
    kept = {
        part
        for part, count in common.items()
        if width(part) <= len(_GAP) and (2 * count <= len(different) or any(c.isdigit() for c in part))
    }
    return {name: _shorter(different[name], limit, common, kept) if name in different else name for name in names}


def _shorter(parts: Sequence[str], limit: int, common: Counter[str], stays: Collection[str]) -> str:
    kept = [True] * len(parts)
    others = (index for index, part in enumerate(parts[:-1]) if part not in stays)
    # Where no other name is similar, the end is the most informative part.
    alone = len(common) == len({*parts})

    def importance(index: int) -> tuple[int, int, int]:
        size = width(parts[index])
        return -common[parts[index]], 0 if alone else -size if size > len(_GAP) else -sum(map(len, parts)), index

    for index in sorted(others, key=importance):
        kept[index] = False
        text = _joined(parts, kept)
        if width(text) <= limit:
            return text
    end = _joined(parts, kept)
    while end and width(end) > limit - len(_GAP):
        end = end[1:]
    return _GAP + end.removeprefix(_GAP)


def _joined(parts: Sequence[str], kept: Sequence[bool]) -> str:
    """Return the parts that are kept, with an ellipsis for each run of omitted parts."""
    text = ""
    for part, stays in zip(parts, kept, strict=True):
        text += part if stays else "" if text.endswith(_GAP) else _GAP
    return text


_STYLES = {
    "heading": "bold", "name": "cyan", "dim": "dim", "good": "green", "error": "bold red", "warning": "bold yellow",
    "note": "bold green",
}  # fmt: skip
# The width of a line without a terminal, and the smallest widths of two columns of names and of a column of text.
_COLUMNS, _LEAST_NAME, _LEAST_NEXT, _LEAST_TEXT = 100, 24, 16, 16
_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


class Printout:
    """Lines of text; `color` enables styles, and `columns` is the cells per line (default: the terminal's)."""

    def __init__(self, *, color: bool = False, columns: int | None = None) -> None:
        self.color = color
        self.columns = columns or shutil.get_terminal_size((_COLUMNS, 0)).columns
        self.lines: list[str] = []

    def line(self, text: str = "", style: str | None = None) -> None:
        """Print one line, without control characters that would act on the terminal."""
        self.lines.append(self._painted(visible_text(text), style))

    def paragraph(self, text: str, style: str | None = None) -> None:
        """Print a text in lines of at most `columns` cells; the lines after the first are indented."""
        for line in textwrap.wrap(visible_text(text), self.columns, subsequent_indent="  ", break_on_hyphens=False):
            self.line(line, style)

    def heading(self, text: str) -> None:
        """Add a heading, with an empty line before it."""
        if self.lines:
            self.lines.append("")
        self.line(text, "heading")

    def table(
        self,
        rows: Iterable[Sequence[str]],
        styles: Sequence[str | None] = (),
        *,
        right: int = 0,
        names: int | Sequence[int] = (),
    ) -> None:
        """Print rows in columns that are as wide as necessary; the last `right` columns are right-aligned.

        If a row is too long, the columns `names` are narrowed, the first one first, and the last column continues in
        additional lines.
        """
        shown = [[visible_text(cell) for cell in row] for row in rows]
        if not shown:
            return
        count = max(map(len, shown))
        widths = _widths(shown, count)
        widths[-1] = min(widths[-1], max(_LEAST_TEXT, self.columns // 2))
        for place, least in zip([names] if isinstance(names, int) else names, (_LEAST_NAME, _LEAST_NEXT), strict=False):
            over = 2 * count + sum(widths) - self.columns
            if over > 0:
                limit = max(least, widths[place] - over)
                cells = shortened([row[place] if place < len(row) else "" for row in shown], limit)
                shown = [
                    [*row[:place], cell, *row[place + 1 :]][: len(row)] for row, cell in zip(shown, cells, strict=True)
                ]
                widths = _widths(shown, count)
        room = self.columns - 2 * count - sum(widths[:-1])
        painted = [*styles, *[None] * (count - len(styles))]
        for row in shown:
            for parts in _lines(row, count, room):
                line = []
                for column, cell in enumerate(parts):
                    blanks = " " * (widths[column] - width(cell))
                    text = self._painted(cell, painted[column])
                    line.append(blanks + text if column >= count - right else text + blanks)
                self.lines.append("  " + "  ".join(line).rstrip())

    def findings(self, report: Report, *, verbose: bool, about: str = "") -> None:
        """Print errors with their source line, and other findings in one line each unless `verbose`; `about` ends the
        heading.
        """
        if not len(report):
            return
        self.heading(f"findings {about}".rstrip())
        if verbose:
            self.lines += render(report, color=self.color).rstrip("\n").split("\n")
            return
        brief = [d for d in report if d.severity is not Severity.ERROR]
        for finding in brief:
            self._brief(finding)
        if errors := report.errors:
            if brief:
                self.lines.append("")
            self.lines += render(Report(errors), color=self.color).rstrip("\n").split("\n")
        if brief:
            count = plural(len(brief), "more finding" if errors else "finding")
            self.line(f"--verbose shows the source lines of {count}", "dim")

    def _brief(self, finding: Diagnostic) -> None:
        head = self._painted(f"{finding.severity}[{finding.code}]", _SEVERITIES[finding.severity])
        where = ":".join(str(part) for part in (finding.line, finding.column) if part is not None)
        # The message of a repair already describes the repair, so that no hint is needed.
        text = finding.message + (
            f"; {finding.hint}" if finding.hint and CODES[finding.code].area is not Area.REPAIR else ""
        )
        if CODES[finding.code].area is Area.VALUE and finding.layer is not None:
            text = f"{finding.layer.name or finding.layer.id} ({finding.layer.type}): {text}"
        self.lines.append(f"{head} {where + ': ' if where else ''}{visible_text(cut(text, 200))}")

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)

    def _painted(self, text: str, style: str | None) -> str:
        if not self.color or style is None or not text:
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(_STYLES[style]).render(text, color_system=ColorSystem.STANDARD)


def _widths(rows: Sequence[Sequence[str]], count: int) -> list[int]:
    return [max((width(row[c]) for row in rows if c < len(row)), default=0) for c in range(count)]


def _lines(row: Sequence[str], count: int, room: int) -> list[Sequence[str]]:
    """Return the row, and the lines that continue its last column."""
    if len(row) < count or width(row[-1]) <= room:
        return [row]
    wrapped = textwrap.wrap(row[-1], max(_LEAST_TEXT, room), break_long_words=False, break_on_hyphens=False)
    first, *rest = wrapped or [""]
    return [[*row[:-1], first], *([*[""] * (count - 1), more] for more in rest)]
