"""Gather-1, -7, -8."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

gather_1, gather_7, gather_8 = the("Gather", 1), the("Gather", 7), the("Gather", 8)


@pytest.mark.parametrize(
    ("table", "indices", "axis", "batch_dims", "expected"),
    [
        ([1, 2, 3, 4, 5], [0, 0, 4], 0, 0, [1, 1, 5]),
        ([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], [[0, 0, 4], [4, 0, 0]], 1, 1, [[1, 1, 5], [10, 6, 6]]),
        ([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], [[0, 0, 4], [4, 0, 0]], 1, -1, [[1, 1, 5], [10, 6, 6]]),
        ([1, 2, 3, 4, 5], [0, -2, -1], 0, 0, [1, 4, 5]),
        ([1, 2, 3, 4, 5], [3, 10, -20], 0, 0, [4, 0, 0]),
    ],
    ids=["example 1", "example 2", "example 5", "example 6", "example 7"],
)
def test_page_example(table: list, indices: list, axis: int, batch_dims: int, expected: list) -> None:
    (result,) = run(gather_8, np.array(table), np.array(indices), scalar(axis), batch_dims=batch_dims)
    np.testing.assert_array_equal(result, expected)


def test_page_example_3() -> None:
    table = np.arange(1, 21).reshape(2, 2, 5)
    indices = np.array([[[0, 0, 4], [4, 0, 0]], [[1, 2, 4], [4, 3, 2]]])
    (result,) = run(gather_8, table, indices, scalar(2), batch_dims=2)
    np.testing.assert_array_equal(result, [[[1, 1, 5], [10, 6, 6]], [[12, 13, 15], [20, 19, 18]]])


def test_page_example_4() -> None:
    table = np.arange(1, 41).reshape(2, 1, 5, 4)
    (result,) = run(gather_8, table, np.array([[1, 2, 4], [4, 3, 2]]), ints(2), batch_dims=1)
    expected = [table[:1][:, :, [1, 2, 4]], table[1:][:, :, [4, 3, 2]]]
    np.testing.assert_array_equal(result, np.concatenate(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    rng = np.random.default_rng(1)
    table, indices = data(rng, kind, 4, 3), np.array([[0, -1], [3, 2]], np.int32)
    (result,) = run(gather_8, table, indices, scalar(0))
    assert result.tolist() == table[indices].tolist()
    (result,) = run(gather_8, table, np.array([1, 9]), scalar(1))
    assert result[:, 0].tolist() == table[:, 1].tolist()
    assert result[:, 1].tolist() == [np.zeros((), table.dtype).item()] * 4
    assert run(gather_8, table[:, 0], scalar(2), scalar(0))[0].tolist() == table[:, 0].tolist()[2]


@pytest.mark.parametrize("version", [1, 7, 8])
def test_agrees_with_openvino(version: int) -> None:
    """OpenVINO's core is used, because some of these shapes crash the CPU plugin."""
    rng, op = np.random.default_rng(version), the("Gather", version)
    for _ in range(amount(12, 3)):
        shape = rng.integers(1, 5, rng.integers(1, 5))
        axis = int(rng.integers(0, len(shape)))
        batch = 0 if version == 1 else int(rng.integers(0, axis + 1))
        index_shape = (*shape[:batch], *rng.integers(1, 4, rng.integers(batch == 0, 3)))
        low = -shape[axis] if version == 8 else 0
        indices = rng.integers(low, shape[axis], index_shape)
        table = data(rng, "f32", *shape)
        attributes = {} if version == 1 else {"batch_dims": batch}
        arrays = (table, indices, scalar(axis - rng.integers(2) * len(shape)))
        np.testing.assert_array_equal(
            run(op, *arrays, **attributes)[0], openvino(op, *arrays, constants=True, **attributes)[0]
        )


def test_unsigned_indices_and_empty_tensors() -> None:
    table = np.arange(5.0)
    assert run(gather_8, table, np.array([4, 2**63 + 5], np.uint64), scalar(0))[0].tolist() == [4, 0]
    assert run(gather_8, np.zeros((0, 3)), ints(), scalar(0))[0].shape == (0, 3)
    assert run(gather_8, np.zeros((0, 3)), ints(1), scalar(0))[0].tolist() == [[0, 0, 0]]
    assert run(gather_8, np.zeros((2, 0)), np.zeros((2, 3), int), scalar(1), batch_dims=1)[0].tolist() == [[0] * 3] * 2


