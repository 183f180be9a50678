"""BatchToSpace-2 and SpaceToBatch-2."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

depth_to_space, space_to_depth = the("DepthToSpace", 1), the("SpaceToDepth", 1)

batch_to_space, space_to_batch = the("BatchToSpace", 2), the("SpaceToBatch", 2)


@pytest.mark.parametrize("kind", KINDS)
def test_batch_and_space_undo_each_other(kind: str) -> None:
    table = data(np.random.default_rng(2), kind, 2, 3, 4)
    blocks, begin, end = ints(1, 2, 3), ints(0, 1, 0), ints(0, 0, 2)
    (spread,) = run(space_to_batch, table, blocks, begin, end)
    assert spread.shape == (12, 2, 2)
    assert run(batch_to_space, spread, blocks, begin, end)[0].tolist() == table.tolist()


def test_batch_and_space_agree_with_openvino() -> None:
    rng = np.random.default_rng(3)
    for _ in range(amount(6, 2)):
        rank = int(rng.integers(3, 6))
        blocks = np.array([1, *rng.integers(1, 3, rank - 1)])
        small = rng.integers(1, 4, rank)
        begin = np.array([0, *(rng.integers(0, b) for b in blocks[1:])])
        table = data(rng, "f32", small[0] * blocks.prod(), *small[1:])
        crops = (blocks, begin, begin * 0)
        theirs = openvino(batch_to_space, table, *crops, fixed=[1, 2, 3])[0]
        np.testing.assert_array_equal(run(batch_to_space, table, *crops)[0], theirs)
        table = data(rng, "f32", *np.maximum(small * blocks - begin, 1))
        pads = (blocks, begin, -(table.shape + begin) % blocks)
        theirs = openvino(space_to_batch, table, *pads, fixed=[1, 2, 3])[0]
        np.testing.assert_array_equal(run(space_to_batch, table, *pads)[0], theirs)


def test_batch_and_space_page_shapes() -> None:
    def edges(*values: int) -> object:
        return tensor(I64, str(len(values)), values)

    (out,), _ = infer(batch_to_space, [tensor(F32, "10,2"), edges(1, 5), edges(0, 2), edges(0, 0)])
    assert str(out.shape) == "[2,8]"
    blocks = edges(1, 6, 5, 1, 16)
    (out,), _ = infer(
        batch_to_space, [tensor(F32, "48,3,3,1,3"), edges(1, 2, 4, 3, 1), edges(0, 0, 1, 0, 0), edges(0, 0, 1, 0, 0)]
    )
    assert str(out.shape) == "[2,6,10,3,3]"
    (out,), _ = infer(space_to_batch, [tensor(F32, "2,6,10,3,3"), blocks, edges(0, 1, 0, 0, 0), edges(0, 5, 0, 0, 13)])
    assert str(out.shape) == "[960,2,2,3,1]"
    (out,), _ = infer(batch_to_space, [tensor(F32, "?,2,?"), edges(1, 2, 2), tensor(I64, "3"), tensor(I64, "3")])
    assert str(out.shape) == "[?,..4,?]"
    (out,), _ = infer(batch_to_space, [tensor(F32, "8,2,2"), tensor(I64, "3"), tensor(I64, "3"), tensor(I64, "3")])
    assert str(out.shape) == "[?,?,?]"


def test_batch_and_space_constraints() -> None:
    table, none = np.ones((4, 4, 4)), ints(0, 0, 0)
    for op in (batch_to_space, space_to_batch):
        refuses(op, "C1", table, ints(2, 1, 1), none, none)
        refuses(op, "C1", table, ints(1, 1, 1), ints(1, 0, 0), none)
        refuses(op, "C2", table, ints(1, 1, 1), none, ints(0, -1, 0))
        assert "C3" in broken(op, np.ones(4), ints(1), ints(0), ints(0))
        refuses(op, "C4", table, ints(1, 0, 1), none, none)
        refuses(op, "C5", table, ints(1, 1), none, none)
        refuses(op, "C6", table, ints(1, 3, 1), none, none)
    refuses(batch_to_space, "C2", table, ints(1, 2, 1), ints(0, 5, 0), ints(0, 4, 0))
