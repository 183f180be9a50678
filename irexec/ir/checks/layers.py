"""Checks of layers and their ports: identity, names, precisions, dims."""

from __future__ import annotations

import re
from typing import Any

from irexec.core.diagnostics.deadline import watched
from irexec.core.diagnostics.findings import At
from irexec.core.diagnostics.nearest import suggestion
from irexec.core.diagnostics.statements import IF_NEEDED
from irexec.core.forms import EXTENT, INT64_MAX, read
from irexec.core.structure import RESULT
from irexec.core.types import ElementType
from irexec.core.types.shape import product_within
from irexec.ir.checks.scope import NetScope
from irexec.ir.document import Layer, Port
from irexec.ir.element_names import PRECISIONS, suggested_precisions
from irexec.ir.text import cut, listed, name_list, quoted

_FIRST_OUTPUT_NAMES = 11
_SAFE_BITS = 56
_EMPTY_NAME = r"^,|(?<!\\),(?:,|$)"
_UNUSUAL_IN_NAMES = re.compile(r"[\\\s]|,,|^,|,$|^$")


def check_layers(scope: NetScope, version: int) -> None:
    """Check every layer of a net separately and its ports; fill `scope.by_id`."""
    names: dict[str, Layer] = {}
    tensor_names: dict[str, Port] = {}
    sound, ascending = scope.sound, scope.ascending
    for layer in watched(scope.net.layers, "checking the grammar"):
        _identity(layer, scope)
        if layer.name:
            first = names.setdefault(layer.name, layer)
            # A Result may repeat a name: models name it after the layer that it returns.
            if first is not layer and RESULT not in (layer.type, first.type):
                scope.findings.add(
                    "L003",
                    f"layer {first.id} has the same name {layer.name!r}",
                    at=At(layer.at, "name"),
                    layer=layer.ref,
                    attribute="name",
                    related=(("the other layer", At(first.at, "name")),),
                )
        if layer.output_names is not None:
            _output_names(layer, version, scope)
        for port in layer.inputs:
            if (port.precision, port.dims) not in sound:
                _port(port, layer, scope, is_output=False)
        for port in layer.outputs:
            if (port.precision, port.dims) not in sound:
                _port(port, layer, scope, is_output=True)
            if port.names is not None:
                _names(port, port.names, layer, tensor_names, scope)
        for ports in (layer.inputs, layer.outputs):
            if ports and (ids := tuple([port.id for port in ports])) not in ascending:
                _port_ids(ids, ports, layer, scope)


def _identity(layer: Layer, scope: NetScope) -> None:
    if layer.name is None or not layer.type or not layer.version:
        _lacking(layer, scope)
    if layer.id is None:
        scope.findings.add("L001", "the layer has no id", at=At(layer.at), layer=layer.ref, attribute="id")
        scope.broken.add(layer.at)
        return
    number = scope.number(layer.id)
    if number is None:
        number = scope.whole(layer.id, layer.at, "id", "L010", "the layer's id", layer=layer)
        if number is None:
            return
    first = scope.by_id.setdefault(number, layer)
    if first is not layer:
        scope.broken |= {first.at, layer.at}
        scope.findings.add(
            "L002",
            f"{first.ref} has the same id {number}",
            at=At(layer.at, "id"),
            layer=layer.ref,
            attribute="id",
            related=(("the other layer", At(first.at, "id")),),
        )


def _lacking(layer: Layer, scope: NetScope) -> None:
    """Report a missing name, type or version, and an empty type or version."""
    for name in ("name", "type", "version"):
        value = getattr(layer, name)
        if value is None or (value == "" and name != "name"):
            what = "has no" if value is None else "has an empty"
            details: dict[str, Any] = {} if value is None else {"openvino": IF_NEEDED}
            scope.findings.add(
                "L001", f"the layer {what} {name}", at=At(layer.at, name), layer=layer.ref, attribute=name, **details
            )


def _output_names(layer: Layer, version: int, scope: NetScope) -> None:
    at = At(layer.at, "output_names")
    if layer.type != RESULT:
        message = f"output_names has an effect on Result layers only, not on {layer.type}"
        scope.findings.add("L011", message, at=at, layer=layer.ref, attribute="output_names")
    elif version < _FIRST_OUTPUT_NAMES:
        message = f"output_names is supported since IR version {_FIRST_OUTPUT_NAMES}"
        scope.findings.add("L011", message, at=at, layer=layer.ref, attribute="output_names")
    _name_list(layer.output_names or "", at, layer, scope)


