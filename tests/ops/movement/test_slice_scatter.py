"""SliceScatter: random slices against NumPy's assignment, and slices that are drawn."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import run, tensor

from irexec.core.types import F32, I32
from irexec.ops.movement.slice_scatter import slice_scatter_15

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)


def ints(*values: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def some_case(rng: np.random.Generator, dtype: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the inputs, and the result of NumPy's own assignment."""
    shape = tuple(rng.integers(0, 6, rng.integers(1, 5)))
    axes = rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)]
    region: list[slice] = [slice(None)] * len(shape)
    lists: list[list[int]] = [[], [], []]
    for axis in axes:
        step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
        # OpenVINO and the page differ for a backward slice that starts before the first element: see the test above.
        start, stop = int(rng.integers(-shape[axis] if step < 0 else -8, 9)), int(rng.integers(-8, 9))
        region[axis] = slice(start, stop, step)
        for numbers, value in zip(lists, (start, stop, step), strict=True):
            numbers.append(value)
    data = rng.integers(0, 7, shape).astype(dtype)
    updates = rng.integers(0, 7, data[tuple(region)].shape).astype(dtype)
    expected = data.copy()
    expected[tuple(region)] = updates
    kind = rng.choice([np.int32, np.int64])
    signed = [a if rng.integers(2) else a - len(shape) for a in axes]
    return [data, updates, *(ints(*v, dtype=kind) for v in lists), ints(*signed, dtype=kind)], expected


TYPES = ("f4", "f8", "i1", "i8", "u2", bool, np.float16, ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e5m2)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: np.dtype(d).name)
def test_is_numpys_assignment(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(25):
        given, expected = some_case(rng, dtype)
        result = run(slice_scatter_15, *given)[0]
        assert result.dtype == expected.dtype and result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("data", "updates", "n", "axes"), [("5,4", "5,2", 1, True), ("3,4,5", "2,4,5", 2, False), ("4", "0", 1, False)]
)
def test_drawn_slices_fit(data: str, updates: str, n: int, axes: bool) -> None:
    rng = np.random.default_rng(0)
    types = {"data": tensor(F32, data), "updates": tensor(F32, updates)}
    names = ["start", "stop", "step"] + (["axes"] if axes else [])
    types |= {name: tensor(I32, str(n)) for name in names}
    drawn = [slice_scatter_15.oracle.generators[name](rng, name, types, {}) for name in names]
    shapes = [types[name].shape.to_shape() for name in ("data", "updates")]
    result = run(slice_scatter_15, np.zeros(shapes[0], "f4"), np.ones(shapes[1], "f4"), *drawn)[0]
    assert result.sum() == np.prod(shapes[1])
