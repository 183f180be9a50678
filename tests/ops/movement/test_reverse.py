"""Reverse-1 and ReverseSequence-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, data, ints, refuses, scalar, the
from support.oracle import dims, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64
from irexec.ops.movement.reverse import reverse_sequence_1

broadcast_1, broadcast_3 = the("Broadcast", 1), the("Broadcast", 3)

reverse, sequence = the("Reverse", 1), the("ReverseSequence", 1)

roll, transpose = the("Roll", 7), the("Transpose", 1)


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
    for _ in range(amount(8, 2)):
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


def test_each_element_may_be_a_sequence_of_its_own_axis() -> None:
    """batch_axis and seq_axis are equal: the length of sequence i determines the new position of element i."""
    data = np.float32([[1, 2], [3, 4], [5, 6]])
    assert the("ReverseSequence", 1)(data, np.array([1, 2, 2]), batch_axis=0, seq_axis=0).tolist() == [
        [1, 2],
        [1, 2],
        [5, 6],
    ]


def test_lengths_that_are_not_numbers_are_refused() -> None:
    for length in (np.inf, np.nan):
        with pytest.raises(irexec.IRError, match=r"seq_lengths\[0\] is (inf|nan), expected 1 to 3"):
            irexec.opset1.reverse_sequence(np.ones((1, 3), np.float32), np.float32([length]), batch_axis=0, seq_axis=1)


def test_lengths_that_are_not_integers_are_undefined() -> None:
    data = np.zeros((2, 3))
    for lengths, undefined in (([1, 3], False), ([1, 1.5], True)):
        assert reverse_sequence_1.oracle.undefined(data, np.array(lengths)) == undefined
