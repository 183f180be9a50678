"""The comparison of two sides that continue a text, as text: the steps, the verdict, and a table of the blocks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from irexec.model.arrays.brief import shown_seconds
from irexec.tools.compare.errors import Error
from irexec.tools.language.blocks import BlockRow, merged
from irexec.tools.language.distributions import ROUNDING, different
from irexec.tools.language.result import PromptComparison
from irexec.tools.render.compare import show_comparison
from irexec.tools.render.printing import Printout
from irexec.tools.render.summary import shown_bytes

_LEVELS = "▁▂▃▄▅▆▇█"
_MOST = 60
"""The number of steps whose divergences are drawn in one line."""


def show_prompt(found: PromptComparison, page: Printout, *, worst: int = 10) -> None:
    """Print what the texts show, the verdict about the layers of one step, and the blocks."""
    page.line(f"{found.other}", "heading")
    for line in found.lines:
        page.paragraph(line)
    if max(step.divergence for step in found.distances) > ROUNDING:
        page.line(f"KL per step: {curve([step.divergence for step in found.distances])}", "dim")
    _show_settings(found, page)
    for title, one in (*found.parts.items(), (f"step {found.step}", found.found)):
        if not one.agrees:
            page.heading(title if one.culprit is None else f"{title}: {found.place_in(title)}")
            show_comparison(one, page, worst=worst)
    for title, one in (*found.parts.items(), (f"step {found.step}", found.found)):
        if one.agrees:
            page.paragraph(f"{title}: {one.verdict}", "good")
    page.heading("blocks")
    heading = ("", "block", "layers", "weights", "SNR", "own ulp", "total", "time")
    rows = [heading, *map(_cells, _shown(found.blocks))]
    if not any(row[4] for row in rows[1:]):
        rows = [(*row[:4], *row[5:]) for row in rows]
    page.table(rows, ("error", "name"), names=1, right=1)


def _show_settings(found: PromptComparison, page: Printout) -> None:
    if not found.settings:
        return
    before = max(step.divergence for step in found.distances)
    removing = [one.name for one in found.settings if one.explains(before)]
    text = f"{' or '.join(removing)} removes the difference" if removing else "no setting removes the difference"
    page.paragraph(text, "warning" if removing else None)
    rows = [("", "largest KL", "different tokens"), ("as given", f"{before:.1g}", str(different(found.distances)))]
    for one in found.settings:
        cells = (one.refused[:60], "") if one.refused else (f"{one.most:.1g}", str(different(one.steps)))
        rows.append((one.name, *cells))
    page.table(rows, ("name",))


def curve(numbers: Sequence[float]) -> str:
    """Return numbers as a line of bars, on a logarithmic scale over six powers of ten below the largest."""
    most = max((number for number in numbers if math.isfinite(number)), default=0.0)
    step = -(-len(numbers) // _MOST)
    groups = (max(numbers[first : first + step]) for first in range(0, len(numbers), step))
    return "".join(_bar(number, most) for number in groups)


def _bar(number: float, most: float) -> str:
    if not number or not most:
        return _LEVELS[-1] if number else " "
    level = 1 + math.log10(min(number, most) / most) / 6
    return _LEVELS[max(0, min(len(_LEVELS) - 1, int(level * len(_LEVELS))))]


def _shown(blocks: Sequence[BlockRow]) -> Iterator[BlockRow]:
    """Yield one row for each block, and below it its parts if the first wrong layers are in it."""
    for row in merged(blocks):
        yield row
        if row.wrong and row.block.number is not None:
            yield from (part for part in blocks if part.block.number == row.block.number)


def _cells(row: BlockRow) -> tuple[str, ...]:
    weights = ", ".join(
        f"{kind} {shown_bytes(size)}" for kind, size in sorted(row.weights.items(), key=lambda i: -i[1])[:2]
    )
    own = "" if row.own is None else _number(row.own, row.own.ulp, ".3g")
    total = "" if row.total is None else _number(row.total, row.total.relative, ".1e")
    ratio = f"{row.ratio:.3g} dB" if math.isfinite(row.ratio) else ""
    mark, time = "x" if row.wrong else "", shown_seconds(row.seconds)
    return mark, str(row.block), str(row.layers), weights, ratio, own, total, time


def _number(error: Error, value: float, form: str) -> str:
    return "0" if not error else "differs" if error.whole else f"{value:{form}}"
