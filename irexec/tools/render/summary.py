"""A summary of a model as text: inputs and outputs, size, operators, and dynamic shapes."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.model.arrays.brief import UP, abridged, plural, three_digits
from irexec.tools.inspect.facts import Layer, Mark, Port, Summary
from irexec.tools.render.printing import Printout

_MOST, _MOST_VALUES, _MOST_ENTRIES = 12, 6, 100
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def show(summary: Summary, page: Printout) -> None:
    """Print the facts about a model under headings."""
    page.line(summary.name or "model", "heading")
    if summary.file is not None and summary.file.lower().endswith(".onnx"):
        written = any(layer.operator is None for layer in summary.layers)
        words = "ONNX nodes, because the model cannot be converted"
        words = words if written else "OpenVINO's, which the ONNX nodes were converted to"
        page.line(f"  the layers are {words}", "dim")
    for title, ports in (("inputs", summary.inputs), ("outputs", summary.outputs)):
        page.heading(title)
        page.table(map(_port_row, ports), ("name", None, None, "dim"))
    page.heading("size")
    page.table(size_rows(summary), ("name",))
    if any("because of dynamic shapes" in text for _, text in size_rows(summary)):
        page.line("  irexec shapes finds the sizes that the model accepts, and the costs as functions of them", "dim")
    if summary.totals.live.values:
        page.heading("at the peak of activations")
        page.table(_live_rows(summary), ("name", None, None, "dim"), names=0)
    page.heading("operators")
    page.table(_operator_rows(summary), ("name",))
    if summary.states:
        page.heading("states")
        page.table([(s.name, s.element_type, s.shape) for s in summary.states], ("name",))
    if summary.totals.dynamic:
        page.heading("dynamic")
        page.table(_dynamic_rows(summary), ("name", None, None, "dim"))
    if summary.provenance:
        page.heading("provenance")
        page.table(provenance_rows(summary), ("name",), names=0)


def _port_row(port: Port) -> tuple[str, ...]:
    others = [name for name in port.names if name != port.name]
    return port.name, port.element_type, port.shape, f"also {', '.join(others)}" if others else ""


def size_rows(summary: Summary) -> list[tuple[str, str]]:
    """Return the size of a model as rows: name and value."""
    totals = summary.totals
    bodies = sum(layer.parent is not None for layer in summary.layers)
    ports = f"{plural(len(summary.inputs), 'input')} and {plural(len(summary.outputs), 'output')}"
    layers = f"{totals.layers}, including {plural(totals.constants, 'constant')}, {ports}"
    if bodies:
        layers += f", {bodies} in bodies"
    kinds = [f"{name} {shown_bytes(size)}" for name, size in totals.weight_types.items() if size]
    work = shown_count(totals.multiply_adds)
    if unknown := sum(layer.operator is None for layer in summary.layers):
        work = f"unknown for {plural(unknown, 'layer')} without a known operator"
    elif totals.uncounted:
        # The largest terms depend on dynamic sizes, so that the sum of the known terms would mislead.
        known = f"at least {work}; " if totals.multiply_adds else ""
        work = f"{known}unknown for {_names(summary, totals.uncounted)} because of dynamic shapes"
    rows = [
        ("layers", layers),
        ("opsets", ", ".join(f"{name} ({count})" for name, count in totals.opsets.items())),
        ("parameters", shown_count(totals.parameters)),
        ("weights", shown_bytes(totals.weight_bytes) + (f": {', '.join(kinds)}" if len(kinds) > 1 else "")),
        ("multiply-adds", work),
    ]
    live = totals.live
    if live.bytes is None:
        rows.append(("peak activations", "unknown because of dynamic shapes"))
    else:
        at = f" (at {label(summary.layers[live.layer])})" if live.layer is not None else ""
        rows.append(("peak activations", f"{shown_bytes(live.bytes)}{at}"))
    return rows


def _operator_rows(summary: Summary) -> list[tuple[str, str, str]]:
    rows = []
    for count in summary.totals.operators:
        work = f"{shown_count(count.multiply_adds)} multiply-adds" if count.multiply_adds else ""
        rows.append((count.operator, str(count.layers), work))
    return rows


def _live_rows(summary: Summary) -> list[tuple[str, ...]]:
    values = summary.totals.live.values
    rows: list[tuple[str, ...]] = [
        (label(summary.layers[v.layer]), v.element_type, v.shape, shown_bytes(v.bytes)) for v in values[:_MOST_VALUES]
    ]
    if more := values[_MOST_VALUES:]:
        rows.append(("...", "", plural(len(more), "other value"), shown_bytes(sum(value.bytes for value in more))))
    return rows


_MARKS = {Mark.SECRET: "hidden: it may be a secret, and the file contains it", Mark.PATH: "a path of a machine"}


def provenance_rows(summary: Summary) -> list[tuple[str, str]]:
    """Return the entries of the model's rt_info as rows: name and value."""
    rows = []
    for entry in summary.provenance[:_MOST_ENTRIES]:
        mark = "" if entry.mark is None else f" ({_MARKS[entry.mark]})"
        rows.append((".".join(entry.path), abridged(entry.value) + mark))
    if len(summary.provenance) > _MOST_ENTRIES:
        rows.append(("...", f"{len(summary.provenance)} entries in total"))
    return rows


def _dynamic_rows(summary: Summary) -> list[tuple[str, ...]]:
    layers = [summary.layers[index] for index in summary.totals.dynamic]
    rows: list[tuple[str, ...]] = [
        (
            label(layer),
            layer.type,
            *next((o.element_type, o.shape) for o in layer.outputs if "?" in o.shape or ".." in o.shape),
        )
        for layer in layers[:_MOST]
    ]
    if len(layers) > _MOST:
        rows.append(("...", f"{len(layers)} layers in total"))
    return rows


def _names(summary: Summary, indices: Sequence[int]) -> str:
    names = [label(summary.layers[index]) for index in indices[:3]]
    more = len(indices) - len(names)
    return ", ".join(names) + (f" and {plural(more, 'other layer')}" if more else "")


def label(layer: Layer) -> str:
    """Return the label of a layer: its name, or else its id."""
    return layer.name or f"#{layer.id}"


def shown_count(number: int) -> str:
    """Return a number with three digits and a unit: `4.09 G`; small numbers without a unit."""
    for size, unit in _UNITS:
        if number >= size * (UP if size > 1e3 else 10):
            return f"{three_digits(number / size)} {unit}"
    return str(number)


def shown_bytes(number: int) -> str:
    """Return an amount of memory: `97.5 MB`; a kB is 1000 bytes."""
    for size, unit in _UNITS:
        if number >= size * UP:
            return f"{three_digits(number / size)} {unit}B"
    return plural(number, "byte")
