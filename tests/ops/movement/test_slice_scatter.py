"""SliceScatter: the page's examples, each constraint, random slices against NumPy's assignment and OpenVINO."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.amounts import amount
from support.oracle import infer, run, tensor

from irexec.core.types import F32, I32, I64, PartialShape, TensorType
from irexec.ops.movement.slice_scatter import slice_scatter_15
from irexec.ops.spec.operator import ConstraintError

INT_MAX, INT_MIN = 2**31 - 1, -(2**31)


def ints(*values: int, dtype: Any = np.int64) -> np.ndarray:
    return np.array(values, dtype)


def scattered(
    data: Any, updates: Any, start: Any, stop: Any, step: Any, axes: Any = None, dtype: Any = "f4"
) -> list[Any]:
    lists = [ints(*v, dtype=np.int32) for v in (start, stop, step)] + ([] if axes is None else [ints(*axes)])
    return run(slice_scatter_15, np.array(data, dtype), np.array(updates, dtype), *lists)[0].tolist()


def test_page_examples() -> None:
    data = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    result = scattered(data, [[10, 20, 30, 40, 50]], [0], [1], [1], [0])
    assert result == [[10, 20, 30, 40, 50], [5, 6, 7, 8, 9]]
    result = scattered(data, [[10, 20, 30], [40, 50, 60]], [-25], [25], [2], [1])
    assert result == [[10, 1, 20, 3, 30], [40, 6, 50, 8, 60]]
    result = scattered([*data, [10, 11, 12, 13, 14]], [[50, 60], [70, 80]], [0, 1], [3, 5], [2, 2])
    assert result == [[0, 50, 2, 60, 4], [5, 6, 7, 8, 9], [10, 70, 12, 80, 14]]


@pytest.mark.parametrize(
    ("start", "stop", "step", "updates", "expected"),
    [
        (-1, INT_MIN, -1, [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]),
        (INT_MAX, -(2**63), -2, [1, 2, 3], [3, 0, 2, 0, 1]),
        (INT_MIN, INT_MAX, 1, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        (3, 2**63 - 1, 1, [1, 2], [0, 0, 0, 1, 2]),
        (3, 1, -1, [1, 2], [0, 0, 2, 1, 0]),
        (3, 1, 1, [], [0, 0, 0, 0, 0]),
        (-4, -1, 2, [1, 2], [0, 1, 0, 2, 0]),
        (0, 5, 2**40, [1], [1, 0, 0, 0, 0]),
    ],
)
def test_bounds_are_clamped(start: int, stop: int, step: int, updates: list[int], expected: list[int]) -> None:
    data = np.zeros(5, "f4")
    result = run(slice_scatter_15, data, np.array(updates, "f4"), ints(start), ints(stop), ints(step))[0]
    assert result.tolist() == expected


def test_a_backward_slice_from_before_the_start_is_empty() -> None:
    """As in the page's NumPy snippet; OpenVINO selects the first element."""
    assert scattered([1, 2, 3], [], [-9], [INT_MIN], [-1]) == [1, 2, 3]


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


def test_agrees_with_openvino() -> None:
    """With constant slices: OpenVINO's CPU plugin returns garbage if they are Parameters."""
    import openvino as ov
    from openvino import opset15

    rng = np.random.default_rng(1)
    for _ in range(amount(25, 7)):
        given, _ = some_case(rng, "f4")
        data, updates, *lists = given
        inputs = [opset15.parameter(list(a.shape), np.float32) for a in (data, updates)]
        layer = opset15.slice_scatter(*inputs, *map(opset15.constant, lists))
        theirs = ov.Core().compile_model(ov.Model([layer], inputs), "CPU")([data, updates])[0]
        np.testing.assert_array_equal(run(slice_scatter_15, *given)[0], theirs)


def test_strings_and_mixed_index_types() -> None:
    data = np.array(["a", "b", "c"], np.dtypes.StringDType())
    lists = ints(0, dtype=np.uint8), ints(3, dtype=np.int64), ints(2, dtype=np.int32)
    assert run(slice_scatter_15, data, data[1:], *lists)[0].tolist() == ["b", "b", "c"]


def test_out() -> None:
    data, updates = np.zeros((2, 3), "f4"), np.ones((2, 1), "f4")
    lists = ints(1), ints(2), ints(1), ints(-1)
    expected = [[0, 1, 0], [0, 1, 0]]
    out = np.empty((3, 2), "f4").T
    assert slice_scatter_15(data, updates, *lists, out=out) is out and out.tolist() == expected and not data.any()
    assert slice_scatter_15(data, updates, *lists, out=data) is data and data.tolist() == expected


# Constraints.


