"""Checks of operations with bodies: port maps and back edges refer to existing ports and layers, once, and in order."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from irexec.core.diagnostics.diagnostic import Severity
from irexec.core.diagnostics.findings import At
from irexec.core.forms import ID, SIGNED, read
from irexec.core.structure import IF, LOOP, PARAMETER, RESULT, TENSOR_ITERATOR
from irexec.ir.checks.scope import NetScope
from irexec.ir.document import BODIES, Layer, Net, PortMap
from irexec.ir.text import cut, listed, quoted

# The number of leading inputs that need no port map entry: trip count and condition.
_OWN_INPUTS = {TENSOR_ITERATOR: 0, "Subgraph": 0, LOOP: 2, IF: 1}
_PURPOSES = {"input": "current_iteration", "output": "execution_condition"}
# The fields that determine the meaning of a port map's entry: an exact duplicate in these is redundant but harmless.
_MEANING = ("internal_layer_id", "axis", "start", "end", "stride", "part_size", "purpose")
_INNER_TYPE = {"input": PARAMETER, "output": RESULT}


def bodies_of(layer: Layer) -> list[Net]:
    """Return the bodies of a layer, in file order."""
    return sorted((body for *_, body in layer.bodies), key=lambda body: body.at)


def check_bodies(layer: Layer, scope: NetScope) -> None:
    """Check a layer's port maps and back edges against its ports and its bodies. Layers without bodies are skipped."""
    type = _canonical(layer)
    pairs = BODIES.get(type, ())
    if not pairs:
        return
    for map_field, body_field in pairs:
        maps: tuple[PortMap, ...] | None = getattr(layer, map_field)
        body: Net | None = getattr(layer, body_field)
        for field, value in ((map_field, maps), (body_field, body)):
            if value is None:
                message = f"{layer.ref} has no <{field}>"
                scope.findings.add("B001", message, at=At(layer.at), layer=layer.ref)
        if body is not None:
            _check_pair(layer, maps or (), body, scope)
    _check_taken(layer, [getattr(layer, field) for field, _ in pairs], scope)
    if type == LOOP and layer.port_map is not None:
        _check_condition(layer, layer.port_map, scope)
    if type == IF and layer.then_port_map is not None and layer.else_port_map is not None:
        _check_branches(layer, layer.then_port_map, layer.else_port_map, scope)


def _canonical(layer: Layer) -> str:
    """Return the type of a layer as BODIES spells it, whatever its letter case in the file; "" for any other type."""
    folded = (layer.type or "").lower()
    return next((type for type in BODIES if type.lower() == folded), "")


def _check_pair(layer: Layer, maps: tuple[PortMap, ...], body: Net, scope: NetScope) -> None:
    inner = {number: item for item in reversed(body.layers) if (number := read(ID, item.id).value) is not None}
    mapped: dict[str, set[int]] = {"input": set(), "output": set()}
    for kind in ("input", "output"):
        seen: dict[int, PortMap] = {}
        for entry in maps:
            if entry.kind == kind:
                _check_external(entry, seen, layer, scope)
                _check_slice(entry, layer, scope)
                number = _inner(entry.internal_layer_id, At(entry.at, "internal_layer_id"), kind, inner, layer, scope)
                if number is not None:
                    mapped[kind].add(number)
    carried, renewed = _check_back_edges(layer, inner, mapped["input"], scope)
    same = _entered_whole(maps) - renewed
    for number, item in inner.items():
        if item.type == PARAMETER and number not in mapped["input"]:
            message = f"{item.ref} in the body of {layer.ref} receives no value"
            scope.findings.add("B011", message, at=At(item.at), layer=item.ref)
        elif item.type == RESULT and same and number not in mapped["output"] | carried:
            message = f"the value of {item.ref} in the body of {layer.ref} is not used"
            hint = "to pass the value to the next iteration, add an edge to <back_edges>"
            scope.findings.add("B006", message, at=At(item.at), layer=item.ref, hint=hint)


