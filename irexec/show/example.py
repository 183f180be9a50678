"""`irexec run` on loose layers: evaluate each, and tell what came in, what came out and what was checked."""

from __future__ import annotations

from typing import Any

from irexec.arrays.brief import (
    LIMIT,
    Array,
    Statistics,
    exact_array,
    json_values,
    plural,
    shown,
    shown_shape,
)
from irexec.arrays.options import check_names
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Findings
from irexec.ops.declare.attributes import attribute_text
from irexec.show.printing import Page
from irexec.snippets.complete import ExampleInput, Given
from irexec.snippets.example import Example, ExampleOutput, evaluate, evaluated_report, output_name
from irexec.snippets.reader import Snippet


class ExampleRun:
    """The examples of one text, run. `report` has every finding in the order of the text."""

    def __init__(self, snippet: Snippet, given: Given) -> None:
        self.snippet, self.given = snippet, given
        self.examples = evaluate(snippet, given)
        self._check_options(snippet.findings)
        for example in self.examples:
            if example.not_executed is not None and not _is_explained(example, snippet.findings):
                what = f"{example.layer} cannot be run: {example.not_executed}"
                findings = snippet.findings
                findings.add("U006", what, at=_at(example), layer=example.layer, hint=_advice(example))
        self.report: Report = evaluated_report(snippet)

    def _check_options(self, findings: Findings) -> None:
        names: dict[str, set[str]] = {}
        for example in self.examples:
            for index, entry in enumerate(example.inputs):
                names.setdefault(entry.name, set()).update((str(index), *entry.keys))
        if not names:
            return
        for option, given in (("input", self.given.inputs), ("precision", self.given.precisions)):
            check_names(f"--{option}", given, names, findings)
        check_names("--shape", self.given.shapes, names, findings)

    def outputs(self) -> dict[str, Array]:
        """The results as --save writes them: `output`, or `output_0`, `output_1`, ...; with several layers by layer."""
        arrays = {}
        for number, example in enumerate(self.examples):
            for index, output in enumerate(example.outputs):
                name = output_name(example, index).replace(" ", "_")
                if len(self.examples) > 1:
                    name = f"layer_{number}.{name}"
                if output.array is not None:
                    arrays[name] = exact_array(output.array, output.type.element_type)
        return arrays

    def to_dict(self) -> dict[str, Any]:
        """The run as JSON-ready values."""
        return {
            "file": self.snippet.findings.file,
            "kind": "snippet",
            "ok": self.report.ok,
            "examples": [_example_dict(example) for example in self.examples],
            "diagnostics": [finding.to_dict() for finding in self.report],
        }

    def show(self, page: Page, *, verbose: bool = False) -> None:
        """Write the run for a person: each example, then the findings."""
        for number, example in enumerate(self.examples):
            if number:
                page.line()
            _show_example(example, page)
        page.findings(self.report, verbose=verbose)


def _at(example: Example) -> Any:
    from irexec.diagnostics.findings import At

    return At(example.snippet.layer.at)


def _is_explained(example: Example, findings: Findings) -> bool:
    """Whether an error says already why the example was not run."""
    return any(d.layer is None or d.layer == example.layer for d in findings.report.errors)


def _advice(example: Example) -> str | None:
    reason = example.not_executed or ""
    if "shape of" in reason:
        return f"give it: --shape {reason.removeprefix('the shape of ').split()[0]}=1,2,3"
    if "random" in reason:
        return "give values with --input"
    return None


# For people.


def _show_example(example: Example, page: Page) -> None:
    title = str(example.operator or example.layer.type)
    where = f"  {example.layer.name!r}" if example.layer.name not in ("", example.layer.type) else ""
    page.line(title + where, "heading")
    page.table([(name, text, note) for name, text, note in _attribute_rows(example)], ("name", None, "dim"))
    if example.inputs:
        page.heading("inputs")
        page.table([_input_row(entry) for entry in example.inputs], ("name", None, None, None, "dim"))
    if example.executed:
        page.heading("result")
        page.table([_output_row(example, i, o) for i, o in enumerate(example.outputs)], ("name",))
        for index, output in enumerate(example.outputs):
            _show_documented(example, index, output, page)
        if example.verified:
            page.heading("verified")
            for text in example.verified:
                page.line(f"  {text}", "good")
    else:
        page.heading("not run")
        page.line(f"  {example.not_executed}", "warning")


