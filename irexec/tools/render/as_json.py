"""Runs of models and examples as JSON-ready values, for programs."""

from __future__ import annotations

from typing import Any

from irexec.core.types import Array, TensorType
from irexec.frontends.pages.example import Example, output_name
from irexec.frontends.pages.run import ExampleRun
from irexec.model.arrays.given import Given
from irexec.model.arrays.plain import json_values
from irexec.model.arrays.statistics import Statistics
from irexec.ops.spec.attributes import attribute_text
from irexec.tools.run.run import ModelRun
from irexec.tools.run.trace import Trace


def examples_dict(run: ExampleRun) -> dict[str, Any]:
    """Return the run of a text's examples."""
    return {
        "file": run.snippet.findings.file,
        "kind": "snippet",
        "ok": run.report.ok,
        "examples": [_example_dict(example, run.given) for example in run.examples],
        "diagnostics": [finding.to_dict() for finding in run.report],
    }


def _example_dict(example: Example, given: Given) -> dict[str, Any]:
    layer = example.layer
    attributes = {
        a.file_name: attribute_text(example.attributes[a.name])
        for a in (example.operator.attributes if example.operator else ())
        if a.name in example.attributes
    }
    return {
        "layer": {"id": layer.id, "name": layer.name, "type": layer.type, "version": layer.version},
        "operator": str(example.operator) if example.operator else None,
        "attributes": attributes,
        "executed": example.executed,
        "not_executed": None if example.executed else str(example.not_executed),
        "inputs": [
            {
                "name": entry.name,
                **_tensor_dict(entry.array, entry.type),
                "type_from": str(entry.type_from),
                "values_from": given.origin_text(entry.origin) or None,
                "repaired": entry.repaired,
            }
            for entry in example.inputs
        ],
        "outputs": [
            {
                "name": output_name(example, index),
                **_tensor_dict(output.array, output.type),
                "documented": None if output.documented is None else json_values(output.documented),
                "agrees": output.agrees,
                "difference": output.difference.words if output.difference else None,
            }
            for index, output in enumerate(example.outputs)
        ],
        "verified": example.verified,
    }


def _tensor_dict(array: Array | None, type: TensorType) -> dict[str, Any]:
    """Return the element type, the shape, statistics, and up to 1000 values."""
    if array is None:
        return {"element_type": str(type.element_type), "shape": str(type.shape), "values": None}
    return _array_dict(array, str(type.element_type))


def _array_dict(array: Array, kind: str) -> dict[str, Any]:
    """Return an array as JSON-ready values."""
    return {
        "element_type": kind,
        "shape": list(array.shape),
        **Statistics.of(array).to_dict(),
        "values": json_values(array),
    }


def model_dict(run: ModelRun, trace: Trace | None = None) -> dict[str, Any]:
    """Return the run of a model."""
    result: dict[str, Any] = {
        "file": run.model.file,
        "kind": "model",
        "ok": run.report.ok,
        "name": run.model.name,
        "executed": run.executed,
        "layers": run.layers,
        "inputs": [
            {
                "name": entry.name,
                "declared": f"{entry.port.element_type}{entry.port.type.shape}",
                "values_from": run.given.origin_text(entry.origin) or None,
                **({} if entry.array is None else _array_dict(entry.array, str(entry.port.element_type))),
            }
            for entry in run.inputs
        ],
        "outputs": [{"name": name, **_array_dict(array, str(kind))} for name, array, kind in run.outputs],
        "seconds": run.seconds,
        "diagnostics": [finding.to_dict() for finding in run.report],
    }
    if trace is not None:
        result["trace"] = [row.to_dict() for row in trace.rows]
    return result
