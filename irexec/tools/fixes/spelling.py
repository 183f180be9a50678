"""Fixes of spelling: types, versions, attributes and their values, elements, numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from irexec.core.diagnostics import Diagnostic, Fix, Safety
from irexec.core.diagnostics.fix import Edit
from irexec.core.diagnostics.nearest import clearest
from irexec.core.types import ElementType, PartialShape
from irexec.frontends.pages.repairs.grammar import NAMES
from irexec.ir.document import Layer
from irexec.ir.xml.events import Span
from irexec.model.graph.bind import OTHER_ENDS
from irexec.model.graph.unknown_attributes import is_leftover
from irexec.ops.spec import contents
from irexec.ops.spec.attributes import Unreadable
from irexec.tools.fixes.written import Written

_OTHER_SHAPE = re.compile(r"\s*+(?:[({\[]\s*+)?-?\d++(?:(?:\s*+[,x×]\s*+|\s++)-?\d++)*+\s*+(?:,\s*+)?(?:[)}\]]\s*+)?")

BOTH_PADS = {"padding": False, "pad": False, "pads": True}
"""Other frameworks' names for the pads on both sides; True: all the pads at the beginning come first, then all at the
end (ONNX)."""


def value(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N010, C004, D003, D008: write the same value in its correct form."""
    yield from _write(finding, written, Safety.SAFE)


