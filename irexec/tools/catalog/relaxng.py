"""The RELAX NG schema of the file format, including the attributes that each operator's signature declares."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from irexec.core.structure import RESULT
from irexec.core.types import FOREIGN, ElementType
from irexec.ir.document import BODIES
from irexec.ops.spec import contents
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import HasBodies
from irexec.tools.catalog.json_schema import operator_schema

# Patterns of the texts that the strict reader accepts. White space around a value is allowed (xsd:token).
INTEGER = "-?[0-9]{1,19}"
NATURAL = "[0-9]{1,19}"
POSITIVE = "0*[1-9][0-9]{0,18}"
EXPONENT = "([eE][\\-+]?[0-9]+)?"
UNSIGNED_NUMBER = f"([0-9]+\\.?[0-9]*|\\.[0-9]+){EXPONENT}"
POSITIVE_NUMBER = f"([0-9]*[1-9][0-9]*(\\.[0-9]*)?|[0-9]*\\.[0-9]*[1-9][0-9]*){EXPONENT}|inf"
DIMENSION = "(-1|\\?|[0-9]{1,19}|[0-9]{0,19}\\.\\.[0-9]{0,19})"


def list_of(item: str) -> str:
    """Return the pattern of any number of items between commas."""
    return f"(({item})( ?, ?({item}))*)?"


PATTERNS: dict[str, tuple[str, str]] = {
    "uint": ("an id or an offset", NATURAL),
    "integer": ("an integer", INTEGER),
    "natural": ("an integer of at least 0", NATURAL),
    "positive": ("an integer of at least 1", POSITIVE),
    "number": ("a floating-point number", f"-?({UNSIGNED_NUMBER}|inf|nan)"),
    "number-from-0": ("a floating-point number of at least 0", f"{UNSIGNED_NUMBER}|inf"),
    "number-above-0": ("a floating-point number greater than 0", POSITIVE_NUMBER),
    "integers": ("integers between commas", list_of(INTEGER)),
    "naturals": ("integers of at least 0 between commas", list_of(NATURAL)),
    "positives": ("integers of at least 1 between commas", list_of(POSITIVE)),
    "numbers": ("floating-point numbers between commas", list_of(f"-?({UNSIGNED_NUMBER}|inf|nan)")),
    "numbers-above-0": ("floating-point numbers greater than 0 between commas", list_of(POSITIVE_NUMBER)),
    "partial-shape": ("a partial shape, such as 1,3,?,1..10", f"\\.\\.\\.|\\[?{list_of(DIMENSION)}\\]?"),
    "dimension": ("an extent, or -1 for any", "-1|[0-9]{1,19}"),
}


_WIDTH = 100
_HEAD = f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!-- OpenVINO IR, version 10 and 11, with the attributes of every operator of opset1 to opset{contents.NEWEST}.
     Generated from the operators' signatures: irexec schema -->
<grammar xmlns="http://relaxng.org/ns/structure/1.0"
         xmlns:a="http://relaxng.org/ns/compatibility/annotations/1.0"
         datatypeLibrary="http://www.w3.org/2001/XMLSchema-datatypes">
"""


class _Entry(NamedTuple):
    """One operator of the table of contents; `operator` is None if it is not implemented."""

    type: str
    opset: int
    operator: Operator | None

    @property
    def name(self) -> str:
        return f"{self.type}-{self.opset}"


def ir_schema() -> str:
    """Return the RELAX NG schema of IR 10 and 11, in XML syntax."""
    entries = [_Entry(*entry) for entry in contents.everything()]
    parts = [_HEAD, _core(), _operators(entries), _text_forms(entries), "</grammar>\n"]
    return "\n".join(parts)


def _core() -> str:
    """Return the definitions of core.rng."""
    text = resources.files("irexec.tools.catalog").joinpath("core.rng").read_text("utf-8")
    return text.partition('structure/1.0">\n\n')[2].removesuffix("\n</grammar>\n")


def _operators(entries: list[_Entry]) -> str:
    lines = [
        "  <!-- Operators: the attributes and bodies of a layer, by its type and version -->",
        "",
        '  <define name="operator">',
        "    <choice>",
        *(f'      <ref name="{entry.name}"/>' for entry in entries),
        '      <ref name="extension"/>',
        "    </choice>",
        "  </define>",
        "",
    ]
    for entry in entries:
        lines += _define(entry)
    return "\n".join(lines)


def _define(entry: _Entry) -> Iterator[str]:
    yield f'  <define name="{entry.name}">'
    if entry.operator is not None and entry.operator.__doc__:
        summary = inspect.cleandoc(entry.operator.__doc__).split("\n\n")[0]
        text = f"<a:documentation>{escape(' '.join(summary.split()))}</a:documentation>"
        yield from (f"    {line}" for line in textwrap.wrap(text, _WIDTH, break_long_words=False))
    yield f'    <attribute name="type"><value>{entry.type}</value></attribute>'
    yield f'    <attribute name="version"><ref name="{_opsets_name(entry)}"/></attribute>'
    if entry.type == RESULT:
        yield '    <optional><attribute name="output_names"/></optional>'
    if entry.operator is None:
        yield '    <optional><ref name="any-data"/></optional>'
    elif HasBodies in entry.operator.traits:
        yield f'    <ref name="{"one-body" if len(BODIES[entry.type]) == 1 else "two-bodies"}"/>'
    else:
        yield from _data(entry.operator)
    yield "  </define>"
    yield ""


