"""ScatterNDUpdate: every type and reduction against a loop, repairs, open results and drawn indices."""

from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cases import same
from support.oracle import run, tensor

from irexec.core.types import I32
from irexec.ops.movement.scatter_nd_update import scatter_nd_update_4, scatter_nd_update_15

REDUCTIONS = ("none", "sum", "sub", "prod", "min", "max")
NATIVE = ("f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
NARROW = (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4)
BLOCK = [[1, 2, 3, 4], [5, 6, 7, 8], [8, 7, 6, 5], [4, 3, 2, 1]]


def loop(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, reduction: str) -> np.ndarray:
    """Return the result of the page's snippet: entry by entry, in f32 for narrow floats, rounded at the end."""
    wide = np.float32 if data.dtype in NARROW and data.dtype != ml_dtypes.int4 else data.dtype
    wide = np.int32 if data.dtype == ml_dtypes.int4 else wide
    out, updates = data.astype(wide), updates.astype(wide)
    combine = {
        "none": lambda x, y: y,
        "sum": lambda x, y: x | y if data.dtype == bool else x + y,
        "sub": lambda x, y: x ^ y if data.dtype == bool else x - y,
        "prod": lambda x, y: x & y if data.dtype == bool else x * y,
        "min": lambda x, y: np.where(y < x, y, x),
        "max": lambda x, y: np.where(y > x, y, x),
    }[reduction]
    with np.errstate(all="ignore"):
        for entry in np.ndindex(indices.shape[:-1]):
            place = tuple(indices[entry])
            out[place] = combine(out[place], updates[entry])
        return out.astype(data.dtype)


def some(rng: np.random.Generator, shape: Any, dtype: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu" and dtype.isbuiltin == 1:
        return rng.integers(0, 256, np.prod(shape, dtype=int) * dtype.itemsize, np.uint8).view(dtype).reshape(shape)
    values = rng.integers(-8, 8, shape) if dtype == ml_dtypes.int4 else rng.normal(size=shape)
    return values.astype(dtype)


def case(
    rng: np.random.Generator, shape: tuple[int, ...], k: int, batch: tuple[int, ...], dtype: Any
) -> list[np.ndarray]:
    """Return data, indices (some negative and, depending on the sizes, repeated) and updates."""
    indices = np.empty((*batch, k), rng.choice([np.int32, np.int64]))
    for axis in range(k):
        indices[..., axis] = rng.integers(-shape[axis], shape[axis], batch)
    return [some(rng, shape, dtype), indices, some(rng, (*batch, *shape[k:]), dtype)]


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", [*NATIVE, bool, *NARROW], ids=lambda d: np.dtype(d).name)
def test_is_the_loop(dtype: Any, reduction: str) -> None:
    rng = np.random.default_rng(1)
    for shape, k, batch in (
        ((7,), 1, (5,)),
        ((3, 4), 2, (30,)),
        ((3, 4), 1, (2, 3)),
        ((2, 3, 2), 1, ()),
        ((2, 3, 4), 2, (3, 0)),
        ((2, 0, 4), 1, (5,)),
        ((4, 2), 0, (3,)),
        ((100,), 1, (3,)),
    ):
        arrays = case(rng, shape, k, batch, dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = run(scatter_nd_update_15, *arrays, reduction=reduction)[0]
        assert same(result, loop(*arrays, reduction)), (shape, k, batch)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_many_duplicates_are_taken_in_order_and_rounded_once(reduction: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    data, updates = some(rng, (50, 3), dtype), some(rng, (4000, 3), dtype)
    indices = rng.integers(-50, 50, (4000, 1))
    if reduction == "prod":
        updates = (updates.astype(np.float32) * 0.2 + 1).astype(dtype)
    result = scatter_nd_update_15(data, indices, updates, reduction=reduction)
    assert same(result, loop(data, indices, updates, reduction))


@pytest.mark.parametrize("dtype", ["f4", "f8", np.float16, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nan_and_infinity_are_the_loops(reduction: str, dtype: Any) -> None:
    """With min and max, NaN in data stays and NaN in updates has no effect, as in the page's snippet."""
    rng = np.random.default_rng(3)
    pool = np.array([np.nan, np.inf, -np.inf, -0.0, 1, -2])
    for _ in range(20):
        data, updates = rng.choice(pool, 6).astype(dtype), rng.choice(pool, 12).astype(dtype)
        indices = rng.integers(0, 6, (12, 1))
        result = scatter_nd_update_15(data, indices, updates, reduction=reduction).astype(np.float64)
        np.testing.assert_array_equal(result, loop(data, indices, updates, reduction).astype(np.float64))


def test_the_last_of_many_wins() -> None:
    rng = np.random.default_rng(4)
    indices, updates = rng.integers(0, 10, (100_000, 1)), np.arange(100_000, dtype=np.int32)
    expected = [int(np.flatnonzero(indices[:, 0] == i)[-1]) for i in range(10)]
    assert scatter_nd_update_15(np.zeros(10, np.int32), indices, updates).tolist() == expected
    rows = np.repeat(updates[:, None], 3, 1)
    assert scatter_nd_update_4(np.zeros((10, 3), np.int32), indices, rows)[:, 1].tolist() == expected


def test_shape_values_pass_through() -> None:
    """Partly known values are object arrays."""
    data = np.array([1, 2, 3], object)
    assert scatter_nd_update_15(data, np.array([[1]]), np.array([7], object)).tolist() == [1, 7, 3]


def test_open_results_are_named() -> None:
    data, updates = np.arange(1, 5, dtype="f4"), np.array([10, 20, 30, 40, 50], "f4")
    indices = np.array([[0], [2], [-3], [-3], [0]])
    result = scatter_nd_update_15.oracle.open(data, indices, updates)
    assert result.slice_size == 1 and "2 places" in result.note
    assert {row: np.ravel(c).tolist() for row, c in result.candidates.items()} == {0: [10, 50], 1: [30, 40]}
    assert scatter_nd_update_15.oracle.open(data, indices, updates, reduction="sum") is None
    assert scatter_nd_update_4.oracle.open(data, np.array([[0], [1], [1]]), np.array([1, 5, 5], "f4")) is None
    slices = scatter_nd_update_4.oracle.open(np.zeros((3, 2)), np.array([[1], [1]]), np.array([[1, 2], [3, 4]]))
    assert slices.slice_size == 2 and [c.tolist() for c in slices.candidates[1]] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("shapes", ["4;3,1", "4,5;20,2", "6,2;2,3,1", "3;9,1", "3,3;0,1", "3;1,0"])
def test_drawn_indices_are_in_range_and_distinct(shapes: str) -> None:
    data, indices = (tensor(I32, s) for s in shapes.split(";"))
    drawn = scatter_nd_update_15.oracle.generators["indices"](
        np.random.default_rng(0), "indices", {"data": data, "indices": indices}, {}
    )
    assert drawn.dtype == np.int32 and drawn.shape == indices.shape.to_shape()
    dims = data.shape.to_shape()[: drawn.shape[-1]]
    assert (drawn >= 0).all() and (drawn < np.array(dims)).all()
    entries = drawn.reshape(-1, drawn.shape[-1]) if drawn.size else drawn
    if drawn.size and len(entries) <= np.prod(dims):
        assert len(np.unique(entries, axis=0)) == len(entries)
