"""Pad-1 and Pad-12."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import KINDS, broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64, STRING

pad_1, pad_12 = the("Pad", 1), the("Pad", 12)
PAGE = np.arange(1, 13).reshape(3, 4)
MIXED = {
    "constant": [[0] * 6, [0] * 6, [2, 3, 4, 0, 0, 0], [6, 7, 8, 0, 0, 0]],
    "edge": [[2, 3, 4, 4, 4, 4]] * 3 + [[6, 7, 8, 8, 8, 8]],
    "reflect": [[10, 11, 12, 11, 10, 9], [6, 7, 8, 7, 6, 5], [2, 3, 4, 3, 2, 1], [6, 7, 8, 7, 6, 5]],
    "symmetric": [[6, 7, 8, 8, 7, 6], [2, 3, 4, 4, 3, 2], [2, 3, 4, 4, 3, 2], [6, 7, 8, 8, 7, 6]],
}


@pytest.mark.parametrize("mode", MIXED)
def test_page_examples(mode: str) -> None:
    for op in (pad_1, pad_12):
        (result,) = run(op, PAGE, ints(0, 1), ints(2, 3), pad_mode=mode)
        np.testing.assert_array_equal(result, np.pad(PAGE, [(0, 2), (1, 3)], mode))
    assert run(pad_12, PAGE, ints(-1, -1), ints(-1, -1), pad_mode=mode)[0].tolist() == [[6, 7]]
    assert run(pad_12, PAGE, ints(2, -1), ints(-1, 3), pad_mode=mode)[0].tolist() == MIXED[mode]


@pytest.mark.parametrize("kind", KINDS)
def test_every_element_type(kind: str) -> None:
    table = data(np.random.default_rng(0), kind, 3, 4)
    value = table[1, 1:2].reshape(())
    (result,) = run(pad_12, table, ints(1, 0), ints(0, 2), value, pad_mode="constant")
    assert result[0].tolist() == [value.tolist()] * 6
    assert result[1:, :4].tolist() == table.tolist()
    (zeros,) = run(pad_12, table, ints(1, 0), ints(0, 0), pad_mode="constant")
    assert zeros[0].tolist() == np.zeros(4, table.dtype).tolist()
    if kind != "string":
        assert run(pad_12, table, ints(1, 0), ints(0, 0), pad_mode="edge")[0][0].tolist() == table[0].tolist()


@pytest.mark.parametrize("mode", MIXED)
def test_agrees_with_openvino(mode: str) -> None:
    rng = np.random.default_rng(1)
    for op in (pad_1, pad_12):
        for _ in range(amount(6, 2)):
            shape = rng.integers(2, 6, rng.integers(1, 5))
            low = -1 if op is pad_12 else 0
            begin, end = (np.array([rng.integers(low, n) for n in shape]) for _ in range(2))
            arrays = [data(rng, "f32", *shape), begin, end]
            if mode == "constant" and rng.integers(2):
                arrays.append(np.array(7, np.float32))
            ours = run(op, *arrays, pad_mode=mode)[0]
            theirs = openvino(op, *arrays, constants=len(arrays) == 4, fixed=[1, 2, 3], pad_mode=mode)[0]
            np.testing.assert_array_equal(ours, theirs)


def test_corners() -> None:
    line = np.array([1, 2])
    assert run(pad_12, line, ints(-3), ints(2), pad_mode="constant")[0].tolist() == [0]
    assert run(pad_12, line, ints(-3), ints(0), pad_mode="constant")[0].tolist() == []
    assert run(pad_12, np.array([5]), ints(0), ints(0), pad_mode="reflect")[0].tolist() == [5]
    assert run(pad_12, np.array([5]), ints(1), ints(1), pad_mode="symmetric")[0].tolist() == [5, 5, 5]
    assert run(pad_12, np.zeros((0, 2)), ints(1, 0), ints(0, 0), pad_mode="constant")[0].tolist() == [[0, 0]]
    assert run(pad_12, np.array(3.0), ints(), ints(), pad_mode="edge")[0].tolist() == 3
    unpadded = pad_12(line, ints(0), ints(0), pad_mode="edge")
    assert not np.shares_memory(unpadded, line)


def test_constraints() -> None:
    table = np.zeros((3, 4))
    refuses(pad_12, "C1", table, ints(3, 0), ints(0, 0), pad_mode="reflect")
    refuses(pad_12, "C1", table, ints(0, 0), ints(0, 5), pad_mode="symmetric")
    refuses(pad_12, "C2", table, ints(1), ints(1), pad_mode="edge")
    assert "C3" in broken(pad_12, table, ints(1, 1), ints(1, 1), np.zeros(1), pad_mode="constant")
    assert "C4" in broken(pad_12, tensor(STRING, "3"), ints(1), ints(1), pad_mode="edge")
    refuses(pad_12, "C5", np.zeros(0), ints(1), ints(0), pad_mode="edge")
    assert not broken(pad_12, np.zeros(0), ints(0), ints(0), pad_mode="edge")
    refuses(pad_1, "C6", table, ints(-1, 0), ints(0, 0), pad_mode="edge")


def test_dynamic_shapes() -> None:
    begin, end = tensor(I64, "2", [1, -2]), tensor(I64, "2", [0, 1])
    (out,), _ = infer(pad_12, [tensor(F32, "?,3..8"), begin, end], pad_mode="constant")
    assert str(out.shape) == "[1..,2..7]"
    (out,), _ = infer(pad_12, [tensor(F32, "..."), begin, tensor(I64, "2")], pad_mode="constant")
    assert str(out.shape) == "[?,?]"
    (out,), _ = infer(pad_12, [tensor(F32, "4,4"), tensor(I64, "?"), end], pad_mode="constant")
    assert str(out.shape) == "[?,?]"


def test_pad_value_is_a_scalar_in_the_kernel_too() -> None:
    (result,) = run(pad_12, np.array([1]), ints(1), ints(0), scalar(9), pad_mode="constant")
    assert result.tolist() == [9, 1]


@pytest.mark.parametrize("mode", ["edge", "reflect", "symmetric"])
def test_more_is_taken_away_than_any_axis_has(mode: str) -> None:
    (result,) = run(pad_12, np.array([1, 2]), ints(-(2**63)), ints(0), pad_mode=mode)
    assert result.size == 0


def test_edges_far_beyond_the_data() -> None:
    """More elements may be removed at the beginning, or added at the end, than any axis has."""
    far = 2**63 - 1
    padded = irexec.opset15.pad(np.float32([[1, 2, 3]]), [1, -far - 1], [0, far], "edge")
    assert padded.tolist() == [[3, 3], [3, 3]]
    before = irexec.opset15.pad(np.float32([1, 2, 3]), [far], [-far], "edge")
    assert before.tolist() == [1, 1, 1]