def _entered_whole(maps: tuple[PortMap, ...]) -> set[int | None]:
    """Return the body Parameters to which a map passes a whole value, which stays the same without a back edge."""
    entries = (entry for entry in maps if entry.kind == "input" and entry.axis is None and not entry.purpose)
    return {read(ID, entry.internal_layer_id).value for entry in entries}


def _check_external(entry: PortMap, seen: dict[int, PortMap], layer: Layer, scope: NetScope) -> None:
    at = At(entry.at, "external_port_id")
    number = scope.whole(
        entry.external_port_id, entry.at, "external_port_id", "B013", "external_port_id", signed=True, layer=layer
    )
    if entry.purpose is not None and entry.purpose not in ("", _PURPOSES[entry.kind]):
        scope.findings.add(
            "B012",
            f"{quoted(entry.purpose)} is not a valid purpose of an {entry.kind}",
            at=At(entry.at, "purpose"),
            layer=layer.ref,
            attribute="purpose",
            found=cut(entry.purpose),
            allowed=_PURPOSES[entry.kind],
        )
    if number is None:
        return
    first = seen.setdefault(number, entry)
    if first is not entry:
        same = all(getattr(first, name) == getattr(entry, name) for name in _MEANING)
        scope.findings.add(
            "B003",
            f"two {entry.kind} entries have external_port_id {number}; the second is ignored",
            severity=Severity.WARNING if same else None,
            at=at,
            layer=layer.ref,
            attribute="external_port_id",
            related=(("first occurrence", At(first.at, "external_port_id")),),
        )
    if number == -1 and _canonical(layer) != IF:
        return
    if entry.kind == "input":
        # An input is referred to by its position.
        known: Collection[int] = range(len(layer.inputs))
        code = "B004"
    else:
        # OpenVINO maps outputs by the order of these ids only, but every writer writes the port's id.
        known = scope.outputs(layer)
        code = "B014"
    if number not in known:
        # OpenVINO ignores some entries of an If for the port -1.
        details: dict[str, Any] = {"openvino": None} if number == -1 else {}
        scope.findings.add(
            code,
            f"{layer.ref} has no {entry.kind} port {number}",
            # The Model Optimizer numbered the outputs instead of writing their ids.
            severity=Severity.WARNING if code == "B014" and number < len(layer.outputs) else None,
            at=at,
            layer=layer.ref,
            attribute="external_port_id",
            found=str(number),
            allowed=listed(known) or f"the layer has no {entry.kind} ports",
            **details,
        )


def _inner(
    text: str | None, at: At, kind: str, inner: dict[int, Layer], layer: Layer, scope: NetScope, code: str = "B002"
) -> int | None:
    """Return the id of the body's Parameter or Result to which `text` refers."""
    name = str(at.attribute)
    number = scope.whole(text, at.element, name, "B013" if code == "B002" else code, name, layer=layer)
    if number is None:
        return None
    wanted, found = _INNER_TYPE[kind], inner.get(number)
    # OpenVINO accepts `Parameter` in any letter case, but a Result only with exactly this name.
    if found is not None and wanted in (found.type, PARAMETER if (found.type or "").lower() == "parameter" else ""):
        return number
    what = f"is {found.ref}, not a {wanted}" if found is not None else "does not exist"
    candidates = listed(number for number, item in inner.items() if item.type == wanted)
    scope.findings.add(
        code,
        f"layer {number} of the body {what}",
        at=at,
        layer=layer.ref,
        attribute=at.attribute,
        found=str(number),
        allowed=candidates or f"the body has no {wanted}",
    )
    return None


def _check_slice(entry: PortMap, layer: Layer, scope: NetScope) -> None:
    values: dict[str, int | None] = {}
    for name in ("axis", "start", "end", "stride", "part_size"):
        if (text := getattr(entry, name)) is not None:
            values[name] = scope.whole(text, entry.at, name, "B013", name, signed=True, layer=layer)
    for name, wrong in (("stride", values.get("stride") == 0), ("part_size", (values.get("part_size") or 1) < 1)):
        if wrong or values.get(name) == 0:
            message = (
                f"{name} is {values[name]}, expected {'a number other than 0' if name == 'stride' else 'at least 1'}"
            )
            scope.findings.add("B007", message, at=At(entry.at, name), layer=layer.ref, attribute=name)
    axis, rank = values.get("axis"), _rank(entry, layer, scope)
    if axis is None:
        return
    lowest = 0 if entry.kind == "input" else -rank if rank else None
    if (lowest is not None and axis < lowest) or (rank and axis >= rank):
        scope.findings.add(
            "B008",
            f"axis {axis} is out of range for the port's rank" + (f" {rank}" if rank else ""),
            at=At(entry.at, "axis"),
            layer=layer.ref,
            attribute="axis",
            found=str(axis),
            allowed=f"{lowest} to {rank - 1}" if rank else f"at least {lowest}",
        )


