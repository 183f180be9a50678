"""Broadcast-1 and -3."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, data, ints, refuses, scalar, the
from support.oracle import dims, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64

broadcast_1, broadcast_3 = the("Broadcast", 1), the("Broadcast", 3)

reverse, sequence = the("Reverse", 1), the("ReverseSequence", 1)

roll, transpose = the("Roll", 7), the("Transpose", 1)


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
    for _ in range(amount(8, 2)):
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


def test_more_elements_than_can_be_counted_are_too_many_for_the_memory() -> None:
    shape = irexec.opset3.parameter([2], np.int64, name="shape")
    compiled = irexec.compile_model(irexec.Model([irexec.opset3.broadcast(np.int32(0), shape)], [shape], "large"))
    with pytest.raises(irexec.IRError) as refused:
        compiled([np.array([1 << 33, 1 << 33])])
    assert [finding.code for finding in refused.value.report] == ["O011"]
