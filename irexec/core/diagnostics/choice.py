"""The choice of findings that count: by the beginnings of their codes, and by their files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatch

from irexec.core.diagnostics.codes import CODES, Area
from irexec.core.diagnostics.diagnostic import Diagnostic, Report, Severity
from irexec.core.records import field, record


@record(frozen=True)
class Choice:
    """The selection of findings. Each entry is a code or a prefix of codes: `P004`, `D`.

    `per_file` maps patterns of names, or of paths relative to `base`, to the codes ignored in these files. A finding
    about the command line is always reported.
    """

    select: tuple[str, ...] = ("",)
    ignore: tuple[str, ...] = ()
    per_file: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    base: str = "."

    def keeps(self, finding: Diagnostic) -> bool:
        """Return whether a finding counts."""
        return self._keeps(finding.code) and not finding.code.startswith(self._ignored_in(finding.file))

    def of(self, report: Report) -> Report:
        """Return a report of the findings that count; `left_out` is filtered by code in the same way."""
        kept = Counter({kind: count for kind, count in report.left_out.items() if self._keeps(kind[1])})
        return Report([finding for finding in report if self.keeps(finding)], kept, list(report.unchecked))

    def beyond_errors(self, report: Report) -> Report:
        """Return a report of the findings that count and of all errors, which are the reasons why a file could not be
        used.
        """
        kept = Counter(
            {kind: n for kind, n in report.left_out.items() if kind[0] is Severity.ERROR or self._keeps(kind[1])}
        )
        findings = [f for f in report if f.severity is Severity.ERROR or self.keeps(f)]
        return Report(findings, kept, list(report.unchecked))

    def _keeps(self, code: str) -> bool:
        return CODES[code].area is Area.USAGE or (code.startswith(self.select) and not code.startswith(self.ignore))

    def _ignored_in(self, file: str | None) -> tuple[str, ...]:
        if file is None or not self.per_file:
            return ()
        path, name = os.path.relpath(file, self.base).replace(os.sep, "/"), os.path.basename(file)
        return tuple(
            code
            for pattern, codes in self.per_file.items()
            if fnmatch(path, pattern) or fnmatch(name, pattern)
            for code in codes
        )


EVERY = Choice()
"""The choice of all findings."""


def names_no_code(beginning: str) -> bool:
    """Return True if no code starts with this text."""
    return not any(code.startswith(beginning) for code in CODES)
