"""A forecast of another precision, for people: what breaks and the way there, what mends it, the layers in danger."""

from __future__ import annotations

from irexec.show.printing import Printout
from irexec.trust.errors import shown_error
from irexec.trust.precision import Forecast, Magnitudes

_WORST = 10


def show_forecast(found: Forecast, page: Printout) -> None:
    """The verdict in the first line; then the way to the first break, the loss, what to keep, the worst layers."""
    page.line(found.verdict, "good" if found.run.fine else "error")
    if found.way:
        page.heading("the way there")
        page.table([_cells(row, found) for row in found.way], ("name",), names=0)
    page.heading(f"loss in {found.kind}" + ("" if found.kept is None else ", and with what is kept in f32"))
    mended = dict(found.mended.results) if found.mended is not None else {}
    page.table(
        [
            (name, shown_error(error), *([shown_error(mended[name])] if mended else []))
            for name, error in found.run.results
        ],
        ("name",),
        names=0,
    )
    if not found.run.fine:
        page.line()
        if found.kept is None:
            page.line("no choice of layers to keep in f32 was found that mends it", "warning")
        else:
            names = ", ".join(node.friendly_name for node in found.kept)
            page.line(f"with these in f32 it is right (it was run again): {names}", "good")
    rows = sorted(found.layers, key=lambda row: -max(row.largest / found.limit, (row.zero + row.denormal) / row.count))
    page.heading(f"layers: the worst {min(_WORST, len(rows))} of {len(rows)}")
    heading = ("layer", "type", "largest", "of the limit", "denormal", "zero")
    page.table([heading, *(_cells(row, found) for row in rows[:_WORST])], ("name",), names=0)


def _cells(row: Magnitudes, found: Forecast) -> tuple[str, ...]:
    share = 100 * row.largest / found.limit
    small = (f"{100 * part / row.count:.2g} %" if part else "-" for part in (row.denormal, row.zero))
    return row.node.friendly_name, row.node.type, f"{row.largest:.4g}", f"{share:.2g} %", *small
