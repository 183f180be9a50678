"""Execution graphs as text: the steps of a device, and the differences between two compilations."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.model.arrays.brief import plural, shown_seconds
from irexec.tools.inspect.execution import Executed, Execution, ExecutionChange
from irexec.tools.render.printing import Printout


def show_execution(found: Execution, page: Printout) -> None:
    """Print what a device runs, in the order of execution."""
    page.line(found.name or "model", "heading")
    page.line("  an execution graph: how a device runs the compiled model; constants are not listed", "dim")
    page.heading("types")
    page.table([(kind, plural(count, "step")) for kind, count in found.precisions().most_common()], ("name",))
    page.heading("steps")
    rows = [("layer", "type", "computes in", "kernel", "results", "time", "computes also"), *map(_row, found.computing)]
    timed = any(layer.seconds is not None for layer in found.computing)
    page.table([row if timed else (*row[:5], row[6]) for row in rows], ("name", None, None, "dim"), names=(0,))
    if inserted := sum(not layer.originals for layer in found.computing):
        page.line()
        page.line(f"{plural(inserted, 'step')} inserted by the device, such as reorders and conversions", "dim")


def _row(layer: Executed) -> tuple[str, ...]:
    types, layouts = layer.output_types.split(","), layer.layouts.split(",")
    results = ", ".join(" ".join(pair) for pair in zip(types, layouts, strict=False))
    time = "" if layer.seconds is None else shown_seconds(layer.seconds)
    label = layer.names[0] if layer.originals else f"({layer.name})"
    others = ", ".join(name for name in layer.originals if name != label)
    return label, layer.type, layer.precision, layer.primitive, results, time, others


def show_execution_changes(found: Sequence[ExecutionChange], a: str, b: str, page: Printout) -> None:
    """Print the differences between the executions of two compilations."""
    page.line(f"{plural(len(found), 'difference')} between the executions {a} and {b}", "heading")
    types = [each for each in found if each.change == "precision"]
    if types:
        first = types[0]
        page.line()
        page.paragraph(
            f"{plural(len(types), 'layer')} with another type; the first in the order of execution is {first.layer} "
            f"({first.type}): {first.a}, now {first.b}"
        )
    if found:
        page.line()
    page.table([_change_row(each) for each in found], ("name",), names=(0,))


def _change_row(each: ExecutionChange) -> tuple[str, ...]:
    if each.change == "inserted":
        return "(inserted steps)", each.type, "number", f"{each.a} -> {each.b}"
    if each.change in ("added", "removed"):
        return each.layer, each.type, each.change, each.a or each.b
    return each.layer, each.type, each.change, f"{each.a or '-'} -> {each.b or '-'}"
