"""A comparison of two runs, or the differences between two models, as text."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from irexec.model.arrays.brief import plural
from irexec.tools.compare.errors import shown_error
from irexec.tools.compare.result import Comparison, Row
from irexec.tools.compare.sides import Sides
from irexec.tools.diff.change import Change
from irexec.tools.render.printing import Printout

_COLUMNS = 80
# Modules are shown without their class if they are longer than this with it.
_MODULE = 24


def show_comparison(found: Comparison, page: Printout, *, worst: int = 10, saved: Sequence[str] = ()) -> None:
    """Print the verdict in the first line, then the results, then at most `worst` layers (0: all). Layers that
    introduce an error come first.
    """
    page.columns = min(page.columns, _COLUMNS)
    page.paragraph(found.verdict, "good" if found.agrees else "error")
    for text in filter(None, (found.proof, found.cause)):
        page.paragraph(text, "warning")
    for hint in found.hints:
        page.paragraph(hint, "warning")
    for note in found.notes:
        page.paragraph(note, "warning")
    page.line()
    reference = found.file if found.exact and found.file else "irexec"
    page.paragraph(f"results: {found.other} compared with {reference}", "heading")
    if found.failure is not None:
        page.paragraph(f"none: {found.failure}")
    page.table([(name, shown_error(error)) for name, error in found.results], ("name",), names=0)
    rows = sorted(found.layers, key=_badness)
    shown = rows if worst <= 0 else rows[:worst]
    if shown:
        page.heading(
            "layers" if len(shown) == len(rows) else f"layers with the largest errors ({len(shown)} of {len(rows)})"
        )
        modules = any(row.module for row in shown)
        heading = ("", "layer", "module" if modules else "type", "own ulp", "total", "tolerance")
        cells = [heading, *(_cells(row, modules) for row in shown)]
        page.table(cells, ("error", "name"), names=1)
    if found.culprit is not None and found.culprit.step:
        page.line()
        page.line(f"in step {found.culprit.step}", "dim")
    if found.about:
        page.line()
        page.paragraph(", ".join(f"{name} {value}" for name, value in found.about.items()), "dim")
    if saved:
        page.line()
        page.paragraph(f"saved {', '.join(saved)}", "dim")


def show_sides(sides: Sides, page: Printout, *, worst: int = 10) -> None:
    """Print the side that differs from all others, and then each comparison."""
    page.columns = min(page.columns, _COLUMNS)
    page.paragraph(sides.verdict, "good" if sides.agrees else "error")
    for found in sides.found:
        page.line()
        show_comparison(found, page, worst=worst)


def _badness(row: Row) -> tuple[bool, float, float]:
    own = row.own.ulp if row.own is not None else 0.0
    total = row.total.relative if row.total is not None else 0.0
    return row.agrees, -own if math.isfinite(own) else -1e300, -total


def _cells(row: Row, modules: bool) -> tuple[str, ...]:
    own = "not observed" if row.own is None else _brief(row)
    total = "-" if row.total is None else "0" if not row.total else f"{row.total.relative:.1e}"
    mark = "" if row.agrees else "~" if row.compensated else "x"
    kind = row.module if modules else row.node.type[:18]
    if modules and len(kind) > _MODULE:
        kind = re.sub(r" \(\w+\)", "", kind)
    tolerance = re.split(" of | for ", row.tolerance)[0][:12]
    return mark, row.node.friendly_name, kind, own, total, tolerance


def _brief(row: Row) -> str:
    assert row.own is not None
    if row.own and row.own.whole and row.own.found:
        return "differs"
    return "0" if not row.own else f"{row.own.ulp:.3g}" if math.isfinite(row.own.ulp) else "infinite"


_SIGNS = {"added": "+", "removed": "-"}


def show_changes(
    changes: Sequence[Change], a: str, b: str, page: Printout, comparison: Comparison | None = None
) -> None:
    """Print the number of differences, each difference, and the errors of the results if both models were run."""
    count = plural(len(changes), "difference") if changes else "no difference"
    page.line(f"{count} between {a} and {b}", "heading")
    page.table([_row(change) for change in changes], ("name", None, "name"), names=2)
    if comparison is not None:
        page.line()
        show_comparison(comparison, page)


def _row(change: Change) -> tuple[str, ...]:
    name = " / ".join((*change.outer, change.a or change.b or ""))
    return _SIGNS.get(change.change, "~"), change.change, name, change.text
