"""Comments at ports: the port that a comment is about, and whether it contains the port's name, values, or a remark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from irexec.frontends.pages.listed import Listed, ListedValue, Unfinished, read_values, role_of
from irexec.frontends.pages.repairs.parts import PrintedComment, PrintedElement
from irexec.ir.xml.events import Span
from irexec.model.arrays.accept import shape_of

MOST_JOINED = 256
"""The maximum number of comments among which one list may be divided."""


@dataclass(slots=True)
class PortNotes:
    """The content of the comments at one port. `span` is the comment that lists the values, in the original text."""

    role: str | None = None
    listed: Listed | None = None
    span: Span | None = None
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A comment at a port; `of_dim` if it follows one of the port's dims on the same line."""

    comment: PrintedComment
    of_dim: bool


def notes_of_section(section: PrintedElement, text: str) -> list[PortNotes]:
    """Return the notes of every port of an `<input>` or `<output>`, in order; `text` is the original text.

    A comment inside a port, or after it on its last line, belongs to that port. A comment on a separate line between
    ports belongs to the next port, unless it continues values of the previous one.
    """
    by_port: list[list[_Placed]] = []
    waiting: list[_Placed] = []
    port: PrintedElement | None = None
    for child in section.children:
        if isinstance(child, PrintedElement) and child.name == "port":
            by_port.append([*waiting, *_inside(child, text)])
            port, waiting = child, []
        elif isinstance(child, PrintedComment):
            here = _Placed(child, of_dim=False)
            if port is None and _same_line(text, section.span.start, child.span.start):
                continue
            behind = port is not None and _same_line(text, max(port.end - 1, port.span.start), child.span.start)
            if behind or (by_port and not waiting and _is_unfinished(by_port[-1])):
                by_port[-1].append(here)
            else:
                waiting.append(here)
    ports = section.elements("port")
    return [_read(comments, node) for comments, node in zip(by_port, ports, strict=True)]


def _inside(port: PrintedElement, text: str) -> Iterator[_Placed]:
    dim: PrintedElement | None = None
    for child in port.children:
        if isinstance(child, PrintedComment):
            yield _Placed(child, dim is not None and _same_line(text, dim.span.start, child.span.start))
        elif isinstance(child, PrintedElement):
            # A remark inside a <dim> is about the <dim>.
            yield from (_Placed(inner, of_dim=True) for inner in child.children if isinstance(inner, PrintedComment))
            dim = child


def _same_line(text: str, start: int, end: int) -> bool:
    return "\n" not in text[start:end]


def _is_unfinished(comments: Sequence[_Placed]) -> bool:
    """Return whether the last of these comments leaves a list open."""
    openings = (n for n, item in enumerate(comments) if read_values(item.comment.text) is Unfinished.LIST)
    opening = next(openings, len(comments))
    return len(comments) < MOST_JOINED and read_values(_text(comments[opening:])) is Unfinished.LIST


def _joined(comments: Sequence[_Placed]) -> tuple[Listed | None, int]:
    """Return the values that begin in the first comment, and the number of comments among which they are divided."""
    result, count = read_values(comments[0].comment.text), 1
    while result is Unfinished.LIST and count < min(len(comments), MOST_JOINED):
        result = read_values(_text(comments[: count + 1]))
        if result is None:
            break
        count += 1
    if not isinstance(result, Listed) and read_values(_text(comments[:count])) is Unfinished.LIST:
        result = read_values(_text(comments[:count]), closing=True)
    return result if isinstance(result, Listed) else None, count


def _text(comments: Sequence[_Placed]) -> str:
    return " ".join(item.comment.text for item in comments)


def _read(comments: Sequence[_Placed], port: PrintedElement) -> PortNotes:
    notes = PortNotes()
    extents = [dim.text.strip() for dim in port.elements("dim")]
    found: list[tuple[Listed, Span]] = []
    index = 0
    while index < len(comments):
        item = comments[index]
        listed, count = _joined(comments[index : index + MOST_JOINED])
        index += count
        if listed is not None and _is_plausible(listed, extents, of_dim=item.of_dim):
            found.append((listed, item.comment.span))
            continue
        remark = " ".join(item.comment.text.split())
        if not item.of_dim and notes.role is None:
            notes.role = role_of(remark)
        if remark:
            notes.remarks.append(remark)
    if found:
        first, notes.span = found[0]
        notes.listed = _as_bytes(_rows([listed for listed, _ in found], extents) or first, port)
        notes.remarks += [listed.note for listed, _ in found if listed.note]
        notes.role = notes.role or first.name
    return notes


def _is_plausible(listed: Listed, extents: Sequence[str], *, of_dim: bool) -> bool:
    """Return whether text that looks like values can be the port's, rather than a remark about a dim or shape."""
    sizes = [int(extent) for extent in extents if re.fullmatch(r"\d{1,18}", extent)]
    if listed.is_scalar and not isinstance(listed.value, str) and of_dim:
        symbol = listed.name is not None and re.fullmatch(r"[A-Z]\w?", listed.name) is not None
        return len(extents) == 1 and prod(sizes) == 1 and not symbol
    if (listed.name or "").lower() in ("shape", "dims"):
        return isinstance(listed.value, list) and sizes == [len(listed.value)]
    return True


def _rows(found: Sequence[Listed], extents: Sequence[str]) -> Listed | None:
    """Return rows in separate comments, combined; None if the comments do not contain such rows."""
    if len(found) < 2 or any(listed.is_scalar or (listed.name and n) for n, listed in enumerate(found)):
        return None
    shapes = {shape_of(listed.value) for listed in found}
    if len(shapes) > 1 or None in shapes or extents[:1] not in ([str(len(found))], ["-1"]):
        return None
    rows: list[ListedValue] = [listed.value for listed in found]
    kind = next((listed.kind for listed in found if listed.kind), None)
    return replace(found[0], value=rows, kind=kind, balanced=all(listed.balanced for listed in found))


def _as_bytes(listed: Listed, port: PrintedElement) -> Listed:
    """Return the bytes of a text if it is the content of a byte tensor; other values unchanged."""
    precision = port.get("precision")
    is_bytes = listed.kind == "utf-8" or (precision is not None and precision.value.lower() == "u8")
    if not is_bytes or not isinstance(listed.value, str):
        return listed
    return replace(listed, value=list(listed.value.encode("utf-8", "replace")), kind="utf-8")
