"""Tile-1, Broadcast-1 and -3, Reverse-1, ReverseSequence-1, Roll-7, Transpose-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.types import F32, I64

tile = the("Tile", 1)
broadcast_1, broadcast_3 = the("Broadcast", 1), the("Broadcast", 3)
reverse, sequence = the("Reverse", 1), the("ReverseSequence", 1)
roll, transpose = the("Roll", 7), the("Transpose", 1)


def dims(op: object, *inputs: object, **attributes: object) -> str:
    (out,), breaches = infer(op, list(inputs), **attributes)
    assert not breaches, breaches
    return str(out.shape)


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 2, 3)
    assert run(tile, table, ints(2, 1, 2))[0].tolist() == [[row + row for row in table.tolist()]] * 2
    assert run(broadcast_3, table, ints(2, 2, 3))[0].tolist() == [table.tolist()] * 2
    assert run(reverse, table, ints(1), mode="index")[0].tolist() == table[:, ::-1].tolist()
    assert run(sequence, table, ints(1, 3))[0].tolist() == [table[0].tolist(), table[1, ::-1].tolist()]
    assert run(roll, table, scalar(1), ints(1))[0].tolist() == table[:, [2, 0, 1]].tolist()
    assert run(transpose, table, ints(1, 0))[0].tolist() == table.T.tolist()


def test_tile_page_shapes() -> None:
    assert dims(tile, tensor(F32, "2,3,4"), tensor(I64, "3", [1, 2, 3])) == "[2,6,12]"
    assert dims(tile, tensor(F32, "2,3,4"), tensor(I64, "4", [5, 1, 2, 3])) == "[5,2,6,12]"
    assert dims(tile, tensor(F32, "5,2,3,4"), tensor(I64, "3", [1, 2, 3])) == "[5,2,6,12]"
    assert dims(tile, tensor(F32, "?,2..3"), tensor(I64, "2", [3, 2])) == "[?,4..6]"
    assert dims(tile, tensor(F32, "2,3"), tensor(I64, "3")) == "[?,?,?]"
    assert dims(tile, tensor(F32, "..."), tensor(I64, "1", [1])) == "[...]"


def test_tile_agrees_with_openvino_and_numpy() -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        table = data(rng, "f32", *rng.integers(1, 4, rng.integers(1, 4)))
        repeats = rng.integers(0 if _ == 0 else 1, 4, rng.integers(1, 4))
        (result,) = run(tile, table, repeats)
        np.testing.assert_array_equal(result, np.tile(table, repeats))
        np.testing.assert_array_equal(result, openvino(tile, table, repeats, fixed=[1])[0])
    assert run(tile, np.ones((2, 2)), ints(-1, 1))[0].shape == (0, 2)
    assert run(tile, np.array(4.0), ints())[0].shape == ()
    once = np.ones(3)
    assert not np.shares_memory(tile(once, ints(1)), once)


def test_tile_c1_repeats_is_1d() -> None:
    assert broken(tile, np.ones(2), scalar(2)) == {"C1"}


@pytest.mark.parametrize("op", [broadcast_1, broadcast_3])
def test_broadcast_page_shapes(op: object) -> None:
    assert dims(op, tensor(F32, "16,1,1"), tensor(I64, "4", [1, 16, 50, 50]), mode="numpy") == "[1,16,50,50]"
    target, axis = tensor(I64, "4", [1, 16, 50, 50]), tensor(I64, "1", [1])
    assert dims(op, tensor(F32, "16"), target, axis, mode="explicit") == "[1,16,50,50]"
    axes = tensor(I64, "2", [1, 2])
    assert dims(op, tensor(F32, "50,50"), tensor(I64, "4", [1, 50, 50, 16]), axes, mode="explicit") == "[1,50,50,16]"
    assert dims(op, tensor(F32, "?,1"), tensor(I64, "3")) == "[?,?,?]"


def test_c4_c7_of_axes_mapping() -> None:
    row, mode = np.zeros(3), {"mode": "explicit"}
    for op in (broadcast_1, broadcast_3):
        refuses(op, "C4", row, ints(3, 2), ints(-2), **mode)
        refuses(op, "C4", row, ints(3, 2), ints(2), **mode)
    assert broken(broadcast_3, row, ints(2, 3), ints(1)) == {"C7"}
    assert broken(broadcast_3, row, ints(2, 3), ints(1), mode="bidirectional") == {"C7"}
    assert not broken(broadcast_1, row, ints(2, 3), ints(1))


def test_broadcast_modes() -> None:
    assert (
        dims(broadcast_3, tensor(F32, "16,1,5"), tensor(I64, "4", [1, 1, 50, 1]), mode="bidirectional") == "[1,16,50,5]"
    )
    assert dims(broadcast_3, tensor(F32, "16,1"), tensor(I64, "3"), mode="bidirectional") == "[?,16,?]"
    assert run(broadcast_3, np.ones((3, 1)), ints(4), mode="bidirectional")[0].shape == (3, 4)
    column = np.array([1, 2, 3])
    (result,) = run(broadcast_3, column, ints(2, 3, 2), ints(1), mode="explicit")
    np.testing.assert_array_equal(result, np.broadcast_to(column[:, None], (2, 3, 2)))
    np.testing.assert_array_equal(run(broadcast_1, column, ints(2, 3, 2), ints(1), mode="none")[0], result)


def test_broadcast_agrees_with_openvino() -> None:
    rng = np.random.default_rng(2)
    for _ in range(8):
        target = rng.integers(1, 4, rng.integers(1, 5))
        shape = np.where(rng.integers(0, 2, len(target)), target, 1)[rng.integers(0, len(target)) :]
        table = data(rng, "f32", *shape)
        for op, mode in ((broadcast_1, "numpy"), (broadcast_3, "numpy"), (broadcast_3, "bidirectional")):
            ours, theirs = run(op, table, target, mode=mode)[0], openvino(op, table, target, fixed=[1], mode=mode)[0]
            np.testing.assert_array_equal(ours, theirs)
        axes = np.sort(rng.permutation(len(target))[: len(shape)])
        table = data(rng, "f32", *target[axes])
        ours = run(broadcast_3, table, target, axes, mode="explicit")[0]
        theirs = openvino(broadcast_3, table, target, axes, fixed=[1, 2], mode="explicit")[0]
        np.testing.assert_array_equal(ours, theirs)


def test_broadcast_constraints() -> None:
    table = np.ones((2, 3))
    refuses(broadcast_3, "C1", table, ints(2, 4))
    refuses(broadcast_3, "C1", table, ints(3))
    refuses(broadcast_3, "C1", table, ints(4, 1), mode="bidirectional")
    refuses(broadcast_3, "C1", table, ints(2, 5), ints(0, 1), mode="explicit")
    refuses(broadcast_3, "C2", table, ints(2, 3), ints(0), mode="explicit")
    assert "C3" in broken(broadcast_3, table, scalar(3))
    refuses(broadcast_3, "C4", table, ints(3, 2), ints(1, 0), mode="explicit")
    refuses(broadcast_3, "C4", table, ints(2, 3), ints(0, 2), mode="explicit")
    refuses(broadcast_3, "C5", table, ints(-2, 3))
    refuses(broadcast_3, "C6", table, ints(2, 3), mode="explicit")


def test_reverse() -> None:
    rng = np.random.default_rng(3)
    table = data(rng, "f32", 2, 3, 4)
    np.testing.assert_array_equal(run(reverse, table, ints(0, -1), mode="index")[0], table[::-1, :, ::-1])
    np.testing.assert_array_equal(run(reverse, table, ints(1, 1), mode="index")[0], table[:, ::-1])
    mask = np.array([False, True, True])
    np.testing.assert_array_equal(run(reverse, table, mask, mode="mask")[0], table[:, ::-1, ::-1])
    np.testing.assert_array_equal(openvino(reverse, table, mask, fixed=[1], mode="mask")[0], table[:, ::-1, ::-1])
    assert run(reverse, table, ints(), mode="index")[0].tolist() == table.tolist()


def test_reverse_constraints() -> None:
    table = np.ones((2, 3))
    refuses(reverse, "C1", table, ints(2), mode="index")
    refuses(reverse, "C2", table, np.array([True]), mode="mask")
    assert "C3" in broken(reverse, table, scalar(0), mode="index")
    assert "C4" in broken(reverse, table, ints(0, 1), mode="mask")
    assert "C4" in broken(reverse, table, np.array([True]), mode="index")


def test_reverse_sequence_agrees_with_openvino() -> None:
    rng = np.random.default_rng(4)
    for _ in range(8):
        shape = rng.integers(1, 5, rng.integers(2, 5))
        batch, along = (int(v) for v in rng.permutation(len(shape))[:2])
        lengths = rng.integers(1, shape[along] + 1, shape[batch]).astype(np.int32)
        arrays, attributes = (data(rng, "f32", *shape), lengths), {"batch_axis": batch, "seq_axis": along - len(shape)}
        ours, theirs = run(sequence, *arrays, **attributes)[0], openvino(sequence, *arrays, **attributes)[0]
        np.testing.assert_array_equal(ours, theirs)


def test_reverse_sequence_constraints() -> None:
    table = np.ones((2, 3))
    refuses(sequence, "C1", table, ints(1, 1), batch_axis=2)
    refuses(sequence, "C2", table, ints(1, 1), seq_axis=-3)
    assert "C3" in broken(sequence, np.ones(3), ints(1), seq_axis=0)
    refuses(sequence, "C4", table, ints(1))
    refuses(sequence, "C5", table, ints(1, 4))
    refuses(sequence, "C5", table, ints(0, 1))
    assert dims(sequence, tensor(F32, "?,3"), tensor(I64, "4")) == "[4,3]"


def test_roll_page_examples() -> None:
    table = np.arange(1, 13).reshape(4, 3)
    assert run(roll, table, scalar(1), scalar(0))[0].tolist() == [[10, 11, 12], [1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert run(roll, table, ints(-1, 2), ints(0, 1))[0].tolist() == [[5, 6, 4], [8, 9, 7], [11, 12, 10], [2, 3, 1]]
    expected = [[8, 9, 7], [11, 12, 10], [2, 3, 1], [5, 6, 4]]
    assert run(roll, table, ints(1, 2, 1), ints(0, 1, 0))[0].tolist() == expected


def test_roll_by_one_element_for_all_axes() -> None:
    """As in the page's second example; OpenVINO wants a scalar."""
    table = np.arange(6).reshape(2, 3)
    np.testing.assert_array_equal(run(roll, table, ints(1), ints(0, 1))[0], np.roll(table, 1, (0, 1)))


