"""`--trace`: a listener that records for every layer the type, shape, time and statistics of its results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from irexec.core.types import Array, ElementType
from irexec.model.arrays.brief import shown_number, shown_seconds, shown_shape
from irexec.model.arrays.statistics import Histogram, Statistics
from irexec.model.graph.model import Node

_HEADING = ("layer", "type", "precision", "shape", "time", "calls", "min", "max", "mean", "nan", "inf")


@dataclass(slots=True)
class Output:
    """One output of a layer at its last call."""

    element_type: str
    shape: tuple[int, ...]
    statistics: Statistics
    histogram: Histogram | None = None

    def to_dict(self) -> dict[str, Any]:
        counted = {} if self.histogram is None else {"histogram": self.histogram.to_dict()}
        numbers = self.statistics.to_dict()
        return {"element_type": self.element_type, "shape": list(self.shape), **numbers, **counted}


@dataclass(slots=True)
class Row:
    """One layer: the number of its calls and their total time in one run. `depth` is the number of enclosing bodies."""

    node: Node
    depth: int
    calls: int = 0
    seconds: float = 0.0
    outputs: list[Output] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.node.id,
            "name": self.node.given_name,
            "type": self.node.type,
            "version": self.node.version,
            "depth": self.depth,
            "calls": self.calls,
            "seconds": self.seconds,
            "outputs": [output.to_dict() for output in self.outputs],
        }


class Trace:
    """The layers that ran, in the order in which they started. A layer of a body that runs several times is one row.

    `histograms`: also count the values of each output in bins.
    """

    def __init__(self, *, histograms: bool = False) -> None:
        self._rows: dict[Node, Row] = {}
        self._histograms = histograms
        # The listener's own time so far, and its value when each running layer began: it is subtracted from
        # layers' times.
        self._spent = 0.0
        self._begun: list[float] = []

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        self._rows.setdefault(node, Row(node, len(self._begun)))
        self._begun.append(self._spent)

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        begin = time.perf_counter()
        row = self._rows[node]
        row.calls += 1
        row.seconds += seconds - (self._spent - self._begun.pop())
        kinds = [str(value.element_type) for value in node.outputs]
        row.outputs = [
            Output(
                _kind(kinds, index, array),
                array.shape,
                Statistics.of(array),
                Histogram.of(array) if self._histograms else None,
            )
            for index, array in enumerate(outputs)
        ]
        self._spent += time.perf_counter() - begin

    @property
    def rows(self) -> list[Row]:
        return list(self._rows.values())

    def sort_by_time(self) -> None:
        """Sort by time, longest first; layers of bodies are then no longer grouped under their layer."""
        self._rows = dict(sorted(self._rows.items(), key=lambda entry: -entry[1].seconds))

    def divide(self, runs: int) -> None:
        """Replace the sums of several runs of the model by their means."""
        for row in self.rows:
            row.calls, row.seconds = row.calls // runs, row.seconds / runs

    def totals(self) -> list[tuple[str, ...]]:
        """Return rows of text: for each type the number of layers, their time, and its share of the total.

        Layers with bodies are left out: their time is spent in the layers of the bodies.
        """
        types: dict[str, list[Row]] = {}
        for row in self.rows:
            if not row.node.bodies:
                types.setdefault(row.node.type, []).append(row)
        times = {type: sum(row.seconds for row in rows) for type, rows in types.items()}
        total = sum(times.values()) or 1.0
        table: list[tuple[str, ...]] = [("type", "layers", "calls", "time", "%")]
        for type in sorted(types, key=lambda type: -times[type]):
            calls, seconds = sum(row.calls for row in types[type]), times[type]
            cells = str(len(types[type])), str(calls), shown_seconds(seconds), f"{100 * seconds / total:.1f}"
            table.append((type, *cells))
        return table

    def table(self, most: int | None = None) -> list[tuple[str, ...]]:
        """Return rows of text: a heading, then a row per output of (at most `most`) layers."""
        table: list[tuple[str, ...]] = [_HEADING]
        for row in self.rows[:most]:
            name = "  " * row.depth + (row.node.given_name or f"#{row.node.id}")
            for index, output in enumerate(row.outputs):
                numbers = output.statistics
                first = index == 0
                table.append(
                    (
                        name if first else "",
                        row.node.type if first else "",
                        output.element_type,
                        shown_shape(output.shape),
                        shown_seconds(row.seconds) if first else "",
                        str(row.calls) if first else "",
                        shown_number(numbers.min),
                        shown_number(numbers.max),
                        shown_number(numbers.mean),
                        str(numbers.nan or "-"),
                        str(numbers.inf or "-"),
                    )
                )
        return table


def _kind(kinds: Sequence[str], index: int, array: Array) -> str:
    """Return the output's element type; the array's type if the model leaves it open."""
    known = kinds[index] if index < len(kinds) else "dynamic"
    return known if known != "dynamic" else str(ElementType.of(array.dtype))
