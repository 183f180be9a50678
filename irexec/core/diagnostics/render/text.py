"""The report as text for people: the source line, a caret under the place, and notes, in the style of rustc."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from irexec.core.diagnostics.diagnostic import Diagnostic, Place, Report, Severity
from irexec.core.diagnostics.fix import Safety
from irexec.core.diagnostics.render.characters import cells, visible_text, width
from irexec.core.diagnostics.render.notes import notes
from irexec.core.diagnostics.statements import MEASURED_WITH, UNLESS_EXTENDED

SOURCE_CELLS = 100
"""The number of cells of a source line that are shown without a terminal, so that reports always look the same."""
_LEAST_CELLS = 40
_MOST_NAMES = 5
NOTE_CHARACTERS = 1000
"""The number of cells of a message, or of a line of a note, that are shown: a file may contain names of any length."""

_STYLES = {
    Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold green", "frame": "bold blue",
    "strong": "bold", "plain": "",
}  # fmt: skip


class _Piece(NamedTuple):
    text: str
    style: str = "plain"


_Line = list[_Piece]


def chunks(
    report: Report, *, color: bool = False, summary: bool = True, width: int | None = None, whole: Report | None = None
) -> Iterator[str]:
    """Yield one text per finding, then the summary. `width`: the cells of the terminal: source lines are cut to it,
    and texts continue on the next line.

    `whole`: all findings, if only some are shown.
    """
    for diagnostic in report:
        yield _printed([*_finding(diagnostic, width), []], color)
    if summary:
        lines = _summary(report if whole is None else whole, report)
        yield _printed((part for line in lines for part in _wrapped_line(line, width)), color)


def _finding(diagnostic: Diagnostic, columns: int | None) -> Iterator[_Line]:
    places = [diagnostic.place, *(related.place for related in diagnostic.related)]
    gutter = max((len(str(place.line)) for place in places if place.line is not None), default=1)
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    first, *rest = _wrapped(_shown(diagnostic.message), columns, len(head) + 2)
    yield [_Piece(head, diagnostic.severity), _Piece(f": {first}", "strong")]
    for line in rest:
        yield [_Piece(" " * (len(head) + 2)), _Piece(line, "strong")]
    room = SOURCE_CELLS if columns is None else max(columns - gutter - len(" | ......"), _LEAST_CELLS)
    yield from _snippet(diagnostic.place, gutter, room, "-->", "^", diagnostic.severity, "", columns)
    for related in diagnostic.related:
        yield from _snippet(related.place, gutter, room, ":::", "-", "frame", _shown(related.message), columns)
    labelled = list(notes(diagnostic))
    if labelled and any(place.source_line is not None for place in places):
        yield [_Piece(" " * (gutter + 1) + "|", "frame")]
    for label, text in labelled:
        indent = gutter + len(label) + 5
        first, *rest = [part for line in text.split("\n") for part in _wrapped(_shown(line), columns, indent)]
        yield [_Piece(" " * (gutter + 1) + "= ", "frame"), _Piece(f"{label}:", "strong"), _Piece(f" {first}")]
        for line in rest:
            yield [_Piece(" " * indent + line)]


def _wrapped(text: str, columns: int | None, indent: int) -> list[str]:
    """Return the lines of a text that starts after `indent` cells, broken between words to end within `columns`.

    Without a terminal (`columns` is None) the text stays on one line, as `grep` and editors need it.
    """
    if columns is None or indent + width(text) < columns:
        return [text]
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and indent + width(lines[-1]) + 1 + width(word) >= columns:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return lines


def _wrapped_line(line: _Line, columns: int | None) -> Iterator[_Line]:
    """Yield a line of the summary; a line of plain text is broken where the terminal ends."""
    if len(line) != 1:
        yield line
        return
    first, *rest = _wrapped(line[0].text, columns, 0)
    yield [_Piece(first, line[0].style)]
    for part in rest:
        yield [_Piece(f"  {part}", line[0].style)]


def _snippet(
    place: Place, gutter: int, room: int, arrow: str, mark: str, style: str, label: str, columns: int | None
) -> Iterator[_Line]:
    """Yield the position of a place, and its source line with the place underlined; `label` follows the underline, or
    is below it if the terminal is too narrow."""
    where = visible_text(":".join(str(part) for part in (place.file, place.line, place.column) if part is not None))
    head = _Piece(" " * gutter + f"{arrow} ", "frame")
    if place.source_line is None or place.line is None or place.column is None:
        if where or label:
            yield [head, _Piece(": ".join(filter(None, (where, label))))]
        return
    yield [head, _Piece(where)]
    shown, start, length = excerpt(place.source_line, place.column - 1, place.length, room)
    bar = _Piece(" " * (gutter + 1) + "|", "frame")
    yield [bar]
    yield [_Piece(f"{place.line:>{gutter}} |", "frame"), _Piece(f" {shown}".rstrip())]
    underline = " " * (start + 1) + mark * length
    if not label or columns is None or gutter + 3 + len(underline) + width(label) < columns:
        yield [bar, _Piece(underline + (f" {label}" if label else ""), style)]
    else:
        yield [bar, _Piece(underline, style)]
        yield [bar, _Piece(" " * max(1, min(start + 1, columns - gutter - 3 - width(label))) + label, style)]


def excerpt(line: str, start: int, length: int, room: int = SOURCE_CELLS) -> tuple[str, int, int]:
    """Return the part of `line` to show around a span, the cell at which its underline starts, and the number of cells
    underlined.

    `start` counts characters from 0. A line of more than `room` cells is cut on both sides of the span, with `...` in
    place of the omitted text.
    """
    line = line.rstrip("\r\n")
    start = min(start, len(line))
    stop = max(start, min(start + length, len(line)))
    left, right = _window(line, start, room)
    before, after = ("..." if left else ""), ("..." if right < len(line) else "")
    shown = before + visible_text(line[left:right]) + after
    underlined = width(line[start : min(stop, right)])
    return shown, len(before) + width(line[left:start]), max(underlined, 1)


def _window(line: str, start: int, cells: int) -> tuple[int, int]:
    """Return the range of characters to show: up to half of the cells before `start`, more if the rest is short."""
    left, room = _backward(line, start, cells // 2)
    right, room = _forward(line, start, cells // 2 + room)
    left, room = _backward(line, left, room)
    return left, right


def _backward(line: str, index: int, room: int) -> tuple[int, int]:
    while index > 0 and (cost := _cost(line[index - 1])) <= room:
        index, room = index - 1, room - cost
    return index, room


def _forward(line: str, index: int, room: int) -> tuple[int, int]:
    while index < len(line) and (cost := _cost(line[index])) <= room:
        index, room = index + 1, room - cost
    return index, room


def _cost(char: str) -> int:
    """Return the width of a character, above 0 even for combining marks, so that a line of them is cut as well."""
    return max(cells(char), 1)


def counts_text(report: Report) -> str:
    """Return the number of findings of each severity, e.g. `2 errors, 1 warning`."""
    return "".join(piece.text for piece in _counts(_kinds(report)))


def _kinds(report: Report) -> Counter[tuple[Severity, str]]:
    return Counter((diagnostic.severity, diagnostic.code) for diagnostic in report) + report.left_out


def _counts(kinds: Counter[tuple[Severity, str]]) -> _Line:
    counts: Counter[Severity] = Counter()
    for (severity, _), count in kinds.items():
        counts[severity] += count
    line: _Line = []
    for severity in Severity:
        if count := counts[severity]:
            line += [_Piece(", ")] if line else []
            line.append(_Piece(f"{count} {severity}{'' if count == 1 else 's'}", severity))
    return line or [_Piece("no findings", "strong")]


def _summary(report: Report, shown: Report) -> Iterator[_Line]:
    """Yield `2 errors, 1 warning`, the number of findings that are not shown, and a hint to `irexec explain`."""
    kinds = _kinds(report)
    yield _counts(kinds)
    if not kinds:
        return
    hidden = kinds - Counter((diagnostic.severity, diagnostic.code) for diagnostic in shown)
    for (_, code), count in sorted(hidden.items()):
        yield [_Piece(f"{count:,} more findings of {code} are not shown")]
    if rejected := _rejected(report):
        yield [_Piece(rejected)]
    if unchecked := _unchecked(report):
        yield [_Piece(unchecked)]
    if fixable := _fixable(report):
        yield [_Piece(fixable)]
    yield [_Piece(f"for details: irexec explain {' '.join(sorted({diagnostic.code for diagnostic in shown}))}")]


def _rejected(report: Report) -> str:
    """Return the errors because of which OpenVINO rejects the file, as far as known; empty if there are none."""
    known = [finding for finding in report.errors if (finding.openvino or "").startswith("rejects")]
    causes = [finding for finding in known if finding.openvino != UNLESS_EXTENDED]
    if not causes:
        return ""
    is_sure = any((finding.openvino or "").startswith("rejects the file") for finding in causes)
    files = len({finding.file for finding in causes})
    verb = "rejects" if is_sure else "probably rejects"
    subject = f"OpenVINO {MEASURED_WITH} {verb} {'the file' if files == 1 else f'{files:,} files'}"
    places = [*dict.fromkeys(f"{finding.code} in {_line_of(finding, files > 1)}" for finding in causes)]
    more = f" and {len(places) - _MOST_NAMES:,} more errors" if len(places) > _MOST_NAMES else ""
    return f"{subject}, at least because of {_shown(', '.join(places[:_MOST_NAMES]))}{more}"


def _line_of(finding: Diagnostic, with_file: bool) -> str:
    if finding.line is None or (with_file and finding.file is None):
        return "the file" if finding.file is None or not with_file else finding.file
    return f"{finding.file}:{finding.line}" if with_file else f"line {finding.line}"


def _unchecked(report: Report) -> str:
    """Return the layers that were not checked completely, because their own errors leave the types unknown."""
    names = list(dict.fromkeys(map(str, report.unchecked)))
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    listed = ", ".join(names[:_MOST_NAMES]) + more
    return f"not checked completely until these errors are fixed: {_shown(listed)}" if names else ""


def _fixable(report: Report) -> str:
    """Return the number of findings that `irexec fix` can correct, safe and unsafe ones."""
    safe = sum(any(fix.safety is Safety.SAFE for fix in finding.fixes) for finding in report)
    unsafe = sum(any(fix.safety is Safety.UNSAFE for fix in finding.fixes) for finding in report)
    text = fixable_text("irexec fix", safe, unsafe)
    # The fixes of findings that the report only counts are unknown.
    more = {finding.code for finding in report if finding.fixes} & {code for _, code in report.left_out}
    return f"at least {text}" if more else text


def fixable_text(command: str, safe: int, unsafe: int) -> str:
    """Return `1 fixable with `irexec fix`, 2 more with `--unsafe``; empty without fixes."""
    if not safe:
        return f"{unsafe:,} fixable with `{command} --unsafe`" if unsafe else ""
    return f"{safe:,} fixable with `{command}`" + (f", {unsafe:,} more with `--unsafe`" if unsafe else "")


def _shown(text: str) -> str:
    """Return `text` on one line of bounded length."""
    short = text if len(text) <= NOTE_CHARACTERS else f"{text[:NOTE_CHARACTERS]}..."
    return visible_text(short.replace("\n", " "))


def _printed(lines: Iterable[_Line], color: bool) -> str:
    if not color:
        return "".join("".join(piece.text for piece in line) + "\n" for line in lines)
    from rich.color import ColorSystem
    from rich.style import Style

    def painted(piece: _Piece) -> str:
        return Style.parse(_STYLES[piece.style]).render(piece.text, color_system=ColorSystem.STANDARD)

    return "".join("".join(map(painted, line)) + "\n" for line in lines)