def test_roll_agrees_with_openvino() -> None:
    rng = np.random.default_rng(5)
    for _ in range(8):
        shape = rng.integers(1, 5, rng.integers(1, 4))
        axes = rng.integers(-len(shape), len(shape), rng.integers(1, 4))
        shift = rng.integers(-9, 10, len(axes)) if rng.integers(2) else scalar(rng.integers(-9, 10))
        arrays = (data(rng, "f32", *shape), shift, axes)
        (result,) = run(roll, *arrays)
        np.testing.assert_array_equal(result, np.roll(arrays[0], shift, axes))
        if shift.size == axes.size:
            # The CPU plugin does not take a scalar shift for several axes.
            np.testing.assert_array_equal(result, openvino(roll, *arrays, fixed=[1, 2])[0])


def test_roll_constraints() -> None:
    table = np.ones((2, 3))
    refuses(roll, "C1", table, ints(1, 2, 3), ints(0, 1))
    refuses(roll, "C1", table, ints(1, 2), scalar(0))
    assert "C2" in broken(roll, table, np.ones((1, 1), int), ints(0))
    refuses(roll, "C3", table, scalar(1), ints(2))


def test_transpose() -> None:
    rng = np.random.default_rng(6)
    table = data(rng, "f32", 2, 3, 4)
    np.testing.assert_array_equal(run(transpose, table, ints())[0], table.transpose())
    for order in ([2, 0, 1], [1, 0, 2], [0, 1, 2]):
        np.testing.assert_array_equal(run(transpose, table, ints(*order))[0], table.transpose(order))
        np.testing.assert_array_equal(openvino(transpose, table, ints(*order), fixed=[1])[0], table.transpose(order))
    assert np.shares_memory(transpose(table, ints()), table)
    assert run(transpose, np.array(3.0), ints())[0].shape == ()
    assert dims(transpose, tensor(F32, "?,2,3..4"), tensor(I64, "3", [2, 0, 1])) == "[3..4,?,2]"
    assert dims(transpose, tensor(F32, "?,2,3..4"), tensor(I64, "0", [])) == "[3..4,2,?]"
    assert dims(transpose, tensor(F32, "?,2,3..4"), tensor(I64, "3")) == "[?,?,?]"


def test_transpose_constraints() -> None:
    refuses(transpose, "C1", np.ones((2, 3)), ints(0, 0))
    refuses(transpose, "C1", np.ones((2, 3)), ints(0, 1, 2))
    refuses(transpose, "C1", np.ones((2, 3)), ints(0, -1))
    assert broken(transpose, tensor(F32, "2,3"), tensor(I64, "2,1")) == {"C2"}
    assert broken(transpose, tensor(F32, "2,3"), tensor(I64, "3")) == {"C1"}
