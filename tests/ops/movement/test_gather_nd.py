"""GatherND-5 and -8."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, data, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

nd_5, nd_8 = the("GatherND", 5), the("GatherND", 8)


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
    """As the page specifies; OpenVINO requires equal dimensions."""
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
    for _ in range(amount(10, 3)):
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
