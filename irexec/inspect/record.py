"""Making observations: by running a model, or from a folder of arrays that `irexec run --dump` wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irexec.arrays.loading import load
from irexec.arrays.statistics import Histogram, Statistics
from irexec.engine import CompiledModel
from irexec.graph.model import Model
from irexec.inspect.observed import Trace
from irexec.ir.files import read_file
from irexec.runs.dump import INDEX, body_folder, numbered_folders
from irexec.runs.trace import Output
from irexec.runs.trace import Trace as Tracing
from irexec.types import Array

# The largest number of bodies of a layer: If has two.
_BODIES = 2


def run_traced(model: Model, inputs: Sequence[Array]) -> Trace:
    """Return one inference with the time, the numbers and the histograms of all layers. Raises IRError."""
    tracing = Tracing(histograms=True)
    CompiledModel(model).create_infer_request([tracing]).infer(list(inputs))
    rows = [row.to_dict() for row in tracing.rows]
    return Trace.model_validate({"kind": "model", "file": model.file, "trace": rows})


def read_dump(folder: Path) -> Trace:
    """Return the layers of a dumped run, each at its last call, without times; of several steps, or iterations of a
    body, the last. Raises OSError, and ValueError if the folder is not a dump.
    """
    try:
        return Trace.model_validate({"kind": "model", "trace": _rows(folder, 0)})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{INDEX} was not written by --dump: {error!r}") from None


def _rows(folder: Path, depth: int) -> list[dict[str, Any]]:
    """Return the rows of a folder's layers, each followed by the rows of its bodies."""
    runs = numbered_folders(folder) or [folder]
    layers: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in json.loads(read_file(runs[-1] / INDEX, "a recording"))["tensors"]:
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
        raise ValueError(f"{path.name} is an archive")
    return Output(entry["element_type"], entry["shape"], Statistics.of(array), Histogram.of(array))