def _port(port: Port, layer: Layer, scope: NetScope, *, is_output: bool) -> None:
    element_type = None if port.precision is None else ElementType.from_port(port.precision)
    if element_type is None:
        _no_precision(port, layer, scope, is_output=is_output)
    extents = _extents(port, layer, scope)
    # Fast path: the product cannot overflow when rank times bits of the largest extent is small.
    if extents and len(extents) * max(extents).bit_length() > _SAFE_BITS and 0 not in extents:
        bits = element_type.bitwidth if element_type is not None and element_type.bitwidth else 8
        count = product_within((extent for extent in extents if extent > 0), INT64_MAX * 8 // bits)
        # The same shape repeats along edges and through layers: report its first occurrence only.
        if count is None and extents not in scope.too_large:
            scope.too_large.add(extents)
            message = "the size of the port's tensor in bytes exceeds 64 bits"
            found = f"[{listed(extents)}]"
            scope.findings.add("P011", message, at=At(port.at), layer=layer.ref, port=port.id, found=found)
    elif extents is not None and element_type is not None:
        scope.sound.add((port.precision, port.dims))


def _no_precision(port: Port, layer: Layer, scope: NetScope, *, is_output: bool) -> None:
    """Report a precision that is missing or is not an element type; it is optional for an input port."""
    at = At(port.at, "precision")
    if port.precision is None:
        if is_output:
            scope.findings.add("P003", "the output port has no precision", at=at, layer=layer.ref, port=port.id)
        return
    meant = suggested_precisions(port.precision)
    scope.findings.add(
        "P003" if is_output else "P010",
        f"{quoted(port.precision)} is not a precision",
        at=at,
        layer=layer.ref,
        port=port.id,
        attribute="precision",
        found=cut(port.precision),
        allowed=", ".join(PRECISIONS),
        hint=suggestion(meant),
        candidates=meant,
    )


def _extents(port: Port, layer: Layer, scope: NetScope) -> tuple[int, ...] | None:
    """Return the extents of a port; None if one of them is not well-formed."""
    known = scope.clean_dims.get(port.dims)
    if known is None:
        extents = [scope.number(text) for text in port.dims]
        if None in extents:
            places = [At(port.dim_at(n), "#text") for n in range(len(port.dims))]
            extents = [_extent(text, at, port, layer, scope) for text, at in zip(port.dims, places, strict=True)]
        known = tuple(extent for extent in extents if extent is not None)
        if len(known) < len(extents):
            return None
        scope.clean_dims[port.dims] = known
    return known


def _extent(text: str, at: At, port: Port, layer: Layer, scope: NetScope) -> int | None:
    """Return the extent in a dim's text; None, with a finding, if it is not a valid extent."""
    reading = read(EXTENT, text)
    if reading.strict is None:
        readable = reading.openvino is not None
        scope.findings.add(
            "P006" if readable else "P009",
            f"{quoted(text.strip())} is not a valid extent"
            + (f"; OpenVINO reads {reading.openvino}" if readable else ""),
            at=at,
            layer=layer.ref,
            port=port.id,
            found=cut(text.strip()),
            allowed="-1 or an integer from 0 to 2^63-2",
            candidates=(str(reading.openvino),) if readable else (),
            hint="write -1 for a dynamic dimension" if text.strip() in ("?", "", "-2") else None,
        )
    return reading.strict


def _port_ids(ids: tuple[str | None, ...], ports: tuple[Port, ...], layer: Layer, scope: NetScope) -> None:
    seen: dict[int, Port] = {}
    last, ascending = -1, True
    for port in ports:
        number = scope.whole(port.id, port.at, "id", "P001", "the port's id", layer=layer)
        if number is None:
            continue
        if number in seen:
            scope.findings.add(
                "P013",
                f"port id {number} is used by two ports",
                at=At(port.at, "id"),
                layer=layer.ref,
                port=port.id,
                related=(("first occurrence", At(seen[number].at, "id")),),
            )
        elif number < last and ascending:
            ascending = False
            scope.findings.add(
                "P002",
                f"port {number} follows port {last}; operands are assigned in file order, not by port id",
                at=At(port.at, "id"),
                layer=layer.ref,
                port=port.id,
            )
        seen.setdefault(number, port)
        last = max(last, number)
    if not ascending or len(seen) < len(ports):
        scope.unordered.add(layer.at)
    elif all(id in scope.numbers for id in ids):
        scope.ascending.add(ids)


def _names(port: Port, text: str, layer: Layer, tensor_names: dict[str, Port], scope: NetScope) -> None:
    """Check the tensor names of a port; report names that another port has as well."""
    for name in _plain_names(text) or _name_list(text, At(port.at, "names"), layer, scope, port.id):
        first = tensor_names.setdefault(name, port)
        if first is not port:
            scope.findings.add(
                "P012",
                f"another port has the same tensor name {name!r}",
                at=At(port.at, "names"),
                layer=layer.ref,
                port=port.id,
                attribute="names",
                related=(("the other port", At(first.at, "names")),),
            )


def _plain_names(text: str) -> list[str] | None:
    """Return the names in a list of the usual form; None for a list that needs the detailed checks."""
    if _UNUSUAL_IN_NAMES.search(text):
        return None
    names = text.split(",")
    return names if len(names) == 1 or len(set(names)) == len(names) else None


def _name_list(text: str, at: At, layer: Layer, scope: NetScope, port: str | None = None) -> list[str]:
    """Return the names in a list; report empty names, repeated names, and blanks around names."""
    names = name_list(text)
    odd = []
    if re.search(_EMPTY_NAME, text):
        odd.append("an empty name")
    if len(set(names)) != len(names):
        odd.append("a repeated name")
    if any(name != name.strip() for name in names):
        odd.append("blanks before or after a name")
    if odd:
        message = f"the list of names contains {' and '.join(odd)}"
        scope.findings.add("P008", message, at=at, layer=layer.ref, port=port, attribute=at.attribute, found=cut(text))
    return list(dict.fromkeys(names))
