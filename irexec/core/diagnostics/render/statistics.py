"""The number of findings of each code, and how many of them `irexec fix` can correct."""

from __future__ import annotations

from collections import Counter

from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.diagnostic import Report
from irexec.core.diagnostics.fix import Safety


def statistics(report: Report) -> str:
    """Return a line for each code, the most frequent first; empty for no findings."""
    counts: Counter[str] = Counter(finding.code for finding in report)
    counts.update({code: count for (_, code), count in report.left_out.items()})
    fixable = Counter(
        finding.code for finding in report if any(fix.safety is not Safety.SUGGESTION for fix in finding.fixes)
    )
    digits = len(f"{max(counts.values(), default=0):,}")
    return "".join(
        f"{count:>{digits},}  {code}  {CODES[code].title}{f' ({fixable[code]:,} fixable)' if fixable[code] else ''}\n"
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
