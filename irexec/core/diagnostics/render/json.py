"""The report as JSON, the same as `Report.to_json`."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.diagnostics.diagnostic import Report


def chunks(report: Report, *, color: bool = False) -> Iterator[str]:
    """Yield the pieces of the JSON text; `color` is ignored."""
    yield report.to_json()
    yield "\n"
