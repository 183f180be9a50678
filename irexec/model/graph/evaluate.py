"""Evaluating one operator on given arrays: arguments are checked, the kernel is run, its results are verified."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError, Severity
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array, ElementType, TensorType
from irexec.ir.text import cut
from irexec.model.arrays.accept import as_plain_array
from irexec.model.arrays.given import convert
from irexec.ops.spec.attributes import AttributeFault
from irexec.ops.spec.capacity import beyond_memory, is_too_large
from irexec.ops.spec.operator import Breach, ConstraintError, Operator


def evaluate(operator: Operator, arrays: Sequence[Array | None], attributes: dict[str, Any]) -> list[Array]:
    """Return the results of an operator, in memory that the caller owns. Raises IRError with every finding.

    `arrays`: the arguments as converted by `input_arrays`. `attributes`: texts or values by their names in a file.
    """
    given = [None if array is None else TensorType.of(array) for array in arrays]
    values, faults = operator.parse_attributes(attributes)
    breaches: list[Breach] = []
    if faults:
        raise_findings(operator, faults, operator.accept(inputs=given).breaches)
    types = operator.infer(given, values, breaches)
    raise_findings(operator, (), breaches)
    if (reason := beyond_memory(types)) is not None:
        raise IRError(Findings().add("O011", f"{operator}: {reason}"))
    results = _results(operator, arrays, values)
    for index, (array, type) in enumerate(zip(results, types, strict=False)):
        if not type.shape.accepts(array.shape) or type.element_type.dtype not in (None, array.dtype):
            message = (
                f"output {index} of {operator} is {array.dtype}{list(array.shape)}, but the inferred type is {type}"
            )
            raise IRError(Findings().add("O006", message))
    return results


def _results(operator: Operator, arrays: Sequence[Array | None], attributes: dict[str, Any]) -> list[Array]:
    """Return the kernel's results, copied if they are in a caller's memory or read-only.

    Any exception of the kernel is raised as an IRError.
    """
    findings = Findings()
    try:
        result = operator.compute(*arrays, **attributes)
        others = [array for array in arrays if array is not None]
        results: list[Array] = []
        for found in map(np.asarray, result if isinstance(result, (tuple, list)) else (result,)):
            is_shared = any(np.may_share_memory(found, other) for other in others)
            results.append(found if found.flags.writeable and not is_shared else found.copy())
            others.append(results[-1])
        return results
    except ConstraintError as error:
        constraint = f"{operator.versioned_name} {error.constraint}"
        findings.add("O005", error.message, constraint=constraint, port=error.port, hint=error.hint, **error.details)
        raise IRError(findings.report) from error
    except Exception as error:
        if is_too_large(error):
            findings.add("O011", f"{operator} needs more memory than is available: {error}")
        else:
            findings.add("O007", f"{operator} failed: {type(error).__name__}: {error}")
        raise IRError(findings.report) from error


def input_arrays(operator: Operator, inputs: Sequence[Any]) -> list[Array | None]:
    """Return a caller's arguments as arrays. Raises IRError for an argument that is not a tensor, and for a wrong
    number of arguments.

    Arrays keep their type, in this machine's byte order. Python's numbers and lists get the type of an array in the
    same group of ports; if there is no array, the first type of i64, f64, f32, boolean and string that fits the values
    and the port.
    """
    check_count(operator, inputs)
    findings = Findings()
    arrays: list[Array | None] = []
    for index, value in enumerate(inputs):
        try:
            arrays.append(None if value is None else _plain(value))
        except (ValueError, TypeError) as error:
            arrays.append(None)
            port = operator.signature.port_name(index)
            findings.add("O008", f"input {port} of {operator} is not a tensor: {error}", port=port)
    groups: dict[str | None, np.dtype[Any]] = {}
    for index, (value, array) in enumerate(zip(inputs, arrays, strict=True)):
        if array is not None and _is_typed(value):
            groups.setdefault(operator.signature.input(index).elements.name, array.dtype)
    for index, (value, array) in enumerate(zip(inputs, arrays, strict=True)):
        if array is None or _is_typed(value):
            continue
        elements, port = operator.signature.input(index).elements, operator.signature.port_name(index)
        dtype = groups.get(elements.name) if elements.name is not None else None
        kind = ElementType.of(natural(array, elements.types) if dtype is None else dtype)
        arrays[index] = convert(array, kind)
        if arrays[index] is None:
            message = f"input {port} of {operator} is {kind}: {cut(repr(value), 40)} is not a value of that type"
            findings.add("O008", message, port=port)
    if not findings.report.ok:
        raise IRError(findings.report)
    return arrays


def _is_typed(value: Any) -> bool:
    """Return True for an object that has an element type of its own."""
    return isinstance(value, (np.ndarray, np.generic))


def _plain(value: Any) -> Array:
    array = as_plain_array(value)
    if array.dtype.kind == "U":
        return array.astype(np.dtypes.StringDType())
    ElementType.of(array.dtype)
    return array


def natural(array: Array, allowed: frozenset[ElementType]) -> np.dtype[Any]:
    """Return the dtype for Python numbers: i64, f64, boolean or string, if the port allows it."""
    by_kind = {"b": ["boolean"], "i": ["i64", "i32"], "f": ["f64", "f32"], "T": ["string"]}
    for name in [*by_kind.get(array.dtype.kind, []), "f32", "i64"]:
        kind = ElementType.by_name[name]
        if kind in allowed and kind.dtype is not None:
            return kind.dtype
    found: np.dtype[Any] = array.dtype
    return found


def check_count(operator: Operator, inputs: Sequence[Any]) -> None:
    """Raise IRError if the operator does not accept this number of inputs, or if a required input is None."""
    fault = operator.signature.fault_of_count(len(inputs), operator.signature.missing(inputs))
    if fault is not None:
        raise IRError(Findings().add("P007", f"{operator} {fault[0]}"))


def raise_findings(operator: Operator, faults: Sequence[AttributeFault], breaches: Sequence[Breach]) -> None:
    """Raise IRError if any attribute or input is invalid.

    Notations that are tolerated in files are errors in a call.
    """
    findings = Findings()
    for fault in faults:
        details: dict[str, Any] = {"attribute": fault.attribute, "hint": fault.hint, "allowed": fault.allowed}
        findings.add(fault.code, fault.message, severity=Severity.ERROR, **details)
    for breach in breaches:
        constraint = f"{operator.versioned_name} {breach.constraint}" if breach.constraint else None
        details = {k: getattr(breach, k) for k in ("port", "attribute", "hint", "found", "allowed")}
        findings.add(breach.code, breach.message, constraint=constraint, **details)
    if not findings.report.ok:
        raise IRError(findings.report)
