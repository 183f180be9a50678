"""A finding: what is wrong, where, how badly, and what would put it right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Severity(StrEnum):
    """How much a finding matters: an error refuses the file, a warning and a note do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Place:
    """A span on one line of a text; line and column count from 1, column in characters."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    length: int = 1
    source_line: str | None = None


class LayerRef(NamedTuple):
    """The layer that a finding is about, as the file names it."""

    id: str
    name: str
    type: str
    version: str = ""

    def __str__(self) -> str:
        label = self.name or (f"#{self.id}" if self.id else "")
        return f"{self.type} {label!r}" if label else self.type


class Related(NamedTuple):
    """A second place that a finding refers to, with a few words on why."""

    message: str
    place: Place


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `found` and `allowed` are short texts; `openvino` says how OpenVINO treats the same input."""

    code: str
    severity: Severity
    message: str
    place: Place = Place()
    layer: LayerRef | None = None
    port: str | None = None
    attribute: str | None = None
    constraint: str | None = None
    found: str | None = None
    allowed: str | None = None
    openvino: str | None = None
    hint: str | None = None
    related: tuple[Related, ...] = ()

    @property
    def file(self) -> str | None:
        return self.place.file

    @property
    def line(self) -> int | None:
        return self.place.line

    @property
    def column(self) -> int | None:
        return self.place.column

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{where + ': ' if where else ''}{self.severity}[{self.code}] {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON-ready values; what is unknown is left out."""
        result: dict[str, Any] = {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "file": self.file,
            "line": self.line,
            "column": self.column,
        }
        if self.layer is not None:
            result["layer"] = self.layer._asdict()
        for name in ("port", "attribute", "constraint", "found", "allowed", "openvino", "hint"):
            if (value := getattr(self, name)) is not None:
                result[name] = value
        if self.related:
            result["related"] = [
                {"message": r.message, "file": r.place.file, "line": r.place.line, "column": r.place.column}
                for r in self.related
            ]
        return result


@dataclass(slots=True)
class Report:
    """All findings of one run over one or more files."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True when nothing was found that refuses the file."""
        return not self.errors

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity is Severity.ERROR]

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

    def __len__(self) -> int:
        return len(self.diagnostics)

    def add(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics.extend(diagnostics)

    def sorted(self) -> Report:
        """The same findings in file order: by file as first met, then line, then column."""
        files = {file: rank for rank, file in reversed(list(enumerate(d.file for d in self.diagnostics)))}
        key = lambda d: (files[d.file], d.line or 0, d.column or 0)  # noqa: E731
        return Report(sorted(self.diagnostics, key=key))

    def to_json(self) -> str:
        """The report as a JSON text, in ASCII so that any stream can carry it: `{"ok": ..., "diagnostics": [...]}`."""
        import json

        findings = [d.to_dict() for d in self.diagnostics]
        return json.dumps({"ok": self.ok, "diagnostics": findings}, indent=2)


class IRError(Exception):
    """A file, model or call that cannot be used; `report` holds every finding."""

    def __init__(self, report: Report | Diagnostic) -> None:
        self.report = Report([report]) if isinstance(report, Diagnostic) else report
        shown = self.report.errors or self.report.diagnostics
        super().__init__("\n".join(str(d) for d in shown[:20]) or "unusable input")
