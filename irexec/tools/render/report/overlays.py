"""Overlays: a number and a few words for each layer, drawn over the graph when selected."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import ml_dtypes
import numpy as np

from irexec.core.structure import CONST, RESULT, SOURCES
from irexec.core.types import ElementType, is_numpys
from irexec.model.arrays.brief import shown_number, shown_seconds
from irexec.tools.inspect.observed import (
    Change,
    Changes,
    Comparison,
    Counters,
    Error,
    Observed,
    Places,
    Sensitivities,
    Trace,
    Traced,
)
from irexec.tools.inspect.together import Together
from irexec.tools.render.summary import shown_bytes, shown_count

# Larger errors are shown as a percentage.
_MANY_ULP = 1e5
# The fraction of a type's largest number above which a value is also shown as a percentage of it.
_NOTABLE = 1e-5
_CHANGES = {"added": "+", "removed": "−"}


@dataclass(slots=True)
class Mark:
    """The mark of one layer in an overlay: the strength of its colour (0 to 1), a short text, and a sign before it."""

    strength: float
    text: str
    sign: str = ""


@dataclass(slots=True)
class Overlay:
    """One overlay. `combine` defines the mark of a closed block: the sum of its layers, the number of marked layers, or
    the strongest mark.
    """

    key: str
    title: str
    legend: str
    marks: dict[int, Mark] = field(default_factory=dict)
    combine: Literal["sum", "count", "strongest"] = "strongest"


def overlays(shown: Together, observed: Sequence[Observed]) -> list[Overlay]:
    """Return all overlays for models: first those computed from the models themselves, then the recorded data."""
    found = [_work(shown), _memory(shown)]
    for entry in observed:
        if isinstance(entry, Trace):
            rows = list(traced(entry, Places(shown, model_of(entry, shown))))
            found += [_time(rows), _magnitude(rows), _births(shown, rows)]
        elif isinstance(entry, Comparison):
            found.append(_errors(entry, Places(shown)))
        elif isinstance(entry, Counters):
            found.append(_device(entry, Places(shown)))
        elif isinstance(entry, Sensitivities):
            found.append(_sensitivity(entry, Places(shown)))
        else:
            found.append(_changes(placed_changes(entry, shown), entry.b))
    merged: dict[str, Overlay] = {}
    for overlay in found:
        if overlay.key in merged:
            merged[overlay.key].marks |= overlay.marks
        elif overlay.marks:
            merged[overlay.key] = overlay
    return list(merged.values())


def model_of(trace: Trace, shown: Together) -> int:
    """Return the model that was run: the model read from that file, or else the first."""
    return next((n for n, model in enumerate(shown.models) if trace.file and model.file == trace.file), 0)


# Overlays computed from the model.


def _work(shown: Together) -> Overlay:
    overlay = Overlay("work", "multiply-adds", "share of all multiply-adds", combine="sum")
    for number in range(len(shown.models)):
        amounts = {layer.index: float(layer.multiply_adds or 0) for layer in shown.layers_of(number)}
        _share(overlay, amounts, lambda amount: shown_count(int(amount)))
    return overlay


def _memory(shown: Together) -> Overlay:
    amounts = {
        layer.index: float(sum(output.bytes or 0 for output in layer.outputs))
        for layer in shown.layers
        if layer.type not in (CONST, RESULT)
    }
    overlay = Overlay("memory", "memory", "size of a layer's results relative to the largest")
    most = max(amounts.values(), default=0.0)
    for index, amount in amounts.items():
        if amount:
            overlay.marks[index] = Mark(amount / most, shown_bytes(int(amount)))
    return overlay


def _share(overlay: Overlay, amounts: dict[int, float], shown: object) -> None:
    """Return marks with an amount and its share of the total; the largest share is the strongest mark."""
    assert callable(shown)
    whole, most = sum(amounts.values()), max(amounts.values(), default=0.0)
    for index, amount in amounts.items():
        if amount > 0:
            overlay.marks[index] = Mark(amount / most, f"{shown(amount)} · {_percent(amount / whole)}")


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


# A traced run.


def traced(trace: Trace, places: Places) -> Iterator[tuple[int, Traced]]:
    """Return the rows of the trace, each with the layer that it describes."""
    outer: list[str] = []
    for row in trace.trace:
        del outer[row.depth :]
        index = places.find(row.name, outer)
        outer.append(row.name)
        if index is not None:
            yield index, row


def _time(rows: Sequence[tuple[int, Traced]]) -> Overlay:
    overlay = Overlay("time", "time", "share of the time of one run", combine="sum")
    amounts = {index: row.seconds for index, row in rows if row.depth == 0 and row.seconds is not None}
    _share(overlay, amounts, shown_seconds)
    whole, most = sum(amounts.values()), max(amounts.values(), default=0.0)
    for index, row in rows:
        if row.depth and row.seconds and whole:
            text = f"{shown_seconds(row.seconds)} in {row.calls} calls"
            overlay.marks[index] = Mark(min(1.0, row.seconds / most), text)
    return overlay


def _device(counters: Counters, places: Places) -> Overlay:
    whole = sum(row.seconds for row in counters.layers)
    title = "time on the device" if whole else "kernels on the device"
    overlay = Overlay("device", title, "", combine="sum")
    elsewhere = 0.0
    most = max(row.seconds for row in counters.layers)
    for row in counters.layers:
        found = [(name, places.find(name, [])) for name in row.names]
        there = [(name, index) for name, index in found if index is not None]
        precision = "" if row.primitive.endswith(row.precision) else row.precision
        times = [shown_seconds(row.seconds), _percent(row.seconds / whole)] if whole else []
        words = [*times, *filter(None, [row.primitive, precision])]
        for _, index in there[:1]:
            overlay.marks[index] = Mark(row.seconds / most if whole else 0.5, " · ".join(words))
        for _, index in there[1:]:
            overlay.marks.setdefault(index, Mark(0.0, f"runs with {there[0][0]}"))
        elsewhere += 0 if there else row.seconds
    if not whole:
        overlay.legend = "the kernel that computes each layer; the file contains no times"
        return overlay
    overlay.legend = "share of the time on the device; layers that run as one have one time" + (
        f"; steps without a layer of this model take {_percent(elsewhere / whole)}" if elsewhere else ""
    )
    return overlay


def _magnitude(rows: Sequence[tuple[int, Traced]]) -> Overlay:
    legend = "largest absolute value; colour: relative to the type's maximum (log scale)"
    overlay = Overlay("magnitude", "magnitude", legend)
    for index, row in rows:
        best: Mark | None = None
        for output in row.outputs:
            limit = largest(output.element_type)
            ends = [abs(end) for end in (output.min, output.max) if end is not None]
            if limit is None or not ends:
                continue
            size = max(ends)
            strength = 1.0 if output.inf else max(0.0, min(1.0, math.log2(max(size, 1.0)) / math.log2(limit)))
            sign = "✖" if output.inf else "▲" if size > limit / 2 else ""
            part = f" · {100 * size / limit:.2g} % of {shown_number(limit)}" if size > limit * _NOTABLE else ""
            text = f"{shown_number(size)}{part}" + (f", {output.inf} infinite" if output.inf else "")
            if best is None or strength > best.strength:
                best = Mark(strength, text, sign)
        if best is not None:
            overlay.marks[index] = best
    return overlay


def largest(element_type: str) -> float | None:
    """Return the largest number of a floating-point type; None for other types."""
    kind = ElementType.by_name.get(element_type)
    if kind is None or not kind.is_real or kind.dtype is None or kind.is_carried:
        return None
    if is_numpys(kind.dtype):
        return float(np.finfo(kind.dtype).max)
    return float(ml_dtypes.finfo(kind.dtype).max)  # type: ignore[no-untyped-call]


def _births(shown: Together, rows: Sequence[tuple[int, Traced]]) -> Overlay:
    overlay = Overlay("nan", "NaN and infinity", "layers that produce (✖) or propagate (○) them")
    odd = {index: (sum(o.nan for o in row.outputs), sum(o.inf for o in row.outputs)) for index, row in rows}
    for index, (nan, inf) in odd.items():
        if not nan and not inf:
            continue
        words = " and ".join(filter(None, (f"{nan} NaN" if nan else "", f"{inf} infinite" if inf else "")))
        sources = [entry.layer for entry in shown.layers[index].inputs if entry.layer is not None]
        given = any(sum(odd.get(source, (0, 0))) for source in sources)
        holds = shown.layers[index].type in SOURCES
        if given:
            overlay.marks[index] = Mark(0.35, f"propagated: {words}", "○")
        else:
            overlay.marks[index] = Mark(1.0, f"{'given' if holds else 'produced here'}: {words}", "✖")
    return overlay


# Sensitivities: the loss that quantizers cause.


def _sensitivity(found: Sensitivities, places: Places) -> Overlay:
    """Return, for each layer, the share of the loss that excluding it alone recovers; suggested layers have a mark."""
    title, legend = f"cost of {found.other}", "share of the loss recovered by excluding this layer; ● suggested"
    overlay = Overlay("sensitivity", title, legend)
    worst: dict[str, float] = {}
    for row in found.rows:
        for name in row.layers:
            worst[name] = min(worst.get(name, math.inf), float(row.snr))
    for step in found.single:
        share = float(step.recovered)
        together = f" with {len(step.layers) - 1} more" if len(step.layers) > 1 else ""
        for name in step.layers:
            own = f", own SNR {worst[name]:.1f} dB" if math.isfinite(worst.get(name, math.inf)) else ""
            index, strength = places.find(name, []), max(0.0, min(1.0, share))
            before = None if index is None else overlay.marks.get(index)
            if index is None or (before is not None and before.strength >= strength):
                continue
            sign = "●" if name in found.layers else ""
            overlay.marks[index] = Mark(strength, f"recovers {100 * share:.3g} %{together}{own}", sign)
    return overlay


# Two runs, two models.


def _errors(comparison: Comparison, places: Places) -> Overlay:
    title = f"error of {comparison.other}" if comparison.other else "error"
    legend = "error of each layer by itself; ✖ exceeds its tolerance"
    overlay = Overlay("error", title, legend)
    rows = [(places.find(row.name, row.outer), row) for row in comparison.layers]
    scale = max((_size(row.own) for _, row in rows), default=0.0)
    for index, row in rows:
        if index is None:
            continue
        strength = 1.0 if not row.agrees else 0.6 * math.log1p(_size(row.own)) / math.log1p(scale) if scale else 0.0
        words = [
            f"own {_error_text(row.own)}" if row.own else "",
            f"total {_error_text(row.total)}" if row.total else "",
        ]
        text = ", ".join(filter(None, words)) or ("agrees" if row.agrees else "differs")
        overlay.marks[index] = Mark(strength, text, "" if row.agrees else "✖")
    return overlay


def _size(error: Error | None) -> float:
    if error is None:
        return 0.0
    found = next((e for e in (error.ulp, error.relative, error.absolute) if e is not None), 0.0)
    return found if math.isfinite(found) else 1e30


def _error_text(error: Error) -> str:
    if error.ulp is not None and (error.ulp < _MANY_ULP or error.relative is None):
        return f"{shown_number(error.ulp)} ulp"
    if error.relative is not None:
        return f"{100 * error.relative:.3g} %"
    return shown_number(error.absolute)


Pair = tuple[int | None, int | None]


def placed_changes(changes: Changes, shown: Together) -> list[tuple[Change, list[Pair]]]:
    """Return each change with its layers in the first model, and in the second model if that is shown."""
    sides = [Places(shown, number) for number in range(len(shown.models))]

    def place(names: tuple[str | None, str | None], outer: list[str]) -> Pair:
        a, *other = (None if n is None else s.find(n, outer) for s, n in zip(sides, names, strict=False))
        return a, other[0] if other else None

    return [(c, [place(names, c.outer) for names in c.members or [(c.a, c.b)]]) for c in changes.changes]


def _changes(changes: Sequence[tuple[Change, list[Pair]]], other: str) -> Overlay:
    overlay = Overlay("diff", f"changes to {other}", "+ added, − removed, ± changed", combine="count")
    for change, pairs in changes:
        for index in (place for pair in pairs for place in pair):
            if index is None:
                continue
            before = overlay.marks.get(index)
            text = change.text or change.change
            sign = _CHANGES.get(change.change, "±")
            overlay.marks[index] = Mark(
                1.0, f"{before.text}; {text}" if before else text, before.sign if before else sign
            )
    return overlay
