"""Findings for failures at run time, with the layer, its location, its inputs and the broken constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics import Diagnostic, IRError, Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import TensorType
from irexec.model.graph.model import Model, Node
from irexec.model.inference.breaches import place_of, report_breach, report_constraint, report_failure, report_memory
from irexec.ops.spec.capacity import is_too_large
from irexec.ops.spec.operator import Breach, ConstraintError


def findings_for(model: Model) -> Findings:
    """Return an empty collection of findings, which locates the findings added to it in the model's text."""
    return Findings(None if model.source is None else model.source.locate, file=model.file)


def failure(node: Node, error: Exception, inputs: Sequence[Any], model: Model) -> Report:
    """Return the report of a layer that failed on these inputs."""
    if isinstance(error, IRError):
        return error.report
    findings = findings_for(model)
    found = ", ".join(_shown(array) for array in inputs)
    if (lacking := _lacking(node, inputs)) is not None:
        error = ConstraintError("inputs", f"{lacking} is not connected", port=lacking)
    if isinstance(error, ConstraintError):
        report_constraint(node, error, findings, found=found)
    elif is_too_large(error):
        report_memory(node, error, findings, found=found)
    else:
        report_failure(node, error, findings, found=found)
    return findings.report


def _lacking(node: Node, inputs: Sequence[Any]) -> str | None:
    """Return the first required port without a value, as may occur in a body with wrong edges; None if all have
    values.
    """
    if node.operator is None:
        return None
    ports = (node.operator.signature.input(index) for index in range(len(inputs)))
    return next((p.name for p, given in zip(ports, inputs, strict=True) if given is None and not p.optional), None)


def too_large(node: Node, reason: object, model: Model) -> Report:
    """Return the report of a layer whose results, or copies of them, do not fit into memory."""
    findings = findings_for(model)
    report_memory(node, reason, findings)
    return findings.report


def broken_constraints(node: Node, breaches: Sequence[Breach], model: Model) -> Report:
    """Return the report of shapes or element types that break an operator's constraints."""
    findings = findings_for(model)
    for breach in breaches:
        report_breach(node, breach, findings)
    return findings.report


def wrong_result(node: Node, index: int, expected: TensorType, result: Any, model: Model) -> Report:
    """Return the report of a result that differs from the inferred type or from the type declared in the file."""
    findings = findings_for(model)
    declared = node.outputs[index].declared
    text, by = expected, "the inferred type is"
    if isinstance(result, np.ndarray) and declared is not None and expected.shape.accepts(result.shape):
        text, by = declared, "the port declares"
    found = _shown(result)
    message = f"output {index} of {node.ref} is {found}; {by} {text}"
    findings.add("O006", message, at=place_of(node, None, None), layer=node.ref, found=found, allowed=str(text))
    return findings.report


def wrong_input(message: str, **details: Any) -> Diagnostic:
    """Return the error for a caller's array that does not fit the model."""
    return Findings().add("O008", message, **details)


def _shown(array: Any) -> str:
    if isinstance(array, np.ndarray):
        return f"{array.dtype}{list(array.shape)}"
    return "nothing" if array is None else repr(array)
