"""The check of a direct call of an operator: its shape rule on the types and values of the caller's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from irexec.ops.declare.constraints import Breach
from irexec.ops.declare.signature import Signature
from irexec.types import ElementType, TensorType


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
