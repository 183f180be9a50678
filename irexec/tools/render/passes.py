"""The passes of OpenVINO's compiler that change the results of a model, as text and as a page."""

from __future__ import annotations

from irexec.model.arrays.brief import plural
from irexec.tools.compare.errors import off, shown_part
from irexec.tools.passes.result import Pass, PassesFound
from irexec.tools.render.printing import Printout

_COLUMNS = 100
_KEEPING = ("same", "rounding", "precision")
_WORDS = {"same": "keeps", "rounding": "rounding", "precision": "precision", "wrong": "wrong", "unknown": "not run"}


def show_passes(found: PassesFound, page: Printout, *, all_passes: bool = False) -> None:
    """Print the verdict in the first line, then what the wrong pass changes, and the other passes and kernels.

    `all_passes`: a table of all passes that changed the graph.
    """
    page.columns = min(page.columns, _COLUMNS)
    page.paragraph(found.verdict, "good" if found.agrees and not found.unknown else "error")
    if found.wrong:
        _show_wrong(found, page)
    page.paragraph(f"  the kernels: {_kernels(found)}")
    if found.rounding:
        page.paragraph(f"  rounding only: {', '.join(found.rounding)}")
    if lower := [one for one in found.passes if one.outcome == "precision"]:
        page.paragraph(f"  other precision: {', '.join(f'{one.name} ({one.reason})' for one in lower)}")
    if found.unknown:
        page.paragraph(f"  not run: {', '.join(f'{one.name} ({one.reason})' for one in found.unknown)}", "warning")
    if all_passes:
        page.heading("passes that change the graph")
        page.table([_row(one) for one in found.passes], (None, "name", None))
    page.line()
    page.line(found.runtime, "dim")


def _show_wrong(found: PassesFound, page: Printout) -> None:
    first = found.wrong[0]
    page.paragraph(f"  before: {_before(found, first)}")
    page.paragraph(f"  after: result {first.output} is {off(first.error)}")
    for other in found.wrong[1:]:
        page.paragraph(f"  also wrong: {other.name} ({other.number}): {other.change}")
    place = found.passes.index(first)
    later = found.passes[place + 1 :]
    undone = next((one for one in later if one.restored), None)
    if undone is not None:
        page.paragraph(f"  undone: {undone.name} ({undone.number}) restores the result")
    else:
        kept = found.total - first.number - 1 - sum(one.outcome not in _KEEPING for one in later)
        page.paragraph(f"  later passes: {plural(kept, 'pass') if kept == 1 else f'{kept} passes'} keep the result")


def _before(found: PassesFound, first: Pass) -> str:
    changed = [one for one in found.passes[: found.passes.index(first)] if one.error]
    worst = max((one.error for one in changed), key=lambda error: error.ulp, default=None)
    return "agrees with the model" + (f" (up to {shown_part(worst)} a pass)" if worst is not None else " (0 ulp)")


def _kernels(found: PassesFound) -> str:
    kernels = found.kernels
    graph = "the last graph"
    if kernels.agrees is None:
        return f"unknown: {kernels.reason}" if kernels.reason else "unknown"
    if kernels.agrees:
        return f"agree with {graph}" + (f" ({shown_part(kernels.error)})" if kernels.error else "")
    if kernels.reason:
        return f"fail: {kernels.reason}"
    return f"differ from {graph}: result {kernels.output} is {off(kernels.error)}"


def _row(one: Pass) -> tuple[str, str, str, str]:
    error = "" if not one.error else shown_part(one.error)
    return str(one.number), one.name, f"{_WORDS[one.outcome]} {error}".rstrip(), one.change or one.reason
