"""Failures while running, as findings: which layer, its place, its inputs, the constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.diagnostics import Diagnostic, IRError, Report
from irexec.diagnostics.findings import At, Findings
from irexec.graph.model import Model, Node
from irexec.inference.breaches import place_of, report_breach, report_constraint, report_failure, report_memory
from irexec.ir.xml.source import Source
from irexec.ops.declare.capacity import is_too_large
from irexec.ops.declare.operator import Breach, ConstraintError
from irexec.types import TensorType


def findings_for(model: Model) -> Findings:
    """A collection that locates findings in the model's text. It reads the file again, which only failures pay for."""
    source: list[Source] = [] if model.source is None else [model.source]

    def locate(at: At) -> Any:
        if not source:
            source.append(Source.from_path(model.file or ""))
        return source[0].locate(at)

    return Findings(locate if source or model.file else None, file=model.file)


def failure(node: Node, error: Exception, inputs: Sequence[Any], model: Model) -> Report:
    """The report of a layer that failed on these inputs."""
    if isinstance(error, IRError):
        return error.report
    findings = findings_for(model)
    found = ", ".join(_shown(array) for array in inputs)
    if (lacking := _lacking(node, inputs)) is not None:
        error = ConstraintError("inputs", f"nothing is connected to {lacking}", port=lacking)
    if isinstance(error, ConstraintError):
        report_constraint(node, error, findings, found=found)
    elif is_too_large(error):
        report_memory(node, error, findings, found=found)
    else:
        report_failure(node, error, findings, found=found)
    return findings.report


def _lacking(node: Node, inputs: Sequence[Any]) -> str | None:
    """The first port that needs a value and has none: a layer in a body, whose edges may be wrong."""
    if node.operator is None:
        return None
    ports = (node.operator.signature.input(index) for index in range(len(inputs)))
    return next((p.name for p, given in zip(ports, inputs, strict=True) if given is None and not p.optional), None)


def too_large(node: Node, reason: object, model: Model) -> Report:
    """The report of a layer whose results, or their copies, are more than the memory holds."""
    findings = findings_for(model)
    report_memory(node, reason, findings)
    return findings.report


def broken_constraints(node: Node, breaches: Sequence[Breach], model: Model) -> Report:
    """The report of shapes or types that break an operator's constraints."""
    findings = findings_for(model)
    for breach in breaches:
        report_breach(node, breach, findings)
    return findings.report


def wrong_result(node: Node, index: int, expected: TensorType, result: Any, model: Model) -> Report:
    """The report of a result that differs from the inferred type, or from the type that the file declares."""
    findings = findings_for(model)
    declared = node.outputs[index].declared
    said, by = expected, "inference says"
    if isinstance(result, np.ndarray) and declared is not None and expected.shape.accepts(result.shape):
        said, by = declared, "the port declares"
    found = _shown(result)
    message = f"output {index} of {node.ref} is {found}; {by} {said}"
    findings.add("O006", message, at=place_of(node, None, None), layer=node.ref, found=found, allowed=str(said))
    return findings.report


def wrong_input(message: str, **details: Any) -> Diagnostic:
    """A caller's array that does not fit the model."""
    return Findings().add("O008", message, **details)


def _shown(array: Any) -> str:
    if isinstance(array, np.ndarray):
        return f"{array.dtype}{list(array.shape)}"
    return "nothing" if array is None else repr(array)
