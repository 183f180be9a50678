"""Fixes of declarations: dims and precisions of ports, which runtimes ignore, and the only possible type of a layer."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.diagnostics import Diagnostic, Fix, Safety
from irexec.core.diagnostics.nearest import clearest
from irexec.core.structure import CONST, PARAMETER, RESULT
from irexec.core.types import DYNAMIC, PartialShape, UnreadableShape
from irexec.ir.document import Layer, Net, Port
from irexec.model.graph.build import declared_type
from irexec.tools.fixes import spelling
from irexec.tools.fixes.written import Written, number


def precision(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P004, E007: declare the precision of the value that the port carries, at both ends of its edges."""
    kind = finding.allowed
    if finding.at is None or kind is None:
        return
    ports = [port for port in _with_takers(finding.at.element, written) if port.precision not in (None, kind)]
    edits = [written.set_attribute(port.at, "precision", kind) for port in ports]
    yield Fix(f"declare {kind}", Safety.SAFE, tuple(edit for edit in edits if edit is not None))


def shape(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P005, E008: declare the shape of the value that the port carries, at both ends of its edges."""
    if finding.at is None or finding.allowed is None:
        return
    try:
        inferred = PartialShape.parse(finding.allowed)
    except UnreadableShape:  # The shape has a dimension that no file can declare.
        return
    if inferred.rank is None:
        return
    dims = [extent.min if extent.min == extent.max else -1 for extent in inferred]
    # A port without dims declares no shape, and need not declare one.
    ports = [
        port
        for port in _with_takers(finding.at.element, written)
        if port.dims and not declared_type(port).shape.compatible(inferred)
    ]
    edits = [written.set_dims(port, dims) for port in ports]
    if all(edits):
        yield Fix(f"declare {inferred}", Safety.SAFE, tuple(edit for part in edits for edit in part))


def missing_precision(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P003, P010: declare the precision of the value; if that is unknown, the precisions that the text suggests."""
    if finding.at is None:
        return
    giver = written.given_by.get(finding.at.element, finding.at.element)
    made = written.made.get(giver)
    if made is not None and made.element_type is not DYNAMIC:
        kinds: tuple[str, ...] = (made.element_type.port_name,)
    else:
        clear = clearest(list(finding.candidates), finding.found or "")
        kinds = (clear,) if clear else finding.candidates
    for kind in kinds:
        safety = Safety.SAFE if len(kinds) == 1 else Safety.SUGGESTION
        yield from written.write(finding.at.element, "precision", kind, safety, f"declare {kind}")


def dim(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P006: write the number that OpenVINO reads."""
    if finding.at is not None and finding.candidates:
        number = finding.candidates[0]
        if (edit := written.set_text(finding.at.element, number)) is not None:
            yield Fix(f"write {number}", Safety.SAFE, (edit,))


def _with_takers(element: int, written: Written) -> list[Port]:
    """Return the port of an element, and the ports at the end of its edges."""
    owner = written.ports.get(element)
    return [] if owner is None else [owner.port, *written.taken_by.get(owner.port.at, ())]


_OF_CONSTANTS = {"element_type", "shape", "offset", "size"}
_OF_PARAMETERS = {"element_type", "shape"}


def implied_type_fixes(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """P007: set the only operator that has these ports and attributes."""
    if finding.at is None:
        return
    owner = written.ports.get(finding.at.element)
    layer, net = (owner.layer, owner.net) if owner else written.layers.get(finding.at.element, (None, None))
    if layer is None or net is None:
        return
    type = _implied_type(layer, net, written)
    if type is None or type == layer.type:
        return
    edits = [written.set_attribute(layer.at, name, text) for name, text in (("type", type), ("version", "opset1"))]
    if None not in edits:
        # If nothing depends on the layer, its type does not affect a runtime, unless it adds an input or a result.
        safety = Safety.SAFE if type == CONST else Safety.UNSAFE
        yield Fix(f'write type="{type}"', safety, tuple(edit for edit in edits if edit is not None))


def type_name(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L004: set the type that the rest of the layer implies; otherwise the type with the most similar name."""
    fixes = list(implied_type_fixes(finding, written))
    yield from fixes or spelling.type_name(finding, written)


def opset(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L006: set the type that the rest of the layer implies; otherwise an opset that contains the type."""
    fixes = list(implied_type_fixes(finding, written))
    yield from fixes or spelling.opset(finding, written)


def _implied_type(layer: Layer, net: Net, written: Written) -> str | None:
    """Return the type that the rest of a layer implies: only one operator reads weights, starts or ends a model."""
    ports, id = written.ports_named(net), number(layer.id)
    takes, gives = bool(layer.inputs or ports.get((False, id))), bool(layer.outputs or ports.get((True, id)))
    if not takes and set(layer.data) == _OF_CONSTANTS:
        return CONST
    if not takes and set(layer.data) == _OF_PARAMETERS:
        return PARAMETER
    return RESULT if len(layer.inputs) == 1 and not gives and not layer.data else None
