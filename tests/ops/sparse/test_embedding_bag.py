"""Embedding bags: the pages' examples, constraints, and OpenVINO live."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.sparse.embedding_bag import (
    embedding_bag_offsets_15,
    embedding_bag_offsets_sum_3,
    embedding_bag_packed_15,
    embedding_bag_packed_sum_3,
    embedding_segments_sum_3,
)
from irexec.ops.spec.operator import ConstraintError

TABLE = np.array([[-0.2, -0.6], [-0.1, -0.4], [-1.9, -1.8], [-1.0, 1.5], [0.8, -0.7]], np.float32)
INDICES = np.array([0, 2, 3, 4], np.int64)
OFFSETS = np.array([0, 2, 2], np.int64)
HALVES = np.full(4, 0.5, np.float32)
RNG = np.random.default_rng(11)


def _scalar(value: int) -> np.ndarray:
    return np.array(value, np.int64)


def test_examples_of_the_offsets_pages() -> None:
    expected = [[-1.05, -1.2], [-0.2, -0.6], [-0.1, 0.4]]
    for op in (embedding_bag_offsets_15, embedding_bag_offsets_sum_3):
        np.testing.assert_allclose(run(op, TABLE, INDICES, OFFSETS, _scalar(0), HALVES)[0], expected, rtol=1e-6)
    weights = np.array([0.5, 0.2, -2, 1], np.float32)
    found = run(embedding_bag_offsets_15, TABLE, INDICES, OFFSETS, _scalar(-1), weights)[0]
    np.testing.assert_allclose(found, [[-0.48, -0.66], [0, 0], [2.8, -3.7]], rtol=1e-6)
    found = run(embedding_bag_offsets_15, TABLE, INDICES, OFFSETS, reduction="mean")[0]
    np.testing.assert_allclose(found, [[-1.05, -1.2], [0, 0], [-0.1, 0.4]], rtol=1e-6)


def test_example_of_the_packed_page() -> None:
    indices = np.array([[0, 2], [1, 2], [3, 4]], np.int64)
    weights = np.full((3, 2), 0.5, np.float32)
    expected = [[-1.05, -1.2], [-1.0, -1.1], [-0.1, 0.4]]
    np.testing.assert_allclose(run(embedding_bag_packed_sum_3, TABLE, indices, weights)[0], expected, rtol=1e-6)
    np.testing.assert_allclose(run(embedding_bag_packed_15, TABLE, indices, reduction="mean")[0], expected, rtol=1e-6)


def test_example_of_the_segments_page() -> None:
    ids = np.array([0, 0, 2, 2], np.int64)
    found = run(embedding_segments_sum_3, TABLE, INDICES, ids, _scalar(3), _scalar(0), HALVES)[0]
    np.testing.assert_allclose(found, [[-1.05, -1.2], [-0.2, -0.6], [-0.1, 0.4]], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int32, np.uint8])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_agrees_with_the_page_loop(dtype: type, kind: type) -> None:
    table = (RNG.random((6, 3, 2)) * 9).astype(dtype)
    indices = RNG.integers(0, 6, 10).astype(kind)
    offsets = np.array([0, 0, 3, 9, 9], kind)
    wide = table.astype(np.float32) if table.dtype.kind == "V" or dtype == np.float16 else table
    bags = [wide[indices[a:b]].sum(0, dtype=wide.dtype) for a, b in zip(offsets, [*offsets[1:], 10], strict=True)]
    found = run(embedding_bag_offsets_15, table, indices, offsets)[0]
    assert found.dtype == dtype
    expected = np.stack(bags).astype(dtype).astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=1e-2)


def test_agrees_with_openvino() -> None:
    table = RNG.normal(size=(6, 3, 2)).astype(np.float32)
    indices, offsets = RNG.integers(0, 6, 10), np.array([0, 3, 3, 9])
    for inputs in ([table, indices, offsets], [table, indices, offsets, _scalar(2)]):
        for reduction in ("sum", "mean"):
            found = run(embedding_bag_offsets_15, *inputs, reduction=reduction)[0]
            expected = openvino(embedding_bag_offsets_15, *inputs, reduction=reduction)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    packed = RNG.integers(0, 6, (4, 5))
    weights = RNG.normal(size=(4, 5)).astype(np.float32)
    for op in (embedding_bag_packed_15, embedding_bag_packed_sum_3):
        expected = openvino(op, table, packed, weights)[0]
        np.testing.assert_allclose(run(op, table, packed, weights)[0], expected, rtol=1e-5, atol=1e-5)


def test_mean_of_integers_is_cut() -> None:
    table = np.array([[-3], [0], [3]], np.int32)
    found = run(embedding_bag_packed_15, table, np.array([[0, 1], [2, 1]]), reduction="mean")[0]
    np.testing.assert_array_equal(found, [[-1], [1]])


def test_no_bag_and_no_index() -> None:
    none = np.zeros(0, np.int64)
    assert run(embedding_bag_offsets_15, TABLE, none, none)[0].shape == (0, 2)
    np.testing.assert_array_equal(
        run(embedding_bag_offsets_15, TABLE, none, np.zeros(2, np.int64))[0], np.zeros((2, 2))
    )
    assert run(embedding_segments_sum_3, TABLE, none, none, _scalar(2))[0].tolist() == [[0, 0], [0, 0]]


def test_c1_rank_of_indices() -> None:
    table = tensor(F32, "5,2")
    assert [b.constraint for b in infer(embedding_bag_packed_15, [table, tensor(I64, "4"), None])[1]] == ["C1"]
    types = [table, tensor(I64, "2,2"), tensor(I64, "2"), None, None]
    assert [b.constraint for b in infer(embedding_bag_offsets_15, types)[1]] == ["C1"]


def test_c8_the_table_is_not_a_scalar() -> None:
    scalar, ids = tensor(F32, ""), tensor(I64, "4")
    assert [b.constraint for b in infer(embedding_bag_packed_15, [scalar, tensor(I64, "2,2"), None])[1]] == ["C8"]
    assert [b.constraint for b in infer(embedding_bag_offsets_15, [scalar, ids, ids, None, None])[1]] == ["C8"]
    types = [scalar, ids, ids, tensor(I64, ""), None, None]
    assert [b.constraint for b in infer(embedding_segments_sum_3, types)[1]] == ["C8"]
    with pytest.raises(ConstraintError, match="scalar"):
        embedding_bag_packed_15(np.float32(1).reshape(()), np.zeros((1, 1), np.int64))


@pytest.mark.parametrize("ids", [[0, 1, 0, 2], [-1, 0, 0, 0], [0, 0, 1, 3]])
def test_c2_segments_ascend_within_their_number(ids: list[int]) -> None:
    table, indices, count = tensor(F32, "5,2"), tensor(I64, "4"), tensor(I64, "", 3)
    types = [table, indices, tensor(I64, "4", ids), count, None, None]
    assert [b.constraint for b in infer(embedding_segments_sum_3, types)[1]] == ["C2"]
    with pytest.raises(ConstraintError, match="ascending values of at least 0 and less than 3"):
        embedding_segments_sum_3(TABLE, INDICES, np.array(ids), _scalar(3))


@pytest.mark.parametrize("offsets", [[1, 0], [-1, 0], [0, 5]])
def test_c2_offsets_ascend_within_the_indices(offsets: list[int]) -> None:
    types = [tensor(F32, "5,2"), tensor(I64, "4"), tensor(I64, "2", offsets), None, None]
    assert [b.constraint for b in infer(embedding_bag_offsets_15, types)[1]] == ["C2"]
    with pytest.raises(ConstraintError, match="ascend"):
        embedding_bag_offsets_15(TABLE, INDICES, np.array(offsets))


def test_c3_indices_are_rows() -> None:
    types = [tensor(F32, "5,2"), tensor(I64, "1,2", [[1, 5]]), None]
    assert [b.constraint for b in infer(embedding_bag_packed_15, types)[1]] == ["C3"]
    with pytest.raises(ConstraintError, match=r"indices\[0, 1\] is -1, expected 0 to 4"):
        embedding_bag_packed_15(TABLE, np.array([[1, -1]]))


def test_c4_c5_c6_default_and_weights() -> None:
    table, indices, offsets = tensor(F32, "5,2"), tensor(I64, "4"), tensor(I64, "2")
    types = [table, indices, offsets, tensor(I64, "", 5), tensor(F32, "3")]
    breaches = infer(embedding_bag_offsets_15, types, reduction="mean")[1]
    assert [b.constraint for b in breaches] == ["C4", "C6", "C5"]
    with pytest.raises(ConstraintError, match="reduction is 'mean'"):
        embedding_bag_offsets_15(TABLE, INDICES, OFFSETS, None, HALVES, reduction="mean")


def test_c7_number_of_segments() -> None:
    types = [tensor(F32, "5,2"), tensor(I64, "4"), tensor(I64, "4"), tensor(I64, "", -1), None, None]
    assert [b.constraint for b in infer(embedding_segments_sum_3, types)[1]] == ["C7"]
    with pytest.raises(ConstraintError, match="num_segments is -1"):
        embedding_segments_sum_3(TABLE, INDICES, np.zeros(4, np.int64), _scalar(-1))