def breaches(*types: TensorType) -> list[tuple[str | None, str | None]]:
    return [(b.constraint, b.port) for b in infer(slice_scatter_15, list(types))[1]]


def call(data: Any, updates: Any, *lists: Any) -> ConstraintError:
    with pytest.raises(ConstraintError) as caught:
        slice_scatter_15(np.zeros(data, "f4"), np.zeros(updates, "f4"), *(np.array(v) for v in lists))
    return caught.value


def known(*values: int) -> TensorType:
    return tensor(I64, str(len(values)), values)


def test_c1_data_has_a_rank() -> None:
    assert breaches(tensor(F32, ""), tensor(F32, ""), known(), known(), known()) == [("C1", "data")]
    assert call((), (), [0], [1], [1]).constraint == "C1"


@pytest.mark.parametrize("updates", ["3,1", "3", "3,5", "1,2"])
def test_c2_shape_of_updates(updates: str) -> None:
    breach = infer(
        slice_scatter_15, [tensor(F32, "3,5"), tensor(F32, updates), known(-9), known(2), known(1), known(1)]
    )[1]
    assert [(b.constraint, b.port, b.allowed) for b in breach] == [("C2", "updates", "[3,2]")]
    error = call((3, 5), PartialShape.parse(updates).to_shape(), [-9], [2], [1], [1])
    assert error.constraint == "C2" and "expected [3,2]" in error.message


@pytest.mark.parametrize("port", range(4))
def test_c3_lists_are_1d(port: int) -> None:
    lists = [known(0), known(1), known(1), known(0)]
    lists[port] = tensor(I64, "")
    assert breaches(tensor(F32, "5"), tensor(F32, "1"), *lists) == [("C3", ("start", "stop", "step", "axes")[port])]
    arrays: list[Any] = [[0], [1], [1], [0]]
    arrays[port] = arrays[port][0]
    assert call(5, 1, *arrays).constraint == "C3"


@pytest.mark.parametrize("port", range(1, 4))
def test_c4_lists_are_as_long_as_each_other(port: int) -> None:
    lists = [known(0, 0), known(1, 1), known(1, 1), known(0, 1)]
    lists[port] = tensor(I64, "1")
    assert breaches(tensor(F32, "5,5"), tensor(F32, "1,1"), *lists) == [("C4", ("start", "stop", "step", "axes")[port])]
    arrays: list[Any] = [[0, 0], [1, 1], [1, 1], [0, 1]]
    arrays[port] = arrays[port][:1]
    assert call((5, 5), (1, 1), *arrays).constraint == "C4"


def test_c5_step_is_not_0() -> None:
    assert breaches(tensor(F32, "5"), tensor(F32, "1"), known(0), known(1), known(0)) == [("C5", "step")]
    assert call(5, 1, [0], [1], [0]).constraint == "C5"


@pytest.mark.parametrize("axis", [2, -3])
def test_c6_axis_out_of_range(axis: int) -> None:
    types = tensor(F32, "5,5"), tensor(F32, "1,5"), known(0), known(1), known(1)
    assert breaches(*types, known(axis)) == [("C6", "axes")]
    assert call((5, 5), (1, 5), [0], [1], [1], [axis]).constraint == "C6"


def test_c6_more_slices_than_axes() -> None:
    assert breaches(tensor(F32, "5"), tensor(F32, "1"), known(0, 0), known(1, 1), known(1, 1)) == [("C6", "start")]
    assert call(5, 1, [0, 0], [1, 1], [1, 1]).constraint == "C6"


def test_c7_axis_twice() -> None:
    types = tensor(F32, "5,5"), tensor(F32, "1,5"), known(0, 0), known(1, 1), known(1, 1)
    assert breaches(*types, known(0, -2)) == [("C7", "axes")]
    assert call((5, 5), (1, 5), [0, 0], [1, 1], [1, 1], [1, -1]).constraint == "C7"


@pytest.mark.parametrize(
    ("data", "updates", "start"),
    [("...", "3", "1"), ("5,?", "...", "..."), ("?,5", "2,5", "1"), ("5,5", "2,4", "?"), ("1..9,5", "?,?", "2")],
)
def test_dynamic_shapes(data: str, updates: str, start: str) -> None:
    types = tensor(F32, data), tensor(F32, updates), tensor(I32, start), tensor(I32, start), tensor(I32, start)
    outputs, found = infer(slice_scatter_15, list(types))
    assert found == [] and outputs[0].shape == types[0].shape


def test_unknown_slices_cannot_grow() -> None:
    types = tensor(F32, "5,5"), tensor(F32, "6,5"), tensor(I32, "1"), tensor(I32, "1"), tensor(I32, "1")
    assert breaches(*types) == [("C2", "updates")]


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
