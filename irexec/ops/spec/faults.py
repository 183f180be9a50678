"""Faults of attributes: their descriptions, and the values that replace rejected values.

This module is imported when a layer has a fault.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from irexec.core.diagnostics.nearest import nearest, suggestion
from irexec.core.records import MISSING
from irexec.core.types import ElementType, PartialShape
from irexec.ops.spec.attributes import Attribute, AttributeFault, Unreadable, attribute_text, base_type
from irexec.ops.spec.other_names import suggested_attributes
from irexec.ops.spec.validator import ValidationError


def unknown(name: str, declared: tuple[Attribute, ...]) -> AttributeFault:
    """Return the fault of an attribute that the operator does not have."""
    own = [attribute.file_name for attribute in declared]
    near = tuple(suggested_attributes(name, own) or nearest(name, own, 1))
    message = f"the operator has no attribute {name!r}"
    return AttributeFault("D001", name, message, suggestion(map(repr, near)), candidates=near)


def stand_in(
    attribute: Attribute, given: Any, error: ValueError, validate: Callable[[Any], Any], faults: list[AttributeFault]
) -> Any:
    """Add the fault of a value to `faults` and return the value that readers use instead, or else any valid value.

    `given` is MISSING for a required attribute that is missing. A text that OpenVINO would still read is replaced by
    the value that OpenVINO reads, which may be invalid in turn.
    """
    if given is MISSING:
        return _missing(attribute, validate, faults)
    if not isinstance(error, Unreadable):
        return _refused(attribute, given, error, faults)
    value = _unreadable(attribute, given, error, faults)
    if value is None:
        return _neutral(attribute)
    try:
        return validate(value)
    except ValueError as second:
        return _refused(attribute, value, second, faults)


def _missing(attribute: Attribute, validate: Callable[[Any], Any], faults: list[AttributeFault]) -> Any:
    value, passes = _assumed(attribute), False
    if value is not None:
        # If the page excludes the value that OpenVINO assumes, the result is undefined.
        with contextlib.suppress(ValueError):
            value, passes = validate(value), True
    message = f"the required attribute {attribute.file_name!r} is missing"
    faults.append(AttributeFault("D002", attribute.file_name, message, allowed=_allowed(attribute), defined=passes))
    return value if passes else _neutral(attribute)


def _unreadable(attribute: Attribute, given: Any, error: Unreadable, faults: list[AttributeFault]) -> Any:
    """Add the fault of a text that is not a value of the attribute; return the value that OpenVINO reads; None if
    OpenVINO rejects the text.
    """
    name, near, lenient = attribute.file_name, error.candidates, error.lenient
    if error.code in ("D005", "D008"):
        near = tuple(nearest(_shown(given), attribute.members, 1))
    hint = suggestion(map(repr, near)) if error.code in ("D005", "D010") else None
    if error.code == "D003":
        near = (attribute_text(lenient),)
    if error.code == "D004":  # OpenVINO treats such a text as if the attribute were missing.
        lenient = _assumed(attribute)
    allowed = _allowed(attribute) or error.allowed
    is_stored = error.code == "D005" and lenient is not None  # As the infinity or zero of f32.
    message = f"{name}: {error}"
    faults.append(
        AttributeFault(error.code, name, message, hint, allowed, lenient is not None, near, computed=is_stored)
    )
    return lenient


def _refused(attribute: Attribute, given: Any, error: ValueError, faults: list[AttributeFault]) -> Any:
    """Add the faults of a value outside the domain; return the value that all readers use instead, or a valid value."""
    name, computed = attribute.file_name, attribute.reading.computes
    taken_as = given if computed else attribute.reading.taken_as
    findings = error.errors() if isinstance(error, ValidationError) else [{"type": "", "msg": f"value error, {error}"}]
    for finding in findings:
        is_limit = finding["type"] in ("greater_than", "greater_than_equal")
        code = "D007" if is_limit and "-" in _shown(given) else "D005"
        if not any(fault.code == code and fault.attribute == name for fault in faults):
            message = f"{name}: {finding['msg'][0].lower()}{finding['msg'][1:]}, not {_shown(given)}"
            allowed, defined = _allowed(attribute), taken_as is not None
            fault = AttributeFault(code, name, message, allowed=allowed, defined=defined, computed=computed)
            faults.append(fault._replace(is_limit=True))
    return _neutral(attribute) if taken_as is None else taken_as


def _allowed(attribute: Attribute) -> str | None:
    return ", ".join(attribute.members) or None


def _assumed(attribute: Attribute) -> Any:
    """Return the value that OpenVINO assumes for a missing attribute, if it is the same on every machine."""
    if attribute.differs:
        return attribute.reading.default
    if attribute.required:
        return () if attribute.is_list else None
    return attribute.default


def _neutral(attribute: Attribute) -> Any:
    """Return a valid value for an attribute whose value is unknown."""
    if not attribute.required:
        return attribute.default
    if attribute.members:
        return attribute.members[0]
    neutral: dict[Any, Any] = {
        int: max(1, _least(attribute.annotation)),
        float: 1.0,
        bool: False,
        str: "",
        PartialShape: PartialShape.dynamic(),
        ElementType: ElementType.by_name["dynamic"],
    }
    return neutral.get(base_type(attribute.annotation), ())


def _least(annotation: Any) -> int:
    """Return the least integer in a declared range; 0 without a range."""
    marks = [item for mark in getattr(annotation, "__metadata__", ()) for item in getattr(mark, "metadata", [mark])]
    return max((mark.ge for mark in marks if getattr(mark, "ge", None) is not None), default=0)


def _shown(value: Any) -> str:
    try:
        return repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # The number has more digits than Python converts to a string.
        return "a number of thousands of digits"
