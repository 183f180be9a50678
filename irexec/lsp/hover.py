"""The hover text at a position: of an operator, an attribute, a port, an edge or a constant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from irexec.core.diagnostics.render.markdown import code, prose
from irexec.core.structure import PARAMETER
from irexec.core.types import Array
from irexec.ir.document import Edge, Net
from irexec.lsp.analysis import Analysis
from irexec.lsp.complete import GRAMMAR_TEXTS, attribute_of, attribute_text, operator_of
from irexec.lsp.cursor import Cursor
from irexec.lsp.links import ends_of
from irexec.lsp.text_form import TextForm
from irexec.model.arrays.brief import shown, shown_number
from irexec.model.graph.build import declared_type
from irexec.model.graph.model import Node
from irexec.tools.catalog.documentation import page_address
from irexec.tools.catalog.facts import OperatorFacts, PortFacts
from irexec.tools.fixes.written import Owner
from irexec.tools.render.operators import opsets_text

_MOST_VALUES = 1 << 22
"""The number of values of a constant from which statistics are computed, because an editor waits for them."""


def hover(analysis: Analysis, cursor: Cursor | None, offset: int) -> str | None:
    """Return the Markdown text for a place; None if there is nothing to show."""
    if analysis.text_form is not None:
        return _text_form_hover(analysis, analysis.text_form, offset)
    if cursor is not None and cursor.element == "data" and cursor.attribute is not None:
        attribute = attribute_of(cursor.layer, cursor.attribute)
        if attribute is not None:
            return attribute_text(attribute)
    if (edge := analysis.edge_at(offset)) is not None:
        return _with_meaning(_edge_text(analysis, *edge), cursor)
    if (owner := analysis.port_at(offset)) is not None:
        return _with_meaning(_port_text(analysis, owner), cursor)
    if cursor is None or cursor.element not in ("layer", "data"):
        return _with_meaning(None, cursor)
    facts = operator_of(cursor.layer)
    place = analysis.layer_at(offset)
    node = analysis.nodes.get(place[0].at) if place is not None else None
    parts = [*([_operator_text(facts)] if facts is not None else []), *_node_texts(node), *_size_texts(analysis, node)]
    return _with_meaning("\n\n---\n\n".join(parts), cursor)


def _text_form_hover(analysis: Analysis, text: TextForm, offset: int) -> str | None:
    """Return the text for a layer's type or name, for an attribute, or for a name that is used."""
    place, line = text.at(offset), text.layer_at(offset)
    if place is None and line is not None:
        for name, value in line[1].attributes:
            if name.span.start <= offset <= value.span.stop:
                attribute = attribute_of(line[0].data, name.text)
                return None if attribute is None else attribute_text(attribute)
    entry = place.entry if place is not None else line[0] if line is not None else None
    if entry is None:
        return None
    node = analysis.nodes.get(entry.layer.at) if entry.layer is not None else None
    is_use = place is not None and place.span != entry.name.span
    facts = operator_of(entry.data)
    head = [code(text.line(entry))] if is_use else [_operator_text(facts)] if facts is not None else []
    return "\n\n---\n\n".join([*head, *_node_texts(node), *_size_texts(analysis, node)]) or None


def _with_meaning(text: str | None, cursor: Cursor | None) -> str | None:
    """Return a text, followed by the meaning of the attribute whose name is at the cursor."""
    known = cursor is not None and cursor.in_name and cursor.has_value
    meaning = GRAMMAR_TEXTS.get((cursor.element, cursor.attribute or "")) if known and cursor is not None else None
    parts = [text, f"`{cursor.attribute}`: {meaning}" if meaning and cursor is not None else None]
    return "\n\n---\n\n".join(filter(None, parts)) or None


def _operator_text(facts: OperatorFacts) -> str:
    head = f"**{facts.name}** (opset {opsets_text(facts)})"
    address = page_address(facts)
    lines = [head, "", facts.description.split("\n\n")[0]]
    if facts.inputs:
        lines += ["", f"inputs: {', '.join(map(_input_text, facts.inputs))}"]
    if facts.attributes:
        lines += ["", *(f"- {attribute_text(attribute)}" for attribute in facts.attributes)]
    if address is not None:
        lines += ["", f"[operation page]({address})"]
    return "\n".join(lines)


def _input_text(port: PortFacts) -> str:
    return f"`{port.name}`{' (optional)' if port.optional else ''}"


def _node_texts(node: Node | None) -> Iterator[str]:
    if node is None:
        return
    if node.constant is not None:
        yield _constant_text(node.constant)
    elif node.outputs:
        yield "outputs: " + ", ".join(f"`{value.type}`" for value in node.outputs)


def _size_texts(analysis: Analysis, node: Node | None) -> Iterator[str]:
    """Yield the sizes that a dynamic model accepts, at its inputs."""
    if node is None or node.type != PARAMETER or not node.outputs or not node.outputs[0].type.shape.is_dynamic:
        return
    if analysis.sizes:
        yield "accepted sizes\n\n" + "\n".join(f"- {prose(name)}: {code(text)}" for name, text in analysis.sizes)


def _constant_text(array: Array) -> str:
    """Return the shape, range, mean and first values of a constant."""
    text = f"`{list(array.shape)}` {code(shown(array[:8] if array.ndim else array, 72))}"
    flat = array.reshape(-1)[:_MOST_VALUES]
    if not flat.size or flat.dtype.kind in "TSUO":
        return text
    with np.errstate(all="ignore"):
        values = flat.astype(np.float64)
        finite = values[np.isfinite(values)]
    rows = {"min": finite.min(), "max": finite.max(), "mean": finite.mean()} if finite.size else {}
    numbers = [f"{name} {shown_number(float(value))}" for name, value in rows.items()]
    numbers += [f"{values.size - finite.size} not finite"] if finite.size < values.size else []
    numbers += [f"{int((values == 0).sum())} zeros"]
    of = "" if flat.size == array.size else f" (of the first {flat.size} values)"
    return f"{text}\n\n{', '.join(numbers)}{of}"


def _port_text(analysis: Analysis, owner: Owner) -> str:
    declared = declared_type(owner.port)
    inferred = analysis.type_of(owner)
    lines = [f"declared `{declared}`"]
    if inferred is not None:
        lines.append(f"inferred `{inferred}`")
    if owner.port.names:
        lines.append(f"names {prose(str(owner.port.names))}")
    return "  \n".join(lines)


def _edge_text(analysis: Analysis, edge: Edge, net: Net) -> str | None:
    source, target = ends_of(analysis, edge, net)
    lines = []
    for word, owner in (("from", source), ("to", target)):
        if owner is not None:
            inferred = analysis.type_of(owner)
            end = prose(f"{word} {owner.layer.ref} port {owner.port.id}")
            lines.append(f"{end}{f' `{inferred}`' if inferred else ''}")
    return "  \n".join(lines) or None
