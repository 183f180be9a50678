"""Observations made here: a model that is run, and a folder of arrays that `irexec run --dump` wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from irexec.arrays.loading import load
from irexec.arrays.statistics import Histogram, Statistics
from irexec.engine import CompiledModel
from irexec.graph.model import Model
from irexec.survey.observed import Trace
from irexec.types import Array
from irexec.watch.dump import INDEX
from irexec.watch.trace import Output
from irexec.watch.trace import Trace as Tracing


def run_traced(model: Model, inputs: Sequence[Array]) -> Trace:
    """One inference with the time, the numbers and the histograms of all layers. Raises IRError."""
    tracing = Tracing(histograms=True)
    CompiledModel(model).create_infer_request([tracing]).infer(list(inputs))
    rows = [row.to_dict() for row in tracing.rows]
    return Trace.model_validate({"kind": "model", "file": model.file, "trace": rows})


def read_dump(folder: Path) -> Trace:
    """The layers of a dumped run, each at its last call, without times. Raises OSError, and ValueError for no dump."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    try:
        for entry in json.loads((folder / INDEX).read_text("utf-8"))["tensors"]:
            layer = entry["layer"]
            row = rows.setdefault((layer["id"], layer["name"]), {**layer, "outputs": []})
            row["calls"] = entry["call"] + 1
            del row["outputs"][entry["output"] :]
            row["outputs"].append(_output(folder / Path(entry["file"]).name, entry).to_dict())
        return Trace.model_validate({"kind": "model", "trace": list(rows.values())})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{INDEX} is not what --dump writes: {error!r}") from None


def _output(path: Path, entry: dict[str, Any]) -> Output:
    array = load(path)
    if isinstance(array, dict):
        raise ValueError(f"{path.name} is an archive")
    return Output(entry["element_type"], entry["shape"], Statistics.of(array), Histogram.of(array))
