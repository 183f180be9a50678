"""Making observations: by running a model, from a folder of `run --dump`, or from times that OpenVINO measured."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from irexec.core.types import Array
from irexec.ir.beside import Unreadable, json_of, read_csv, text_of, written_by
from irexec.model.arrays.loading import load
from irexec.model.arrays.statistics import Histogram, Statistics
from irexec.model.graph.model import Model
from irexec.runtime.engine import CompiledModel
from irexec.tools.inspect.execution import execution_of
from irexec.tools.inspect.observed import Counted, Counters, Trace
from irexec.tools.run.dump import INDEX, body_folder, numbered_folders
from irexec.tools.run.trace import Output
from irexec.tools.run.trace import Trace as Tracing

# The largest number of bodies of a layer: If has two.
_BODIES = 2


def run_traced(model: Model, inputs: Sequence[Array]) -> Trace:
    """Return the trace of one inference, with the time, statistics and histograms of all layers. Raises IRError."""
    tracing = Tracing(histograms=True)
    CompiledModel(model).create_infer_request([tracing]).infer(list(inputs))
    rows = [row.to_dict() for row in tracing.rows]
    return Trace.model_validate({"kind": "model", "file": model.file, "trace": rows})


def read_dump(folder: Path) -> Trace:
    """Return the layers of a dumped run, each at its last call, without times; of several steps or iterations of a
    body, the last step or iteration. Raises OSError, and Unreadable if the folder is not a dump.
    """
    with written_by("--dump"):
        return Trace.model_validate({"kind": "model", "trace": _rows(folder, 0)})


def _rows(folder: Path, depth: int) -> list[dict[str, Any]]:
    """Return the rows of a folder's layers, each followed by the rows of its bodies."""
    runs = numbered_folders(folder) or [folder]
    layers: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in json_of(runs[-1] / INDEX, "a recording")["tensors"]:
        layer = entry["layer"]
        row = layers.setdefault((layer["id"], layer["name"]), {**layer, "outputs": [], "depth": depth})
        row["calls"] = entry["call"] + len(runs)
        del row["outputs"][entry["output"] :]
        row["outputs"].append(_output(runs[-1] / Path(entry["file"]).name, entry).to_dict())
    rows = []
    for row in layers.values():
        rows.append(row)
        bodies = (runs[-1] / body_folder(row["name"] or row["id"], number) for number in range(_BODIES))
        rows += [inner for body in bodies if body.is_dir() for inner in _rows(body, depth + 1)]
    return rows


def _output(path: Path, entry: dict[str, Any]) -> Output:
    array = load(path)
    if isinstance(array, dict):
        raise Unreadable(f"{path.name} is an archive")
    return Output(entry["element_type"], entry["shape"], Statistics.of(array), Histogram.of(array))


_LAYER, _STATUS, _PRIMITIVE, _TIME = "layerName", "execStatus", "execType", "realTime (ms)"


def read_counters(path: str) -> Counters:
    """Return the times of layers in a file that `benchmark_app` wrote with `-report_type detailed_counters` (.csv) or
    `-exec_graph_path` (.xml); an execution graph without times has kernels. Raises OSError, and Unreadable if the file
    contains neither.
    """
    text = text_of(path, "a recording")
    rows = list(_of_graph(text, path) if Path(path).suffix.lower() == ".xml" else _of_table(text))
    if not rows:
        raise Unreadable(
            "the file contains no times of layers; expected counters of benchmark_app or an execution graph"
        )
    return Counters(kind="counters", file=path, layers=rows)


def _of_table(text: str) -> Iterator[Counted]:
    """Yield the rows of a table, whose heading may be repeated for each request."""
    columns: dict[str, int] = {}
    for _, row in read_csv(text, delimiter=";"):
        if _LAYER in row:
            columns = {name.strip(): place for place, name in enumerate(row)}
        elif {_LAYER, _TIME} <= columns.keys() and len(row) > columns[_TIME] and row[columns[_LAYER]] != "Total":
            seconds = _number(row[columns[_TIME]]) / 1e3
            primitive = row[columns[_PRIMITIVE]] if _PRIMITIVE in columns else ""
            if seconds > 0:
                yield Counted(names=[row[columns[_LAYER]]], seconds=seconds, primitive=primitive)


def _of_graph(text: str, path: str) -> list[Counted]:
    """Return the steps of an execution graph: those with times, or all of them if no time was measured."""
    steps = execution_of(text, path).computing
    timed = [step for step in steps if step.seconds is not None] or steps
    return [
        Counted(names=step.names, seconds=step.seconds or 0.0, primitive=step.primitive, precision=step.precision)
        for step in timed
    ]


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:  # The time is a word such as `not_executed`.
        return 0.0
    return number if math.isfinite(number) else 0.0
