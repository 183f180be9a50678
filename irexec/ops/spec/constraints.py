"""Broken constraints, as reported by a shape rule with `check` and by a kernel with `require`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from irexec.core.types import ElementType, TensorType
from irexec.ops.spec.checks import note
from irexec.ops.spec.signature import Signature


class ConstraintError(ValueError):
    """Raised by kernels for a value that breaks a constraint of the operator's page; it becomes a located finding.

    `details` are further fields of the finding; `repair` is as in Breach.
    """

    def __init__(
        self,
        constraint: str,
        message: str,
        *,
        port: str | None = None,
        hint: str | None = None,
        repair: dict[str, tuple[int, ...]] | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.constraint, self.message, self.port, self.hint = constraint, message, port, hint
        self.repair, self.details = repair, details


def require(constraint: str, condition: bool | np.bool_ | None, message: str, **details: Any) -> bool:
    """Raise ConstraintError unless a condition on values holds; the counterpart of `check` in kernels.

    A kernel checks constraints that depend on values, and late constraints (see Breach); the shape rule checks all
    other constraints.
    """
    if condition is None:
        return True
    note(constraint, bool(condition))
    if not condition:
        details.pop("late", None)
        raise ConstraintError(constraint, message, **details)
    return True


class Limits(NamedTuple):
    """The least and the greatest allowed integer."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"[{self.low}, {self.high}]"


class Check(Protocol):
    """The function with which a shape rule reports. Returns False if the condition is known to fail, True otherwise."""

    def __call__(
        self,
        constraint: str,
        condition: bool | None,
        message: str,
        *,
        port: str | None = None,
        attribute: str | None = None,
        hint: str | None = None,
        found: str | None = None,
        allowed: str | Limits | None = None,
        repair: dict[str, tuple[int, ...]] | None = None,
        late: bool = False,
        openvino: str | None = None,
    ) -> bool: ...


class Breach(NamedTuple):
    """A broken constraint or a rejected element type, as found by inference.

    `repair` maps ports to shapes that would fix the breach: the same elements in another shape. `late`: OpenVINO
    constructs a node that breaks the constraint, and may then read beyond its inputs; irexec also constructs such a
    node, but a model that contains it is not valid. `openvino`: what OpenVINO does with it, unless the code states it.
    """

    code: str
    message: str
    constraint: str | None = None
    port: str | None = None
    attribute: str | None = None
    hint: str | None = None
    found: str | None = None
    allowed: str | Limits | None = None
    repair: dict[str, tuple[int, ...]] | None = None
    late: bool = False
    openvino: str | None = None

    def as_error(self) -> ConstraintError | TypeError:
        """Return the exception of a call with this breach: TypeError for element types, otherwise ConstraintError."""
        if self.constraint is None:
            return TypeError(self.message)
        details = {"attribute": self.attribute, "found": self.found, "allowed": self.allowed}
        details |= {} if self.openvino is None else {"openvino": self.openvino}
        return ConstraintError(
            self.constraint, self.message, port=self.port, hint=self.hint, repair=self.repair, **details
        )


class Called(Protocol):
    """The members of an operator that the check of a call uses."""

    @property
    def signature(self) -> Signature: ...

    def is_complete(self, inputs: Sequence[TensorType | None], attributes: dict[str, Any]) -> bool: ...

    def infer(
        self, inputs: Sequence[TensorType | None], attributes: dict[str, Any], breaches: list[Breach] | None = None
    ) -> list[TensorType]: ...


def check_call(operator: Called, inputs: Sequence[Any], attributes: dict[str, Any]) -> None:
    """Raise ConstraintError or TypeError for the first fault of a call; attributes are given by their Python names.

    A call with missing inputs or attributes is not checked here; Python raises its usual TypeError.
    """
    given = [_type_of(operator, index, array) for index, array in enumerate(inputs)]
    values = _values(operator, attributes)
    if operator.is_complete(given, values):
        breaches: list[Breach] = []
        operator.infer(given, values, breaches)
        for breach in breaches:
            raise breach.as_error()


def _type_of(operator: Called, index: int, array: Any) -> TensorType | None:
    """Return the type of an input; if several element types share the NumPy dtype, the type that the port accepts."""
    if array is None or not operator.signature.inputs:
        return None
    array, allowed = np.asarray(array), operator.signature.input(index).elements.types
    kind = ElementType.of(array.dtype)
    if kind not in allowed:
        kind = next((other for other in allowed if other.dtype == array.dtype), kind)
    return TensorType.of(array, kind)


def _values(operator: Called, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes with their defaults, flat by name even if a group is given as one object."""
    values = {a.name: a.default for a in operator.signature.attributes if not a.required} | attributes
    for parameter, _, names in operator.signature.groups:
        if (group := values.pop(parameter, None)) is not None:
            values |= {name: getattr(group, name) for name in names}
    return values
