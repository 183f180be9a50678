"""SparseFillEmptyRows: the page's examples, constraints, and OpenVINO live."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32, TensorType
from irexec.ops.sparse.sparse_fill_empty_rows import sparse_fill_empty_rows_16
from irexec.ops.spec.operator import ConstraintError

RNG = np.random.default_rng(16)
PLACES = np.array([[0, 1], [0, 3], [2, 0], [3, 1]], np.int32)
SHAPE = np.array([5, 6], np.int32)


def test_description_of_the_page() -> None:
    letters = np.array(["a", "b", "c", "d"], np.dtypes.StringDType())
    default = np.array("default", np.dtypes.StringDType())
    indices, values, empty = run(sparse_fill_empty_rows_16, letters, SHAPE, PLACES, default)
    assert indices.tolist() == [[0, 1], [0, 3], [1, 0], [2, 0], [3, 1], [4, 0]]
    assert values.tolist() == ["a", "b", "default", "c", "d", "default"]
    assert empty.tolist() == [False, True, False, False, True]


def test_example_of_the_page() -> None:
    values = np.array([1, 3], np.float32)
    places, shape = np.array([[0, 0], [2, 2]], np.int32), np.array([3, 3], np.int32)
    found = run(sparse_fill_empty_rows_16, values, shape, places, np.array(42, np.float32))
    assert [f.tolist() for f in found] == [[[0, 0], [1, 0], [2, 2]], [1, 42, 3], [False, True, False]]


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int32, np.uint8, np.bool_]
)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_entries_come_in_row_major_order(dtype: type, kind: type) -> None:
    shape = np.array([7, 5], kind)
    cells = RNG.choice(35, 9, replace=False)
    places = np.stack(np.divmod(cells, 5), axis=1).astype(kind)
    values = RNG.integers(0, 9, 9).astype(dtype)
    indices, entries, empty = run(sparse_fill_empty_rows_16, values, shape, places, np.array(1).astype(dtype))
    assert indices.dtype == kind and entries.dtype == dtype
    dense = dict(zip(map(tuple, places.tolist()), values.tolist(), strict=True))
    for row in range(7):
        assert empty[row] == all(place[0] != row for place in dense)
        if empty[row]:
            dense[row, 0] = np.array(1).astype(dtype).item()
    assert list(map(tuple, indices.tolist())) == sorted(dense)
    assert entries.tolist() == [dense[place] for place in sorted(dense)]


@pytest.mark.parametrize("count", [0, 1, 12])
def test_agrees_with_openvino(count: int) -> None:
    shape = np.array([6, 9], np.int64)
    places = np.stack(np.divmod(np.sort(RNG.choice(54, count, replace=False)), 9), axis=1)
    arrays = [RNG.normal(size=count).astype(np.float32), shape, places, np.array(7, np.float32)]
    expected = openvino(sparse_fill_empty_rows_16, *arrays, fixed=(1, 3))
    for found, wanted in zip(run(sparse_fill_empty_rows_16, *arrays), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_entries_of_one_place_keep_their_order() -> None:
    places = np.array([[1, 2], [0, 0], [1, 2]], np.int64)
    values = np.array([1, 2, 3], np.int64)
    found = run(sparse_fill_empty_rows_16, values, np.array([2, 3]), places, np.array(0))
    assert found[1].tolist() == [2, 1, 3]


def test_no_rows() -> None:
    none = np.zeros((0, 2), np.int64)
    found = run(sparse_fill_empty_rows_16, np.zeros(0), np.array([0, 4]), none, np.array(1.0))
    assert [f.shape for f in found] == [(0, 2), (0,), (0,)]


def _infer(
    values: str = "2", shape: TensorType | None = None, indices: TensorType | None = None, default: str = ""
) -> tuple[list[str], list[str | None]]:
    types = [tensor(F32, values), shape or tensor(I32, "2"), indices or tensor(I32, "?,2"), tensor(F32, default)]
    found, breaches = infer(sparse_fill_empty_rows_16, types)
    return [str(t.shape) for t in found], [b.constraint for b in breaches]


def test_inferred_shapes() -> None:
    shape = tensor(I32, "2", [4, 3])
    assert _infer() == (["[2..,2]", "[2..]", "[?]"], [])
    assert _infer(shape=shape) == (["[4..6,2]", "[4..6]", "[4]"], [])
    assert _infer(shape=shape, indices=tensor(I32, "2,2", [[0, 0], [3, 1]])) == (["[4,2]", "[4]", "[4]"], [])
    assert _infer(shape=shape, indices=tensor(I32, "2,2", [[3, 0], [3, 1]])) == (["[5,2]", "[5]", "[4]"], [])


def test_c1_values() -> None:
    assert "C1" in _infer("2,1")[1]


def test_c2_dense_shape() -> None:
    assert _infer(shape=tensor(I32, "3"))[1] == ["C2"]
    assert _infer(shape=tensor(I32, "2", [-1, 3]))[1] == ["C2"]
    with pytest.raises(ConstraintError, match=r"dense_shape\[1\] is -1"):
        sparse_fill_empty_rows_16(np.zeros(0), np.array([2, -1]), np.zeros((0, 2), np.int64), np.array(1.0))


def test_c3_indices_lie_within() -> None:
    assert _infer(indices=tensor(I32, "3,2"))[1] == ["C3"]
    assert _infer(indices=tensor(I32, "2,3"))[1] == ["C3"]
    for wrong in ([5, 0], [0, 6], [-1, 0]):
        places = tensor(I32, "2,2", [[0, 0], wrong])
        assert _infer(shape=tensor(I32, "2", [5, 6]), indices=places)[1] == ["C3"]
        with pytest.raises(ConstraintError, match="at 1, outside the dense shape"):
            sparse_fill_empty_rows_16(np.zeros(2), SHAPE, np.array([[0, 0], wrong], SHAPE.dtype), np.array(1.0))


def test_c4_default_value() -> None:
    assert _infer(default="1")[1] == ["C4"]
