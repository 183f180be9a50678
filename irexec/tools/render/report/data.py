"""The data for the report's script, in a compact form: short field names, each repeated text stored once."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from irexec.model.arrays.brief import plural, shown_number, shown_seconds
from irexec.ops.spec.contents import find
from irexec.tools.catalog.documentation import page_address
from irexec.tools.catalog.facts import facts_of
from irexec.tools.cut.select import can_be_cut
from irexec.tools.inspect.facts import Input, Layer, Output, Port, Summary
from irexec.tools.inspect.observed import Changes, Comparison, Counters, Observed, Places, Sensitivities, Trace
from irexec.tools.inspect.together import Together
from irexec.tools.render.report.overlays import Overlay, model_of, placed_changes, traced
from irexec.tools.render.summary import provenance_rows, shown_count, size_rows


class Texts:
    """A table of texts; each text is stored once and referred to by its position."""

    def __init__(self) -> None:
        self.table: list[str] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.table))
        if number == len(self.table):
            self.table.append(text)
        return number


def report_data(
    shown: Together, folded: dict[int, int], overlays: Sequence[Overlay], observed: Sequence[Observed]
) -> dict[str, Any]:
    """Return the object that the page's script reads."""
    texts = Texts()
    histograms = _histograms(shown, observed)
    return {
        "models": [_model(model, start) for model, start in zip(shown.models, shown.starts, strict=True)],
        "findings": shown.findings,
        "descriptions": list(_descriptions(observed)),
        "changes": [row for entry in observed if isinstance(entry, Changes) for row in _changes(entry, shown)],
        "curves": [
            *(_curve(entry, shown) for entry in observed if isinstance(entry, Sensitivities)),
            *(_steps(entry) for entry in observed if isinstance(entry, Comparison) and entry.steps),
        ],
        "overlays": [_overlay(overlay) for overlay in overlays],
        "described": _described(shown),
        "folded": folded,
        "layers": [_layer(layer, texts, histograms.get(layer.index)) for layer in shown.layers],
        "uncut": sorted({e.type for e in shown.layers if not can_be_cut(e.type, find(e.type, e.version))}),
        "texts": texts.table,
    }


