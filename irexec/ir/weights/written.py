"""The attributes of a Const: its element type, its shape, and the location of its bytes in the weights."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from irexec.core.diagnostics.findings import At, Findings
from irexec.core.diagnostics.nearest import suggestion
from irexec.core.diagnostics.statements import READS_START
from irexec.core.forms import BLANKS, I64, ID, digits, read, read_list
from irexec.core.types import DYNAMIC, ElementType
from irexec.ir.document import Layer
from irexec.ir.element_names import suggested_element_types
from irexec.ir.text import cut, quoted


def plain_constant(data: dict[str, str]) -> dict[str, Any] | None:
    """Return the attributes of a Const by name if each has the form that converters write; otherwise None."""
    if len(data) != 4:
        return None
    try:
        element_type, shape = ElementType.from_attribute(data["element_type"]), _plain_shape(data["shape"])
        offset, size = digits(data["offset"]), digits(data["size"])
    except KeyError:
        return None
    if element_type in (None, DYNAMIC) or offset is None or size is None or shape is None:
        return None
    return {"element_type": element_type, "shape": shape, "offset": offset, "size": size}


@lru_cache(maxsize=1 << 10)
def _plain_shape(text: str) -> tuple[int, ...] | None:
    extents = [digits(part.strip(BLANKS)) for part in text.split(",")] if text else []
    return None if None in extents else tuple(extent for extent in extents if extent is not None)


def read_constant(layer: Layer, findings: Findings) -> dict[str, Any] | None:
    """Return the attributes of a Const by name, in any form; None, with findings, if one cannot be read."""
    if "value" in layer.data:
        message = "the attribute 'value' does not set the value of the constant"
        hint = "the bytes of a constant are stored in the .bin file"
        findings.add("C006", message, at=At(layer.data_at, "value"), layer=layer.ref, attribute="value", hint=hint)
    found = {
        "element_type": _element_type(layer, findings),
        "shape": _shape(layer, findings),
        "offset": _number("offset", layer, findings),
        "size": _number("size", layer, findings),
    }
    return None if None in found.values() else found


def _element_type(layer: Layer, findings: Findings) -> ElementType | None:
    text = layer.data.get("element_type", "")
    kind = ElementType.from_attribute(text)
    if kind is not None and kind is not DYNAMIC:
        return kind
    known = tuple(name for name in suggested_element_types(text) if name != DYNAMIC.name)
    _refuse("element_type", "an element type other than dynamic", layer, findings, known)
    return None


def _shape(layer: Layer, findings: Findings) -> tuple[int, ...] | None:
    text = layer.data.get("shape", "?")
    reading = read_list(I64, text)
    # A comma at the end leaves the shape unambiguous.
    is_trailing = reading.strict is None and reading.openvino == read_list(I64, text.rstrip(" ,")).strict
    extents = reading.openvino if is_trailing else reading.strict
    if extents is None or min(extents, default=0) < 0:
        read = reading.strict is None and reading.openvino is not None and min(reading.openvino, default=0) >= 0
        _refuse("shape", "comma-separated extents such as 1, 3", layer, findings, says=READS_START if read else None)
        return None
    if is_trailing:
        message, at = f"the list {quoted(text)} has a trailing comma", At(layer.data_at, "shape")
        findings.add("D006", message, at=at, layer=layer.ref, attribute="shape", found=cut(text))
    return tuple(extents)


def _number(name: str, layer: Layer, findings: Findings) -> int | None:
    text = layer.data.get(name)
    reading = read(ID, text)
    if text is None or reading.value is None:
        _refuse(name, "an unsigned integer of at most 63 bits", layer, findings)
        return None
    if reading.strict is None:
        number = str(reading.value)
        message = f"{name} of the constant is written as {quoted(text)} instead of {number}"
        details: dict[str, Any] = {"found": cut(text), "allowed": number, "candidates": (number,)}
        findings.add("N010", message, at=At(layer.data_at, name), layer=layer.ref, attribute=name, **details)
    return reading.value


def _refuse(
    name: str, wanted: str, layer: Layer, findings: Findings, known: tuple[str, ...] = (), says: str | None = None
) -> None:
    """Report an attribute that is missing or cannot be read; `known` are the values that may be intended."""
    at = At(layer.data_at if layer.data_at >= 0 else layer.at, name)
    text = layer.data.get(name)
    details: dict[str, Any] = {"at": at, "layer": layer.ref, "attribute": name, "allowed": wanted}
    if text is None:
        advice = None
        if "value" in layer.data and name in ("offset", "size"):
            advice = (
                "append the bytes of the value to the .bin file (numpy.ndarray.tofile) and set their offset and size"
            )
        correction = findings.corrections.get(layer.at)
        if correction is None or name not in correction.renamed:
            findings.add("C001", f"the constant has no {name}", hint=advice, **details)
        return
    if says is not None:
        details["openvino"] = says
    message = f"{name} of the constant is {quoted(text)}, expected {wanted}"
    hint = suggestion(map(repr, known))
    findings.add("C012", message, found=cut(text), hint=hint, candidates=known, **details)
