"""Showing the operator set: as a list, one operator in full, and the status page in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from irexec.ir.text import cut
from irexec.tools.catalog.documentation import page_address
from irexec.tools.catalog.facts import AttributeFacts, OperatorFacts, PortFacts, module_path

_TITLES = {"condition": "Conditions and selection", "type": "Types", "signals": "Signals", "sort": "Sorting"}


def list_text(rows: Sequence[OperatorFacts]) -> str:
    """Return a line for each operator, and the number of implemented operators."""
    if not rows:
        return "all operators are implemented\n"
    head = ("OPERATOR", "OPSETS", "INPUTS", "ATTRIBUTES", "ELEMENT TYPES")
    table = [head, *(_row(facts) for facts in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return "\n".join([*lines, "", count_text(rows)]) + "\n"


def count_text(rows: Sequence[OperatorFacts]) -> str:
    """Return a line with the number of implemented operators."""
    done = sum(facts.implemented for facts in rows)
    return f"{done} of {len(rows)} operators are implemented."


def _row(facts: OperatorFacts) -> tuple[str, ...]:
    if not facts.implemented:
        return (facts.name, opsets_text(facts), "not implemented", "", "")
    inputs = cut(", ".join(map(_input_name, facts.inputs)), 44)
    attributes = cut(", ".join(a.name if a.required else f"[{a.name}]" for a in facts.attributes), 44)
    return (facts.name, opsets_text(facts), inputs, attributes, cut(types_text(facts), 40))


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


def operator_text(facts: OperatorFacts) -> str:
    """Return everything about one operator."""
    lines = [f"{facts.name} (opset {opsets_text(facts)})"]
    if len(facts.versions) > 1:
        others = [f"{facts.type}-{v.removeprefix('opset')}" for v in facts.versions if v != facts.opset]
        lines += [f"other versions: {', '.join(others)}"]
    if not facts.implemented:
        return "\n".join([*lines, "", "not implemented", ""])
    lines += ["", facts.description, "", "inputs:", *_table(map(_port_row, facts.inputs))]
    lines += ["", "attributes:", *_table(map(_attribute_row, facts.attributes))]
    lines += ["", "outputs:", *_table(map(_port_row, facts.outputs))]
    lines += ["", f"tolerance: {facts.tolerance}", f"source: {module_path(facts)}"]
    lines += [f"page: {page}"] if (page := page_address(facts)) is not None else []
    return "\n".join([*lines, ""])


def _port_row(port: PortFacts) -> tuple[str, ...]:
    how = "any number" if port.variadic else "optional" if port.optional else ""
    return (port.name, port.group or "", port.types, how)


def _attribute_row(attribute: AttributeFacts) -> tuple[str, ...]:
    kind = f"{attribute.type} {', '.join(attribute.values)}" if attribute.values else attribute.type
    return (attribute.name, kind, "required" if attribute.required else _default_text(attribute.default))


def _default_text(default: object) -> str:
    if default is None:
        return "optional"
    text = str(default).lower() if isinstance(default, bool) else "an empty list" if default == [] else str(default)
    return f"default {text or repr(text)}"


def _table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    found = list(rows)
    if not found:
        return ["  none"]
    widths = [max(len(row[column]) for row in found) for column in range(len(found[0]))]
    return ["  " + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in found]


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
