"""A finding: the error, its location, its severity, and suggested corrections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from irexec.core.arguments import expected
from irexec.core.diagnostics.fix import Fix
from irexec.core.records import field, record


class Severity(StrEnum):
    """The severity of a finding: an error rejects the file, a warning and a note do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@record(frozen=True)
class Place:
    """A span on one line of a text; line and column count from 1, column in characters."""

    file: str | None = None
    line: int | None = None
    column: int | None = None
    length: int = 1
    source_line: str | None = None


class At(NamedTuple):
    """A place in a document, before its line and column are known.

    `element` is the element's number in document order; `attribute` the attribute's name, "#text" for the text inside,
    or None for the start tag. The place of an attribute is its value, or with `named` its name.
    """

    element: int
    attribute: str | None = None
    named: bool = False


class LayerRef(NamedTuple):
    """The layer that a finding is about, as the file names it."""

    id: str
    name: str
    type: str
    version: str = ""

    def __str__(self) -> str:
        label = self.name or (f"#{self.id}" if self.id else "")
        return f"{self.type} {label!r}" if label else self.type


class Origin(NamedTuple):
    """The node of a file of another format that a layer computes, perhaps together with other layers.

    `inputs`: for each input of the layer, the name of the node's input that it is; None if it is computed.
    `attributes`: the names of the node's attributes.
    """

    ref: LayerRef
    inputs: tuple[str | None, ...] = ()
    attributes: tuple[str, ...] = ()


class Related(NamedTuple):
    """A second place that a finding refers to, with a short reason."""

    message: str
    place: Place