def test_negative_indices_count_from_the_end_in_every_version() -> None:
    """The pages of Gather-1 and Gather-7 do not mention them; OpenVINO accepts them."""
    for op in (gather_1, gather_7):
        assert run(op, np.arange(5), ints(-1, 0), scalar(0))[0].tolist() == [4, 0]


@pytest.mark.parametrize("op", [gather_1, gather_7])
def test_c1_index_out_of_range(op: object) -> None:
    refuses(op, "C1", np.arange(5), ints(5), scalar(0))
    refuses(op, "C1", np.arange(5), ints(-6), scalar(0))


@pytest.mark.parametrize("op", [gather_1, gather_7, gather_8])
def test_c2_axis_out_of_range(op: object) -> None:
    refuses(op, "C2", np.arange(5), ints(1), scalar(1))
    refuses(op, "C2", np.arange(5), ints(1), scalar(-2))


def test_c3_axis_is_one_element() -> None:
    assert broken(gather_8, np.eye(3), ints(1), ints(0, 1)) == {"C3"}
    assert broken(gather_8, np.eye(3), ints(1), ints(0)) == set()


def test_c4_batch_dims_within_both_ranks() -> None:
    refuses(gather_8, "C4", np.eye(3), ints(1), scalar(1), batch_dims=2)
    refuses(gather_8, "C4", np.eye(3), ints(1), scalar(1), batch_dims=-2)


def test_c5_batch_dims_at_most_axis() -> None:
    refuses(gather_8, "C5", np.eye(3), ints(1, 1, 1), scalar(0), batch_dims=1)
    assert broken(gather_8, tensor(F32, "..."), tensor(I64, "..."), scalar(0), batch_dims=1) == {"C5"}


def test_c6_batch_dimensions_are_equal() -> None:
    refuses(gather_8, "C6", np.eye(3), np.zeros((2, 2), int), scalar(1), batch_dims=1)
    inputs = [tensor(F32, "3,5,4"), tensor(I64, "2,2"), tensor(I64, "")]
    assert [b.constraint for b in infer(gather_8, inputs, batch_dims=1)[1]] == ["C6"]
    (out,), breaches = infer(gather_8, [inputs[0], tensor(I64, "3,2"), inputs[2]], batch_dims=1)
    assert str(out.shape) == "[3,?,?]" and not breaches


def test_shapes_with_dynamic_dimensions() -> None:
    axis = tensor(I64, "", 1)
    (out,), _ = infer(gather_8, [tensor(F32, "?,5,1..3"), tensor(I64, "2,?"), axis])
    assert str(out.shape) == "[?,2,?,1..3]"
    (out,), _ = infer(gather_8, [tensor(F32, "?,5,3"), tensor(I64, "4,?"), axis], batch_dims=1)
    assert str(out.shape) == "[4,?,3]"
    (out,), _ = infer(gather_8, [tensor(F32, "2,5"), tensor(I64, "?"), tensor(I64, "")])
    assert str(out.shape) == "[?,?]"
    (out,), _ = infer(gather_8, [tensor(F32, "..."), tensor(I64, "?"), axis])
    assert out.rank is None


def test_of_an_unaligned_table_only_what_is_asked_for_is_read() -> None:
    table = np.arange(40_000, dtype=np.float32).reshape(2000, 20)
    unaligned = np.frombuffer(b"\0" + table.tobytes(), np.float32, offset=1).reshape(table.shape)
    index, out = ints(3, 1999, -1, 0).reshape(2, 2), np.empty((2, 2, 20), np.float32)
    tracemalloc.start()
    try:
        found = gather_8(unaligned, index, scalar(0))
        assert gather_8(unaligned, index, scalar(0), out=out) is out
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < table.nbytes / 4
    np.testing.assert_array_equal(found, table[index])
    np.testing.assert_array_equal(out, table[index])
    # Along the last axis, from a part of the table, and for each image from its own.
    np.testing.assert_array_equal(gather_8(unaligned, ints(19, -20), scalar(1)), table[:, [19, 0]])
    np.testing.assert_array_equal(gather_8(unaligned[:, ::2], index, scalar(0)), table[index][..., ::2])
    images, picks = unaligned.reshape(2, 1000, 20), ints(1, 999).reshape(2, 1)
    np.testing.assert_array_equal(
        gather_8(images, picks, scalar(1), batch_dims=1)[:, 0], table.reshape(2, 1000, 20)[[0, 1], [1, 999]]
    )
