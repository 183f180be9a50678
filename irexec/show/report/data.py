"""The data for the report's script, in a compact form: short field names, each repeated text stored once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from irexec.catalog.documentation import page_address
from irexec.catalog.facts import facts_of
from irexec.show.report.overlays import Overlay
from irexec.show.survey import shown_count, size_rows
from irexec.survey.facts import Input, Layer, Output, Port, Survey
from irexec.survey.observed import Changes, Comparison, Observed, Places, Trace


class Texts:
    """A table of texts; each stands once, and is named by its position."""

    def __init__(self) -> None:
        self.table: list[str] = []
        self._numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self.table))
        if number == len(self.table):
            self.table.append(text)
        return number


def report_data(
    survey: Survey, folded: dict[int, int], overlays: Sequence[Overlay], observed: Sequence[Observed], *, cut: bool
) -> dict[str, Any]:
    """The object that report.js reads. `cut`: there is a command that extracts a layer."""
    texts = Texts()
    histograms = _histograms(survey, observed)
    layers = [_layer(layer, texts, histograms.get(layer.index)) for layer in survey.layers]
    return {
        "name": survey.name,
        "file": survey.file,
        "cut": cut,
        "inputs": [_port(port) for port in survey.inputs],
        "outputs": [_port(port) for port in survey.outputs],
        "size": size_rows(survey),
        "operators": [
            [c.operator, c.layers, f"{shown_count(c.multiply_adds)} multiply-adds" if c.multiply_adds else ""]
            for c in survey.totals.operators
        ],
        "states": [[state.name, f"{state.element_type} {state.shape}"] for state in survey.states],
        "findings": survey.findings,
        "told": list(_told(observed)),
        "overlays": [_overlay(overlay) for overlay in overlays],
        "described": _described(survey),
        "folded": folded,
        "layers": layers,
        "texts": texts.table,
    }


def script_text(value: Any) -> str:
    """JSON that can stand inside a `<script>`: nothing in it ends the element or begins another."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _layer(layer: Layer, texts: Texts, histograms: list[Any] | None) -> dict[str, Any]:
    """One layer; what is empty or as usual is left out."""
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
        "f": layer.findings,
        "u": int(layer.unreachable),
        "h": histograms,
    }
    found.update({key: value for key, value in optional.items() if value or (key == "p" and value == 0)})
    return found


def _input(entry: Input, texts: Texts) -> list[int]:
    """`[port, layer]`, then the number of the output where it is not the first; layer -1: not connected."""
    row = [texts(entry.name), -1 if entry.layer is None else entry.layer]
    return [*row, entry.output] if entry.output else row


def _output(output: Output, texts: Texts) -> list[Any]:
    """`[type, shape]`, then the names and what is declared, as far as they are there."""
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
        "sum": overlay.combine == "sum",
        "marks": marks,
    }


def _told(observed: Sequence[Observed]) -> Any:
    """A line for each thing that was observed."""
    for entry in observed:
        if isinstance(entry, Trace):
            yield f"a run of {len(entry.trace)} layers"
        elif isinstance(entry, Comparison):
            yield entry.verdict or f"{entry.reference} compared with {entry.other}"
        elif isinstance(entry, Changes):
            yield f"{len(entry.changes)} changes from {entry.a} to {entry.b}"
            for change in entry.changes:
                yield f"{change.change}: {change.text or change.b or change.a}"


def _histograms(survey: Survey, observed: Sequence[Observed]) -> dict[int, list[Any]]:
    """Layer → for each output its smallest and largest value, and the counts between them."""
    places = Places(survey.layers)
    found: dict[int, list[Any]] = {}
    for entry in observed:
        for row in entry.trace if isinstance(entry, Trace) else ():
            drawn = [
                [o.histogram.edges[0], o.histogram.edges[-1], o.histogram.counts] for o in row.outputs if o.histogram
            ]
            index = places.find(row.name, [])
            if drawn and index is not None:
                found[index] = drawn
    return found


def _described(survey: Survey) -> dict[str, list[str | None]]:
    """Operator → the first paragraph of its description, and the address of its page."""
    found: dict[str, list[str | None]] = {}
    for name in dict.fromkeys(layer.operator for layer in survey.layers):
        facts = facts_of(name) if name is not None else None
        if name is not None and facts is not None:
            first = " ".join(facts.description.split("\n\n")[0].split()).replace("`", "")
            found[name] = [first, page_address(facts)]
    return found
