"""Fixes of what is not there: ids, names and versions that have one possible answer, and ids of ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count, pairwise

from irexec.diagnostics import Diagnostic, Fix, Safety
from irexec.diagnostics.nearest import nearest
from irexec.ir.document import Layer, Net, Port
from irexec.ir.text import name_list
from irexec.ir.xml.positions import Span
from irexec.mend import spelling
from irexec.mend.written import Written, number
from irexec.ops.declare import contents

_IN_ALL_MODELS = ("Parameter", "Const", "Result")
"""The operators that no extension replaces."""
_NEWEST_IR = "11"
_OWN_OPSET = re.compile(r"[A-Za-z_][\w.:/-]*")
"""A version that may name the operation set of an extension."""


def ir_version(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N002: the newest version. Another one that is written may mean another grammar."""
    version = written.document.net.version
    safety = Safety.SAFE if version is None or not version.strip() else Safety.UNSAFE
    if (edit := written.set_attribute(0, "version", _NEWEST_IR)) is not None:
        yield Fix(f'write version="{_NEWEST_IR}"', safety, (edit,))


def layers(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """N007: the `<layers>` around the layers that stand in `<net>` itself, side by side."""
    root, text = written.positions.tag(0), written.text
    first, last = text.find("<layer "), text.rfind("</layer>")
    if root is None or "<layers" in text or not root.stop <= first < last or text[root.stop : first].strip():
        return
    stop = last + len("</layer>")
    if "<edges" not in text[:stop]:
        blanks = text[written.before_blanks(first) : first]
        edits = (written.edit(Span(first, 0), f"<layers>{blanks}"), written.edit(Span(stop, 0), f"{blanks}</layers>"))
        yield Fix("add <layers>", Safety.UNSAFE, edits)


def newer_ir(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """R007: IR 11, which reads it. IR 10 also names inputs and outputs after layers; in IR 11 ports say all names."""
    net = written.document.net
    safety = Safety.SAFE if all(_is_named(layer, port) for layer, port in _ends(net, written)) else Safety.UNSAFE
    if (edit := written.set_attribute(0, "version", _NEWEST_IR)) is not None:
        yield Fix(f'write version="{_NEWEST_IR}"', safety, (edit,))


def _ends(net: Net, written: Written) -> Iterator[tuple[Layer, Port]]:
    """The ports of a model that its inputs and outputs are, with their layers."""
    for layer in net.layers:
        for port in layer.outputs if layer.type == "Parameter" else ():
            yield layer, port
        for port in layer.inputs if layer.type == "Result" else ():
            giver = written.ports.get(written.given_by.get(port.at, -1))
            if giver is not None:
                yield giver.layer, giver.port


def _is_named(layer: Layer, port: Port) -> bool:
    """Whether a port has the name that IR 10 gives it."""
    return layer.name in name_list(port.names or "")


def identity(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L001, L010: a layer's id, name or version."""
    if finding.at is None or finding.at.element not in written.layers:
        return
    layer, net = written.layers[finding.at.element]
    if any(nearest(other, [finding.attribute or ""], 1, 0.75) for other in layer.other or ()):
        return  # It is there, and misspelt.
    if finding.attribute == "id":
        found = written.shared("free id", net, lambda: _free_id(net))
    elif finding.attribute == "name":
        found = _free_name(layer, net, written)
    elif finding.attribute == "version":
        yield from _version(layer, written)
        return
    else:
        return
    if found is not None and (edit := written.set_attribute(layer.at, finding.attribute, found)) is not None:
        yield Fix(f'write {finding.attribute}="{found}"', Safety.SAFE, (edit,))


def _free_id(net: Net) -> str | None:
    """The one id that edges name and no layer has, where this is the only layer without; any other where none is."""
    ids = [number(other.id) for other in net.layers]
    known, named = set(ids), _ids_astray(net)
    if ids.count(None) != 1 or len(named) > 1:
        return None
    return str(named.pop()) if named else str(max((id for id in known if id is not None), default=-1) + 1)


def _ids_astray(net: Net) -> set[int]:
    """The ids that edges name and no layer has."""
    named = {id for edge in net.edges for text in (edge.from_layer, edge.to_layer) if (id := number(text)) is not None}
    return named - {number(layer.id) for layer in net.layers}


def other_identity(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L002: of two layers with one id, the one that keeps the ids ascending gets the id that only edges name."""
    if finding.at is None or finding.at.element not in written.layers:
        return
    layer, net = written.layers[finding.at.element]
    astray = written.shared("ids astray", net, lambda: _ids_astray(net))
    if len(astray) != 1:
        return
    (id,) = astray
    alike = [other for other in net.layers if number(other.id) == number(layer.id)]
    fitting = [other for other in alike if _ascend(net.layers, other, id)]
    if len(fitting) == 1 and (edit := written.set_attribute(fitting[0].at, "id", str(id))) is not None:
        yield Fix(f'write id="{id}" in {fitting[0].ref}', Safety.SAFE, (edit,))


def _free_name(layer: Layer, net: Net, written: Written) -> str:
    """The type with the id, and a number where another layer has that name."""
    names = written.shared("names", net, lambda: {other.name for other in net.layers})
    name = f"{layer.type or 'layer'}_{layer.id or ''}".rstrip("_")
    return next(text for text in chain([name], (f"{name}_{n}" for n in count(1))) if text not in names)


def other_version(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L005: the opset that introduced the operator, where there is only one; else the opset that is meant."""
    layer, _ = written.layers.get(finding.at.element, (None, None)) if finding.at is not None else (None, None)
    if layer is None:
        return
    may_be_own = layer.type not in _IN_ALL_MODELS and _OWN_OPSET.fullmatch(layer.version or "")
    fixes = [] if may_be_own else list(_version(layer, written))
    if finding.candidates and not any(fix.safety is Safety.SAFE for fix in fixes):
        fixes = list(spelling.other_value(finding, written))
    yield from fixes


def _version(layer: Layer, written: Written) -> Iterator[Fix]:
    """The opset that introduced the operator; of several versions the newest, which may compute something else."""
    canonical = contents.canonical_type(layer.type or "")
    if canonical is None or canonical not in contents.CONTENTS:
        return
    versions = contents.CONTENTS[canonical][1]
    text = f"opset{versions[-1]}"
    if (edit := written.set_attribute(layer.at, "version", text)) is not None:
        yield Fix(
            f'write version="{text}"',
            Safety.SAFE if len(versions) == 1 or layer.type in _IN_ALL_MODELS else Safety.UNSAFE,
            (edit,),
        )


def port_id(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P001, P013: the id that edges name and no port of the side has; else the next one that is free."""
    owner = written.ports.get(finding.at.element) if finding.at is not None else None
    if owner is None:
        return
    layer, net = owner.layer, owner.net
    ports = layer.outputs if owner.is_output else layer.inputs
    named = written.ports_named(net).get((owner.is_output, number(layer.id)), set())
    missing = named - {number(port.id) for port in ports}
    lacking = [port for place, port in enumerate(ports) if _is_lacking(port, ports[:place])]
    if len(missing) > 1 or (missing and len(lacking) > 1):
        return
    found = missing.pop() if missing else _next_free(layer, ports, owner.port)
    # Of two ports with one id, the one that has to be another is the one that keeps the ids ascending.
    own_id = number(owner.port.id)
    alike = [port for port in ports if port is owner.port or (own_id is not None and number(port.id) == own_id)]
    fitting = [port for port in alike if _ascend(ports, port, found)]
    if len(fitting) == 1 and (edit := written.set_attribute(fitting[0].at, "id", str(found))) is not None:
        yield Fix(f'write id="{found}"', Safety.SAFE, (edit,))


def _ascend(entries: Sequence[Port] | Sequence[Layer], renamed: Port | Layer, id: int) -> bool:
    """Whether ids ascend with this one in place of that of an entry; entries without an id may be any."""
    ids = [id if entry is renamed else number(entry.id) for entry in entries]
    known = [other for other in ids if other is not None]
    return all(before < behind for before, behind in pairwise(known))


def _is_lacking(port: Port, before: tuple[Port, ...]) -> bool:
    """True for a port without an id of its own."""
    id = number(port.id)
    return id is None or any(number(other.id) == id for other in before)


def _next_free(layer: Layer, ports: tuple[Port, ...], port: Port) -> int:
    """The number behind that of the port before, or the next that no port of the layer has."""
    taken = {number(other.id) for other in (*layer.inputs, *layer.outputs) if other is not port}
    place = next(index for index, other in enumerate(ports) if other is port)
    before = number(ports[place - 1].id) if place else None
    first = before + 1 if before is not None else 0 if ports is layer.inputs else len(layer.inputs)
    return next(id for id in count(first) if id not in taken)
