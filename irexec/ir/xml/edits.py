"""Conversion of edits of a text, in characters, to edits of its file, in bytes."""

from __future__ import annotations

from irexec.core.diagnostics import Edit
from irexec.ir.xml.encoding import encoding_of
from irexec.ir.xml.events import Span
from irexec.ir.xml.positions import Positions

_BLOCK = 4096


class Editable:
    """A text, and its relation to the bytes of its file: the length of the byte order mark, and the encoding."""

    def __init__(self, positions: Positions, encoding: tuple[int, str] = (0, "utf-8")) -> None:
        self.positions = positions
        self.text = positions.text
        self._mark, self.codec = encoding
        self._encoded: list[int] = []

    def edit(self, span: Span, text: str) -> Edit:
        """Return the edit that replaces a span of the text."""
        line_column = self.positions.line_column
        return Edit(
            self._byte(span.start), self._byte(span.stop), text, line_column(span.start), line_column(span.stop)
        )

    def before_blanks(self, offset: int) -> int:
        """Return the start of the blanks that precede an offset."""
        while offset and self.text[offset - 1].isspace():
            offset -= 1
        return offset

    def _byte(self, offset: int) -> int:
        """Return the offset of a character in the file's bytes."""
        if not self._encoded:
            blocks = range(0, len(self.text) + 1, _BLOCK)
            lengths = [len(self.text[start : start + _BLOCK].encode(self.codec)) for start in blocks]
            self._encoded = [self._mark]
            for length in lengths:
                self._encoded.append(self._encoded[-1] + length)
        block = offset // _BLOCK
        return self._encoded[block] + len(self.text[block * _BLOCK : offset].encode(self.codec))


def apply(data: bytes, edits: list[Edit]) -> bytes:
    """Return the bytes of a file with non-overlapping edits applied."""
    codec = encoding_of(data)[1]
    parts, done = [], 0
    for edit in sorted(edits):
        parts += [data[done : edit.start], edit.text.encode(codec)]
        done = edit.stop
    return b"".join([*parts, data[done:]])
