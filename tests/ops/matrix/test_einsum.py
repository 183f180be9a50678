"""Einsum: the page's examples, constraints, OpenVINO and NumPy live."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

A = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
BATCH = [A, [[2, 4, 6], [8, 10, 12], [14, 16, 18]]]


def op() -> Operator:
    found = find("Einsum", "opset7")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("equation", "inputs", "expected"),
    [
        ("i,i->", [[1, 2, 3], [4, 5, 6]], 32),
        ("ij,j->i", [[[1, 2, 3], [1, 2, 3]], [4, 5, 6]], [32, 32]),
        ("kii->k", [BATCH], [15, 30]),
        ("kii->ki", [BATCH], [[1, 5, 9], [2, 10, 18]]),
        ("ijk->kij", [[A]], [[[1, 4, 7]], [[2, 5, 8]], [[3, 6, 9]]]),
        ("a...->...", [A], [12, 15, 18]),
        ("a...,...->a...", [A, [0.5]], [[0.5, 1, 1.5], [2, 2.5, 3], [3.5, 4, 4.5]]),
        ("AbC", [[[[1, 2, 3], [4, 5, 6]]]], [[[1, 4], [2, 5], [3, 6]]]),
        (" i j , j -> i ", [[[1, 2, 3], [1, 2, 3]], [4, 5, 6]], [32, 32]),
    ],
)
def test_examples_of_the_page(equation: str, inputs: list[Any], expected: Any) -> None:
    result = run(op(), *[np.array(x, np.float32) for x in inputs], equation=equation)[0]
    np.testing.assert_array_equal(result, np.array(expected, np.float32))


@pytest.mark.parametrize(
    ("equation", "shapes", "expected"),
    [
        ("ij,ij->i", ["2,64", "2,64"], "[2]"),
        ("ab...,ac...,ade->...bc", ["2,3,4", "2,7,1", "2,4,7"], "[4,3,7]"),
        ("a...b,b...->a...", ["9,1,4,3", "3,11,7,1"], "[9,11,7,4]"),
        ("ab,bcd,bc->ca", ["2,5", "5,3,6", "5,3"], "[3,2]"),
        ("dbbc,ca", ["2,3,3,4", "4,5"], "[5,2]"),
        ("ijkj->ij", ["2,4,5,4"], "[2,4]"),
        ("ab,bc->ac", ["?,3", "3,2..5"], "[?,2..5]"),
        ("ab,bc->ac", ["...", "3,7"], "[?,7]"),
        ("...a->...", ["..."], "[...]"),
    ],
)
def test_shapes_of_the_page(equation: str, shapes: list[str], expected: str) -> None:
    (result,), breaches = infer(op(), [tensor(F32, s) for s in shapes], equation=equation)
    assert not breaches and str(result.shape) == expected


@pytest.mark.parametrize(
    ("constraint", "equation", "shapes"),
    [
        ("C1", "i1->i", ["2,3"]),
        ("C1", "a...b...->a", ["2,3"]),
        ("C1", "a..->a", ["2,3"]),
        ("C2", "ij->k", ["2,3"]),
        ("C2", "ij->ii", ["2,3"]),
        ("C3", "ij,jk->ik", ["2,3"]),
        ("C4", "ijk->i", ["2,3"]),
        ("C4", "i->i", ["2,3"]),
        ("C4", "ijk...->i", ["2,3"]),
        ("C5", "ii->i", ["2,3"]),
        ("C6", "ij,jk->ik", ["2,3", "4,5"]),
        ("C6", "...,...->...", ["2,3", "4,3"]),
    ],
)
def test_c1_to_c6(constraint: str, equation: str, shapes: list[str]) -> None:
    inputs = [tensor(F32, s) for s in shapes]
    assert [b.constraint for b in infer(op(), inputs, equation=equation)[1]] == [constraint]
    with pytest.raises(ConstraintError) as error:
        op()(*[np.zeros(t.shape.to_shape(), np.float32) for t in inputs], equation=equation)
    assert error.value.constraint == constraint


EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bhij,bhjd->bihd", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("a...b,b...->a...", (9, 1, 4, 3), (3, 11, 7, 1)),
    ("ab,bcd,bc->ca", (2, 5), (5, 3, 6), (5, 3)),
    ("abc->ca", (2, 3, 4)),
    ("ij,ij,j->i", (3, 4), (3, 4), (4,)),
    ("...ij,...jk", (2, 3, 4), (2, 4, 5)),
    ("i,j->ij", (3,), (4,)),
    ("i,j->ji", (3,), (4,)),
    ("i,i->i", (3,), (3,)),
    ("ab...,ac...,ade->...bc", (2, 3, 4), (2, 7, 1), (2, 4, 7)),
    ("abc,cd,ef->abe", (2, 2, 3), (3, 2), (2, 2)),
    ("ij,kl->", (2, 3), (4, 5)),
    ("aab,b->ab", (3, 3, 4), (4,)),
]


@pytest.mark.parametrize("case", EQUATIONS, ids=lambda c: c[0])
def test_agrees_with_openvino_and_numpy(case: Any) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=s).astype(np.float32) for s in case[1:]]
    mine = run(op(), *inputs, equation=case[0])[0]
    np.testing.assert_allclose(mine, openvino(op(), *inputs, equation=case[0])[0], rtol=1e-4, atol=1e-4)
    if "..." not in case[0]:
        np.testing.assert_allclose(mine, np.einsum(case[0], *inputs), rtol=1e-4, atol=1e-4)


def test_a_label_of_extent_1_broadcasts() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 1)), rng.normal(size=(4, 5))
    np.testing.assert_allclose(run(op(), a, b, equation="ij,jk->ik")[0], np.matmul(np.repeat(a, 4, 1), b))
    np.testing.assert_allclose(run(op(), b, a, equation="jk,ij->ijk")[0], a[..., None] * b)


def test_integers_wrap() -> None:
    a, b = np.full((2, 3), 100, np.int8), np.full((3, 2), 3, np.int8)
    assert run(op(), a, b, equation="ij,jk->ik")[0].tolist() == [[-124, -124], [-124, -124]]
    assert run(op(), a, equation="ij->i")[0].tolist() == [44, 44]


def test_f16_is_rounded_once() -> None:
    a = np.full((1, 4), 300, np.float16)
    assert run(op(), a, a / 300, equation="ij,ij->i")[0].tolist() == [1200]
    assert np.isinf(run(op(), a, a, equation="ij,ij->i")[0]).all()
