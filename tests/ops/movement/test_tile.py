"""Tile-1, and moving elements of every type."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, scalar, the
from support.oracle import dims, infer, openvino, run, tensor

from irexec.core.types import F32, I64

tile = the("Tile", 1)

broadcast_1, broadcast_3 = the("Broadcast", 1), the("Broadcast", 3)

reverse, sequence = the("Reverse", 1), the("ReverseSequence", 1)

roll, transpose = the("Roll", 7), the("Transpose", 1)


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
    for _ in range(amount(8, 2)):
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


def test_more_axes_than_an_array_can_have_are_refused_before_it_runs() -> None:
    (made,), _ = infer(tile, [tensor(F32, "2,3"), tensor(I64, "256")])
    assert made.rank == 256


@pytest.mark.parametrize(("type", "version"), [("Tile", 1), ("DepthToSpace", 1), ("SpaceToDepth", 1)])
def test_as_many_axes_as_an_array_can_have(type: str, version: int) -> None:
    """No intermediate array has more axes than the result."""
    data = np.ones((1,) * 60 + (2, 3), np.float32)
    if type == "Tile":
        assert the(type, version)(data, ints(*[1] * 61, 2)).shape == (*(1,) * 60, 2, 6)
    else:
        assert the(type, version)(data, block_size=1, mode="blocks_first").shape == data.shape
