"""Comparison of the precisions and dims that a file declares at its ports with the inferred types."""

from __future__ import annotations

from typing import Any

from irexec.core.diagnostics import Severity
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.types import DYNAMIC, F16, F32, ElementType, PartialShape, TensorType
from irexec.ir.document import Layer, Port
from irexec.model.graph.build import declared_type
from irexec.model.graph.model import Node, Value
from irexec.model.inference.assumptions import Assumptions
from irexec.model.inference.inference import Inference, Types
from irexec.ops.spec.traits import Detection, Positions

DECLARED = frozenset({"P004", "P005", "E007", "E008"})
"""The codes of findings about declarations that differ from the inferred type."""


def check_inputs(node: Node, layer: Layer, inference: Inference, findings: Findings, assumptions: Assumptions) -> None:
    """Report every input port of a node's layer whose precision or dims differ from its input value's."""
    for value, port in zip(node.inputs, layer.inputs, strict=False):
        if value is None or (source := _port_of(value)) is None:
            continue
        # Fast path: nearly all ports have the same texts as their source.
        if port.dims != source.dims or port.precision != source.precision:
            with findings.assuming(assumptions.of.get(value.node)):
                is_inferred = value.node not in assumptions.declared
                _check_input(node, port, value, source, inference[value], findings, is_inferred)


def check_outputs(
    node: Node, layer: Layer, types: Types, findings: Findings, agreeing: set[tuple[TensorType, TensorType]]
) -> None:
    """Report every output port of a node's layer whose precision or dims differ from the inferred type.

    Inferred types of a layer with broken constraints are not compared. `agreeing`: pairs of a declared and an inferred
    type that were found equal before.
    """
    for value, port, inferred in zip(node.outputs, layer.outputs, types, strict=False):
        declared = value.declared
        if declared is None or (declared, inferred) in agreeing:
            continue
        if _check_output(node, port, value.index, declared, inferred, findings):
            agreeing.add((declared, inferred))


def _check_input(
    node: Node, port: Port, value: Value, source: Port, made: TensorType, findings: Findings, is_inferred: bool
) -> None:
    """Report an input port that differs from its producer's inferred type.

    Nothing is reported if the producer's port declares the same as this port: then the producer's declaration is wrong.
    A port without dims is not checked: it may be a scalar, have dynamic rank, or have been left out. `source`: the
    producer's port. `is_inferred`: False if `made` is only what the producer declares, so that either may be wrong.
    """
    taken, given = declared_type(port), value.declared or TensorType()
    details: dict[str, Any] = {"layer": node.ref, "port": port.id}
    verb = "produces" if is_inferred else "declares"
    kind = made.element_type if made.element_type is not DYNAMIC else given.element_type
    if not _same_kind(kind, taken.element_type) and (
        _same_kind(kind, given.element_type) or taken.element_type is not given.element_type
    ):
        findings.add(
            "E007",
            f"{value.node.ref} {verb} {kind}, but the port declares {taken.element_type}",
            at=At(port.at, "precision"),
            attribute="precision",
            found=port.precision,
            allowed=kind.port_name if is_inferred else None,
            related=(("the producer's port", At(source.at, "precision")),),
            **details,
        )
    shape = made.shape if made.rank is not None else given.shape
    if not taken.shape.compatible(shape) and (given.shape.compatible(shape) or not given.shape.compatible(taken.shape)):
        findings.add(
            "E008",
            f"{value.node.ref} {verb} {shape}, but the port declares {taken.shape}",
            at=At(port.at),
            found=str(taken.shape),
            allowed=str(shape) if is_inferred else None,
            related=(("the producer's port", At(source.at)),),
            **details,
        )


def _port_of(value: Value) -> Port | None:
    """Return the output port that declares the value."""
    layer, index = value.node.layer, value.index
    return layer.outputs[index] if layer is not None and index < len(layer.outputs) else None


def _check_output(
    node: Node, port: Port, index: int, declared: TensorType, inferred: TensorType, findings: Findings
) -> bool:
    """Report the differences between an output port and the inferred type; return True if they agree."""
    agrees = _same_kind(declared.element_type, inferred.element_type), declared.shape.compatible(inferred.shape)
    if all(agrees):
        return True
    details: dict[str, Any] = {"layer": node.ref, "port": port.id}
    if not agrees[0] and not _is_decompression(node, declared):
        found, allowed = port.precision or "", inferred.element_type.port_name
        message = f"output {index} is declared as {found}, but the operator produces {allowed}"
        severity = Severity.WARNING if _is_of_converters(node, index, declared) else None
        where = At(port.at, "precision")
        findings.add("P004", message, at=where, severity=severity, found=found, allowed=allowed, **details)
    if not agrees[1]:
        found, allowed = str(declared.shape), str(inferred.shape)
        message = f"output {index} is declared as {found}, but the operator produces {allowed}"
        where = _first_difference(port, declared.shape, inferred.shape)
        repair = {port.id or "": inferred.shape.to_shape()} if inferred.shape.is_static else None
        findings.add("P005", message, at=where, found=found, allowed=allowed, repair=repair, **details)
    return False


def _is_decompression(node: Node, declared: TensorType) -> bool:
    """Return True for a Convert of a compressed constant with the constant's type at its port.

    OpenVINO writes such a layer if the constant is a result: it stores the constant in f16, and declares f16 at both
    ports.
    """
    return "decompression_0" in node.rt_info and declared.element_type is F16


def _is_of_converters(node: Node, index: int, declared: TensorType) -> bool:
    """Return True for a precision that the Model Optimizer wrote whatever the operator produces: f32 for detections,
    and the type of the values for the positions of pooling.
    """
    if Detection in node.traits:
        return declared.element_type is F32
    return index == 1 and Positions in node.traits and node.outputs[0].declared == declared


def _same_kind(a: ElementType, b: ElementType) -> bool:
    """Return True if the element types are equal or one of them is dynamic."""
    return a is b or a is DYNAMIC or b is DYNAMIC


def _first_difference(port: Port, declared: PartialShape, inferred: PartialShape) -> At:
    """Return the first dim that differs, or the port if the ranks differ."""
    if declared.rank != inferred.rank or declared.rank is None:
        return At(port.at)
    wrong = next(i for i, (d, n) in enumerate(zip(declared, inferred, strict=True)) if not d.compatible(n))
    return At(port.dim_at(wrong), "#text") if wrong < len(port.dims) else At(port.at)
