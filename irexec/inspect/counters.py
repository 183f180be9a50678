"""Times that OpenVINO measured on a device: the counters of benchmark_app, or an execution graph."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

from irexec.inspect.observed import Counted, Counters
from irexec.ir.files import read_file
from irexec.ir.xml.events import attribute_texts, events

_LAYER, _STATUS, _PRIMITIVE, _TIME = "layerName", "execStatus", "execType", "realTime (ms)"


def read_counters(path: str) -> Counters:
    """Return the times of layers in a file: that of `benchmark_app -report_type detailed_counters` (.csv), or that of
    `-exec_graph_path` (.xml). Raises OSError, and ValueError if the file contains none.
    """
    text = read_file(path, "a recording").decode("utf-8", "replace")
    rows = list(_of_graph(text) if Path(path).suffix.lower() == ".xml" else _of_table(text))
    if not rows:
        raise ValueError(
            "the file contains no times of layers; expected counters of benchmark_app or an execution graph"
        )
    return Counters(kind="counters", file=path, layers=rows)


def _of_table(text: str) -> Iterator[Counted]:
    """Yield the rows of a table, whose heading may be repeated for each request."""
    columns: dict[str, int] = {}
    for row in csv.reader(text.splitlines(), delimiter=";"):
        if _LAYER in row:
            columns = {name.strip(): place for place, name in enumerate(row)}
        elif {_LAYER, _TIME} <= columns.keys() and len(row) > columns[_TIME] and row[columns[_LAYER]] != "Total":
            seconds = _number(row[columns[_TIME]]) / 1e3
            primitive = row[columns[_PRIMITIVE]] if _PRIMITIVE in columns else ""
            if seconds > 0:
                yield Counted(names=[row[columns[_LAYER]]], seconds=seconds, primitive=primitive)


def _of_graph(text: str) -> Iterator[Counted]:
    """Yield the layers of an execution graph, with the names of the model's layers that run as one."""
    name = ""
    for kind, start, stop, element in events(text, 0):
        if kind not in ("start", "empty"):
            continue
        found = dict(attribute_texts(text, start, stop)) if element in ("layer", "data") else {}
        if element == "layer":
            name = found.get("name", "")
        elif "execTimeMcs" in found:
            seconds = _number(found["execTimeMcs"]) / 1e6
            names = [entry for entry in found.get("originalLayersNames", "").split(",") if entry]
            if seconds > 0:
                yield Counted(names=names or [name], seconds=seconds, primitive=found.get("primitiveType", ""))


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:  # Such as `not_executed`.
        return 0.0
    return number if math.isfinite(number) else 0.0
