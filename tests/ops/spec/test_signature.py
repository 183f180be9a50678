"""Signatures: those derived from other versions, and the allowed numbers of ports."""

import inspect
from typing import Annotated, Any, TypeAlias

import numpy as np
import pytest

from irexec.core.types import ANY, Array
from irexec.ops.spec.contents import load
from irexec.ops.spec.operator import Elements, operator
from irexec.ops.spec.signature import InputsOf

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


@pytest.mark.parametrize(
    ("type", "opset", "count", "fault"),
    [
        ("ReLU", 1, 1, None),
        ("ReLU", 1, 2, "has 2 input ports, expected 1 (x)"),
        ("Pad", 12, 3, None),
        ("Pad", 12, 1, "has 1 input port, expected 3 to 4 (data, pads_begin, pads_end, pad_value)"),
        ("Concat", 1, 7, None),
        ("Concat", 1, 0, "has 0 input ports, expected at least 1 (tensors)"),
        ("Loop", 5, 1, "has 1 input port, expected at least 2 (trip_count, execution_condition, inputs)"),
    ],
)
def test_the_number_of_input_ports(type: str, opset: int, count: int, fault: str | None) -> None:
    found = load(type, opset).signature.fault_of_count(count)
    assert (None if found is None else found[0]) == fault


def test_layers_with_bodies_may_omit_inputs_and_inputs_may_lack_a_tensor() -> None:
    loop, pad = load("Loop", 5).signature, load("Pad", 12).signature
    assert loop.fault_of_count(1, with_bodies=True) is None
    assert pad.missing([1, None, 1]) == ["pads_begin"]
    assert pad.missing([1, 1, 1, None]) == []
    assert load("Concat", 1).signature.missing([]) == ["tensors[0]"]
    message, allowed = pad.fault_of_count(3, pad.missing([1, None, 1]))
    assert (message.endswith("; pads_begin is missing"), allowed) == (True, "3 to 4")
    assert pad.named(["a", "b", "c", None]) == {"data": "a", "pads_begin": "b", "pads_end": "c", "pad_value": None}
