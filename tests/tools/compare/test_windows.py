"""Windows of layers: as many layers as have few bytes of values, given the shapes for these inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from irexec import Model
from irexec import opset15 as ops
from irexec.tools.compare.windows import comparable, sizes_of, windows

pytestmark = pytest.mark.any_python


def deep(shape: Sequence[int], layers: int = 40) -> Model:
    """Return rows that are added to themselves, and finally reshaped to a shape that depends on their number."""
    x = made = ops.parameter(shape, np.float32, name="x")
    for _ in range(layers):
        made = ops.add(made, x)
    target = ops.concat([ops.shape_of(x), np.array([1])], 0)
    return Model([ops.reshape(made, target, False, name="last")], [x], "deep")


def sizes(model: Model, *steps: Any) -> list[int]:
    size_of = sizes_of(model, [list(step) for step in steps])
    return [size_of(node.outputs[0]) for node in comparable(model)]


def test_open_shapes_are_those_of_the_inputs() -> None:
    model = deep([-1, 8])
    assert sizes(model, [np.zeros((4, 8), np.float32)])[0] == 4 * 8 * 4
    assert sizes(model, [np.zeros((4, 8), np.float32)])[-1] == 4 * 8 * 4
    nodes = comparable(model)
    size_of = sizes_of(model, [[np.zeros((4, 8), np.float32)]])
    assert len([*windows(nodes, None, 1 << 20, size_of)]) == 1 < len([*windows(nodes, None, 1 << 20)])


def test_of_several_steps_the_larger_one_counts() -> None:
    assert sizes(deep([-1, 8]), [np.zeros((1, 8), np.float32)], [np.zeros((5, 8), np.float32)])[0] == 5 * 8 * 4


def test_declared_shapes_need_no_inference() -> None:
    assert sizes(deep([2, 8]), [np.zeros((2, 8), np.float32)])[0] == 2 * 8 * 4
