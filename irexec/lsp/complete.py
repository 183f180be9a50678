"""Completion at a position: types, opsets, attributes and their values, precisions, ids of layers and ports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from irexec.core.types import DYNAMIC, ElementType
from irexec.ir.xml.events import Event, Span, attribute_texts, events
from irexec.lsp.cursor import Cursor
from irexec.ops.spec import contents
from irexec.ops.spec.attributes import attribute_text as value_text
from irexec.tools.catalog.documentation import page_address
from irexec.tools.catalog.facts import AttributeFacts, OperatorFacts, facts_of
from irexec.tools.render.operators import opsets_text

_GRAMMAR = {
    "layer": ("id", "name", "type", "version"),
    "port": ("id", "precision", "names"),
    "edge": ("from-layer", "from-port", "to-layer", "to-port"),
}
"""The attributes of elements whose attributes do not depend on the operator."""


GRAMMAR_TEXTS = {
    ("net", "name"): "the name of the model",
    ("net", "version"): "the version of the format; OpenVINO writes 11 and reads 10 and 11",
    ("layer", "id"): "the number of the layer in its net, which edges refer to",
    ("layer", "name"): "the friendly name of the layer",
    ("layer", "type"): "the operator",
    ("layer", "version"): "the opset that defines the operator, such as `opset15`",
    ("port", "id"): "the number of the port in its layer; the numbers of outputs continue those of inputs",
    ("port", "precision"): "the element type of the value, such as `FP32`, `I64` or `BOOL`",
    ("port", "names"): "the tensor names of an output, separated by commas",
    ("edge", "from-layer"): "the id of the layer that computes the value",
    ("edge", "from-port"): "the id of the output port of that layer",
    ("edge", "to-layer"): "the id of the layer that reads the value",
    ("edge", "to-port"): "the id of the input port of that layer",
}
"""The meaning of the attributes of the file format, by element and name."""


class Choice(NamedTuple):
    """A completion: the text that replaces `span`, with a short description."""

    text: str
    detail: str
    span: Span
    documentation: str = ""
    label: str = ""


def choices(text: str, cursor: Cursor | None) -> Iterator[Choice]:
    """Yield the completions at a position, without those already present."""
    if cursor is None:
        return
    if cursor.in_name:
        yield from _attributes(cursor)
    else:
        is_type = (cursor.element, cursor.attribute) == ("layer", "type")
        for value, detail in _values(text, cursor):
            yield Choice(value, detail, cursor.span, described(value) if is_type else "")


def types() -> Iterator[tuple[str, str]]:
    """Yield all types of layers with the opsets that contain them."""
    for type in contents.CONTENTS:
        facts = facts_of(type)
        yield type, f"opset {opsets_text(facts)}" if facts is not None else ""


def described(type: str) -> str:
    """Return the first paragraph about an operator, and its page."""
    facts = facts_of(type)
    if facts is None:
        return ""
    address = page_address(facts)
    page = f"\n\n[operation page]({address})" if address is not None else ""
    return f"**{facts.name}**\n\n" + facts.description.split("\n\n")[0] + page


def operator_of(layer: dict[str, str]) -> OperatorFacts | None:
    """Return the operator of a layer with these attributes, in its newest version if the layer's version does not
    exist; None if the type is missing or unknown.
    """
    type, version = layer.get("type", ""), layer.get("version", "")
    return facts_of(f"{type}-{version}") or facts_of(type) if type else None


def attribute_of(layer: dict[str, str], name: str) -> AttributeFacts | None:
    """Return an attribute of a layer's operator."""
    facts = operator_of(layer)
    return next((a for a in facts.attributes if a.name == name), None) if facts is not None else None


