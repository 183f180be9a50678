"""Types and functions with which an operator declares its equivalent in the previous version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from irexec.core.types import Array, ElementType, TensorType


class NoOlderForm(Exception):
    """The reason why a layer has no equivalent in an older version of its operator."""


class OlderForm(ABC):
    """A layer that is rewritten for the previous version of its operator, by the rule declared with `Operator.older`.

    `attributes` are initially the layer's attributes with all defaults; names that the older version lacks are dropped.
    `outputs` are the types of the layer's outputs.
    """

    attributes: dict[str, Any]
    outputs: Sequence[TensorType]

    @staticmethod
    def need(holds: bool, otherwise: str) -> None:
        """Raise NoOlderForm with the reason `otherwise` unless the condition holds."""
        if not holds:
            raise NoOlderForm(otherwise)

    def need_attribute(self, name: str, *allowed: Any) -> None:
        """Raise NoOlderForm unless an attribute has one of these values."""
        value = self.attributes[name]
        self.need(value in allowed, f"{name} is {value}")

    @abstractmethod
    def ints(self, port: str) -> list[int]:
        """Return the values of an integer input. Raises NoOlderForm if they are not constant."""

    @abstractmethod
    def drop_output(self, index: int, name: str) -> None:
        """Drop the outputs from `index` on. Raises NoOlderForm if they are used or named."""

    @abstractmethod
    def take(self, *inputs: int | Array) -> None:
        """Replace the inputs; each item is the position of a current input, or an array that becomes a constant."""


def unchanged(form: OlderForm, *inputs: TensorType | None) -> None:
    """Change nothing: the older version of the operator computes the same results with the attributes that it has."""


def constant_indices_inside(form: OlderForm, data: TensorType | None, indices: str, axis: str) -> bool:
    """Return whether all values of `indices` are constant, not negative and below `data`'s extent at `axis`."""
    (position, *_), values = form.ints(axis), form.ints(indices)
    shape = data.shape if data is not None else None
    extent = shape[position] if shape is not None and shape.rank is not None else None
    return extent is not None and extent.is_static and all(0 <= value < extent.value for value in values)


def element_types(inputs: Sequence[TensorType | None]) -> list[ElementType]:
    """Return the element types of the connected inputs."""
    return [given.element_type for given in inputs if given is not None]