def packed(value: Any) -> str:
    """Return JSON in the form that the script unpacks: deflated, in base64.

    This keeps the file small for thousands of layers, and no text of the model can become markup.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8", "surrogatepass"), 9)).decode()


def _model(model: Summary, start: int) -> dict[str, Any]:
    """Return the data of a whole model, whose layers are numbered from `start` on."""
    return {
        "start": start,
        "name": model.name,
        "file": model.file,
        "inputs": [_port(port) for port in model.inputs],
        "outputs": [_port(port) for port in model.outputs],
        "size": size_rows(model),
        "operators": [
            [c.operator, c.layers, shown_count(c.multiply_adds) if c.multiply_adds else ""]
            for c in model.totals.operators
        ],
        "provenance": provenance_rows(model),
        "states": [[state.name, f"{state.element_type} {state.shape}"] for state in model.states],
    }


def _changes(changes: Changes, shown: Together) -> Iterator[list[Any]]:
    """Yield `[change, text, pairs]`: each pair is a layer and a layer of the other model, -1 if there is none."""
    for change, pairs in placed_changes(changes, shown):
        yield [change.change, change.text, [[-1 if index is None else index for index in pair] for pair in pairs]]


def _curve(found: Sensitivities, shown: Together) -> dict[str, Any]:
    """Return `title`, `heads`, `points` (`[layers, metric, share recovered, its text]`) and suggested layers."""
    places = Places(shown)
    return {
        "title": f"loss of {found.other} that is recovered",
        "heads": ["layers", "", "recovered", found.metric],
        "points": [
            [len(step.layers), shown_number(float(step.metric)), share, f"{100 * share:.1f} %"]
            for step in found.curve
            for share in [max(0.0, min(1.0, float(step.recovered)))]
        ],
        "layers": [index for name in found.layers if (index := places.find(name, [])) is not None],
    }


def _steps(found: Comparison) -> dict[str, Any]:
    """Return a curve as `_curve` does: the divergence of each step, over six powers of ten below the largest."""
    most = max((step.divergence for step in found.steps if math.isfinite(step.divergence)), default=0.0) or 1.0
    points = []
    for number, step in enumerate(found.steps):
        ratio = min(1.0, step.divergence / most)
        share = max(0.0, 1 + math.log10(ratio) / 6) if ratio else 0.0
        tokens = [repr(step.ours[1]), *([repr(step.theirs[1])] if step.theirs[0] != step.ours[0] else [])]
        points.append([number, " / ".join(tokens), share, f"{step.divergence:.2g}"])
    title = f"distributions of the next token; tokens of {found.reference} / of {found.other} where they differ"
    return {"title": title, "heads": ["step", "", "KL", "tokens"], "points": points, "layers": []}


def _layer(layer: Layer, texts: Texts, histograms: list[Any] | None) -> dict[str, Any]:
    """Return the data of one layer; empty and default values are omitted."""
    found: dict[str, Any] = {"n": layer.name, "i": layer.id, "t": texts(layer.type), "v": texts(layer.version)}
    optional = {
        "k": None if layer.operator is None else texts(layer.operator),
        "a": [[texts(a.name), texts(a.value), int(a.default)] for a in layer.attributes],
        "s": [_input(entry, texts) for entry in layer.inputs],
        "o": [_output(output, texts) for output in layer.outputs],
        "c": layer.constant,
        "m": layer.multiply_adds,
        "p": layer.parent,
        "b": layer.branch,
        "l": layer.line,
        "x": layer.text,
        "f": layer.findings,
        "u": int(layer.unreachable),
        "h": histograms,
    }
    found.update({key: value for key, value in optional.items() if value or (key == "p" and value == 0)})
    return found


def _input(entry: Input, texts: Texts) -> list[int]:
    """Return `[port, layer]`, then the number of the output if it is not the first; layer -1: not connected."""
    row = [texts(entry.name), -1 if entry.layer is None else entry.layer]
    return [*row, entry.output] if entry.output else row


def _output(output: Output, texts: Texts) -> list[Any]:
    """Return `[type, shape]`, followed by the names and declared values, if any."""
    row: list[Any] = [texts(output.element_type), texts(output.shape), output.names]
    row.append(texts(output.declared) if output.declared else -1)
    return row if output.declared else row[:3] if output.names else row[:2]


def _port(port: Port) -> list[str]:
    return [port.name, f"{port.element_type} {port.shape}"]


def _overlay(overlay: Overlay) -> dict[str, Any]:
    marks = {
        index: [round(mark.strength, 3), mark.text, *([mark.sign] if mark.sign else [])]
        for index, mark in overlay.marks.items()
    }
    return {
        "key": overlay.key,
        "title": overlay.title,
        "legend": overlay.legend,
        "combine": overlay.combine,
        "marks": marks,
    }


def _descriptions(observed: Sequence[Observed]) -> Iterator[str]:
    """Return a line for each observation."""
    for entry in observed:
        if isinstance(entry, Trace):
            of = f" of {entry.file}" if entry.file else ""
            yield f"a run{of}: {plural(len(entry.trace), 'layer')}"
        elif isinstance(entry, Comparison):
            yield from entry.lines
            yield entry.verdict or f"{entry.reference} compared with {entry.other}"
        elif isinstance(entry, Counters):
            total = shown_seconds(sum(row.seconds for row in entry.layers))
            yield f"times on a device, from {entry.file}: {total} in {plural(len(entry.layers), 'step')}"
        elif isinstance(entry, Sensitivities):
            suggested = f"exclude {plural(len(entry.layers), 'layer')}" if entry.layers else "nothing is suggested"
            yield f"loss of accuracy of {entry.other}, target {entry.target}: {suggested}"
        else:
            yield f"{plural(len(entry.changes), 'change')} from {entry.a} to {entry.b}"


def _histograms(shown: Together, observed: Sequence[Observed]) -> dict[int, list[Any]]:
    """Return by layer, for each output, the smallest value, the largest value, and the counts of a histogram, or 0 if
    there is none.
    """
    found: dict[int, list[Any]] = {}
    for entry in observed:
        for index, row in traced(entry, Places(shown, model_of(entry, shown))) if isinstance(entry, Trace) else ():
            drawn = [
                o.histogram and [o.histogram.edges[0], o.histogram.edges[-1], o.histogram.counts] for o in row.outputs
            ]
            if any(drawn):
                found[index] = [histogram or 0 for histogram in drawn]
    return found


def _described(shown: Together) -> dict[str, list[str | None]]:
    """Return the first paragraph of each operator's description, and the address of its page."""
    found: dict[str, list[str | None]] = {}
    for name in dict.fromkeys(layer.operator for layer in shown.layers):
        facts = facts_of(name) if name is not None else None
        if name is not None and facts is not None:
            first = " ".join(facts.description.split("\n\n")[0].split()).replace("`", "")
            found[name] = [first, page_address(facts)]
    return found
