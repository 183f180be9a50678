"""ShuffleChannels-1."""

from __future__ import annotations

import numpy as np
from support.amounts import amount
from support.cases import broken, data, refuses, the
from support.oracle import openvino, run

import irexec

depth_to_space, space_to_depth = the("DepthToSpace", 1), the("SpaceToDepth", 1)

batch_to_space, space_to_batch = the("BatchToSpace", 2), the("SpaceToBatch", 2)

shuffle = the("ShuffleChannels", 1)


def test_shuffle_channels() -> None:
    rng = np.random.default_rng(4)
    line = np.arange(6)
    assert run(shuffle, line, axis=0, group=2)[0].tolist() == [0, 3, 1, 4, 2, 5]
    for _ in range(amount(6, 2)):
        shape = rng.integers(1, 4, rng.integers(2, 5))
        axis, group = int(rng.integers(-len(shape), len(shape))), int(rng.integers(1, 4))
        shape[axis] *= group
        table = data(rng, "f32", *shape)
        ours = run(shuffle, table, axis=axis, group=group)[0]
        np.testing.assert_array_equal(ours, openvino(shuffle, table, axis=axis, group=group)[0])
    refuses(shuffle, "C1", line, axis=1)
    refuses(shuffle, "C2", line, axis=0, group=4)
    assert broken(shuffle, np.array(1.0), axis=0) == {"C3"}


def test_no_channels_in_more_groups_than_numpy_can_count() -> None:
    assert irexec.opset1.shuffle_channels(np.zeros((2, 0, 3), np.float32), axis=1, group=1 << 62).shape == (2, 0, 3)
