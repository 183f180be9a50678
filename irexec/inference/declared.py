"""Declared against inferred: the precisions and dims that a file writes at output ports."""

from __future__ import annotations

from functools import partial

from irexec.diagnostics.findings import At, Findings
from irexec.graph.model import Node
from irexec.types import DYNAMIC, ElementType, PartialShape, TensorType


def check_declared(node: Node, findings: Findings) -> None:
    """Report every output port whose precision or dims are not what the operator makes."""
    layer = node.layer
    if layer is None:
        return
    for value, port in zip(node.outputs, layer.outputs, strict=False):
        declared, inferred = value.declared, value.type
        if declared is None:
            continue
        kinds = {declared.element_type, inferred.element_type}
        if DYNAMIC not in kinds and len(kinds) == 2:
            found, allowed = port.precision or "", inferred.element_type.port_name
            message = f"output {value.index} is declared {found}; the operator makes {allowed}"
            findings.add(
                "P004",
                message,
                at=At(port.at, "precision"),
                layer=layer.ref,
                port=port.id,
                found=found,
                allowed=allowed,
            )
            # The other ends of its edges may be right: then it is not they that differ.
            findings.explain("E007", At(port.at, "precision"), partial(_is_type, inferred))
        if not declared.shape.compatible(inferred.shape):
            found, allowed = str(declared.shape), str(inferred.shape)
            message = f"output {value.index} is declared {found}; the operator makes {allowed}"
            where = _first_difference(node, value.index)
            findings.add("P005", message, at=where, layer=layer.ref, port=port.id, found=found, allowed=allowed)
            findings.explain("E008", At(port.at), partial(_is_shape, inferred))


def _is_type(inferred: TensorType, precision: str) -> bool:
    return ElementType.from_port(precision) is inferred.element_type


def _is_shape(inferred: TensorType, dims: str) -> bool:
    # Beyond a few extents the text of a finding is cut.
    return "..." not in dims and PartialShape.parse(dims).compatible(inferred.shape)


def _first_difference(node: Node, index: int) -> At:
    """The first dim that differs, or the port when the ranks do."""
    assert node.layer is not None
    port, value = node.layer.outputs[index], node.outputs[index]
    declared, inferred = value.declared.shape if value.declared else value.type.shape, value.type.shape
    if declared.rank != inferred.rank or declared.rank is None:
        return At(port.at)
    wrong = next(i for i, (d, n) in enumerate(zip(declared, inferred, strict=True)) if not d.compatible(n))
    return At(port.dim_at(wrong), "#text") if wrong < len(port.dims) else At(port.at)
