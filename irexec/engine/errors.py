"""Failures while running, as findings: which layer, its place, its inputs, the constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.diagnostics import Diagnostic, IRError, Report
from irexec.diagnostics.findings import At, Findings
from irexec.graph.model import Node
from irexec.inference.infer import place_of
from irexec.ir.xml.source import Source
from irexec.ops.declare.operator import ConstraintError


def findings_for(file: str | None) -> Findings:
    """Findings that are located in a file; the file is read again, for this happens once in the life of a failure."""
    source: list[Source] = []

    def locate(at: At) -> Any:
        if not source:
            source.append(Source.from_path(file or ""))
        return source[0].locate(at)

    return Findings(locate if file else None, file=file)


def failure(node: Node, error: BaseException, inputs: Sequence[Any], file: str | None) -> Report:
    """The report of a layer that could not be run on these inputs."""
    if isinstance(error, IRError):
        return error.report
    findings = findings_for(file)
    shown = ", ".join(_shown(a) for a in inputs)
    if isinstance(error, ConstraintError):
        constraint = f"{node.operator.versioned_name} {error.constraint}" if node.operator else error.constraint
        details = {"found": shown} | error.details
        findings.add(
            "O005",
            error.message,
            at=place_of(node, error.port, None),
            layer=node.ref,
            constraint=constraint,
            port=error.port,
            hint=error.hint,
            **details,
        )
    elif isinstance(error, MemoryError):
        message = f"{node.ref} needs more memory than there is: {error}"
        findings.add("O007", message, at=place_of(node, None, None), layer=node.ref, found=shown)
    else:
        message = f"{node.ref} failed: {type(error).__name__}: {error}"
        findings.add("O007", message, at=place_of(node, None, None), layer=node.ref, found=shown)
    return findings.report


def wrong_result(node: Node, index: int, result: Any, file: str | None) -> Report:
    """The report of a result that is not what the model says."""
    findings = findings_for(file)
    expected, found = str(node.outputs[index].type), _shown(result)
    message = f"output {index} of {node.ref} is {found}; the model says {expected}"
    findings.add("O006", message, at=place_of(node, None, None), layer=node.ref, found=found, allowed=expected)
    return findings.report


def wrong_input(message: str, **details: Any) -> Diagnostic:
    """A caller's array that does not fit the model."""
    return Findings().add("O008", message, **details)


def _shown(array: Any) -> str:
    return (
        f"{array.dtype}{list(array.shape)}"
        if isinstance(array, np.ndarray)
        else "nothing"
        if array is None
        else repr(array)
    )
