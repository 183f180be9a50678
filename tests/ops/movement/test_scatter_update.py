"""ScatterUpdate: NumPy's assignment, many updates of one place, repairs, open results and drawn values."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import run, tensor

from irexec.core.types import F32, I32, Dimension
from irexec.ops.movement.scatter_update import scatter_update_3

TYPES = ("f4", "f8", "i1", "i8", "u2", "u8", bool, np.float16, ml_dtypes.bfloat16, ml_dtypes.int4)
SHAPES = (
    ((5,), (), 0),
    ((4, 3), (2,), -1),
    ((2, 5, 3), (2, 2), 1),
    ((3, 2), (0,), 0),
    ((0, 4), (2,), 1),
    ((4, 2), (1, 1), 0),
)
AXIS = tensor(I32, "", 0)


def arrays(rng: np.random.Generator, shape: Any, taken: Any, axis: int, dtype: Any) -> list[np.ndarray]:
    along = axis % len(shape)
    indices = rng.permutation(shape[along])[: int(np.prod(taken))].reshape(taken)
    updates = rng.integers(0, 7, (*shape[:along], *taken, *shape[along + 1 :]))
    return [rng.integers(0, 7, shape).astype(dtype), indices, updates.astype(dtype), np.array(axis)]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: np.dtype(d).name)
def test_is_numpys_assignment(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for shape, taken, axis in SHAPES:
        data, indices, updates, _ = given = arrays(rng, shape, taken, axis, dtype)
        expected = data.astype("f8")
        expected[(slice(None),) * (axis % len(shape)) + (indices,)] = updates.astype("f8")
        for index_type in (np.int32, np.uint64):
            result = run(scatter_update_3, data, indices.astype(index_type), *given[2:])[0]
            np.testing.assert_array_equal(result.astype("f8"), expected)


@pytest.mark.parametrize("axis", [0, 1])
def test_the_last_of_many_wins(axis: int) -> None:
    rng = np.random.default_rng(1)
    indices, updates = rng.integers(0, 10, 30_000), np.arange(90_000, dtype=np.int32).reshape(30_000, 3)
    last = [int(np.flatnonzero(indices == i)[-1]) for i in range(10)]
    data = np.zeros((10, 3), np.int32)
    given = (data, indices, updates) if axis == 0 else (data.T, indices, updates.T)
    result = scatter_update_3(*given, np.array(axis))
    assert (result if axis == 0 else result.T).tolist() == updates[last].tolist()


def test_shape_values_pass_through() -> None:
    data = np.array([Dimension(1, 9), 2, 3], object)
    result = scatter_update_3.kernel(data, np.array([1]), np.array([7]), np.array(0))
    assert result.tolist() == [Dimension(1, 9), 7, 3]


def test_open_results_are_named() -> None:
    data, updates = np.zeros((2, 3, 2)), np.arange(12).reshape(2, 3, 2)
    result = scatter_update_3.oracle.open(data, np.array([1, 0, 1]), updates, np.array(1))
    assert result.slice_size == 2
    candidates = {row: [c.tolist() for c in given] for row, given in result.candidates.items()}
    assert candidates == {1: [[0, 1], [4, 5]], 4: [[6, 7], [10, 11]]}
    assert scatter_update_3.oracle.open(data, np.array([1, 0, 2]), updates, np.array(1)) is None


@pytest.mark.parametrize(
    ("data", "indices", "updates"), [("5,4", "3", "5,3"), ("5", "2,2", "2,2"), ("2", "5", "5"), ("3", "", "")]
)
def test_drawn_values_fit(data: str, indices: str, updates: str) -> None:
    rng = np.random.default_rng(0)
    types = {
        "data": tensor(F32, data),
        "indices": tensor(I32, indices),
        "updates": tensor(F32, updates),
        "axis": tensor(I32, "1"),
    }
    indices_drawn = scatter_update_3.oracle.generators["indices"](rng, "indices", types, {})
    axis = scatter_update_3.oracle.generators["axis"](rng, "axis", types, {})
    shapes = [types[name].shape.to_shape() for name in ("data", "indices", "updates")]
    run(scatter_update_3, np.zeros(shapes[0], "f4"), indices_drawn, np.zeros(shapes[2], "f4"), axis)
    if indices_drawn.size <= shapes[0][int(axis[0])]:
        assert len(np.unique(indices_drawn)) == indices_drawn.size
