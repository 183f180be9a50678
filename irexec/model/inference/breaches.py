"""Broken constraints as findings: with a code, the place in the file, and the constraint's number."""

from __future__ import annotations

import re
from typing import Any

from irexec.core.diagnostics.findings import At, Findings
from irexec.model.graph.model import Node
from irexec.ops.spec.operator import Breach, ConstraintError


def report_breach(node: Node, breach: Breach, findings: Findings) -> None:
    """Report a constraint that types or known extents break, at the port or attribute that the breach names."""
    details: dict[str, Any] = {k: getattr(breach, k) for k in ("attribute", "hint", "found", "allowed", "repair")}
    details |= {} if breach.openvino is None else {"openvino": breach.openvino}
    _report(node, breach.code, breach.message, breach.constraint, breach.port, findings, **details)


def report_constraint(node: Node, error: ConstraintError, findings: Findings, *, found: str | None = None) -> None:
    """Report a constraint that values break. `found`: the operator's inputs, unless the error states them."""
    details: dict[str, Any] = {"hint": error.hint, "found": found} | error.details
    _report(node, "O005", error.message, error.constraint, error.port, findings, **details)


def report_failure(node: Node, error: Exception, findings: Findings, *, found: str | None = None) -> None:
    """Report a kernel that raised an unexpected exception."""
    message = f"{node.ref} failed: {type(error).__name__}: {error}"
    _report(node, "O007", message, None, None, findings, found=found, hint=_raised_at(node, error))


def _raised_at(node: Node, error: Exception) -> str | None:
    """Return the last line of the kernel's file in the traceback of an exception, as text for a finding."""
    import inspect
    from traceback import extract_tb

    kernel = None if node.operator is None else inspect.unwrap(node.operator.kernel)
    file = getattr(getattr(kernel, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return f"raised at {file}:{lines[-1]}" if lines else None


def report_memory(node: Node, reason: object, findings: Findings, *, found: str | None = None) -> None:
    """Report a layer that needs more memory than is available, or than inference may use."""
    message = f"{node.ref} needs more memory than is available: {reason}"
    _report(node, "O011", message, None, None, findings, found=found)


def _report(
    node: Node,
    code: str,
    message: str,
    constraint: str | None,
    port: str | None,
    findings: Findings,
    *,
    attribute: str | None = None,
    **details: Any,
) -> None:
    if constraint is not None and node.operator is not None:
        constraint = f"{node.operator.versioned_name} {constraint}"
    if details.get("allowed") is not None:
        details["allowed"] = str(details["allowed"])
    at = place_of(node, port, attribute)
    where: dict[str, Any] = {"at": at, "layer": node.ref, "port": port, "attribute": attribute}
    whole = {"message": message, "constraint": constraint} | where | details
    findings.add(code, **whole | in_terms_of_file(node, message, port, attribute))


def in_terms_of_file(node: Node, message: str, port: str | None, attribute: str | None) -> dict[str, Any]:
    """Return the parts of a finding about a layer that was made from a node of another format, with the names of that
    node's inputs and attributes; the layer is named in a note. Empty for other layers.
    """
    origin = node.origin
    if origin is None or node.operator is None:
        return {}
    port_name = node.operator.signature.port_name
    ports = {port_name(index): name for index, name in enumerate(origin.inputs) if name is not None}
    if ports:
        words = "|".join(map(re.escape, ports))
        message = re.sub(rf"(?<![\w'])({words})(?![\w'])", lambda found: ports[found[1]], message)
    return {
        "message": message,
        "port": ports.get(port or ""),
        "attribute": attribute if attribute in origin.attributes else None,
        "constraint": None,
        "notes": (("layer of IR", f"{node.own_ref} ({node.version})"),),
    }


def place_of(node: Node, port: str | None, attribute: str | None) -> At | None:
    """Return the location of a port (by its name in the signature) or of an attribute of a node; without these, the
    location of its layer.
    """
    layer = node.layer
    if layer is None:
        return None
    if attribute is not None and attribute in layer.data:
        return At(layer.data_at, attribute)
    if port is not None and node.operator is not None:
        signature = node.operator.signature
        for index, written in enumerate(layer.inputs):
            name = signature.input(index).name if index < len(node.inputs) else None
            if port in (signature.port_name(index), name):
                return At(written.at)
    return At(layer.at)