def _rank(entry: PortMap, layer: Layer, scope: NetScope) -> int | None:
    """Return the rank that the outer port declares; None without a declaration."""
    number = read(SIGNED, entry.external_port_id).value
    if number is None or number < 0:
        return None
    if entry.kind == "output":
        port = scope.outputs(layer).get(number)
    else:
        port = layer.inputs[number] if number < len(layer.inputs) else None
    return len(port.dims) or None if port is not None else None


def _check_back_edges(
    layer: Layer, inner: dict[int, Layer], entered: set[int], scope: NetScope
) -> tuple[set[int], set[int]]:
    """Check the back edges: they pass body Results to body Parameters of the next iteration."""
    carried: set[int] = set()
    renewed: set[int] = set()
    for edge in layer.back_edges or ():
        source = _inner(edge.from_layer, At(edge.at, "from-layer"), "output", inner, layer, scope, "B005")
        target = _inner(edge.to_layer, At(edge.at, "to-layer"), "input", inner, layer, scope, "B005")
        if source is not None:
            carried.add(source)
        if target is not None:
            renewed.add(target)
        if target is not None and target not in entered:
            message = f"the back edge ends at {inner[target].ref}, which has no port map entry"
            at = At(edge.at, "to-layer")
            scope.findings.add("B005", message, at=at, layer=layer.ref, attribute="to-layer")
    return carried, renewed


def _check_taken(layer: Layer, maps: list[tuple[PortMap, ...] | None], scope: NetScope) -> None:
    """Report the ports of the layer to which none of its maps refers, unless a map refers to a wrong port instead."""
    own = _OWN_INPUTS[_canonical(layer)]
    ports = {"input": dict(list(enumerate(layer.inputs))[own:]), "output": scope.outputs(layer)}
    for kind, known in ports.items():
        entries = [entry for entries in maps for entry in entries or () if entry.kind == kind]
        taken = {read(SIGNED, entry.external_port_id).value for entry in entries}
        if None in maps or None in taken or len(taken - {-1}) >= len(known):
            continue
        for number, port in known.items():
            if number not in taken:
                message = f"{kind} port {port.id} of {layer.ref} has no port map entry"
                scope.findings.add("B015", message, at=At(port.at), layer=layer.ref, port=port.id)


def _check_condition(layer: Layer, maps: tuple[PortMap, ...], scope: NetScope) -> None:
    if not any(entry.kind == "output" and entry.purpose == _PURPOSES["output"] for entry in maps):
        hint = 'add <output external_port_id="-1" internal_layer_id="..." purpose="execution_condition"/>'
        message = f"no port map entry of {layer.ref} selects the body Result that is the execution condition"
        scope.findings.add("B009", message, at=At(layer.at), layer=layer.ref, hint=hint)


def _check_branches(layer: Layer, then: tuple[PortMap, ...], other: tuple[PortMap, ...], scope: NetScope) -> None:
    def ports(maps: tuple[PortMap, ...]) -> list[int]:
        numbers = {read(SIGNED, entry.external_port_id).value for entry in maps if entry.kind == "output"}
        return sorted(number for number in numbers if number is not None and number >= 0)

    one, two = ports(then), ports(other)
    # OpenVINO uses only the order of the ids, so the ids of complete branches may differ.
    if one != two and not len(one) == len(two) >= len(layer.outputs):
        message = f"the branches of {layer.ref} have the outputs [{listed(one)}] and [{listed(two)}]"
        scope.findings.add("B010", message, at=At(layer.at), layer=layer.ref)
