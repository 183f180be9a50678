"""Collecting findings: a code and a place in, a finished Diagnostic out, with the mode's severity."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from irexec.diagnostics.codes import CODES
from irexec.diagnostics.diagnostic import Diagnostic, LayerRef, Place, Related, Report, Severity

Mode = Literal["strict", "openvino"]
"""Which question is asked: "strict" whether the file is right, "openvino" what it computes (see Code.lenient)."""


class At(NamedTuple):
    """A place in a document, before its line and column are known.

    `element` is the element's number in document order; `attribute` the attribute's name, "#text" for the text inside,
    or None for the start tag.
    """

    element: int
    attribute: str | None = None


class Findings:
    """A report under construction. `locate` turns an `At` into a `Place`; it is called for findings only."""

    def __init__(
        self, locate: Callable[[At], Place] | None = None, *, file: str | None = None, mode: Mode = "strict"
    ) -> None:
        self.report = Report()
        self.mode: Mode = mode
        self.file = file
        self._locate = locate
        self._explained: dict[tuple[str, Place], Callable[[str], bool]] = {}

    def place(self, at: At | Place | None) -> Place:
        if isinstance(at, Place):
            return at
        if at is None or at.element < 0 or self._locate is None:
            return Place(file=self.file)
        return self._locate(at)

    def said(self, code: str, layer: LayerRef) -> bool:
        """True when this was found about the layer before: one cause is reported once, where it is first seen."""
        return any(finding.code == code and finding.layer == layer for finding in self.report)

    def explain(self, code: str, at: At, agrees: Callable[[str], bool]) -> None:
        """Say that what stands at a place is wrong, which explains findings of a code that lie elsewhere.

        Those that refer to the place first, and whose `found` agrees with what is right, are taken back by `settle`.
        """
        self._explained[code, self.place(at)] = agrees

    def trial(self) -> Findings:
        """Findings of the same file that stand apart, until `take` makes them one's own or they are forgotten."""
        return Findings(self._locate, file=self.file, mode=self.mode)

    def take(self, trial: Findings) -> None:
        """Add the findings of a trial, those left out that were made at the same place before."""
        known = {(finding.code, finding.place) for finding in self.report if finding.place.line is not None}
        for finding in trial.report:
            if (finding.code, finding.place) not in known:
                self.report.add(finding)
        self._explained |= trial._explained

    def excuse(self, idle: Collection[LayerRef]) -> None:
        """In "openvino" mode, make warnings of the errors about layers that nothing depends on: they never run.

        Two layers with one id stay an error: which of them the edges mean is open.
        """
        if self.mode != "openvino" or not idle:
            return
        for index, finding in enumerate(self.report.diagnostics):
            if finding.severity is Severity.ERROR and finding.layer in idle and finding.code != "L002":
                self.report.diagnostics[index] = replace(finding, severity=Severity.WARNING)

    def settle(self) -> None:
        """Take back the findings whose cause another finding names."""
        if self._explained:
            self.report.diagnostics[:] = [finding for finding in self.report if not self._is_explained(finding)]
            self._explained.clear()

    def _is_explained(self, finding: Diagnostic) -> bool:
        agrees = self._explained.get((finding.code, finding.related[0].place)) if finding.related else None
        return agrees is not None and agrees(finding.found or "")

    def add(
        self,
        code: str,
        message: str,
        *,
        at: At | None = None,
        place: Place | None = None,
        severity: Severity | None = None,
        layer: LayerRef | None = None,
        related: tuple[tuple[str, At | Place], ...] = (),
        defined: bool = True,
        **details: Any,
    ) -> Diagnostic:
        """Add a finding. `details` are the remaining fields of Diagnostic (port, attribute, hint, ...).

        In "openvino" mode an error that leaves the result defined becomes a warning: those of a lenient code, unless
        `defined` says that this one does not.
        """
        info = CODES[code]
        level = severity or info.severity
        if self.mode == "openvino" and level is Severity.ERROR and info.lenient and defined:
            level = Severity.WARNING
        details.setdefault("openvino", info.openvino)
        diagnostic = Diagnostic(
            code=code,
            severity=level,
            message=message,
            place=place if place is not None else self.place(at),
            layer=layer,
            related=tuple(Related(text, self.place(other)) for text, other in related),
            **details,
        )
        self.report.add(diagnostic)
        return diagnostic
