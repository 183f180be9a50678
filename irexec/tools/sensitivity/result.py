"""The result of a sensitivity analysis, as a value, for JSON, and as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

from irexec.core.diagnostics.render.characters import visible_text
from irexec.core.display import html_of
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Model
from irexec.model.graph.write import write_model
from irexec.tools.sensitivity.metrics import ROUNDING, Score, shown_decibels
from irexec.tools.sensitivity.remedies import Rescaling

# 8-bit values have an SNR of 20 to 50 dB. A quantizer below the second SNR is listed; the number of listed quantizers.
_POOR, _ODD = 20.0, 12.0
_FEW = 3
# The shares of values outside a range and of levels without a value from which the range does not fit the values.
_CLIPPED, _UNUSED = 0.01, 0.5


@dataclass(frozen=True, slots=True)
class Row:
    """One quantizer, or one layer. `without`: the score if it is left out; `alone`: if all others are left out.

    `snr`: signal-to-noise ratio of its own values, in dB. `clipped`, `unused`: shares of values outside its range and
    of levels without a value. `worst_channel`: the channel with the smallest ratio, and that ratio. `layers`: the
    layers that a quantization tool has to exclude to leave out this quantizer or layer.
    """

    name: str
    kind: str
    without: Score
    alone: Score
    recovered: float
    snr: float
    clipped: float
    unused: float | None
    worst_channel: tuple[int, float] | None
    layers: list[str]

    @property
    def label(self) -> str:
        """The name; for a constant that is not named after a layer that reads it, followed by such a layer."""
        if (
            self.kind not in ("weights", "constant")
            or not self.layers
            or any(name in self.name for name in self.layers)
        ):
            return self.name
        return f"{self.name} of {self.layers[0]}" + (", ..." if len(self.layers) > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, infinities as texts."""
        worst = None if self.worst_channel is None else [self.worst_channel[0], plain(self.worst_channel[1])]
        return {
            "name": self.name,
            "kind": self.kind,
            "without": score_dict(self.without),
            "alone": score_dict(self.alone),
            "recovered": plain(self.recovered),
            "snr": plain(self.snr),
            "clipped": self.clipped,
            "unused": self.unused,
            "worst_channel": worst,
            "layers": self.layers,
        }


