"""Descriptions used by operators with state or bodies: variables, and the mapping of inputs and outputs to a body."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from irexec.api.openvino.shapes import PartialShape
from irexec.api.openvino.type_info import DiscreteTypeInfo
from irexec.core.types import DYNAMIC, ElementType


@dataclass
class VariableInfo:
    """The type, shape and name of a variable."""

    data_shape: Any = field(default_factory=PartialShape.dynamic)
    data_type: ElementType = DYNAMIC
    variable_id: str = ""


class Variable:
    """A value that a model keeps from one inference to the next."""

    def __init__(self, info: VariableInfo) -> None:
        self.info = info

    def get_info(self) -> VariableInfo:
        return self.info

    def update(self, variable_info: VariableInfo) -> None:
        self.info = variable_info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self.info.variable_id == other.info.variable_id

    def __hash__(self) -> int:
        return hash(self.info.variable_id)

    def __repr__(self) -> str:
        return f"<Variable: {self.info.variable_id!r}>"


class _Description:
    def get_type_info(self) -> DiscreteTypeInfo:
        return DiscreteTypeInfo(type(self).__name__)

    def copy(self) -> Any:
        return type(self)(**vars(self))


class InputDescription(_Description):
    """The source of an input of a body."""


class OutputDescription(_Description):
    """The source of an output of the node."""


@dataclass
class SliceInputDescription(InputDescription):
    """The input of a body is a slice of an outer input, one for each iteration."""

    input_index: int = 0
    body_parameter_index: int = 0
    start: int = 0
    stride: int = 0
    part_size: int = 0
    end: int = 0
    axis: int = 0


@dataclass
class MergedInputDescription(InputDescription):
    """The input of a body is an outer input at first, and later a value from the previous iteration."""

    input_index: int = 0
    body_parameter_index: int = 0
    body_value_index: int = 0


@dataclass
class InvariantInputDescription(InputDescription):
    """The input of a body is the same outer input in all iterations."""

    input_index: int = 0
    body_parameter_index: int = 0


@dataclass
class BodyOutputDescription(OutputDescription):
    """The output is the value that the body computes in one iteration; -1 is the last."""

    body_value_index: int = 0
    output_index: int = 0
    iteration: int = -1


@dataclass
class ConcatOutputDescription(OutputDescription):
    """The output is the concatenation of the values that the body computes in all iterations."""

    body_value_index: int = 0
    output_index: int = 0
    start: int = 0
    stride: int = 0
    part_size: int = 0
    end: int = 0
    axis: int = 0
