"""Logic of booleans: truth tables, broadcasting, OpenVINO."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BOOLEAN, I32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator

TABLES = {
    ("LogicalAnd", 1): [False, False, False, True],
    ("LogicalOr", 1): [False, True, True, True],
    ("LogicalXor", 2): [False, True, True, False],
    ("Xor", 1): [False, True, True, False],
}
A, B = np.array([False, False, True, True]), np.array([False, True, False, True])


def get(name: str, opset: int) -> Operator:
    found = find(name, f"opset{opset}")
    assert found is not None
    return found


@pytest.mark.parametrize(("key", "expected"), list(TABLES.items()))
def test_truth_table(key: tuple[str, int], expected: list[bool]) -> None:
    np.testing.assert_array_equal(run(get(*key), A, B)[0], expected)
    out = np.empty(4, np.bool_)
    assert get(*key)(A, B, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("key", TABLES)
def test_broadcast_agrees_with_openvino(key: tuple[str, int]) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (8, 1, 6, 1)).astype(bool), rng.integers(0, 2, (7, 1, 5)).astype(bool)
    np.testing.assert_array_equal(run(get(*key), a, b)[0], openvino(get(*key), a, b)[0])


def test_not() -> None:
    np.testing.assert_array_equal(run(get("LogicalNot", 1), A)[0], ~A)
    np.testing.assert_array_equal(openvino(get("LogicalNot", 1), A)[0], ~A)


@pytest.mark.parametrize("key", TABLES)
def test_only_booleans(key: tuple[str, int]) -> None:
    _, breaches = infer(get(*key), [tensor(I32, "2"), tensor(I32, "2")])
    assert {b.code for b in breaches} == {"O002"}
    [found], breaches = infer(get(*key), [tensor(BOOLEAN, "2,1"), tensor(BOOLEAN, "?")])
    assert not breaches
    assert found.element_type is BOOLEAN


def test_xor_of_opset1_is_logical_xor() -> None:
    assert find("Xor", "opset1") is not None
    assert find("Xor", "opset3") is None
