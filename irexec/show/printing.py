"""Text for people: headings, tables and findings, coloured on a terminal and plain everywhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from irexec.arrays.brief import plural
from irexec.diagnostics import Diagnostic, Report, Severity
from irexec.diagnostics.codes import CODES, Area
from irexec.diagnostics.render import render
from irexec.diagnostics.render.characters import visible_text, width

_STYLES = {
    "heading": "bold",
    "name": "cyan",
    "dim": "dim",
    "good": "green",
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold green",
}
_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


class Printout:
    """Lines of text as they come; `color` says whether styles are painted."""

    def __init__(self, *, color: bool = False) -> None:
        self.color = color
        self.lines: list[str] = []

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line; nothing in it acts on the terminal."""
        self.lines.append(self._painted(visible_text(text), style))

    def heading(self, text: str) -> None:
        """A heading, with an empty line before it."""
        if self.lines:
            self.lines.append("")
        self.line(text, "heading")

    def table(self, rows: Iterable[Sequence[str]], styles: Sequence[str | None] = (), *, right: int = 0) -> None:
        """Rows in columns that are as wide as they need to be; the last `right` columns stand at the right."""
        shown = [[visible_text(cell) for cell in row] for row in rows]
        if not shown:
            return
        count = max(map(len, shown))
        widths = [max((width(row[c]) for row in shown if c < len(row)), default=0) for c in range(count)]
        painted = [*styles, *[None] * (count - len(styles))]
        for row in shown:
            cells = []
            for column, cell in enumerate(row):
                blanks = " " * (widths[column] - width(cell))
                text = self._painted(cell, painted[column])
                cells.append(blanks + text if column >= count - right else text + blanks)
            self.lines.append("  " + "  ".join(cells).rstrip())

    def findings(self, report: Report, *, verbose: bool) -> None:
        """Errors with their source line; the rest, unless `verbose`, in one line each."""
        if not len(report):
            return
        self.heading("findings")
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
            count = plural(len(brief), "other finding" if errors else "finding")
            self.line(f"--verbose shows the source lines of {count}", "dim")

    def _brief(self, finding: Diagnostic) -> None:
        head = self._painted(f"{finding.severity}[{finding.code}]", _SEVERITIES[finding.severity])
        where = ":".join(str(part) for part in (finding.line, finding.column) if part is not None)
        # A repair says itself what it did.
        text = finding.message + (
            f"; {finding.hint}" if finding.hint and CODES[finding.code].area is not Area.REPAIR else ""
        )
        shown = text if len(text) <= 200 else text[:197] + "..."
        self.lines.append(f"{head} {where + ': ' if where else ''}{visible_text(shown)}")

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines)

    def _painted(self, text: str, style: str | None) -> str:
        if not self.color or style is None or not text:
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(_STYLES[style]).render(text, color_system=ColorSystem.STANDARD)