def _attributes(cursor: Cursor) -> Iterator[Choice]:
    for name in _GRAMMAR.get(cursor.element, ()):
        if name not in cursor.others:
            text = GRAMMAR_TEXTS.get((cursor.element, name), "")
            yield Choice(_written(cursor, name, ""), "", cursor.span, text, name)
    facts = operator_of(cursor.layer) if cursor.element == "data" else None
    for attribute in facts.attributes if facts is not None else ():
        if attribute.name not in cursor.others:
            initial = "" if attribute.default is None else value_text(attribute.default)
            detail = f"{attribute.type}, required" if attribute.required else attribute.type
            new = _written(cursor, attribute.name, initial)
            yield Choice(new, detail, cursor.span, attribute_text(attribute), attribute.name)


def _written(cursor: Cursor, name: str, value: str) -> str:
    return name if cursor.has_value else f'{name}="{value}"'


def _values(text: str, cursor: Cursor) -> Iterator[tuple[str, str]]:
    element, name = cursor.element, cursor.attribute or ""
    if (element, name) == ("layer", "type"):
        yield from types()
    elif (element, name) == ("layer", "version"):
        numbers = contents.opsets_with(contents.canonical_type(cursor.layer.get("type", "")) or "")
        for number in reversed(numbers or list(contents.OPSETS.values())):
            yield f"opset{number}", ""
    elif (element, name) == ("port", "precision"):
        for kind in ElementType.by_name.values():
            if kind is not DYNAMIC and ElementType.from_port(kind.port_name) is kind:
                yield kind.port_name, kind.name
    elif element == "data":
        attribute = attribute_of(cursor.layer, name)
        if attribute is not None:
            yield from ((value, "default" if value == attribute.default else "") for value in members(attribute))
    elif element == "edge" and name.endswith("-layer"):
        for layer, _ in _layers(text):
            yield layer.get("id", ""), f"{layer.get('type', '')} {layer.get('name', '')}".strip()
    elif element == "edge" and name.endswith("-port"):
        side = "output" if name == "from-port" else "input"
        yield from _port_ids(text, cursor.others.get(name.replace("port", "layer"), ""), side)


def members(attribute: AttributeFacts) -> list[str]:
    """Return the values that an attribute may have; an empty list if there are too many."""
    if attribute.type == "element type":
        return [kind.name for kind in ElementType.by_name.values() if ElementType.from_attribute(kind.name) is kind]
    return ["true", "false"] if attribute.type == "boolean" else attribute.values


def _layers(text: str) -> Iterator[tuple[dict[str, str], Event]]:
    """Yield the attributes of every layer, with its start tag. An unfinished tag is skipped."""
    position = 0
    while (start := text.find("<layer", position)) >= 0:
        comment = text.find("<!--", position, start)
        event = next(events(text, start if comment < 0 else comment), None)
        if event is None:
            return
        kind, begin, position, name = event
        if name == "layer" and kind in ("start", "empty"):
            yield dict(attribute_texts(text, begin, position)), event


def _port_ids(text: str, layer_id: str, side: str) -> Iterator[tuple[str, str]]:
    """Yield the id and the precision of each port on one `side` (input or output) of the first layer whose id is
    `layer_id`.
    """
    tag = next((tag for layer, tag in _layers(text) if layer.get("id") == layer_id), None)
    if tag is None or tag[0] == "empty":
        return
    within = ""
    for kind, start, stop, name in events(text, tag[2]):
        if kind == "end" and name == "layer":
            return
        if name in ("input", "output"):
            within = name if kind == "start" else ""
        elif name == "port" and within == side and kind in ("start", "empty"):
            port = dict(attribute_texts(text, start, stop))
            yield port.get("id", ""), port.get("precision", "")


def attribute_text(attribute: AttributeFacts) -> str:
    """Return the values of an attribute, as one line of Markdown."""
    values = f": {', '.join(f'`{value}`' for value in attribute.values)}" if attribute.values else ""
    default = "required" if attribute.required else "optional"
    if not attribute.required and attribute.default is not None:
        default = f"default `{value_text(attribute.default)}`"
    return f"`{attribute.name}`: {attribute.type}{values}; {default}"
