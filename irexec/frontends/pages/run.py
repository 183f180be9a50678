"""`irexec run` for layers outside a model: evaluates every example of a text, checks the options, and names the
results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from irexec.core.diagnostics import Report
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.types import Array
from irexec.frontends.pages.complete import ExampleInput, Obstacle
from irexec.frontends.pages.evaluate import evaluate, evaluated_report
from irexec.frontends.pages.example import Example, output_name
from irexec.frontends.pages.reader import Snippet
from irexec.model.arrays.given import Given, check_names
from irexec.model.arrays.plain import exact_array


@dataclass(frozen=True, slots=True)
class ExampleRun:
    """The results of running the examples of one text. `report` contains every finding in the order of the text."""

    snippet: Snippet
    given: Given
    examples: list[Example]
    report: Report

    @property
    def inputs(self) -> list[ExampleInput]:
        """The inputs of all examples."""
        return [entry for example in self.examples for entry in example.inputs]

    def arrays(self) -> dict[str, Array]:
        """Return the results by name, as `-o` writes them: `output` or `output_0`, ...; or `layer_0.output`, ..."""
        arrays = {}
        for number, example in enumerate(self.examples):
            for index, output in enumerate(example.outputs):
                name = output_name(example, index).replace(" ", "_")
                if len(self.examples) > 1:
                    name = f"layer_{number}.{name}"
                if output.array is not None:
                    arrays[name] = exact_array(output.array, output.type.element_type)
        return arrays


def run_examples(snippet: Snippet, given: Given) -> ExampleRun:
    """Run every example of a snippet. Errors in its text or the options never raise; they are in the report."""
    examples = evaluate(snippet, given)
    findings = snippet.findings
    known = findings.error_count
    _check_options(examples, given, findings)
    if findings.error_count > known:
        # The values that the option was meant to set would be random ones.
        for example in examples:
            example.not_executed, example.outputs = Obstacle("an option does not fit the inputs"), []
    for example in examples:
        obstacle = example.not_executed
        if obstacle is not None and not _is_explained(example, findings):
            what = f"{example.layer} cannot be run: {obstacle}"
            findings.add("U006", what, at=At(example.snippet.layer.at), layer=example.layer, hint=obstacle.advice)
    return ExampleRun(snippet, given, examples, evaluated_report(snippet))


def _check_options(examples: list[Example], given: Given, findings: Findings) -> None:
    names: dict[str, set[str]] = {}
    for example in examples:
        for index, entry in enumerate(example.inputs):
            names.setdefault(entry.name, set()).update((str(index), *entry.keys))
    if not names:
        return
    options: dict[str, Mapping[str, object]] = {
        "--input": given.inputs,
        "--precision": given.precisions,
        "--shape": given.shapes,
    }
    for option, values in options.items():
        check_names({name: f"{option} {name}" for name in values}, names, findings, given.archives)


def _is_explained(example: Example, findings: Findings) -> bool:
    """Return whether an existing error explains why the example was not run."""
    return any(d.layer is None or d.layer == example.layer for d in findings.report.errors)
