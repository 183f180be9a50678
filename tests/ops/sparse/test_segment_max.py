"""SegmentMax: the page's examples, constraints, and OpenVINO live."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64, TensorType
from irexec.ops.sparse.segment_max import segment_max_16
from irexec.ops.spec.operator import ConstraintError

RNG = np.random.default_rng(16)
DATA = np.array([3, 1, 2, 5, 4, -6, -8, -7], np.float32)
IDS = np.array([0, 0, 0, 1, 1, 3, 5, 5], np.int32)


def _count(value: int) -> np.ndarray:
    return np.array(value, np.int64)


def test_description_of_the_page() -> None:
    assert run(segment_max_16, DATA, IDS, fill_mode="ZERO")[0].tolist() == [3, 5, 0, -6, 0, -7]
    lowest = float(np.finfo(np.float32).min)
    assert run(segment_max_16, DATA, IDS, fill_mode="lowest")[0].tolist() == [3, 5, lowest, -6, lowest, -7]


def test_examples_of_the_page() -> None:
    ids = np.array([0, 0, 2, 3, 3], np.int32)
    data = np.array([-1, -2, 3, 5, 4], np.float32)
    assert run(segment_max_16, data, ids, _count(2), fill_mode="zero")[0].tolist() == [-1, 0]
    assert run(segment_max_16, data, ids, _count(8), fill_mode="zero")[0].tolist() == [-1, 0, 3, 5, 0, 0, 0, 0]
    rows = np.array([[1, 2, 3, 4], [5, 1, 9, 0], [2, 7, 1, 0]], np.int32)
    found = run(segment_max_16, rows, np.array([0, 1, 1]), fill_mode="LOWEST")[0]
    assert found.tolist() == [[1, 2, 3, 4], [5, 7, 9, 0]]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64, np.int8, np.uint8, np.int64, np.uint64])
def test_lowest_is_the_types_own(dtype: type) -> None:
    data = np.array([1, 3, 2]).astype(dtype)
    found = run(segment_max_16, data, np.array([1, 1, 2]), fill_mode="lowest")[0]
    low = ml_dtypes.finfo(dtype).min if np.dtype(dtype).kind in "fV" else np.iinfo(dtype).min
    np.testing.assert_array_equal(found, np.array([low, 3, 2]).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
@pytest.mark.parametrize("count", [None, 0, 3, 9])
@pytest.mark.parametrize("fill_mode", ["zero", "lowest"])
def test_agrees_with_openvino(dtype: type, count: int | None, fill_mode: str) -> None:
    data = (RNG.normal(size=(6, 3, 2)) * 9).astype(dtype)
    arrays = [data, np.sort(RNG.integers(0, 6, 6))] + ([] if count is None else [_count(count)])
    found = run(segment_max_16, *arrays, fill_mode=fill_mode)[0]
    np.testing.assert_array_equal(found, openvino(segment_max_16, *arrays, fixed=(1, 2), fill_mode=fill_mode)[0])


def test_minus_infinity_and_nan_are_values() -> None:
    """OpenVINO's core starts with the lowest finite number, so it returns neither; the page specifies no start
    value."""
    data = np.array([-np.inf, np.nan, 1], np.float32)
    np.testing.assert_array_equal(
        run(segment_max_16, data, np.array([0, 1, 1]), fill_mode="zero")[0], [-np.inf, np.nan]
    )


def test_no_rows() -> None:
    none = np.zeros((0, 2), np.float32)
    assert run(segment_max_16, none, np.zeros(0, np.int64), fill_mode="zero")[0].shape == (0, 2)
    assert run(segment_max_16, none, np.zeros(0, np.int64), _count(2), fill_mode="zero")[0].tolist() == [[0, 0]] * 2
    assert run(segment_max_16, np.zeros((2, 0)), np.array([0, 3]), fill_mode="zero")[0].shape == (4, 0)


def _breaches(data: TensorType, ids: TensorType, count: TensorType | None = None) -> list[str | None]:
    return [b.constraint for b in infer(segment_max_16, [data, ids, count], fill_mode="zero")[1]]


def test_c1_data_is_not_a_scalar() -> None:
    assert _breaches(tensor(F32, ""), tensor(I64, "?")) == ["C1"]


def test_c2_one_ascending_id_for_each_row() -> None:
    assert _breaches(tensor(F32, "3,2"), tensor(I64, "2")) == ["C2"]
    assert _breaches(tensor(F32, "3,2"), tensor(I64, "3,1")) == ["C2"]
    for ids in ([0, 2, 1], [-1, 0, 1]):
        assert _breaches(tensor(F32, "3,2"), tensor(I64, "3", ids)) == ["C2"]
        with pytest.raises(ConstraintError, match=r"ascend|expected 0 or more"):
            segment_max_16(DATA[:3], np.array(ids), fill_mode="zero")


def test_c3_number_of_segments() -> None:
    assert _breaches(tensor(F32, "3"), tensor(I64, "3"), tensor(I64, "", -1)) == ["C3"]
    assert _breaches(tensor(F32, "3"), tensor(I64, "3"), tensor(I64, "1")) == ["C3"]
    with pytest.raises(ConstraintError, match="num_segments is -1"):
        segment_max_16(DATA, IDS, _count(-1), fill_mode="zero")


def test_inferred_number_of_segments() -> None:
    def shape(ids: TensorType, count: TensorType | None = None) -> str:
        return str(infer(segment_max_16, [tensor(F32, "3,4"), ids, count], fill_mode="zero")[0][0].shape)

    assert shape(tensor(I64, "3", [0, 0, 4])) == "[5,4]"
    assert shape(tensor(I64, "3")) == "[?,4]"
    assert shape(tensor(I64, "3", [0, 0, 4]), tensor(I64, "")) == "[?,4]"
    assert shape(tensor(I64, "3"), tensor(I64, "", 7)) == "[7,4]"
