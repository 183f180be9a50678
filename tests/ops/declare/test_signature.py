"""Signatures that follow from those of other versions."""

import inspect
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.ops.declare.operator import Elements, operator
from irexec.ops.declare.signature import InputsOf
from irexec.types import ANY, Array

T: TypeAlias = Annotated[Array, Elements("T", ANY)]


def test_inputs_of_another_version() -> None:
    @operator("Shift", "own8")
    def shift_8(data: T, by: T, start: T | None = None, /) -> T:
        return data

    @operator("Shift", "own1")
    def shift_1(*inputs: Annotated[Any, InputsOf(shift_8)], axis: int = 0) -> T:
        return np.asarray(shift_8.compute(*inputs))

    @operator("Shift", "own0")
    def shift_0(*inputs: Annotated[Any, InputsOf(shift_8, without=1)]) -> T:
        return np.asarray(shift_8.compute(*inputs))

    assert shift_1.inputs == shift_8.inputs
    assert [port.name for port in shift_0.inputs] == ["data", "by"]
    assert (shift_1.signature.min_inputs, shift_1.signature.max_inputs) == (2, 3)
    assert list(inspect.signature(shift_1).parameters) == ["data", "by", "start", "axis"]
    assert shift_1(np.ones(2), np.ones(2)).tolist() == [1, 1]
