"""ScatterElementsUpdate: the page's examples, each constraint, every type and reduction against a loop and OpenVINO."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BOOLEAN, F32, I32, STRING, TensorType
from irexec.ops.movement.scatter_elements_update import scatter_elements_update_3, scatter_elements_update_12
from irexec.ops.spec.operator import ConstraintError

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


def same(a: np.ndarray, b: np.ndarray) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    ("use_init_val", "expected"), [(True, [52, 13, 104, 76]), (False, [50, 10, 100, 70])], ids=["with", "without"]
)
def test_page_examples_1_and_2(use_init_val: bool, expected: list[int]) -> None:
    data, indices = np.array([2, 3, 4, 6], "f4"), np.array([1, 0, 0, -2, -1, 2], np.int32)
    updates = np.array([10, 20, 30, 40, 70, 60], "f4")
    attributes: Any = {"reduction": "sum", "use_init_val": use_init_val}
    assert run(scatter_elements_update_12, data, indices, updates, np.array([0]), **attributes)[0].tolist() == expected


@pytest.mark.parametrize(
    ("fill", "reduction", "indices", "expected"),
    [
        (0, "none", [[1, 2], [0, 3]], [[0, 11, 12, 0], [13, 0, 0, 14], [0] * 4]),
        (1, "sum", [[1, 1], [0, 3]], [[1, 24, 1, 1], [14, 1, 1, 15], [1] * 4]),
        (2, "prod", [[1, 1], [0, 3]], [[2, 264, 2, 2], [26, 2, 2, 28], [2] * 4]),
    ],
)
def test_page_examples_3_to_5(fill: int, reduction: str, indices: Any, expected: Any) -> None:
    data, updates = np.full((3, 4), fill, np.int32), np.array([[11, 12], [13, 14]], np.int32)
    result = run(scatter_elements_update_12, data, np.array(indices), updates, np.array([1]), reduction=reduction)
    assert result[0].tolist() == expected


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


@pytest.mark.parametrize("reduction", ["min", "max"])
@pytest.mark.parametrize("dtype", ["f4", *NARROW], ids=lambda d: np.dtype(d).name)
def test_nan(dtype: Any, reduction: str) -> None:
    """NaN in data stays, NaN in updates has no effect; without data a result is NaN only if all its updates are."""
    nan = np.nan
    data, indices = np.array([nan, 1, 2, 3], dtype), np.array([0, 1, 2, 2, 3, 3])
    updates = np.array([5, nan, nan, 7, nan, nan], dtype)
    kept = scatter_elements_update_12(data, indices, updates, AXIS0, reduction=reduction).astype("f8")
    np.testing.assert_array_equal(kept, [nan, 1, 7 if reduction == "max" else 2, 3])
    alone = scatter_elements_update_12(data, indices, updates, AXIS0, reduction=reduction, use_init_val=False)
    np.testing.assert_array_equal(alone.astype("f8"), [5, nan, 7, nan])


def test_the_last_of_many_wins() -> None:
    rng = np.random.default_rng(2)
    indices, updates = rng.integers(0, 10, (50_000, 2)), np.arange(100_000, dtype=np.int32).reshape(-1, 2)
    expected = [[int(updates[indices[:, j] == i, j][-1]) for j in range(2)] for i in range(10)]
    for op in (scatter_elements_update_3, scatter_elements_update_12):
        assert op(np.zeros((10, 2), np.int32), indices, updates, AXIS0).tolist() == expected


def test_strings_and_unsigned_indices() -> None:
    data = np.array([["a", "b"], ["c", "d"]], np.dtypes.StringDType())
    for op in (scatter_elements_update_3, scatter_elements_update_12):
        result = run(op, data, np.array([[1], [0]], np.uint64), data[:, :1], np.array(-1, np.int8))[0]
        assert result.tolist() == [["a", "a"], ["c", "d"]]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_out(reduction: str) -> None:
    rng = np.random.default_rng(3)
    data, updates, indices = some(rng, (5, 4), "f4"), some(rng, (7, 4), "f4"), rng.integers(0, 5, (7, 4))
    expected = scatter_elements_update_12(data, indices, updates, AXIS0, reduction=reduction)
    out = np.empty((4, 5), "f4").T
    assert scatter_elements_update_12(data, indices, updates, AXIS0, reduction=reduction, out=out) is out
    assert scatter_elements_update_12(data, indices, updates, AXIS0, reduction=reduction, out=data) is data
    assert same(np.ascontiguousarray(out), expected) and same(data, expected)


# Constraints.


def breaches(op: Any, *types: TensorType, **attributes: Any) -> list[tuple[str | None, str | None]]:
    return [(b.constraint, b.port) for b in infer(op, list(types), **attributes)[1]]


def call(op: Any, data: Any, indices: Any, updates: Any, axis: Any = 0, **attributes: Any) -> ConstraintError:
    with pytest.raises(ConstraintError) as caught:
        op(np.zeros(data, "f4"), np.array(indices), np.zeros(updates, "f4"), np.array(axis), **attributes)
    return caught.value


AXIS = tensor(I32, "", 0)


def test_c1_rank_of_indices() -> None:
    types = tensor(F32, "3,4"), tensor(I32, "4"), tensor(F32, "4"), AXIS
    assert breaches(scatter_elements_update_12, *types) == [("C1", "indices")]
    assert call(scatter_elements_update_12, (3, 4), [0], 1).constraint == "C1"


def test_c2_indices_larger_than_data() -> None:
    types = tensor(F32, "3,4"), tensor(I32, "9,5"), tensor(F32, "9,5"), AXIS
    assert breaches(scatter_elements_update_3, *types) == [("C2", "indices")]
    assert breaches(scatter_elements_update_3, *types[:3], tensor(I32, "")) == []
    assert call(scatter_elements_update_3, (3, 1), [[0, 0]], (1, 2)).constraint == "C2"


def test_c3_index_out_of_range() -> None:
    error = call(scatter_elements_update_12, (3, 2), [[0, 2], [-4, 1]], (2, 2))
    assert (error.constraint, error.port) == ("C3", "indices")
    assert error.message == "indices[1, 0] is -4, outside [-3, 2]"
    error = call(scatter_elements_update_3, (3, 2), [[0, 2], [-1, 1]], (2, 2))
    assert error.message == "indices[1, 0] is -1, outside [0, 2]" and "did you mean 2?" in str(error.hint)
    types = tensor(F32, "3"), tensor(I32, "1", [3]), tensor(F32, "1"), AXIS
    assert breaches(scatter_elements_update_12, *types) == [("C3", "indices")]


def test_c4_shape_of_updates() -> None:
    found = infer(scatter_elements_update_12, [tensor(F32, "3,4"), tensor(I32, "2,4"), tensor(F32, "4,2"), AXIS])[1]
    assert [(b.constraint, b.port, b.repair) for b in found] == [("C4", "updates", {"updates": (2, 4)})]
    assert call(scatter_elements_update_12, (3,), [0, 1], (1,)).constraint == "C4"


@pytest.mark.parametrize("axis", [2, -3])
def test_c5_axis_out_of_range(axis: int) -> None:
    types = tensor(F32, "3,4"), tensor(I32, "3,4"), tensor(F32, "3,4"), tensor(I32, "1", [axis])
    assert breaches(scatter_elements_update_12, *types) == [("C5", "axis")]
    assert call(scatter_elements_update_12, (1, 1), [[0]], (1, 1), axis).constraint == "C5"


def test_c5_axis_is_one_value() -> None:
    types = tensor(F32, "3"), tensor(I32, "1"), tensor(F32, "1"), tensor(I32, "2")
    assert breaches(scatter_elements_update_12, *types) == [("C5", "axis")]
    assert call(scatter_elements_update_12, (3,), [0], (1,), [0, 0]).constraint == "C5"
    assert call(scatter_elements_update_12, (), 0, ()).constraint == "C5"


def test_c6_reduction_needs_numbers() -> None:
    for kind, reduction in ((BOOLEAN, "mean"), (STRING, "max")):
        types = tensor(kind, "3"), tensor(I32, "1"), tensor(kind, "1"), AXIS
        assert breaches(scatter_elements_update_12, *types, reduction=reduction)[0][0] == "C6"
        values = np.array(["a"], np.dtypes.StringDType()) if kind is STRING else np.array([True])
        with pytest.raises(ConstraintError, match=reduction):
            scatter_elements_update_12(values, np.array([0]), values, AXIS0, reduction=reduction)


@pytest.mark.parametrize(("data", "indices"), [("...", "2,?"), ("3,?", "..."), ("?,?", "2,4"), ("...", "...")])
def test_dynamic_shapes(data: str, indices: str) -> None:
    types = tensor(F32, data), tensor(I32, indices), tensor(F32, indices), AXIS
    outputs, found = infer(scatter_elements_update_12, list(types))
    assert found == [] and outputs[0].shape == types[0].shape


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


# OpenVINO, live.


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("use_init_val", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_agrees_with_openvino(reduction: str, use_init_val: bool) -> None:
    """f32 and i32; means of positive integers only, because OpenVINO truncates the means of negative integers."""
    rng = np.random.default_rng(4)
    attributes: Any = {"reduction": reduction, "use_init_val": use_init_val}
    for dtype in ("f4", "i4"):
        for shape, taken, axis in SHAPES:
            data = rng.integers(1, 20, shape).astype(dtype)
            updates = rng.integers(1, 20, taken).astype(dtype)
            indices = rng.integers(-shape[axis], shape[axis], taken)
            arrays = data, indices, updates, np.array(axis)
            ours = run(scatter_elements_update_12, *arrays, **attributes)[0]
            np.testing.assert_allclose(ours, openvino(scatter_elements_update_12, *arrays, **attributes)[0], rtol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "sum", "prod", "min", "max"])
def test_agrees_with_openvino_on_booleans(reduction: str) -> None:
    rng = np.random.default_rng(5)
    arrays = some(rng, (4, 6), bool), rng.integers(0, 4, (5, 6)), some(rng, (5, 6), bool), AXIS0
    ours = run(scatter_elements_update_12, *arrays, reduction=reduction)[0]
    assert same(ours, openvino(scatter_elements_update_12, *arrays, reduction=reduction)[0])


def test_version_3_agrees_with_openvino() -> None:
    rng = np.random.default_rng(6)
    for shape, taken, axis in SHAPES:
        indices = rng.integers(0, shape[axis], taken)
        arrays = some(rng, shape, "f4"), indices, some(rng, taken, "f4"), np.array(axis)
        assert same(run(scatter_elements_update_3, *arrays)[0], openvino(scatter_elements_update_3, *arrays)[0])
