"""A fix: the edits of a file that correct a finding."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from irexec.core.records import record


class Safety(StrEnum):
    """The safety of a fix. SAFE: OpenVINO and irexec compute the same from the file as before. UNSAFE: they may compute
    other results. SUGGESTION: one of several possible corrections, from which a person has to choose.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    SUGGESTION = "suggestion"


class Edit(NamedTuple):
    """A replacement of the bytes from `start` to `stop` of a file by a text in the file's encoding.

    `begin` and `end` are `start` and `stop` as line and column, counted from 1.
    """

    start: int
    stop: int
    text: str
    begin: tuple[int, int]
    end: tuple[int, int]


@record(frozen=True)
class Fix:
    """Edits that belong together: all are made, or none. They do not overlap."""

    title: str
    safety: Safety
    edits: tuple[Edit, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fix as JSON-ready values; `start` and `stop` count bytes of the file."""
        edits = [
            {
                "start": edit.start,
                "stop": edit.stop,
                "text": edit.text,
                "line": edit.begin[0],
                "column": edit.begin[1],
                "end_line": edit.end[0],
                "end_column": edit.end[1],
            }
            for edit in self.edits
        ]
        return {"title": self.title, "safety": str(self.safety), "edits": edits}
