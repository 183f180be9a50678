"""The cost of a call is known before the call, if inputs and outputs do not determine it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.calls import calls
from support.cases import chain, the

from irexec.core.types import TensorType
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.work import steps

FAR = 1 << 28
WINDOW = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1)}
COSTLY: dict[str, tuple[str, int, list[Any], dict[str, Any], int]] = {
    "padding of an interpolation": (
        "Interpolate",
        11,
        [np.ones((1, 1, 4, 4), np.float32), np.array([2, 2]), np.array([2, 3])],
        {"mode": "linear", "shape_calculation_mode": "sizes", "antialias": True, "pads_begin": (0, 0, FAR, 0)},
        FAR,
    ),
    "products of a matrix": ("MatMul", 1, [np.ones((30, 1000), "f4"), np.ones((1000, 30), "f4")], {}, 900_000),
    "products of a convolution": (
        "Convolution",
        1,
        [np.ones((1, 8, 40, 40), "f4"), np.ones((4, 8, 31, 31), "f4")],
        WINDOW,
        400 * 8 * 961,
    ),
    "products of a transposed convolution": (
        "ConvolutionBackpropData",
        1,
        [np.ones((1, 8, 10, 10), "f4"), np.ones((8, 4, 31, 31), "f4")],
        WINDOW,
        800 * 4 * 961,
    ),
    "combinations of labels": (
        "Einsum",
        7,
        [np.ones(99, "f4"), np.ones(99, "f4"), np.ones(99, "f4")],
        {"equation": "i,j,k->"},
        99**3,
    ),
    "an inverse": ("Inverse", 14, [np.eye(100, dtype="f4")], {}, 100**3),
}


def steps_of(op: Operator, arrays: list[Any], attributes: dict[str, Any]) -> int | None:
    values, _ = op.parse_attributes(attributes)
    types = [None if a is None else TensorType.of(a) for a in arrays]
    return steps(op, types, values, op.infer(types, values))


@pytest.mark.parametrize("case", COSTLY)
def test_declared_work(case: str) -> None:
    type, version, arrays, attributes, least = COSTLY[case]
    found = steps_of(the(type, version), arrays, attributes)
    assert found is not None and least <= found <= 40 * least


def test_for_other_operators_work_is_the_size_of_inputs_and_outputs() -> None:
    assert steps_of(the("Add", 1), [np.ones((2, 3), "f4"), np.ones(3, "f4")], {}) == 15
    assert steps(the("Add", 1), [TensorType(), TensorType()], {}, [TensorType()]) is None


def test_every_operator_can_say() -> None:
    for call in calls():
        found = steps_of(call.operator, call.arrays, call.attributes)
        assert found is None or found >= 0, call


def test_what_costs_too_much_is_not_known_before_it_runs() -> None:
    """Two pixels of an image that would be padded to gigabytes must not cause the padding when a model is read."""
    type, version, arrays, attributes, _ = COSTLY["padding of an interpolation"]
    assert chain(the(type, version), *arrays, **attributes).value is None
    cheap = attributes | {"pads_begin": (0, 0, 1, 0)}
    assert chain(the(type, version), *arrays, **cheap).value is not None


def test_work_names_attributes_that_exist() -> None:
    def work(outputs: Any, x: TensorType, *, depth: int) -> int:
        return depth

    costly = Operator("Costly", "test", the("ReLU", 1).kernel)
    costly.work(work)
    with pytest.raises(TypeError, match="work"):
        costly.read_declaration()