def _attribute_rows(example: Example) -> list[tuple[str, str, str]]:
    if example.operator is None:
        return []
    written = example.snippet.layer.data
    rows = []
    for attribute in example.operator.attributes:
        if attribute.name in example.attributes:
            text = attribute_text(example.attributes[attribute.name])
            rows.append((attribute.file_name, text or "(empty)", "" if attribute.file_name in written else "default"))
    return rows


def _input_row(entry: ExampleInput) -> tuple[str, ...]:
    kind, shape = str(entry.type.element_type), str(entry.type.shape)
    values = "" if entry.array is None else shown(entry.array, LIMIT)
    return entry.name, kind, shape, values, _origin(entry)


_VALUES = {"page": "values of the page", "--input": "values of --input"}
_PRECISION = {"values": "by its values", "default": "by default", "--precision": "by --precision"}


def _origin(entry: ExampleInput) -> str:
    """Where precision and values are from, in a few words."""
    kind = f"{entry.type.element_type} {_PRECISION.get(entry.type_from, entry.type_from)}"
    parts = [_VALUES.get(entry.array_from, entry.array_from), kind]
    if entry.repaired:
        parts.append(f"read as {entry.type.shape}")
    return ", ".join(filter(None, parts))


def _output_row(example: Example, index: int, output: ExampleOutput) -> tuple[str, ...]:
    array = output.array
    shape = shown_shape(array.shape) if array is not None else str(output.type.shape)
    values = shown(array, LIMIT) if array is not None else ""
    return output_name(example, index), str(output.type.element_type), shape, values


def _show_documented(example: Example, index: int, output: ExampleOutput, page: Page) -> None:
    if output.documented is None or output.array is None:
        return
    name = f" {output_name(example, index)}" if len(example.outputs) > 1 else ""
    page.heading(f"documented against computed{name}")
    if output.agrees:
        page.line(f"  all {plural(output.documented.size, 'value')} agree", "good")
        return
    page.table([("documented", shown(output.documented, LIMIT)), ("computed", shown(output.array, LIMIT))], ("name",))
    if output.difference is None:
        page.line(f"  {output.documented.size} values are documented, the operator makes {output.array.size}", "error")
        return
    difference = output.difference
    verb = "differs" if difference.count == 1 else "differ"
    what = f"{difference.count} of {plural(output.array.size, 'element')} {verb}"
    if difference.impossible:
        what += ", whatever the order of updates"
    page.line(f"  {what}: {difference.words}", "error")


# For programs.


def _example_dict(example: Example) -> dict[str, Any]:
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
        "not_executed": example.not_executed,
        "inputs": [
            {
                "name": entry.name,
                **_tensor_dict(entry.array, entry.type),
                "type_from": entry.type_from,
                "values_from": entry.array_from or None,
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


def _tensor_dict(array: Array | None, type: Any) -> dict[str, Any]:
    """Element type, shape, statistics, and the values themselves when there are at most 1000."""
    if array is None:
        return {"element_type": str(type.element_type), "shape": str(type.shape), "values": None}
    return tensor_dict(array, str(type.element_type))


def tensor_dict(array: Array, kind: str) -> dict[str, Any]:
    """An array as JSON-ready values."""
    statistics = Statistics.of(array)
    return {
        "element_type": kind,
        "shape": list(array.shape),
        "min": statistics.min,
        "max": statistics.max,
        "mean": statistics.mean,
        "nan": statistics.nan,
        "inf": statistics.inf,
        "values": json_values(array),
    }