@record(frozen=True)
class Diagnostic:
    """One finding. `found` and `allowed` are short texts; `openvino` is OpenVINO's behaviour for the same input;
    `assumption` is the guess about an erroneous layer on which the finding depends; `notes` are further texts, each
    with its label.

    For programs: `at` is the place in the document; `candidates` are texts that may be meant instead of `found`, the
    likeliest first; `repair` maps ports (by id, or by name in the operator's signature) to the shapes that would fix
    the error; `fixes` are edits of the file that would correct it.
    """

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
    assumption: str | None = None
    notes: tuple[tuple[str, str], ...] = ()
    related: tuple[Related, ...] = ()
    repair: Mapping[str, tuple[int, ...]] | None = None
    at: At | None = None
    candidates: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()

    @property
    def file(self) -> str | None:
        """The file of the finding."""
        return self.place.file

    @property
    def line(self) -> int | None:
        """The line of the finding, counted from 1."""
        return self.place.line

    @property
    def column(self) -> int | None:
        """The column of the finding, counted from 1."""
        return self.place.column

    def __repr__(self) -> str:
        return f"<Diagnostic: {self}>"

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return f"{where + ': ' if where else ''}{self.severity}[{self.code}] {self.message}"

    @property
    def advice(self) -> str:
        """The hint, or else the allowed names, as the end of a message in one line; empty if there are none."""
        names = self.allowed if self.code == "U005" else None
        return f"; {self.hint}" if self.hint else f"; allowed: {names}" if names else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready values; unknown fields are omitted."""
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
        for name in ("port", "attribute", "constraint", "found", "allowed", "openvino", "assumption", "hint"):
            if (value := getattr(self, name)) is not None:
                result[name] = value
        if self.notes:
            result["notes"] = dict(self.notes)
        if self.related:
            result["related"] = [
                {"message": r.message, "file": r.place.file, "line": r.place.line, "column": r.place.column}
                for r in self.related
            ]
        if self.fixes:
            result["fixes"] = [fix.to_dict() for fix in self.fixes]
        return result


JSON_VERSION = 1
"""The version of the format of `Report.to_json`."""
MAX_PER_CODE = 1000
"""The maximum number of findings of one code and severity in a report of one file; the others are counted."""


@record
class Report:
    """All findings of one run over one or more files.

    `left_out` counts, by severity and code, the findings that `capped` did not keep. `unchecked` lists the layers whose
    declared outputs could not be checked because of other errors.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    left_out: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    unchecked: list[LayerRef] = field(default_factory=list)
    _errors: _Errors = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.diagnostics = [expected(each, Diagnostic, "Report()") for each in self.diagnostics]
        self._errors = _Errors()

    @property
    def ok(self) -> bool:
        """True when no finding is an error."""
        return not self.errors

    @property
    def errors(self) -> list[Diagnostic]:
        """The findings that are errors. The list is a live view of the report: do not change it."""
        return self._errors.among(self.diagnostics)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.diagnostics)

    def __len__(self) -> int:
        return len(self.diagnostics)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a finding."""
        self.diagnostics.append(expected(diagnostic, Diagnostic, "Report.add()"))

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add findings, or all findings of another report."""
        self.diagnostics.extend(expected(each, Diagnostic, "Report.extend()") for each in diagnostics)
        if isinstance(diagnostics, Report):
            self.left_out.update(diagnostics.left_out)
            self.unchecked += diagnostics.unchecked

    def having(self, diagnostics: Iterable[Diagnostic]) -> Report:
        """Return a report with these findings in place of its own, for example fewer or with fixes."""
        return Report(list(diagnostics), self.left_out.copy(), list(self.unchecked))

    def replace(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Replace all findings by these."""
        self.diagnostics[:] = diagnostics
        self._errors = _Errors()

    def sorted(self) -> Report:
        """Return the same findings in file order: by the first occurrence of each file, then line, then column."""
        files = {file: rank for rank, file in reversed(list(enumerate(d.file for d in self.diagnostics)))}
        key = lambda d: (files[d.file], d.line or 0, d.column or 0)  # noqa: E731
        return self.having(sorted(self.diagnostics, key=key))

    def capped(self, most: int = MAX_PER_CODE) -> Report:
        """Return the first `most` findings of each code and severity; `left_out` counts the others.

        A file of a hundred thousand layers can have the same fault in each of them.
        """
        counts: Counter[tuple[Severity, str]] = Counter()
        kept = []
        for diagnostic in self.diagnostics:
            kind = diagnostic.severity, diagnostic.code
            counts[kind] += 1
            if counts[kind] <= most:
                kept.append(diagnostic)
        left_out = Counter({kind: n - most for kind, n in counts.items() if n > most})
        return Report(kept, self.left_out + left_out, list(self.unchecked))

    def __repr__(self) -> str:
        counts = Counter(finding.severity for finding in self.diagnostics)
        parts = [f"{n} {kind}{'s' * (n != 1)}" for kind in Severity if (n := counts[kind])]
        return f"<Report: {', '.join(parts) or 'no findings'}>"

    def __str__(self) -> str:
        """Return the report as `irexec validate` prints it."""
        from irexec.core.display import text_of

        return text_of("Report", self)

    def _repr_html_(self) -> str:
        """Return the findings as a table, for notebooks."""
        from irexec.core.display import html_of

        return html_of("Report", self)

    def to_json(self) -> str:
        """Return the report as a JSON text, in ASCII so that any stream can carry it: `{"version": 1, "ok": ..., ...}`.

        schemas/findings.schema.json describes it. `version` changes when a key is removed or gets another meaning.
        """
        import json

        result: dict[str, Any] = {
            "version": JSON_VERSION,
            "ok": self.ok,
            "diagnostics": [d.to_dict() for d in self.diagnostics],
        }
        if self.left_out:
            result["left_out"] = {code: count for (_, code), count in sorted(self.left_out.items())}
        if self.unchecked:
            result["unchecked"] = [layer._asdict() for layer in self.unchecked]
        return json.dumps(result, indent=2)


class _Errors:
    """The errors in a growing list of findings. Each finding is examined once, however often the errors are read."""

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []
        self._seen = 0
        self._last: Diagnostic | None = None

    def among(self, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
        """Return the errors among the findings; errors that were removed from the list are dropped here too."""
        if self._seen and (len(diagnostics) < self._seen or diagnostics[self._seen - 1] is not self._last):
            self._found, self._seen = [], 0
        if self._seen < len(diagnostics):
            self._found += [d for d in diagnostics[self._seen :] if d.severity is Severity.ERROR]
            self._seen, self._last = len(diagnostics), diagnostics[-1]
        return self._found


class Refusal(Exception):
    """Raised for something given that cannot be used, for the reason that the message states. `code`: that of the
    finding which a command reports.
    """

    code = "U004"


class WrongArgument(Refusal, ValueError):
    """An argument that cannot be used, for the reason that the message states.

    Commands show it as a finding about the argument. Any other ValueError is an error in irexec.
    """


class IRError(RuntimeError):
    """A file, model or call that cannot be used; `report` holds every finding."""

    def __init__(self, report: Report | Diagnostic) -> None:
        self.report = Report([report]) if isinstance(report, Diagnostic) else expected(report, Report, "IRError()")
        shown = self.report.errors or self.report.diagnostics
        super().__init__("\n".join(f"{d}{d.advice}" for d in shown[:20]) or "unusable input")

    def __reduce__(self) -> tuple[type[IRError], tuple[Report]]:
        # Pickling and copying recreate an exception from its `args`; here they must be the report, not the message.
        return type(self), (self.report,)
