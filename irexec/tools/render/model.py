"""A model that was run, as text: inputs, outputs, checks, and its simulation in another precision."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from irexec.core.diagnostics import Severity
from irexec.model.arrays.brief import plural, shown, shown_number, shown_seconds, shown_shape
from irexec.model.arrays.statistics import Statistics
from irexec.tools.compare.errors import shown_error
from irexec.tools.render.printing import Printout
from irexec.tools.run.run import ModelInput, ModelRun
from irexec.tools.run.trace import Trace
from irexec.tools.sensitivity.precision import Forecast, Magnitudes

if TYPE_CHECKING:  # Explaining compiled code requires the extra `fast`.
    from irexec.runtime.lowering.explain import Explanation


_FEW = 40
# The number of inputs with a default value up to which they are listed by name.
_NAMES = 6


def show_model(
    run: ModelRun,
    page: Printout,
    trace: Trace | None = None,
    forecast: Forecast | None = None,
    explained: list[Explanation] | None = None,
    *,
    worst: int | None = None,
    verbose: bool = False,
) -> None:
    """Print inputs, trace, outputs, the forecast for another precision, lowered layers, checks and findings.

    `worst`: the number of layers of the trace to show; None for all.
    """
    page.line(run.model.name or "model", "heading")
    if run.inputs:
        page.heading("inputs")
        page.table([_input_row(entry, run) for entry in run.inputs], ("name", None, None, None, "dim"))
    if names := [port.any_name for port in run.model.optional_inputs]:
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        page.line(f"  taken from the file: {', '.join(names[:_NAMES])}{more}; set other values with --input", "dim")
    if trace is not None and trace.rows:
        few = "" if worst is None else f"most expensive layers ({min(worst, len(trace.rows))} of {len(trace.rows)})"
        page.heading(few or "trace")
        page.table(trace.table(worst), ("name", None, None, None, "dim"), right=7)
        page.heading("time per type")
        page.table(trace.totals(), ("name",))
    if run.executed:
        page.heading("outputs")
        heading = ("name", "type", "shape", "min", "max", "mean", "values")
        page.table([heading, *_output_rows(run)], ("name",))
        if forecast is not None:
            page.heading(f"as {forecast.kind}")
            show_forecast(forecast, page)
        if explained is not None:
            page.heading("compiled code (EXECUTION_MODE_HINT=PERFORMANCE)")
            page.table(explained, ("name", None, None, "dim"), names=0)
            counts = Counter(row.form for row in explained)
            page.line(f"  {', '.join(f'{count} {form}' for form, count in counts.items())}")
        _show_verified(run, page)
        page.heading("time")
        page.line(f"  {', '.join(f'{name} {shown_seconds(time)}' for name, time in run.seconds.items())}")
        if "fastest" in run.seconds:
            _show_extra(page)
    page.findings(run.report, verbose=verbose)


def _show_extra(page: Printout) -> None:
    """Print the gain of the extra `fast` for a model that runs often, if it is not installed."""
    from irexec.runtime.lowering.backend import is_installed

    if not is_installed():
        gain = "a compiled model that runs often is about 1.5 to 4 times as fast"
        page.line(f"  with the extra fast (pip install '.[fast]' in irexec's folder) {gain}", "dim")


def _input_row(entry: ModelInput, run: ModelRun) -> tuple[str, ...]:
    origin = run.given.origin_text(entry.origin) or "not given"
    if entry.assumed:
        origin += f", shape chosen for {entry.port.type.shape}"
    if entry.array is None:
        return entry.name, str(entry.port.element_type), str(entry.port.type.shape), "", origin
    return entry.name, str(entry.port.element_type), shown_shape(entry.array.shape), shown(entry.array, _FEW), origin


def _output_rows(run: ModelRun) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, array, kind in run.outputs:
        numbers = Statistics.of(array)
        low, high, mean = map(shown_number, (numbers.min, numbers.max, numbers.mean))
        odd = [plural(numbers.nan, "NaN")] * bool(numbers.nan) + [f"{numbers.inf} infinite"] * bool(numbers.inf)
        values = ", ".join([shown(array, _FEW), *odd])
        rows.append((name, str(kind), shown_shape(array.shape), low, high, mean, values))
    return rows


def _show_verified(run: ModelRun, page: Printout) -> None:
    page.heading("verified")
    warnings = sum(finding.severity is Severity.WARNING for finding in run.report)
    errors = plural(warnings, "warning") + " about" if warnings else "no error in"
    layers = plural(len(run.model.nodes), "layer")
    page.line(f"  the file: {layers}, {errors} grammar, types and shapes", "warning" if warnings else "good")
    page.line(f"  while running: element types and shapes of the results of {plural(run.layers, 'layer')}", "good")


_WORST = 10


def show_forecast(found: Forecast, page: Printout) -> None:
    """Print the verdict, the path to the first overflow, the loss, the layers to keep, and those nearest the limits."""
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
    page.heading(f"layers closest to the limits of {found.kind} ({min(_WORST, len(rows))} of {len(rows)})")
    heading = ("layer", "type", "largest", "of the limit", "denormal", "zero")
    page.table([heading, *(_cells(row, found) for row in rows[:_WORST])], ("name",), names=0)


def _cells(row: Magnitudes, found: Forecast) -> tuple[str, ...]:
    share = 100 * row.largest / found.limit
    small = (f"{100 * part / row.count:.2g} %" if part else "-" for part in (row.denormal, row.zero))
    return row.node.friendly_name, row.node.type, f"{row.largest:.4g}", f"{share:.2g} %", *small
