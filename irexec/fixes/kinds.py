"""Fixes of a layer whose type cannot be right: the only type that the rest of the layer allows."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.diagnostics import Diagnostic, Fix, Safety
from irexec.fixes import spelling
from irexec.fixes.written import Written, number
from irexec.ir.document import Layer, Net

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
        safety = Safety.SAFE if type == "Const" else Safety.UNSAFE
        yield Fix(f'write type="{type}"', safety, tuple(edit for edit in edits if edit is not None))


def type_name(finding: Diagnostic, written: Written) -> Iterator[Fix]:
    """L004: set the type that the rest of the layer implies; otherwise the one with the most similar name."""
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
        return "Const"
    if not takes and set(layer.data) == _OF_PARAMETERS:
        return "Parameter"
    return "Result" if len(layer.inputs) == 1 and not gives and not layer.data else None