@dataclass(frozen=True, slots=True)
class Step:
    """The effect of excluding some layers: the score, and the share of the loss that is recovered."""

    layers: list[str]
    score: Score
    recovered: float

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, infinities as texts."""
        known = {"count": len(self.layers), "layers": self.layers, "recovered": plain(self.recovered)}
        return known | score_dict(self.score)


@dataclass(slots=True)
class Sensitivity:
    """The quantizers, or layers, that lose accuracy. `rows` are in order of effect, most harmful first.

    `coarse`: the score of the model with all quantizers; `fine`: with none. `single`: the scores without single layers;
    `curve`: the scores without more and more of them. `layers`: few layers whose exclusion meets the target,
    `score`: the score measured without them. `chosen`: the rows that are left out with these layers; None if no set of
    layers meets the target. `scope`: the names of the nodes that became these layers, if the file is an ONNX model.
    """

    file: str
    other: str
    inputs: int
    metric: str
    is_noise: bool
    target: str
    coarse: Score
    fine: Score
    rows: list[Row]
    single: list[Step]
    curve: list[Step]
    chosen: list[Row] | None
    layers: list[str]
    score: Score | None
    recovered: float
    inferences: float
    notes: list[str] = field(default_factory=list)
    mixed: Model | None = None
    is_quantized: bool = True
    rescaling: Rescaling | None = None
    scope: list[str] = field(default_factory=list)

    @property
    def conspicuous(self) -> list[Row]:
        """The quantizers after the first row whose own values have an unusually low SNR, whatever their effect."""
        odd = [row for row in self.rows[1:] if self.is_quantized and row.snr < _ODD]
        return sorted(odd, key=lambda row: row.snr)

    @property
    def ignored_scope(self) -> str:
        """The layers to exclude as an argument of NNCF's functions."""
        return f"nncf.IgnoredScope(names={self.scope or self.layers!r})"

    def save(self, path: str | Path) -> None:
        """Write the mixed model. Raises ValueError if there is no mixed model, IRError and OSError."""
        if self.mixed is None:
            raise ValueError("no set of layers meets the target, so there is no mixed model")
        write_model(self.mixed, path)

    def save_rescaled(self, path: str | Path) -> None:
        """Write the rescaled model. Raises ValueError if there is no rescaled model, IRError and OSError."""
        if self.rescaling is None:
            raise ValueError("there is no rescaled model: nothing overflows, or no power of two removes the overflow")
        write_model(self.rescaling.model, path)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, infinities as texts."""
        return {
            "kind": "sensitivity",
            "file": self.file,
            "other": self.other,
            "inputs": self.inputs,
            "metric": self.metric,
            "target": self.target,
            "coarse": score_dict(self.coarse),
            "fine": score_dict(self.fine),
            "rows": [row.to_dict() for row in self.rows],
            "single": [step.to_dict() for step in self.single],
            "curve": [step.to_dict() for step in self.curve],
            "conspicuous": [row.name for row in self.conspicuous],
            "chosen": None if self.chosen is None else [row.name for row in self.chosen],
            "layers": self.layers,
            "ignored_scope": self.ignored_scope if self.is_quantized and self.chosen is not None else None,
            "score": None if self.score is None else score_dict(self.score),
            "recovered": plain(self.recovered),
            "rescaling": None if self.rescaling is None else self.rescaling.to_dict(),
            "inferences": self.inferences,
            "notes": self.notes,
        }

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        lost = f"{self.metric} {self._shown(self.fine)} to {self._shown(self.coarse)}"
        chosen = "target not met" if self.chosen is None else f"{plural(len(self.layers), 'layer')} chosen"
        return f"<Sensitivity: {lost}, {chosen}>"

    def _repr_html_(self) -> str:
        return html_of("Sensitivity", self)

    def text(self, most: int = 10) -> str:
        """Return the text that the command prints; `most`: the number of rows, 0 for all."""
        lines = [*self._head(), "", *self._table(most), "", *self._curve(), "", *self._verdict()]
        return "\n".join(map(visible_text, lines))

    def _shown(self, score: Score) -> str:
        return shown_decibels(score.metric) if self.is_noise else f"{score.metric + 0.0:.4g}"

    def _number(self, score: Score) -> str:
        return _db(score.metric) if self.is_noise else f"{score.metric + 0.0:.4g}"

    @property
    def _unit(self) -> str:
        if self.is_quantized:
            return "quantizer"
        return "constant" if any(row.kind == "weights" for row in self.rows) else "layer"

    def _head(self) -> list[str]:
        rows = plural(len(self.rows), self._unit)
        both = f"with all {rows}, {self._shown(self.fine)} without"
        if not self.is_quantized:
            both = f"with all {rows} in {self.other}, {self._shown(self.fine)} with none"
        lines = [
            f"{self.other}, compared with {self.file} on {plural(self.inputs, 'input')}",
            f"{self.metric} {self._shown(self.coarse)} {both}",
        ]
        return lines + [line for note in self.notes for line in wrap(f"note: {note}", 80, subsequent_indent="  ")]

    def _table(self, most: int) -> list[str]:
        shown = self.rows[:most] if most else self.rows
        left = "left out" if self.is_quantized else "in f32"
        clipped = "overflow" if self._unit == "layer" else "clipped"
        table = [["", left, "alone", "own", clipped, "unused", "channel", self._unit]]
        for number, row in enumerate(shown, 1):
            worst = "" if row.worst_channel is None else f"{row.worst_channel[0]}: {_db(row.worst_channel[1])}"
            cells = [str(number), self._number(row.without), self._number(row.alone), _db(row.snr)]
            unused = "" if row.unused is None else _share(row.unused)
            table.append([*cells, _share(row.clipped), unused, worst, row.label])
        lines = _aligned(table)
        odd = [f"unusually low own SNR: {row.label} ({_db(row.snr)} dB)" for row in self.conspicuous[:_FEW]]
        key = [f"{left}: {self.metric} if this row is {left}; alone: if all other rows are {left};"]
        key += ["own: signal-to-noise ratio (SNR) of its values in dB;", "channel: the channel with the lowest SNR"]
        return lines + ([f"and {len(self.rows) - len(shown)} more"] if len(shown) < len(self.rows) else []) + odd + key

    def _curve(self) -> list[str]:
        lines = []
        for step in self.curve:
            bar = "#" * round(30 * min(1.0, max(0.0, step.recovered)))
            count = plural(len(step.layers), "layer") if step.layers else "none"
            lines.append(f"{count:>12}  {self._shown(step.score):>14}  {_share(step.recovered):>9}  {bar}".rstrip())
        begun = "excluded" if self.is_quantized else "in f32"
        return [f"{begun:>12}  {self.metric:>14}  recovered", *lines]

    def _verdict(self) -> list[str]:
        if self.chosen is None or self.score is None:
            return [f"no set of layers meets the target {self.target}"]
        if not self.layers:
            met = f"the target {self.target} is met already"
            if self.target.endswith("%"):
                met = f"the loss is negligible (SNR of the results: {shown_decibels(self.coarse.snr)})"
            return [f"nothing needs to be changed: {met}"]
        layers = f"{plural(len(self.layers), 'layer')} of {self.file}"
        action = f"exclude {layers}" if self.is_quantized else f"keep {layers} in higher precision"
        lines = [
            f"to meet the target {self.target}, {action}:",
            *(f"  {name}" for name in self.layers),
        ]
        gained = f"{self.metric} {self._shown(self.score)}, {_share(self.recovered)} of the loss recovered"
        if not self.is_quantized:
            return [*lines, gained, *self._rescaled()]
        left_out = f"{len(self.chosen)} of {plural(len(self.rows), self._unit)}"
        return [*lines, f"{gained}; {left_out} left out", *self.ignored_scope.split("\n"), *self._ill_fitting()]

    def _ill_fitting(self) -> list[str]:
        """Return a line for each quantizer to leave out whose range does not fit its values on these inputs."""
        lines = []
        for row in self.chosen or ():
            if row.kind == "activations" and row.clipped >= _CLIPPED:
                misfit = f"{_share(row.clipped)} of the values are outside its range"
            elif row.kind == "activations" and row.unused is not None and row.unused >= _UNUSED and row.snr < _POOR:
                misfit = f"{_share(row.unused)} of its levels have no value"
            else:
                continue
            lines.append(f"instead of excluding layers, try to recalibrate {row.label}: {misfit}")
        return lines

    def _rescaled(self) -> list[str]:
        if self.rescaling is None:
            return []
        powers = self.rescaling.powers.items()
        error = self.rescaling.difference
        return [
            f"or divide the results of {plural(len(powers), 'layer')} by powers of two: "
            f"snr {shown_decibels(self.rescaling.score.snr)} in {self.other};",
            f"in f32 the results {f'change by at most {error:.3g} ulp' if error else 'are bit-identical'}",
            *(f"  {name} by 2^{power}" for name, power in powers),
        ]


def score_dict(score: Score) -> dict[str, Any]:
    """Return a score as JSON-ready values."""
    return {"metric": plain(score.metric), "noise": plain(score.noise)}


def plain(value: float) -> float | str:
    """Return a number for JSON, infinities as texts."""
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _db(value: float) -> str:
    if math.isinf(value):
        return "exact" if value > 0 else "NaN"
    return "exact" if value > ROUNDING else f"{value:.1f}"


def _share(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{100 * value:.1f} %" if 0.0005 <= abs(value) < 0.9995 else f"{100 * value + 0.0:.0f} %"


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table without its empty columns; all columns but the last are aligned to the right."""
    used = [place for place in range(len(table[0])) if any(row[place] for row in table[1:])]
    table = [[row[place] for place in used] for row in table]
    widths = [max(len(row[place]) for row in table) for place in range(len(table[0]) - 1)]
    return [
        "  ".join([*(cell.rjust(width) for cell, width in zip(row[:-1], widths, strict=True)), row[-1]])
        for row in table
    ]
