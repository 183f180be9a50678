"""Compares results with the page: declared shapes and precisions, documented values."""

from __future__ import annotations

from typing import Any

from irexec.core.diagnostics import Severity
from irexec.core.diagnostics.findings import At, Findings
from irexec.core.types import DYNAMIC, Array, ElementType, PartialShape
from irexec.frontends.pages.complete import listed_array
from irexec.frontends.pages.documented import compare
from irexec.frontends.pages.example import Example, ExampleOutput, output_name
from irexec.model.arrays.brief import plural, shown, shown_shape
from irexec.model.graph.build import declared_type
from irexec.ops.spec.checks import Checks
from irexec.ops.spec.oracle import Open


def judge(example: Example, left_open: Open | None, findings: Findings) -> None:
    """Compare the outputs of an example that ran; `left_open` describes elements that the page does not define."""
    for index, output in enumerate(example.outputs):
        if output.array is not None:
            _check_shape(index, output, output.array, example, findings)
        _compare(index, output, example, findings, left_open if index == 0 else None)


def _check_shape(index: int, output: ExampleOutput, result: Array, example: Example, findings: Findings) -> None:
    """Report a result whose shape differs from the declared one, if inference could not determine it."""
    declared = output.declared.shape
    if output.port is None or declared.accepts(result.shape) or not declared.compatible(output.type.shape):
        return
    found, allowed = shown_shape(result.shape), str(declared)
    message = f"{output_name(example, index)} has shape {found}; the port declares {allowed}"
    port = output.port.port
    severity = Severity.NOTE if example.chance else None
    where: dict[str, Any] = {"at": At(port.at), "layer": example.layer, "port": port.id}
    findings.add("O006", message, severity=severity, found=found, allowed=allowed, **where)


def _compare(index: int, output: ExampleOutput, example: Example, findings: Findings, left_open: Open | None) -> None:
    port = output.port
    if port is None or port.listed is None or output.array is None:
        return
    kind: ElementType = output.type.element_type
    shape = declared_type(port.port).shape if port.port.dims else PartialShape.dynamic()
    name = output_name(example, index)
    where: dict[str, Any] = {"place": port.place, "layer": example.layer, "port": port.port.id}
    documented = listed_array(port, kind, shape, name, example.snippet, findings)
    if documented is None:
        return
    computed = output.array
    if documented.size != computed.size:
        if example.chance:
            return
        message = f"{name} documents {plural(documented.size, 'value')}, but the operator computes {computed.size}"
        output.documented, output.agrees = documented, False
        findings.add("T001", message, found=shown(documented), allowed=shown(computed), **where)
        return
    difference = compare(documented.reshape(computed.shape), computed, kind, left_open)
    if difference is not None and example.chance:
        return
    output.documented, output.difference = documented.reshape(computed.shape), difference
    output.agrees = difference is None
    if difference is not None:
        why = (
            "no order of updates produces the documented values"
            if difference.impossible
            else "computed values differ from the documented ones"
        )
        message = f"{name}: {why}: {difference.words}"
        findings.add("T001", message, found=shown(output.documented), allowed=shown(computed), **where)


def verified(example: Example, checks: Checks) -> list[str]:
    """Return a sentence for each check that an example passed."""
    words = []
    for index, output in enumerate(example.outputs):
        declared, name = output.declared, output_name(example, index)
        as_declared = output.array is not None and declared.shape.accepts(output.array.shape)
        if as_declared and declared.shape.rank is not None:
            words.append(f"{name} has the declared shape {declared.shape}")
        kind = output.type.element_type
        if declared.element_type is kind and kind is not DYNAMIC:
            words.append(f"{name} has the declared precision {kind}")
        if output.agrees:
            words.append(f"{name} has the documented values")
    if held := checks.held:
        words.append(f"constraint{'s' * (len(held) > 1)} {', '.join(held)} of {example.operator}")
    return words
