"""Transpose-1."""

from __future__ import annotations

import numpy as np
from support.cases import broken, data, ints, refuses, the
from support.oracle import dims, openvino, run, tensor

from irexec.core.types import F32, I64

broadcast_1, broadcast_3 = the("Broadcast", 1), the("Broadcast", 3)

reverse, sequence = the("Reverse", 1), the("ReverseSequence", 1)

roll, transpose = the("Roll", 7), the("Transpose", 1)


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
