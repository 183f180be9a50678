"""Collecting findings: from a code and a place to a complete Diagnostic, with the severity that the mode sets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from irexec.core.diagnostics.diagnostic import At, Diagnostic, LayerRef, Place, Related, Report, Severity
from irexec.core.diagnostics.statements import IF_NEEDED, REJECTS, UNCONNECTED, UNLESS_EXTENDED, UNREAD
from irexec.core.records import replace
from irexec.core.structure import PARAMETER

__all__ = ["At", "Findings", "Mode"]

Mode = Literal["strict", "openvino"]
"""The mode of a check: "strict" rejects every invalid file, "openvino" only files that OpenVINO does not read with a
well-defined result (see Code.lenient)."""


_UNCHECKED = frozenset({"B015", "D001", "E007", "E008"})
"""The codes of further findings that are notes in a dump of OpenVINO's compiler."""
# What OpenVINO reads of every layer, whether a result depends on it or not. It also creates every Parameter.
_READ_ALWAYS = frozenset({"L001", "L002", "L010", "P001", "P003", "P009", "E010"})
# Errors that may be the reason why nothing depends on a layer.
_CONNECTING = _READ_ALWAYS | {"P013", "E001", "E002", "E003"}


class Correction(NamedTuple):
    """The attributes of a layer as the findings about them suggest, by Python name (see model/graph/correction.py).

    `unresolved`: the attributes for which the findings suggest no value, which are not among `attributes`. `text`: the
    values that are guesses, as in a file; empty if there are none. `renamed`: the names in a file of missing attributes
    that are present under a wrong name.
    """

    attributes: dict[str, Any]
    unresolved: tuple[str, ...]
    text: str
    renamed: frozenset[str]


class Findings:
    """A report under construction. `locate` turns an `At` into a `Place`; it is called only when something is found.

    For every layer, checks request the number of errors and whether a finding exists. These are updated as findings are
    added, so that checks are not slower in a file with many errors. `internal`: the file is a dump of OpenVINO's
    compiler and may contain its internal operators; such a file is read, but its ports are not checked.
    """

    def __init__(
        self,
        locate: Callable[[At], Place] | None = None,
        *,
        file: str | None = None,
        mode: Mode = "strict",
        internal: bool = False,
    ) -> None:
        if mode not in ("strict", "openvino"):
            raise ValueError(f"mode is {mode!r}, expected 'strict' or 'openvino'")
        self.report = Report()
        self.mode: Mode = mode
        self.internal = internal
        self.file = file
        self.error_count = 0
        self.corrections: dict[int, Correction] = {}
        """The corrected attributes of layers with faulty attributes, by the number of the layer's element."""
        self.readers: dict[int, LayerRef] = {}
        """The layers at which faulty edges end, by the number of the edge's element."""
        self.assumption: str | None = None
        """The assumption on which findings that are added depend."""
        self._locate = locate
        self._reported: set[tuple[str, LayerRef]] = set()
        self._with_errors: set[LayerRef] = set()
        self._places: set[tuple[str, Place]] = set()

    def place(self, at: At | Place | None) -> Place:
        if isinstance(at, Place):
            return at
        if at is None or at.element < 0 or self._locate is None:
            return Place(file=self.file)
        return self._locate(at)

    def has_finding(self, code: str, layer: LayerRef) -> bool:
        """Return True if the layer has a finding with this code: each cause is reported once."""
        return (code, layer) in self._reported

    def has_finding_at(self, code: str, at: At) -> bool:
        """Return True when there is a finding with this code at the place."""
        return (code, self.place(at)) in self._places

    def has_error(self, layer: LayerRef) -> bool:
        """Return True when there is an error about the layer."""
        return layer in self._with_errors

    def finished(self, *, capped: bool = True) -> Report:
        """Return the findings in file order; `capped`: with a limited number for each code."""
        found = self.report.sorted()
        return found.capped() if capped else found

    def trial(self) -> Findings:
        """Return a separate collection for the same file, whose findings count only when they are passed to `take`."""
        trial = Findings(self._locate, file=self.file, mode=self.mode, internal=self.internal)
        trial.corrections, trial.readers, trial.assumption = self.corrections, self.readers, self.assumption
        return trial

    @contextmanager
    def assuming(self, assumption: str | None) -> Iterator[None]:
        """Mark the findings that are added in this block as depending on an assumption."""
        before, self.assumption = self.assumption, assumption or self.assumption
        try:
            yield
        finally:
            self.assumption = before

    def take(self, trial: Findings) -> None:
        """Add the findings of a trial, except those already reported at the same place."""
        known = self._places
        for finding in [f for f in trial.report if f.place.line is None or (f.code, f.place) not in known]:
            self.keep(finding)
        self.report.unchecked += trial.report.unchecked

    def excuse(self, idle: Collection[LayerRef]) -> None:
        """State that OpenVINO does not read layers that no result depends on, and downgrade errors about them to
        warnings in "openvino" mode: they never run.

        Errors about layer ids and edges remain errors: they may be the reason why nothing depends on the layer.
        """

        def excused(finding: Diagnostic) -> Diagnostic:
            layer = finding.layer if finding.at is None else self.readers.get(finding.at.element, finding.layer)
            is_conditional = finding.openvino == IF_NEEDED
            if layer is None or layer not in idle or layer.type == PARAMETER:
                return replace(finding, openvino=REJECTS) if is_conditional else finding
            if finding.severity is not Severity.ERROR or (finding.code in _READ_ALWAYS and not is_conditional):
                return finding
            is_lowered = self.mode == "openvino" and finding.code not in _CONNECTING
            severity = Severity.WARNING if is_lowered else finding.severity
            # The input port for which the edge was meant is open.
            says = UNCONNECTED if finding.code == "E006" else UNREAD
            return replace(finding, severity=severity, openvino=says)

        self.report.replace([excused(finding) for finding in self.report])
        self.error_count = len(self.report.errors)

    def keep(self, finding: Diagnostic) -> None:
        """Add a finished finding."""
        self.report.add(finding)
        self._places.add((finding.code, finding.place))
        if finding.layer is not None:
            self._reported.add((finding.code, finding.layer))
        if finding.severity is Severity.ERROR:
            self.error_count += 1
            if finding.layer is not None:
                self._with_errors.add(finding.layer)

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

        In "openvino" mode an error of a lenient code becomes a warning, unless `defined` is False: the result is then
        not well defined.
        """
        from irexec.core.diagnostics.codes import CODES, Area

        info = CODES[code]
        level = severity or info.severity
        if self.mode == "openvino" and level is Severity.ERROR and info.lenient and defined:
            level = Severity.WARNING
        if self.internal and (info.area is Area.PORT or code in _UNCHECKED):
            level = Severity.NOTE
        if layer is not None and "opset" not in (layer.version or "opset") and info.area is Area.ATTRIBUTE:
            details["openvino"] = UNLESS_EXTENDED
        details.setdefault("openvino", info.openvino)
        details.setdefault("assumption", self.assumption)
        diagnostic = Diagnostic(
            code=code,
            severity=level,
            message=message,
            place=place if place is not None else self.place(at),
            layer=layer,
            at=at,
            related=tuple(Related(text, self.place(other)) for text, other in related),
            **details,
        )
        self.keep(diagnostic)
        return diagnostic
