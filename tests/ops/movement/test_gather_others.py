"""GatherElements-6, GatherND-5 and -8, GatherTree-1."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.types import F32, I32, I64

elements = the("GatherElements", 6)
nd_5, nd_8 = the("GatherND", 5), the("GatherND", 8)
tree = the("GatherTree", 1)


@pytest.mark.parametrize(
    ("table", "indices", "axis", "expected"),
    [
        ([[1, 2], [3, 4]], [[0, 1], [0, 0]], 0, [[1, 4], [1, 2]]),
        ([[1, 7], [4, 3]], [[1, 1, 0], [1, 0, 1]], 1, [[7, 7, 1], [3, 4, 3]]),
        ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1, 0, 1], [1, 2, 0]], 0, [[4, 2, 6], [4, 8, 3]]),
    ],
    ids=["example 1", "example 2", "example 3"],
)
def test_elements_page_example(table: list, indices: list, axis: int, expected: list) -> None:
    assert run(elements, np.array(table), np.array(indices), axis=axis)[0].tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_elements_of_every_type(kind: str) -> None:
    table, indices = data(np.random.default_rng(2), kind, 3, 2), np.array([[2, -1], [0, 1]])
    expected = [[table[2, 0], table[2, 1]], [table[0, 0], table[1, 1]]]
    assert run(elements, table, indices, axis=0)[0].tolist() == expected


def test_elements_agree_with_openvino() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        shape = rng.integers(1, 5, rng.integers(1, 5))
        axis = int(rng.integers(-len(shape), len(shape)))
        extent = shape[axis]
        table = data(rng, "f32", *shape)
        shape[axis] = rng.integers(1, 6)
        indices = rng.integers(0, extent, shape).astype(np.int32)
        np.testing.assert_array_equal(
            run(elements, table, indices, axis=axis)[0], openvino(elements, table, indices, axis=axis)[0]
        )


def test_elements_constraints() -> None:
    table = np.zeros((2, 3))
    refuses(elements, "C1", table, ints(0), axis=0)
    refuses(elements, "C2", table, np.zeros((2, 4), int), axis=0)
    refuses(elements, "C3", table, np.zeros((2, 3), int), axis=2)
    refuses(elements, "C4", table, np.full((2, 3), 2), axis=0)
    refuses(elements, "C4", table, np.full((2, 3), -3), axis=0)
    (out,), _ = infer(elements, [tensor(F32, "?,3"), tensor(I32, "4,?")], axis=0)
    assert str(out.shape) == "[4,3]"


def test_nd_page_examples() -> None:
    square = np.array([[1, 2], [3, 4]])
    assert run(nd_8, square, np.array([[0, 0], [1, 0]]))[0].tolist() == [1, 3]
    assert run(nd_8, square, np.array([[1], [0]]))[0].tolist() == [[3, 4], [1, 2]]
    assert run(nd_8, square, np.array([[[1]], [[0]]]))[0].tolist() == [[[3, 4]], [[1, 2]]]
    assert run(nd_8, square, np.array([[1], [0]]), batch_dims=1)[0].tolist() == [2, 3]
    cube = np.arange(1, 25).reshape(2, 3, 4)
    result = run(nd_8, cube, np.array([[1], [0]]), batch_dims=1)[0]
    assert result.tolist() == [[5, 6, 7, 8], [13, 14, 15, 16]]
    index = np.array([[[[1]], [[0]], [[2]]], [[[0]], [[2]], [[2]]]])
    assert run(nd_8, cube, index, batch_dims=2)[0].tolist() == [[[2], [5], [11]], [[13], [19], [23]]]
    assert run(nd_5, cube, index, batch_dims=2)[0].tolist() == [[2], [5], [11], [13], [19], [23]]
    table, index = np.arange(1, 17).reshape(1, 2, 2, 4), np.array([[[[1], [0]], [[3], [2]]]])
    assert run(nd_8, table, index, batch_dims=3)[0].tolist() == [[[2, 5], [12, 15]]]


@pytest.mark.parametrize(
    ("table", "indices", "batch_dims", "expected"),
    [
        ("1000,256,10,15", "25,125,3", 0, "[25,125,15]"),
        ("30,2,100,35", "30,2,3,1", 2, "[30,2,3,35]"),
        ("1,64,64,320", "1,64,64,1,1", 3, "[1,64,64,1]"),
        ("?,2..4,5", "3,?,1", 1, "[3,?,5]"),
    ],
)
def test_nd_page_shapes(table: str, indices: str, batch_dims: int, expected: str) -> None:
    (out,), breaches = infer(nd_8, [tensor(F32, table), tensor(I64, indices)], batch_dims=batch_dims)
    assert (str(out.shape), breaches) == (expected, [])


def test_nd_5_flattens_the_batch() -> None:
    (out,), _ = infer(nd_5, [tensor(F32, "30,2,100,35"), tensor(I64, "30,2,3,1")], batch_dims=2)
    assert str(out.shape) == "[60,3,35]"


def test_nd_broadcasts_the_batch() -> None:
    """As the page has it; OpenVINO wants equal dimensions."""
    table, index = np.arange(6).reshape(1, 2, 3), np.array([[[1]], [[0]]])
    assert run(nd_8, table, index, batch_dims=1)[0].tolist() == [[[3, 4, 5]], [[0, 1, 2]]]
    table, index = np.arange(12).reshape(2, 2, 3), np.array([[[1]]])
    assert run(nd_8, table, index, batch_dims=1)[0].tolist() == [[[3, 4, 5]], [[9, 10, 11]]]


@pytest.mark.parametrize("kind", KINDS)
def test_nd_of_every_type(kind: str) -> None:
    table = data(np.random.default_rng(4), kind, 3, 2)
    assert run(nd_8, table, np.array([[-1, 0], [1, 1]], np.int32))[0].tolist()[1] == table[1, 1]
    assert run(nd_8, table, np.array([[2], [0]]))[0].tolist() == table[[2, 0]].tolist()
    assert run(nd_8, table, np.zeros((2, 0), int))[0].tolist() == [table.tolist()] * 2


@pytest.mark.parametrize("op", [nd_5, nd_8])
def test_nd_agrees_with_openvino(op: object) -> None:
    rng = np.random.default_rng(5)
    for _ in range(10):
        shape = rng.integers(1, 4, rng.integers(2, 5))
        batch = int(rng.integers(0, len(shape)))
        length = int(rng.integers(1, len(shape) - batch + 1))
        middle = rng.integers(1, 4, rng.integers(0, 3))
        index = rng.integers(0, shape[batch : batch + length], (*shape[:batch], *middle, length))
        table = data(rng, "f32", *shape)
        np.testing.assert_array_equal(
            run(op, table, index, batch_dims=batch)[0], openvino(op, table, index, batch_dims=batch)[0]
        )


def test_nd_constraints() -> None:
    table = np.zeros((2, 3))
    refuses(nd_8, "C1", table, np.zeros((1, 3), int))
    refuses(nd_8, "C2", table, np.zeros((2, 1), int), batch_dims=2)
    refuses(nd_8, "C3", table, np.zeros((3, 1), int), batch_dims=1)
    refuses(nd_8, "C4", np.array(1.0), np.zeros((1,), int))
    refuses(nd_8, "C4", table, scalar(0))
    refuses(nd_8, "C5", table, np.array([[2]]))
    refuses(nd_5, "C5", table, np.array([[0, -4]]))
    refuses(nd_5, "C3", table[:1], np.zeros((2, 1), int), batch_dims=1)


def test_tree_agrees_with_openvino() -> None:
    rng = np.random.default_rng(6)
    for kind in (np.int32, np.float32):
        for _ in range(4):
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
