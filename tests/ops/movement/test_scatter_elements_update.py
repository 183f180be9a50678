"""ScatterElementsUpdate: every type and reduction against a loop, open results and drawn indices."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cases import same
from support.oracle import run, tensor

from irexec.core.types import F32, I32
from irexec.ops.movement.scatter_elements_update import scatter_elements_update_3, scatter_elements_update_12

REDUCTIONS = ("none", "sum", "prod", "min", "max", "mean")
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
NARROW = (np.float16, ml_dtypes.bfloat16)
TYPES = ("f4", "f8", *INTEGERS, bool, *NARROW)
AXIS0 = np.array(0)


def loop(
    data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str, use_init_val: bool
) -> np.ndarray:
    """Return the results of the page's formulas, exact for integers, and in f32 with one rounding for narrow floats."""
    places: dict[tuple[int, ...], list[Any]] = {}
    exact = data.dtype.kind in "iu"
    wide = np.float32 if data.dtype in NARROW else data.dtype
    for entry in np.ndindex(indices.shape):
        place = list(entry)
        place[axis] = int(indices[entry]) % data.shape[axis]
        value = updates[entry].item() if exact else updates[entry].astype(wide)
        places.setdefault(tuple(place), []).append(value)
    out = data.copy()
    with np.errstate(all="ignore"):
        for place, values in places.items():
            if use_init_val and reduction != "none":
                values.insert(0, data[place].item() if exact else data[place].astype(wide))
            result = values[-1] if reduction == "none" else reduced(values, reduction, exact)
            if exact:
                bits = 8 * data.dtype.itemsize
                result %= 1 << bits
                if data.dtype.kind == "i" and result >> (bits - 1):
                    result -= 1 << bits
            out[place] = np.asarray(result).astype(data.dtype)
    return out


def reduced(values: list[Any], reduction: str, exact: bool) -> Any:
    total = values[0]
    for value in values[1:]:
        if reduction in ("sum", "mean"):
            total = (total | value) if total.__class__ is np.bool_ else total + value
        elif reduction == "prod":
            total = (total & value) if total.__class__ is np.bool_ else total * value
        elif reduction == "min":
            total = value if value < total else total
        else:
            total = value if value > total else total
    if reduction == "mean":
        return Fraction(total, len(values)).__floor__() if exact else total / np.asarray(len(values), total.dtype)
    return total


def some(rng: np.random.Generator, shape: Any, dtype: Any) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0, 256, np.prod(shape, dtype=int) * dtype.itemsize, np.uint8).view(dtype).reshape(shape)
    return rng.normal(size=shape).astype(dtype)


SHAPES = (
    ((5,), (8,), 0),
    ((4, 3), (6, 2), 0),
    ((3, 4), (2, 9), -1),
    ((2, 3, 2, 2), (2, 5, 1, 2), 1),
    ((3, 4), (0, 4), 0),
)


@pytest.mark.parametrize("use_init_val", [True, False], ids=["with", "without"])
@pytest.mark.parametrize(
    ("dtype", "reduction"),
    [(np.dtype(d), r) for d in TYPES for r in REDUCTIONS if (d, r) != (bool, "mean")],
    ids=str,
)
def test_is_the_loop(dtype: Any, reduction: str, use_init_val: bool) -> None:
    rng = np.random.default_rng(1)
    for shape, taken, axis in SHAPES:
        data, updates = some(rng, shape, dtype), some(rng, taken, dtype)
        indices = rng.integers(-shape[axis], shape[axis], taken).astype(rng.choice([np.int8, np.int32, np.int64]))
        attributes: Any = {"reduction": reduction, "use_init_val": use_init_val}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = run(scatter_elements_update_12, data, indices, updates, np.array(axis), **attributes)[0]
        expected = loop(data, indices, updates, axis, reduction, use_init_val)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result.astype("f8"), expected.astype("f8"))
        if data.dtype.kind in "iu":
            assert same(result, expected)


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_the_mean_of_64_bit_integers_is_exact(dtype: str) -> None:
    info = np.iinfo(dtype)
    data = np.array([0, info.max, info.min, 7], dtype)
    updates = np.array([info.max, info.max - 1, info.min, info.min + 1, info.max, 5], dtype)
    indices = np.array([0, 1, 2, 2, 3, 0])
    for use_init_val in (True, False):
        result = scatter_elements_update_12(data, indices, updates, AXIS0, reduction="mean", use_init_val=use_init_val)
        assert same(result, loop(data, indices, updates, 0, "mean", use_init_val))


def test_the_last_of_many_wins() -> None:
    rng = np.random.default_rng(2)
    indices, updates = rng.integers(0, 10, (50_000, 2)), np.arange(100_000, dtype=np.int32).reshape(-1, 2)
    expected = [[int(updates[indices[:, j] == i, j][-1]) for j in range(2)] for i in range(10)]
    for op in (scatter_elements_update_3, scatter_elements_update_12):
        assert op(np.zeros((10, 2), np.int32), indices, updates, AXIS0).tolist() == expected


AXIS = tensor(I32, "", 0)


def test_open_results_are_named() -> None:
    data, indices = np.zeros((2, 3), "f4"), np.array([[1, 1, -1], [0, 0, 0]])
    updates = np.arange(6, dtype="f4").reshape(2, 3)
    result = scatter_elements_update_12.oracle.open(data, indices, updates, np.array(1))
    assert result.slice_size == 1
    assert {row: np.ravel(c).tolist() for row, c in result.candidates.items()} == {1: [0, 1], 3: [3, 4, 5]}
    assert scatter_elements_update_12.oracle.open(data, indices, updates, np.array(1), reduction="min") is None
    assert scatter_elements_update_3.oracle.open(data, np.abs(indices), updates, AXIS0) is None


@pytest.mark.parametrize(
    ("data", "indices", "axis"),
    [("5,4", "3,4", 0), ("5,4", "5,4", 1), ("3,4", "3,9", None), ("3,4", "9,4", None), ("4", "2", None)],
)
def test_drawn_indices_are_in_range_and_distinct(data: str, indices: str, axis: int | None) -> None:
    rng, types = np.random.default_rng(0), {"data": tensor(F32, data), "indices": tensor(I32, indices)}
    types["axis"] = tensor(I32, "1", None if axis is None else [axis])
    drawn = scatter_elements_update_12.oracle.generators["indices"](rng, "indices", types, {})
    along = scatter_elements_update_12.oracle.generators["axis"](rng, "axis", types, {})
    assert drawn.dtype == along.dtype == np.int32 and along.shape == (1,) and (axis is None or along[0] == axis)
    shape, place = types["data"].shape.to_shape(), int(along[0])
    assert drawn.shape == types["indices"].shape.to_shape() and (drawn >= 0).all() and (drawn < shape[place]).all()
    run(scatter_elements_update_12, np.zeros(shape, "f4"), drawn, np.zeros(drawn.shape, "f4"), along)
    if drawn.shape[place] <= shape[place]:
        ordered = np.sort(drawn, place)
        assert (np.diff(ordered, axis=place) > 0).all()
