"""The report with one line for each finding, as compilers print them, so that editors and `grep` read it."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.diagnostics.diagnostic import Report
from irexec.diagnostics.fix import Safety
from irexec.diagnostics.render.characters import visible_text


def chunks(report: Report, *, color: bool = False) -> Iterator[str]:
    """Yield `file:line:column: error[CODE] message`, with [fix] if `irexec fix` can correct it."""
    for finding in report:
        fixable = any(fix.safety is not Safety.SUGGESTION for fix in finding.fixes)
        yield visible_text(f"{finding}{' [fix]' if fixable else ''}") + "\n"
    for (severity, code), count in sorted(report.left_out.items()):
        yield f"{severity}[{code}] and {count:,} more\n"
