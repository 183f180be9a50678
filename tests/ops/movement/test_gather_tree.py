"""GatherTree-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, ints, scalar, the
from support.oracle import openvino, run

nd_5, nd_8 = the("GatherND", 5), the("GatherND", 8)

tree = the("GatherTree", 1)


def test_tree_agrees_with_openvino() -> None:
    rng = np.random.default_rng(6)
    for kind in (np.int32, np.float32):
        for _ in range(amount(4, 2)):
            times, batch, beams = (int(n) for n in rng.integers(1, 6, 3))
            steps = rng.integers(0, 6, (times, batch, beams)).astype(kind)
            parents = rng.integers(0, beams, (times, batch, beams)).astype(kind)
            lengths, end = rng.integers(1, times + 1, batch).astype(kind), scalar(5, kind)
            arrays = (steps, parents, lengths, end)
            np.testing.assert_array_equal(run(tree, *arrays)[0], openvino(tree, *arrays)[0])


def test_tree_follows_the_pseudocode() -> None:
    rng = np.random.default_rng(7)
    steps, parents = rng.integers(0, 6, (5, 2, 3)), rng.integers(0, 3, (5, 2, 3))
    lengths, end = np.array([3, 9]), 5
    expected = np.full_like(steps, end)
    for batch in range(2):
        for beam in range(3):
            last = min(5, lengths[batch])
            parent = parents[last - 1, batch, beam]
            expected[last - 1, batch, beam] = steps[last - 1, batch, beam]
            for level in reversed(range(last - 1)):
                expected[level, batch, beam] = steps[level, batch, parent]
                parent = parents[level, batch, parent]
            ends = np.flatnonzero(expected[:, batch, beam] == end)
            expected[ends[0] if len(ends) else 5 :, batch, beam] = end
    np.testing.assert_array_equal(run(tree, steps, parents, lengths, scalar(end))[0], expected)


def test_tree_constraints() -> None:
    steps, lengths, end = np.zeros((2, 1, 3), int), ints(2), scalar(0)
    assert broken(tree, steps[0], steps, lengths, end) >= {"C1"}
    assert broken(tree, steps, steps[:1], lengths, end) == {"C2"}
    assert broken(tree, steps, steps, ints(2, 2), end) == {"C3"}
    assert broken(tree, steps, steps, lengths, ints(0)) == {"C4"}
    with pytest.raises(ValueError, match="outside"):
        tree(steps, steps + 3, lengths, end)


def test_a_negative_length_is_undefined() -> None:
    ids, end = np.zeros((2, 1, 3), np.int32), np.int32(1)
    for length, undefined in ((0, False), (2, False), (-1, True)):
        assert tree.oracle.undefined(ids, ids, np.array([length], np.int32), end) == undefined
