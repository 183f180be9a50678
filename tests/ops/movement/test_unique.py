"""Unique-10."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

patches, col2im, unique = the("ExtractImagePatches", 3), the("Col2Im", 15), the("Unique", 10)


@pytest.mark.parametrize("kind", KINDS)
def test_unique_of_every_type(kind: str) -> None:
    table = data(np.random.default_rng(4), kind, 4, 3)
    values, first, inverse, counts = run(unique, table)
    flat = table.ravel()
    assert values.tolist() == sorted(set(flat.tolist()))
    assert flat[first].tolist() == values.tolist()
    assert values[inverse].tolist() == flat.tolist()
    assert counts.tolist() == [flat.tolist().count(v) for v in values.tolist()]


def test_unique_attributes() -> None:
    table = np.array([3, 1, 3, 2])
    values, first, inverse, counts = run(
        unique, table, sorted="false", index_element_type="i32", count_element_type="i32"
    )
    assert values.tolist() == [3, 1, 2]
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1, 3], [0, 1, 0, 2], [2, 1, 1])
    assert {a.dtype for a in (first, inverse, counts)} == {np.dtype(np.int32)}


@pytest.mark.parametrize("sorted_", ["true", "false"])
def test_unique_agrees_with_openvino(sorted_: str) -> None:
    rng = np.random.default_rng(5)
    for _ in range(amount(4, 2)):
        table = rng.integers(0, 5, rng.integers(1, 4, 3)).astype(np.float32)
        for a, b in zip(run(unique, table, sorted=sorted_), openvino(unique, table, sorted=sorted_), strict=True):
            np.testing.assert_array_equal(a, b)


def test_unique_slices() -> None:
    """Compared with NumPy: OpenVINO returns some equal slices twice."""
    rng = np.random.default_rng(6)
    for _ in range(10):
        table, axis = rng.integers(0, 2, rng.integers(1, 4, 3)), int(rng.integers(-3, 3))
        expected = np.unique(table, axis=axis, return_index=True, return_inverse=True, return_counts=True)
        for a, b in zip(run(unique, table, scalar(axis)), expected, strict=True):
            np.testing.assert_array_equal(a, b)
        values, first, inverse, counts = run(unique, table, scalar(axis), sorted="false")
        assert first.tolist() == sorted(expected[1].tolist())
        np.testing.assert_array_equal(np.take(table, first, axis), values)
        np.testing.assert_array_equal(np.take(values, inverse, axis), table)
        np.testing.assert_array_equal(counts, np.bincount(inverse))


def test_unique_corners() -> None:
    assert [a.shape for a in run(unique, np.zeros((0, 2)))] == [(0,), (0,), (0,), (0,)]
    assert [a.shape for a in run(unique, np.zeros((0, 2)), scalar(0))] == [(0, 2), (0,), (0,), (0,)]
    assert [a.shape for a in run(unique, np.array(5.0))] == [(1,)] * 4
    refuses(unique, "C1", np.zeros((2, 2)), scalar(2))
    assert broken(unique, np.zeros((2, 2)), ints(0, 1)) == {"C2"}
    outs, _ = infer(unique, [tensor(F32, "3,?"), tensor(I64, "", 0)])
    assert [str(o.shape) for o in outs] == ["[1..3,?]", "[1..3]", "[3]", "[1..3]"]
    outs, _ = infer(unique, [tensor(F32, "3,?")])
    assert [str(o.shape) for o in outs] == ["[?]"] * 4
