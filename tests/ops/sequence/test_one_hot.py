"""OneHot-1 and -16."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

one_hot_1, one_hot_16 = the("OneHot", 1), the("OneHot", 16)
ON, OFF = np.array(1, np.float32), np.array(2, np.float32)


def test_page_examples() -> None:
    (result,) = run(one_hot_16, ints(0, -5, -2, 2), scalar(3), ON, OFF, axis=-1, negative_indices_mode="normalize")
    assert result.tolist() == [[1, 2, 2], [2, 2, 2], [2, 1, 2], [2, 2, 1]]
    indices = np.array([[0, 3, 1], [1, 2, 4]])
    for op in (one_hot_1, one_hot_16):
        (result,) = run(op, indices, scalar(3), ON, OFF * 0, axis=1)
        assert result.tolist() == [[[1, 0, 0], [0, 0, 1], [0, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 1, 0]]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    on, off = data(np.random.default_rng(0), kind, 2)[:, None].reshape(2, 1)
    (result,) = run(one_hot_1, ints(1, -1), scalar(2), on.reshape(()), off.reshape(()), axis=0)
    assert result.tolist() == [[off.tolist()[0]] * 2, [on.tolist()[0], off.tolist()[0]]]


@pytest.mark.parametrize("mode", ["normalize", "ignore_negative"])
def test_agrees_with_openvino(mode: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(amount(5, 2)):
        shape = rng.integers(1, 4, rng.integers(0, 4))
        axis = int(rng.integers(-len(shape) - 1, len(shape) + 1))
        arrays = (rng.integers(-6, 7, shape), scalar(rng.integers(1, 5)), ON, OFF)
        attributes = {"axis": axis, "negative_indices_mode": mode}
        ours, theirs = run(one_hot_16, *arrays, **attributes), openvino(one_hot_16, *arrays, fixed=[1], **attributes)
        np.testing.assert_array_equal(ours[0], theirs[0])


def test_both_spellings_of_the_mode() -> None:
    for mode in ("ignore-negative", "ignore_negative"):
        assert run(one_hot_16, ints(-1), scalar(1), ON, OFF, axis=0, negative_indices_mode=mode)[0].tolist() == [[2]]


def test_a_scalar_index() -> None:
    assert run(one_hot_1, scalar(1), scalar(3), ON, OFF, axis=0)[0].tolist() == [2, 1, 2]
    assert run(one_hot_1, scalar(7), scalar(3), ON, OFF, axis=-1)[0].tolist() == [2, 2, 2]


def test_constraints() -> None:
    refuses(one_hot_1, "C1", ints(0), scalar(3), ON, OFF, axis=2)
    refuses(one_hot_1, "C2", ints(0), scalar(0), ON, OFF, axis=0)
    assert "C3" in broken(one_hot_1, ints(0), ints(3), ON, OFF, axis=0)
    assert "C4" in broken(one_hot_1, ints(0), scalar(3), ON[None], OFF, axis=0)
    (out,), _ = infer(one_hot_1, [tensor(I64, "?,2"), tensor(I64, ""), tensor(F32, ""), tensor(F32, "")], axis=1)
    assert str(out) == "f32[?,?,2]"
