"""The origins of one value, as text."""

from __future__ import annotations

from irexec.model.arrays.brief import plural, shown_item, shown_shape
from irexec.tools.compare.origins import Origins, Source
from irexec.tools.render.printing import Printout

# The number of sources that are listed.
_MOST = 12


def show_origins(found: Origins, page: Printout) -> None:
    """Print how an element came about: what it was moved from and what was overwritten there, or its largest terms."""
    page.heading(f"{found.name}{shown_shape(found.place)} = {shown_item(found.value)}")
    page.line(f"  {found.kind}, by {found.layer.strip()}")
    moved = found.kind == "moved"
    listed = found.sources if moved else sorted(found.sources, key=lambda source: -abs(source.effect))
    page.table([_row(source, found, moved) for source in listed[:_MOST]], ("name", None, None, "dim"))
    if len(listed) > _MOST:
        page.line(f"  and {plural(len(listed) - _MOST, 'smaller value')}; --format json lists all", "dim")


def _row(source: Source, found: Origins, moved: bool) -> tuple[str, ...]:
    origin = f"{source.port}{shown_shape(source.place)}"
    term = f"term {shown_item(source.effect)}"
    other = f"the result would be {shown_item(found.value - source.effect)} if this were 0"
    note = "overwritten" if source.overwritten else "" if moved else term if "sum" in found.kind else other
    return (
        origin,
        shown_item(source.value),
        note,
        f"from {source.input}" if source.input not in ("", source.port) else "",
    )
