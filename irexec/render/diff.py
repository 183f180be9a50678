"""The differences between two models as text: one line each, grouped by kind."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.arrays.brief import plural
from irexec.debug.change import Change
from irexec.debug.comparison.result import Comparison
from irexec.render.compare import show_comparison
from irexec.render.printing import Printout

_SIGNS = {"added": "+", "removed": "-"}


def show_changes(
    changes: Sequence[Change], a: str, b: str, page: Printout, comparison: Comparison | None = None
) -> None:
    """Print the number of differences, each difference, and the errors of the results if both models were run."""
    count = plural(len(changes), "difference") if changes else "no difference"
    page.line(f"{count} between {a} and {b}", "heading")
    page.table([_row(change) for change in changes], ("name", None, "name"), names=2, wrap=True)
    if comparison is not None:
        page.line()
        show_comparison(comparison, page)


def _row(change: Change) -> tuple[str, ...]:
    name = " / ".join((*change.outer, change.a or change.b or ""))
    return _SIGNS.get(change.change, "~"), change.change, name, change.text
