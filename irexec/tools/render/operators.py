"""Showing the operator set: as a list, one operator in full, and the status page in Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from itertools import groupby

from irexec.tools.catalog.documentation import page_address
from irexec.tools.catalog.facts import AttributeFacts, OperatorFacts, PortFacts, module_path
from irexec.tools.render.printing import Printout

_TITLES = {"condition": "Conditions and selection", "type": "Types", "signals": "Signals", "sort": "Sorting"}

_LONGEST_NAME, _LEAST_TEXT = 24, 40


def list_text(rows: Sequence[OperatorFacts], columns: int | None = None) -> str:
    """Return each operator with its opsets, inputs, attributes and types, and the number of implemented operators.

    `columns`: the cells of a line (default: the terminal's), in which a long text continues in more lines.
    """
    if not rows:
        return "all operators are implemented\n"
    page = Printout(columns=columns)
    wide = min(_LONGEST_NAME, max(len(facts.name) for facts in rows)) + 2
    left = wide + max(len(opsets_text(facts)) for facts in rows) + 2
    page.line(f"{'OPERATOR':{wide}}{'OPSETS':{left - wide}}INPUTS, *, ATTRIBUTES; ELEMENT TYPES")
    for facts in rows:
        head = f"{facts.name:{wide}}{'' if len(facts.name) < wide else '  '}{opsets_text(facts)}".ljust(left)
        lines = textwrap.wrap(_signature(facts), max(page.columns - left, _LEAST_TEXT), break_on_hyphens=False) or [""]
        page.line((head + lines.pop(0) if len(head) == left else head).rstrip())
        for line in lines:
            page.line(" " * left + line)
    page.line()
    page.line(count_text(rows))
    return page.text


def count_text(rows: Sequence[OperatorFacts]) -> str:
    """Return a line with the number of implemented operators."""
    done = sum(facts.implemented for facts in rows)
    return f"{done} of {len(rows)} operators are implemented."


def _signature(facts: OperatorFacts) -> str:
    """Return `data, indices, *, [axis]; T: any; T_IND: i32, i64`: inputs, attributes and types."""
    if not facts.implemented:
        return "not implemented"
    attributes = [a.name if a.required else f"[{a.name}]" for a in facts.attributes]
    names = [*map(_input_name, facts.inputs), *(["*", *attributes] if attributes else [])]
    return "; ".join(filter(None, [", ".join(names), types_text(facts)]))


def opsets_text(facts: OperatorFacts) -> str:
    """Return the opsets in which a file may name the operator: `8-17`."""
    return _runs([text.removeprefix("opset") for text in facts.opsets])


def _runs(names: Sequence[str]) -> str:
    """Return numbered names, with consecutive numbers joined to ranges: `1, 3-17`."""
    numbers = [int("".join(filter(str.isdigit, name)) or -1) for name in names]
    runs: list[list[str]] = []
    for index, name in enumerate(names):
        if index and numbers[index] == numbers[index - 1] + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def types_text(facts: OperatorFacts) -> str:
    """Return the element types of each group of inputs: `T: numeric; T_IND: i32, i64`."""
    groups = dict.fromkeys((port.group, port.types) for port in facts.inputs)
    return "; ".join(f"{group}: {types}" if group else types for group, types in groups)


def _input_name(port: PortFacts) -> str:
    if port.variadic:
        return f"*{port.name}"
    return f"[{port.name}]" if port.optional else port.name


# One operator


def operator_text(facts: OperatorFacts, columns: int | None = None) -> str:
    """Return everything about one operator, in lines of `columns` cells (default: the terminal's)."""
    page = Printout(columns=columns)
    page.line(f"{facts.name} (opset {opsets_text(facts)})")
    if len(facts.versions) > 1:
        others = [f"{facts.type}-{v.removeprefix('opset')}" for v in facts.versions if v != facts.opset]
        page.paragraph(f"other versions: {', '.join(others)}")
    if not facts.implemented:
        page.line()
        page.line("not implemented")
        return page.text
    for block in facts.description.split("\n\n"):
        page.line()
        for item in re.split(r"\n(?=C\d+ )", block):
            page.paragraph(" ".join(item.split()))
    sections = {"inputs:": map(_port_row, facts.inputs), "attributes:": map(_attribute_row, facts.attributes)}
    for title, rows in (sections | {"outputs:": map(_port_row, facts.outputs)}).items():
        page.line()
        page.line(title)
        page.table([*rows] or [("none",)])
    page.line()
    page.line(f"tolerance: {facts.tolerance}")
    page.line(f"source: {module_path(facts)}")
    if (address := page_address(facts)) is not None:
        page.line(f"page: {address}")
    return page.text


def _port_row(port: PortFacts) -> tuple[str, ...]:
    how = "any number" if port.variadic else "optional" if port.optional else ""
    return (port.name, port.group or "", port.types, how)


def _attribute_row(attribute: AttributeFacts) -> tuple[str, ...]:
    kind = f"{attribute.type} {', '.join(attribute.values)}" if attribute.values else attribute.type
    return (attribute.name, "required" if attribute.required else _default_text(attribute.default), kind)


def _default_text(default: object) -> str:
    if default is None:
        return "optional"
    text = str(default).lower() if isinstance(default, bool) else "an empty list" if default == [] else str(default)
    return f"default {text or repr(text)}"


# The status page


def page_text(rows: Sequence[OperatorFacts]) -> str:
    """Return the status page in docs/: a table for each category of the operation pages."""
    lines = [
        "# Operators",
        "",
        "Generated from the operators' signatures by `irexec ops --format markdown`. Names link to the source,",
        "attributes to their JSON Schema. Inputs and attributes in brackets are optional; `*` marks any number of",
        "inputs. `irexec ops TYPE` shows one operator in full.",
        "",
        count_text(rows),
        "",
    ]
    for category, members in groupby(sorted(rows, key=lambda facts: facts.category), key=lambda facts: facts.category):
        lines += [f"## {_TITLES.get(category, category.capitalize())}", ""]
        lines += ["| operator | opsets | inputs | attributes | element types | outputs |"]
        lines += ["|---|---|---|---|---|---|"]
        lines += [_page_row(facts) for facts in members]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _page_row(facts: OperatorFacts) -> str:
    if not facts.implemented:
        return f"| {facts.name} | {opsets_text(facts)} | not implemented | | | |"
    schema = f"../schemas/operators/{facts.type}-{facts.opset}.json"
    attributes = ", ".join(a.name if a.required else f"[{a.name}]" for a in facts.attributes)
    outputs = "any number" if any(port.variadic for port in facts.outputs) else str(len(facts.outputs))
    cells = (
        f"[{facts.name}](../{module_path(facts)})",
        opsets_text(facts),
        ", ".join(map(_input_name, facts.inputs)).replace("*", r"\*"),
        f"[{attributes.replace('[', chr(92) + '[').replace(']', chr(92) + ']')}]({schema})" if attributes else "",
        types_text(facts),
        outputs,
    )
    return f"| {' | '.join(cells)} |"
