"""Execution graphs: how a device runs a compiled model, as OpenVINO writes it (`get_runtime_model`, `benchmark_app
-exec_graph_path`): the kernels, their types and layouts, and the layers that each of them computes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from irexec.core.structure import CONST
from irexec.ir.xml.events import attribute_texts, events

_DIGITS, _MADE_UP = re.compile(r"\d+"), re.compile(r"\w_\d+\Z")
_OUTSIDE = ("Input", "Output")
"""The types of the graph's own ends."""


@dataclass(slots=True)
class Executed:
    """One step of a device. `originals` names the layers of the model that it computes: none for a step that the device
    inserted, such as a reorder. `seconds`: its time, if it was measured.
    """

    name: str
    type: str
    originals: list[str] = field(default_factory=list)
    precision: str = ""
    primitive: str = ""
    output_types: str = ""
    layouts: str = ""
    seconds: float | None = None

    @property
    def computes(self) -> bool:
        """Whether the step runs when the model runs, and is not an input, output or constant."""
        return self.type not in (CONST, *_OUTSIDE)

    @property
    def names(self) -> list[str]:
        """The layers of the model, or else the step's own name."""
        return self.originals or [self.name]


@dataclass(slots=True)
class Execution:
    """An execution graph: its steps in the order of execution."""

    name: str
    file: str
    layers: list[Executed]

    @property
    def computing(self) -> list[Executed]:
        return [layer for layer in self.layers if layer.computes]

    def precisions(self) -> Counter[str]:
        """Return how many steps compute in each type."""
        return Counter(layer.precision for layer in self.computing if layer.precision)

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as JSON-ready values."""
        return {"kind": "execution", **asdict(self)}


@dataclass(slots=True)
class ExecutionChange:
    """A difference between the executions of two compilations. `change`: precision, kernel, layout, fusion, added or
    removed; `layer` names a layer of the model, or an inserted step.
    """

    layer: str
    type: str
    change: str
    a: str
    b: str


def execution_of(text: str, file: str) -> Execution:
    """Return the execution graph that a text of XML contains; without layers if it is another text."""
    name, layers, orders = "", list[Executed](), dict[int, int]()
    for kind, start, stop, element in events(text, 0):
        if kind not in ("start", "empty") or element not in ("net", "layer", "data"):
            continue
        found = dict(attribute_texts(text, start, stop))
        if element == "net":
            name = name or found.get("name", "")
        elif element == "layer":
            layer = Executed(found.get("name", ""), found.get("type", ""))
        elif "originalLayersNames" in found or "execTimeMcs" in found:
            _describe(layer, found)
            orders[id(layer)] = int(found["execOrder"]) if found.get("execOrder", "").isdecimal() else len(layers)
            layers.append(layer)
    return Execution(name, file, sorted(layers, key=lambda layer: orders[id(layer)]))


def _describe(layer: Executed, found: Mapping[str, str]) -> None:
    layer.originals = [entry for entry in found.get("originalLayersNames", "").split(",") if entry]
    layer.precision, layer.primitive = found.get("runtimePrecision", ""), found.get("primitiveType", "")
    layer.output_types, layer.layouts = found.get("outputPrecisions", ""), found.get("outputLayouts", "")
    layer.seconds = measured(found.get("execTimeMcs", ""))


def measured(text: str) -> float | None:
    """Return a time in microseconds as seconds; None for a word such as `not_executed`."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number / 1e6 if math.isfinite(number) and number > 0 else None


def changes(a: Execution, b: Execution) -> list[ExecutionChange]:
    """Return the differences in the order of execution: of the steps that compute the same layers of the model."""
    return [*_changed(a, b), *_inserted(a, b)]


def _changed(a: Execution, b: Execution) -> Iterator[ExecutionChange]:
    others = {name: layer for layer in b.computing for name in layer.originals}
    known = {name for layer in a.computing for name in layer.originals}
    left = {id(layer): layer for layer in b.computing if layer.originals and not known.intersection(layer.originals)}
    for layer in a.computing:
        if not layer.originals:
            continue
        found = next((others[name] for name in layer.originals if name in others), None)
        if found is None:
            same = _numberless(layer)
            found = next((each for each in left.values() if _numberless(each) == same), None)
            left.pop(id(found), None)
        label = next((name for name in _given(layer) if name in others), _given(layer)[0])
        if found is None:
            yield ExecutionChange(label, layer.type, "removed", _short(layer), "")
            continue
        alone, new = ([n for n in _given(x) if n in y] for x, y in ((layer, others), (found, known)))
        pairs = {
            "precision": (layer.precision, found.precision),
            "kernel": (layer.primitive, found.primitive),
            "layout": (layer.layouts, found.layouts),
            "fusion": (", ".join(alone), ", ".join(new)),
        }
        for change, (before, after) in pairs.items():
            if before != after:
                yield ExecutionChange(label, layer.type, change, before, after)
    for layer in left.values():
        yield ExecutionChange(_given(layer)[0], layer.type, "added", "", _short(layer))


def _given(layer: Executed) -> list[str]:
    """Return the names, without those that the compilation made up (Multiply_9776) if there are others."""
    return [name for name in layer.originals if not _MADE_UP.search(name)] or layer.originals


def _numberless(layer: Executed) -> tuple[str, ...]:
    """Return the names without numbers, which differ from one compilation to the next in names that it makes up."""
    return layer.type, *(_DIGITS.sub("", name) for name in layer.originals)


def _inserted(a: Execution, b: Execution) -> Iterator[ExecutionChange]:
    """Yield the kinds of inserted steps, such as reorders, of which there are more or fewer."""
    before, after = (Counter(layer.type for layer in each.computing if not layer.originals) for each in (a, b))
    for type in sorted(before.keys() | after.keys()):
        if before[type] != after[type]:
            yield ExecutionChange("", type, "inserted", str(before[type]), str(after[type]))


def _short(layer: Executed) -> str:
    return " ".join(filter(None, (layer.precision, layer.primitive)))
