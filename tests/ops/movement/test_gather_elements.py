"""GatherElements-6."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, data, ints, refuses, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32

elements = the("GatherElements", 6)

nd_5, nd_8 = the("GatherND", 5), the("GatherND", 8)


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
    for _ in range(amount(10, 3)):
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
