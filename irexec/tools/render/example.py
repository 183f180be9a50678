"""Examples that were run, as text: inputs, outputs and checks."""

from __future__ import annotations

from irexec.frontends.pages.complete import ExampleInput, TypeSource
from irexec.frontends.pages.example import Example, ExampleOutput, output_name
from irexec.frontends.pages.run import ExampleRun
from irexec.model.arrays.brief import LIMIT, plural, shown, shown_shape
from irexec.model.arrays.given import Given, Origin
from irexec.ops.spec.attributes import attribute_text
from irexec.tools.render.printing import Printout


def show_examples(run: ExampleRun, page: Printout, *, verbose: bool = False) -> None:
    """Write each example, then the findings."""
    for number, example in enumerate(run.examples):
        if number:
            page.line()
        _show_example(example, run.given, page)
    page.findings(run.report, verbose=verbose)


def _show_example(example: Example, given: Given, page: Printout) -> None:
    title = str(example.operator or example.layer.type)
    where = f"  {example.layer.name!r}" if example.layer.name not in ("", example.layer.type) else ""
    page.line(title + where, "heading")
    page.table([(name, text, note) for name, text, note in _attribute_rows(example)], ("name", None, "dim"))
    if example.inputs:
        page.heading("inputs")
        page.table([_input_row(entry, given) for entry in example.inputs], ("name", None, None, None, "dim"))
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


def _input_row(entry: ExampleInput, given: Given) -> tuple[str, ...]:
    kind, shape = str(entry.type.element_type), str(entry.type.shape)
    values = "" if entry.array is None else shown(entry.array, LIMIT)
    return entry.name, kind, shape, values, _origin(entry, given)


_VALUES = {Origin.PAGE: "documented in the file", Origin.SUPPLIED: "from --input"}
_PRECISION = {
    TypeSource.VALUES: "inferred from its values",
    TypeSource.DEFAULT: "default",
    TypeSource.OPTION: "from --precision",
}


def _origin(entry: ExampleInput, given: Given) -> str:
    """Return the origin of precision and values, in a few words."""
    kind = f"{entry.type.element_type} {_PRECISION.get(entry.type_from.source, entry.type_from)}"
    values = given.origin_text(entry.origin) if entry.origin not in _VALUES else _VALUES[entry.origin]
    parts = [values, kind]
    if entry.repaired:
        parts.append(f"read as {entry.type.shape}")
    return ", ".join(filter(None, parts))


def _output_row(example: Example, index: int, output: ExampleOutput) -> tuple[str, ...]:
    array = output.array
    shape = shown_shape(array.shape) if array is not None else str(output.type.shape)
    values = shown(array, LIMIT) if array is not None else ""
    return output_name(example, index), str(output.type.element_type), shape, values


def _show_documented(example: Example, index: int, output: ExampleOutput, page: Printout) -> None:
    if output.documented is None or output.array is None:
        return
    name = f" {output_name(example, index)}" if len(example.outputs) > 1 else ""
    page.heading(f"documented and computed values{name}")
    if output.agrees:
        page.line(f"  all {plural(output.documented.size, 'value')} agree", "good")
        return
    page.table([("documented", shown(output.documented, LIMIT)), ("computed", shown(output.array, LIMIT))], ("name",))
    if output.difference is None:
        page.line(
            f"  {output.documented.size} values are documented, but the operator computes {output.array.size}", "error"
        )
        return
    difference = output.difference
    verb = "differs" if difference.count == 1 else "differ"
    what = f"{difference.count} of {plural(output.array.size, 'element')} {verb}"
    if difference.impossible:
        what += ", for any order of updates"
    page.line(f"  {what}: {difference.words}", "error")
