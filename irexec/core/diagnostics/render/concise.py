"""The report with one line for each finding, as compilers print them, so that editors and `grep` read it."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.diagnostics.diagnostic import Report
from irexec.core.diagnostics.fix import Safety
from irexec.core.diagnostics.render.characters import visible_text


def chunks(report: Report, *, color: bool = False) -> Iterator[str]:
    """Yield `file:line:column: error[CODE] message` and the assumption on which it depends, followed by [fix] if
    `irexec fix` can correct it, or by [unsafe fix] if `irexec fix --unsafe` can."""
    for finding in report:
        safeties = {fix.safety for fix in finding.fixes}
        mark = " [fix]" if Safety.SAFE in safeties else " [unsafe fix]" if Safety.UNSAFE in safeties else ""
        assumed = f" (assumes {finding.assumption})" if finding.assumption is not None else ""
        yield visible_text(f"{finding}{assumed}{mark}") + "\n"
    for (severity, code), count in sorted(report.left_out.items()):
        yield f"{severity}[{code}] and {count:,} more\n"