def _data(operator: Operator) -> Iterator[str]:
    if not operator.attributes:
        yield '    <optional><element name="data"><ref name="hints"/></element></optional>'
        return
    required = any(a.required for a in operator.attributes)
    indent = "    " if required else "      "
    if not required:
        yield "    <optional>"
    yield f'{indent}<element name="data">'
    properties = operator_schema(operator)["properties"]
    for attribute in operator.attributes:
        form = _form(properties[attribute.file_name])
        lines = _attribute(attribute.file_name, form)
        if not attribute.required:
            lines = _around("optional", lines)
        yield from (f"{indent}  {line}" for line in lines)
    yield f'{indent}  <ref name="hints"/>'
    yield f"{indent}</element>"
    if not required:
        yield "    </optional>"


def _attribute(name: str, form: str) -> list[str]:
    if not form:
        return [f'<attribute name="{name}"/>']
    return _around("attribute", _lines(form), f' name="{name}"')


def _around(tag: str, lines: list[str], attributes: str = "") -> list[str]:
    """Return an element that contains these lines, on one line if there is only one short line."""
    start, end = f"<{tag}{attributes}>", f"</{tag}>"
    if len(lines) == 1 and len(start) + len(lines[0]) + len(end) <= _WIDTH:
        return [f"{start}{lines[0]}{end}"]
    return [start, *(f"  {line}" for line in lines), end]


def _form(schema: dict[str, Any]) -> str:
    """Return the pattern for the text of an attribute, from its JSON Schema; empty for any text.

    A bound that has no pattern (at least 2, at most 1) is replaced by the nearest weaker bound.
    """
    if "anyOf" in schema:
        return _form(next(option for option in schema["anyOf"] if option.get("type") != "null"))
    members = [schema["const"]] if "const" in schema else schema.get("enum")
    if members is not None:
        return '<ref name="element-type"/>' if members == _element_types() else _choice(members)
    kind = schema["type"]
    if kind == "array" and "enum" in schema["items"]:
        pattern = list_of("|".join(schema["items"]["enum"]))
        return f'<data type="token"><param name="pattern">{pattern}</param></data>'
    if kind == "array":
        return f'<ref name="{_numeric(schema["items"], _LISTS)}"/>'
    if kind in ("integer", "number"):
        return f'<ref name="{_numeric(schema, _SINGLES)}"/>'
    if kind == "boolean":
        return '<ref name="boolean"/>'
    return '<ref name="partial-shape"/>' if "partial shape" in schema.get("description", "") else ""


_SINGLES = {"integer": ("integer", "natural", "positive"), "number": ("number", "number-from-0", "number-above-0")}
_LISTS = {"integer": ("integers", "naturals", "positives"), "number": ("numbers", "numbers", "numbers-above-0")}


def _numeric(schema: dict[str, Any], names: dict[str, tuple[str, str, str]]) -> str:
    any_value, from_zero, above_zero = names[schema["type"]]
    above = "exclusiveMinimum" in schema or (schema["type"] == "integer" and schema.get("minimum", 0) > 0)
    low = schema.get("minimum", schema.get("exclusiveMinimum", -1))
    return any_value if low < 0 else above_zero if above else from_zero


def _choice(members: list[str]) -> str:
    values = "".join(f"<value>{escape(member)}</value>" if member else "<value/>" for member in members)
    return f"<choice>{values}</choice>" if len(members) > 1 else values


def _lines(values: str) -> list[str]:
    """Return a choice of many values over several lines."""
    if len(values) <= _WIDTH or not values.startswith("<choice>"):
        return [values]
    items = values.removeprefix("<choice>").removesuffix("</choice>").replace("><value>", "> <value>")
    return ["<choice>", *(f"  {line}" for line in textwrap.wrap(items, _WIDTH, break_long_words=False)), "</choice>"]


@cache
def _element_types() -> list[str]:
    return sorted(name for name, kind in ElementType.by_name.items() if kind not in FOREIGN)


def _opsets(entry: _Entry) -> tuple[int, ...]:
    """Return the opsets in which the type means this operator."""
    return tuple(
        number for number in contents.OPSETS.values() if contents.introduced(entry.type, number) == entry.opset
    )


def _opsets_name(entry: _Entry) -> str:
    """Return `opsets-4-to-16`, or each number if the opsets are not consecutive."""
    numbers = _opsets(entry)
    in_a_row = len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1
    return f"opsets-{numbers[0]}-to-{numbers[-1]}" if in_a_row else "-".join(["opsets", *map(str, numbers)])


def _text_forms(entries: list[_Entry]) -> str:
    lines = ["  <!-- Values of version and precision -->", ""]
    for name, numbers in sorted({_opsets_name(e): _opsets(e) for e in entries}.items(), key=lambda item: item[1]):
        lines += _named(name, _choice([f"opset{number}" for number in numbers]))
    spellings = {s for t in ElementType.by_name.values() for s in (t.name, t.name.upper(), t.port_name)}
    precisions = sorted(s for s in spellings | {"bin", "undefined"} if ElementType.from_port(s) is not None)
    lines += _named("precision", _choice(precisions))
    lines += _named("element-type", _choice(_element_types()))
    lines += ["  <!-- Text forms -->", ""]
    lines += _named("boolean", _choice(["true", "false", "True", "False", "1", "0"]))
    for name, (what, pattern) in PATTERNS.items():
        lines += [f"  <!-- {what[0].upper()}{what[1:]} -->"]
        lines += [f'  <define name="{name}">', '    <data type="token">']
        lines += [f'      <param name="pattern">{pattern}</param>', "    </data>", "  </define>", ""]
    return "\n".join(lines)


def _named(name: str, pattern: str) -> list[str]:
    return [f'  <define name="{name}">', *(f"    {line}" for line in _lines(pattern)), "  </define>", ""]
