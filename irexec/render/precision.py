"""Text for a simulation in another precision: overflow, layers to keep in f32, layers with the largest errors."""

from __future__ import annotations

from irexec.debug.errors import shown_error
from irexec.debug.precision import Forecast, Magnitudes
from irexec.render.printing import Printout

_WORST = 10


def show_forecast(found: Forecast, page: Printout) -> None:
    """Print the verdict, the path to the first overflow, the loss, the layers to keep, and the largest errors."""
    page.line(found.verdict, "good" if found.run.fine else "error")
    if found.way:
        page.heading("intermediate layers")
        page.table([_cells(row, found) for row in found.way], ("name",), names=0)
    page.heading(f"loss in {found.kind}" + ("" if found.kept is None else ", and with some layers kept in f32"))
    fixed = dict(found.fixed.results) if found.fixed is not None else {}
    page.table(
        [
            (name, shown_error(error), *([shown_error(fixed[name])] if fixed else []))
            for name, error in found.run.results
        ],
        ("name",),
        names=0,
    )
    if not found.run.fine:
        page.line()
        if found.kept is None:
            page.line("found no selection of layers to keep in f32 that corrects the results", "warning")
        else:
            names = ", ".join(node.friendly_name for node in found.kept)
            page.line(f"verified: the results are correct with these layers in f32: {names}", "good")
    rows = sorted(found.layers, key=lambda row: -max(row.largest / found.limit, (row.zero + row.denormal) / row.count))
    page.heading(f"layers with the largest errors ({min(_WORST, len(rows))} of {len(rows)})")
    heading = ("layer", "type", "largest", "of the limit", "denormal", "zero")
    page.table([heading, *(_cells(row, found) for row in rows[:_WORST])], ("name",), names=0)


def _cells(row: Magnitudes, found: Forecast) -> tuple[str, ...]:
    share = 100 * row.largest / found.limit
    small = (f"{100 * part / row.count:.2g} %" if part else "-" for part in (row.denormal, row.zero))
    return row.node.friendly_name, row.node.type, f"{row.largest:.4g}", f"{share:.2g} %", *small
