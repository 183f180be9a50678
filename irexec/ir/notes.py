"""Which port a comment speaks of, and what it says: the port's name, the values it holds, or a remark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from irexec.ir.positions import Span
from irexec.ir.repairs.parts import Comment, Node
from irexec.ir.values import Listed, Unfinished, Value, read_values, role_of, shape_of


@dataclass(slots=True)
class PortNotes:
    """What the comments at one port say. `span` is the comment that lists the values, in the original text.

    `unbalanced` is the place of values whose brackets do not match.
    """

    role: str | None = None
    listed: Listed | None = None
    span: Span | None = None
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Said:
    """A comment at a port; `of_dim` when it stands behind one of the port's dims on the same line."""

    comment: Comment
    of_dim: bool


def notes_of_section(section: Node, text: str) -> list[PortNotes]:
    """The notes of every port of an `<input>` or `<output>`, in order; `text` is the original text.

    A comment inside a port, or behind it on its last line, is the port's. One on a line of its own between ports is the
    next port's, unless it goes on with values that the port before it began.
    """
    said: list[list[_Said]] = []
    waiting: list[_Said] = []
    port: Node | None = None
    for child in section.children:
        if isinstance(child, Node) and child.name == "port":
            said.append([*waiting, *_inside(child, text)])
            port, waiting = child, []
        elif isinstance(child, Comment):
            here = _Said(child, of_dim=False)
            if port is None and _same_line(text, section.span.start, child.span.start):
                continue
            behind = port is not None and _same_line(text, max(port.end - 1, port.span.start), child.span.start)
            if behind or (said and not waiting and _goes_on(said[-1])):
                said[-1].append(here)
            else:
                waiting.append(here)
    ports = section.elements("port")
    return [_read(comments, node) for comments, node in zip(said, ports, strict=True)]


def _inside(port: Node, text: str) -> Iterator[_Said]:
    dim: Node | None = None
    for child in port.children:
        if isinstance(child, Comment):
            yield _Said(child, dim is not None and _same_line(text, dim.span.start, child.span.start))
        elif isinstance(child, Node):
            # a remark inside a dim is about the dim
            yield from (_Said(inner, of_dim=True) for inner in child.children if isinstance(inner, Comment))
            dim = child


def _same_line(text: str, start: int, end: int) -> bool:
    return "\n" not in text[start:end]


def _goes_on(said: Sequence[_Said]) -> bool:
    return any(True for _ in said) and _joined(said, _first_values(said))[0] is Unfinished.LIST


def _first_values(said: Sequence[_Said]) -> int:
    """The first comment that begins values which the comments behind it may go on with."""
    return next((n for n, item in enumerate(said) if read_values(item.comment.text) is Unfinished.LIST), len(said))


def _joined(said: Sequence[_Said], first: int) -> tuple[Listed | Unfinished | None, int]:
    """The values that begin in comment `first`, and how many comments they take."""
    if first >= len(said):
        return None, 0
    text = said[first].comment.text
    result = read_values(text)
    count = 1
    while result is Unfinished.LIST and first + count < len(said):
        longer = f"{text} {said[first + count].comment.text}"
        result = read_values(longer)
        if result is None:
            return read_values(text, closing=True), count
        text, count = longer, count + 1
    return result, count


def _read(said: Sequence[_Said], port: Node) -> PortNotes:
    notes = PortNotes()
    extents = [dim.text.strip() for dim in port.elements("dim")]
    found: list[tuple[Listed, Span]] = []
    index = 0
    while index < len(said):
        item = said[index]
        listed, count = _joined(said, index)
        if listed is Unfinished.LIST:
            text = " ".join(other.comment.text for other in said[index:])
            listed = read_values(text, closing=True)
        index += count
        if isinstance(listed, Listed) and _is_plausible(listed, extents, of_dim=item.of_dim):
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
    """Whether what reads like values can be the port's, and not a remark about a dim or the shape."""
    sizes = [int(extent) for extent in extents if re.fullmatch(r"\d{1,18}", extent)]
    if listed.is_scalar and not isinstance(listed.value, str) and of_dim:
        symbol = listed.name is not None and re.fullmatch(r"[A-Z]\w?", listed.name) is not None
        return len(extents) == 1 and prod(sizes) == 1 and not symbol
    if (listed.name or "").lower() in ("shape", "dims"):
        return isinstance(listed.value, list) and sizes == [len(listed.value)]
    return True


def _rows(found: Sequence[Listed], extents: Sequence[str]) -> Listed | None:
    """Rows that stand in one comment each, put together; None when the comments are no such rows."""
    if len(found) < 2 or any(listed.is_scalar or (listed.name and n) for n, listed in enumerate(found)):
        return None
    shapes = {shape_of(listed.value) for listed in found}
    if len(shapes) > 1 or None in shapes or extents[:1] not in ([str(len(found))], ["-1"]):
        return None
    rows: list[Value] = [listed.value for listed in found]
    kind = next((listed.kind for listed in found if listed.kind), None)
    return replace(found[0], value=rows, kind=kind, balanced=all(listed.balanced for listed in found))


def _as_bytes(listed: Listed, port: Node) -> Listed:
    """A text that is the content of a byte tensor, as its bytes."""
    precision = port.get("precision")
    is_bytes = listed.kind == "utf-8" or (precision is not None and precision.value.lower() == "u8")
    if not is_bytes or not isinstance(listed.value, str):
        return listed
    return replace(listed, value=list(listed.value.encode("utf-8", "replace")), kind="utf-8")