def element_type(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """D010: write the element type's own name, or the element type with the most similar name."""
    is_other_name = ElementType.meant_by(finding.found or "") is not None
    yield from _write(finding, written, Safety.SAFE if is_other_name else Safety.UNSAFE)


def other_value(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """D005, L005: write the value that is clearly intended; of several candidates, each is a suggestion."""
    yield from _write(finding, written, Safety.UNSAFE)


def type_case(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L009: write the type as an IR spells it.

    Some readers treat a `Constant` as an operation other than `Const`, and accept only one spelling for the inputs and
    results of a model.
    """
    is_safe = finding.layer is not None and finding.layer.type.lower() != "constant"
    is_safe = is_safe and OTHER_ENDS.keys().isdisjoint(finding.candidates)
    yield from _write(finding, written, Safety.SAFE if is_safe else Safety.UNSAFE)


def type_name(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L004: write the intended type if one is clearly the most similar; otherwise suggest the candidates."""
    yield from _write(finding, written, Safety.UNSAFE)


def opset(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L006: write an opset that contains the type."""
    yield from _write(finding, written, Safety.UNSAFE)


def boolean(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """D004: write a boolean without the surrounding blanks, because of which OpenVINO uses the default."""
    if finding.at is None or finding.attribute is None:
        return
    text = (finding.found or "").strip().lower()
    meant = {"yes": "true", "on": "true", "no": "false", "off": "false"}.get(text, text)
    if meant in ("true", "false", "1", "0"):
        safety = Safety.SAFE if _is_default(meant, finding.attribute, finding, written) else Safety.UNSAFE
        yield from written.write(finding.at.element, finding.attribute, meant, safety)


def trailing_comma(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """D006: remove the comma after a list's last item, which all readers ignore."""
    text = (finding.found or "").rstrip()
    if finding.at is None or finding.attribute is None or not text.endswith(","):
        return
    items = text[:-1]
    if items.strip() and all(item.strip() for item in items.split(",")):
        yield from written.write(finding.at.element, finding.attribute, items, Safety.SAFE, "remove the last comma")


def separators(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """S006: rewrite a shape in the notation of other languages, `(1, 3)`, `1x3` or `1 3`, which no reader accepts."""
    if finding.at is None or finding.attribute is None or not _OTHER_SHAPE.fullmatch(finding.found or ""):
        return
    shape = ",".join(re.findall(r"-?\d+", finding.found or ""))
    yield from written.write(finding.at.element, finding.attribute, shape, Safety.SAFE)


def brackets(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """S004: remove the brackets of a shape."""
    if finding.at is None or finding.attribute is None or finding.at.element not in written.layers:
        return
    layer, _ = written.layers[finding.at.element]
    shape = PartialShape.parse(layer.data[finding.attribute]).to_string()
    yield from written.write(finding.at.element, finding.attribute, shape, Safety.SAFE)


def attribute_name(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """D001, N005: write the intended attribute, if there is one and it is not present as well; remove an attribute that
    converters left from all layers.

    Results do not change if the value is the attribute's default, which applied until then.
    """
    at, name = finding.at, finding.attribute
    if at is None or name is None:
        return
    layer, _ = written.layers.get(at.element, (None, None))
    if finding.code == "N005" and layer is not None and at.element == layer.at and _has_attribute(layer, name):
        yield Fix(f"move {name} to <data>", Safety.UNSAFE, tuple(written.move_to_data(layer, name)))
        return
    if finding.code == "D001" and (edits := _leftovers(name, layer, written)):
        yield Fix(f"remove {name}" + (f" from {len(edits)} layers" if len(edits) > 1 else ""), Safety.SAFE, edits)
        return
    if (both := BOTH_PADS.get(name)) is not None and not finding.candidates and layer is not None:
        yield from _both_pads(layer, name, both, written)
    if len(finding.candidates) != 1:
        return
    new = finding.candidates[0]
    if (edit := written.rename_attribute(at.element, name, new)) is not None:
        is_default = finding.found is not None and _is_default(finding.found, new, finding, written)
        yield Fix(f"rename {name} to {new}", Safety.SAFE if is_default else Safety.UNSAFE, (edit,))


def _leftovers(name: str, first: Layer | None, written: Written) -> tuple[Edit, ...]:
    """Return edits that remove a leftover from all layers; an empty tuple if the attribute of the first is none."""
    if first is None or not _is_leftover(first, name):
        return ()
    layers = {layer.data_at: layer for layer, _ in written.layers.values() if name in layer.data}
    edits = (written.drop_attribute(at, name) for at, layer in layers.items() if _is_leftover(layer, name))
    return tuple(edit for edit in edits if edit is not None)


def _is_leftover(layer: Layer, name: str) -> bool:
    operator = contents.find(contents.canonical_type(layer.type or "") or "", layer.version or "")
    return operator is not None and is_leftover(operator, name, layer.data[name])


def _has_attribute(layer: Layer, name: str) -> bool:
    operator = contents.find(contents.canonical_type(layer.type or "") or "", layer.version or "")
    return operator is not None and name not in layer.data and any(a.file_name == name for a in operator.attributes)


def _both_pads(layer: Layer, name: str, halves: bool, written: Written) -> Iterator[Fix]:
    """Rewrite the pads of another framework, one list for both ends or for each, as pads_begin and pads_end."""
    operator = contents.find(layer.type or "", layer.version or "")
    names = {a.file_name for a in operator.attributes} if operator is not None else set()
    place = written.positions.written(layer.data_at, name)
    if place is None or not {"pads_begin", "pads_end"} <= names - layer.data.keys():
        return
    values = layer.data[name].split(",")
    half = len(values) // 2 if halves else 0
    begin, end = ",".join(values[: half or None]), ",".join(values[half:])
    edit = written.edit(place.whole, f'pads_begin="{begin}" pads_end="{end}"')
    yield Fix(f"write pads_begin and pads_end for {name}", Safety.UNSAFE, (edit,))


def _is_default(text: str, name: str, finding: Diagnostic, written: Written) -> bool:
    """Return True if a text is the default value of an attribute of the finding's layer."""
    layer, _ = written.layers.get(finding.at.element if finding.at else -1, (None, None))
    operator = contents.find(layer.type or "", layer.version or "") if layer is not None else None
    attribute = next((a for a in operator.attributes if a.file_name == name), None) if operator is not None else None
    if attribute is None or attribute.required or attribute.differs:
        return False
    try:
        return bool(attribute.read(text) == attribute.default)
    except Unreadable:
        return False


def repeated_attribute(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """X003: remove the second of two attributes with the same name, which readers ignore."""
    if finding.line is None or finding.column is None:
        return
    start = written.positions.offset(finding.line, finding.column)
    element = written.positions.element_at(start)
    for attribute in written.positions.attributes(element) if element is not None else ():
        if attribute.value.start == start:
            yield Fix(f"remove the second {attribute.name}", Safety.SAFE, (written.drop_written(attribute),))


def hyphens(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """X012: separate the hyphens of a comment by blanks."""
    if finding.line is None or finding.column is None:
        return
    at = written.positions.offset(finding.line, finding.column)
    start = written.text.index("<!--", max(0, written.text.rfind("-->", 0, at))) + 4
    comment = Span(start, written.text.index("-->", at) - start)
    text = re.sub("-(?=-)|-$", "- ", written.text[comment.start : comment.stop])
    yield Fix("separate the hyphens", Safety.SAFE, (written.edit(comment, text),))


def element_name(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N004: write the intended element; an element of the grammar in a wrong place is not a misspelling."""
    tag = written.positions.tag(finding.at.element) if finding.at is not None else None
    is_known = tag is not None and written.text[tag.start + 1 : tag.stop].split()[0].rstrip("/>") in NAMES
    if finding.at is not None and len(finding.candidates) == 1 and not is_known:
        new = finding.candidates[0]
        yield Fix(f"write <{new}>", Safety.UNSAFE, tuple(written.rename_element(finding.at.element, new)))


def second_section(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N003: remove the second of two sections, which readers ignore; the fix is safe if both are equal."""
    extent = written.positions.extent(finding.at.element) if finding.at is not None else None
    first = finding.related[0].place if finding.related else None
    if extent is None or finding.at is None or first is None or first.line is None or first.column is None:
        return
    text = written.text[extent.start : extent.stop]
    is_same = written.text.startswith(text, written.positions.offset(first.line, first.column))
    if (edit := written.drop_element(finding.at.element)) is not None:
        yield Fix("remove the second element", Safety.SAFE if is_same else Safety.UNSAFE, (edit,))


def root_name(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N009: write the root in lower case."""
    yield Fix("write <net>", Safety.SAFE, tuple(written.rename_element(0, "net")))


def idle_attribute(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L011, C006: remove an attribute that has no meaning. OpenVINO ignores the bytes of a constant with `value`."""
    if finding.at is None or finding.attribute is None:
        return
    layer, _ = written.layers.get(finding.at.element, (None, None))
    if finding.code == "C006" and layer is not None and "offset" not in layer.data:
        return  # Without `offset`, this attribute alone defines the constant.
    if (edit := written.drop_attribute(finding.at.element, finding.attribute)) is not None:
        safety = Safety.UNSAFE if finding.code == "C006" else Safety.SAFE
        yield Fix(f"remove {finding.attribute}", safety, (edit,))


def _write(finding: Diagnostic, written: Written, safety: Safety) -> Iterator[Fix]:
    """Set the attribute to the intended value; if there are several candidates, suggest each of them."""
    at, name = finding.at, finding.attribute
    if at is None or name is None:
        return
    clear = clearest(list(finding.candidates), finding.found or _text(finding, written))
    for candidate in [clear] if clear else finding.candidates:
        yield from written.write(at.element, name, candidate, safety if clear else Safety.SUGGESTION)


def _text(finding: Diagnostic, written: Written) -> str:
    """Return the text of the attribute that a finding is about."""
    assert finding.at is not None
    span = written.positions.attribute(finding.at.element, finding.attribute or "")
    return "" if span is None else written.text[span.start : span.stop]
