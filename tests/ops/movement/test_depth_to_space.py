"""DepthToSpace-1 and SpaceToDepth-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import KINDS, broken, data, ints, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32

depth_to_space, space_to_depth = the("DepthToSpace", 1), the("SpaceToDepth", 1)

batch_to_space, space_to_batch = the("BatchToSpace", 2), the("SpaceToBatch", 2)

shuffle = the("ShuffleChannels", 1)

MODES = ["blocks_first", "depth_first"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
def test_depth_and_space_undo_each_other(kind: str, mode: str) -> None:
    table = data(np.random.default_rng(0), kind, 1, 3, 4, 6)
    (deep,) = run(space_to_depth, table, block_size=2, mode=mode)
    assert deep.shape == (1, 12, 2, 3)
    assert run(depth_to_space, deep, block_size=2, mode=mode)[0].tolist() == table.tolist()


@pytest.mark.parametrize("mode", MODES)
def test_depth_and_space_agree_with_openvino(mode: str) -> None:
    rng = np.random.default_rng(1)
    for k in (1, 2, 3):
        size, small = int(rng.integers(1, 4)), rng.integers(1, 4, k)
        n, c = rng.integers(1, 3, 2)
        table = data(rng, "f32", n, c * size**k, *small)
        ours = run(depth_to_space, table, block_size=size, mode=mode)[0]
        np.testing.assert_array_equal(ours, openvino(depth_to_space, table, block_size=size, mode=mode)[0])
        table = data(rng, "f32", n, c, *(small * size))
        ours = run(space_to_depth, table, block_size=size, mode=mode)[0]
        np.testing.assert_array_equal(ours, openvino(space_to_depth, table, block_size=size, mode=mode)[0])


def test_depth_and_space_page_shapes() -> None:
    (out,), _ = infer(depth_to_space, [tensor(F32, "5,28,2,3")], block_size=2, mode="blocks_first")
    assert str(out.shape) == "[5,7,4,6]"
    (out,), _ = infer(space_to_depth, [tensor(F32, "5,7,4,6")], block_size=2, mode="blocks_first")
    assert str(out.shape) == "[5,28,2,3]"
    (out,), _ = infer(depth_to_space, [tensor(F32, "?,4..8,?")], block_size=2, mode="blocks_first")
    assert str(out.shape) == "[?,2..4,?]"


def test_depth_and_space_constraints() -> None:
    refuses(depth_to_space, "C1", np.ones((1, 6, 2, 2)), block_size=2, mode="depth_first")
    refuses(space_to_depth, "C1", np.ones((1, 6, 2, 3)), block_size=2, mode="depth_first")
    assert broken(depth_to_space, np.ones((1, 6)), mode="depth_first") == {"C2"}
    assert broken(space_to_depth, np.ones((1, 6)), mode="depth_first") == {"C2"}


def test_an_identity_is_a_copy() -> None:
    table = np.ones((1, 2, 3, 3))
    for result in (
        depth_to_space(table, block_size=1, mode="depth_first"),
        space_to_depth(table, block_size=1, mode="depth_first"),
        shuffle(table, axis=1, group=1),
        batch_to_space(table, ints(1, 1, 1, 1), ints(0, 0, 0, 0), ints(0, 0, 0, 0)),
        space_to_batch(table, ints(1, 1, 1, 1), ints(0, 0, 0, 0), ints(0, 0, 0, 0)),
    ):
        np.testing.assert_array_equal(result, table)
        assert not np.shares_memory(result, table)
