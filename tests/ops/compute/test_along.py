"""take_along, and the operators that use it, on arrays whose rank exceeds the limit of NumPy's own function."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec.ops.compute.along import take_along

ops = irexec.opset15
ONES = (1,) * 38


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_the_same_with_many_axes_of_one_element(axis: int) -> None:
    rng = np.random.default_rng(0)
    data, index = rng.normal(size=(3, 4, 5)), rng.integers(0, 3, (3, 4, 5))
    expected = np.take_along_axis(data, index, axis)
    many = take_along(data.reshape(ONES + data.shape), index.reshape(ONES + index.shape), len(ONES) + axis % 3)
    np.testing.assert_array_equal(many.reshape(expected.shape), expected)


def test_an_index_is_broadcast_off_the_axis() -> None:
    data = np.arange(6).reshape(*ONES, 2, 3)
    index = np.array([2, 0]).reshape(*ONES, 1, 2)
    assert take_along(data, index, -1).reshape(2, 2).tolist() == [[2, 0], [5, 3]]


def test_operators_on_arrays_of_forty_axes() -> None:
    data = np.float32([[3, 1, 2], [4, 6, 5]]).reshape(*ONES, 2, 3)
    values, indices = ops.topk(data, np.int64(2), axis=-1, mode="max", sort="value")
    assert values.reshape(2, 2).tolist() == [[3, 2], [6, 5]]
    assert indices.reshape(2, 2).tolist() == [[0, 2], [1, 2]]
    index = np.array([[2, 0, 1], [0, 0, 0]]).reshape(data.shape)
    assert ops.gather_elements(data, index, axis=-1).reshape(2, 3).tolist() == [[2, 3, 1], [4, 4, 4]]
    reversed_ = ops.reverse_sequence(data, np.array([2, 3]), batch_axis=38, seq_axis=39)
    assert reversed_.reshape(2, 3).tolist() == [[1, 3, 2], [5, 6, 4]]
