"""Multinomial: the page's examples, OpenVINO's stream, and the constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64
from irexec.ops.generation.multinomial import draw, seed_sequence
from irexec.ops.spec.operator import ConstraintError

PLAIN: dict[str, Any] = {"convert_type": "i64", "with_replacement": True, "log_probs": False}


op = the("Multinomial", 13)


def test_page_examples() -> None:
    one = np.array([[0.1, 0.5, 0.4]])
    assert draw(one, np.array([[0.2, 0.4, 0.6, 0.8, 1]]), True).tolist() == [[1, 1, 1, 2, 2]]
    assert draw(one, np.array([[0.3, 0.2]]), False).tolist() == [[1, 0]]  # the page's text; its printed result is 1, 2
    two = np.exp(np.array([[-1.0, 1, 2], [50, 1, 21]]))
    numbers = np.linspace(0.1, 1, 10)[None].repeat(2, 0)
    assert draw(two, numbers, True)[0].tolist() == [1, 1, 2, 2, 2, 2, 2, 2, 2, 2]
    assert draw(two, numbers[:, :9], True)[1].tolist() == [0] * 9


def test_seed_sequence_is_that_of_cpp() -> None:
    # The C++ standard defines the numbers of std::seed_seq exactly: they are deterministic, and have 32 bits.
    words = seed_sequence((1, 2), 624)
    assert len(words) == 624 and words == seed_sequence((1, 2), 624) != seed_sequence((2, 1), 624)
    assert all(0 <= w < 2**32 for w in words)


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("kind", ["i32", "i64"])
def test_agrees_with_openvino(replacement: bool, log: bool, kind: str) -> None:
    rng = np.random.default_rng(0)
    probs = rng.normal(size=(3, 9)) if log else rng.uniform(0.1, 1, (3, 9))
    arrays = (probs.astype(np.float32), np.array(7, np.int64))
    attributes = {"convert_type": kind, "with_replacement": replacement, "log_probs": log}
    attributes |= {"global_seed": 11, "op_seed": 2**35 + 5}
    np.testing.assert_array_equal(run(op, *arrays, **attributes)[0], openvino(op, *arrays, **attributes)[0])


def test_without_replacement_no_class_is_repeated() -> None:
    probs = np.full((5, 6), 0.2, np.float32)
    for drawn in run(op, probs, np.array([6]), **PLAIN | {"with_replacement": False})[0]:
        assert sorted(drawn) == list(range(6))


def test_frequencies() -> None:
    drawn = run(op, np.array([[1, 3, 0, 4]], np.float32), np.array(20000), op_seed=3, **PLAIN)[0]
    np.testing.assert_allclose(np.bincount(drawn[0], minlength=4) / 20000, [0.125, 0.375, 0, 0.5], atol=0.01)


def test_seeds_of_zero_differ_each_time() -> None:
    arrays = np.ones((1, 100), np.float32), np.array(50)
    assert (op(*arrays, **PLAIN) != op(*arrays, **PLAIN)).any()


def test_large_logarithms_do_not_overflow() -> None:
    drawn = run(op, np.array([[1000, 0]], np.float32), np.array(9), op_seed=1, **PLAIN | {"log_probs": True})[0]
    assert not drawn.any()


def test_c1_to_c4() -> None:
    def found(probs: str, count: Any, shape: str = "", **attributes: Any) -> set[str | None]:
        types = [tensor(F32, probs), tensor(I64, shape, count)]
        return {b.constraint for b in infer(op, types, **PLAIN | attributes)[1]}

    assert found("2,3", 9) == set()
    assert found("3", 9) == {"C1"}
    assert found("2,3", None, "2") == found("2,3", -1) == {"C2"}
    assert found("2,3", 4, with_replacement=False) == {"C3"}
    for probs in ([[0.0, 0]], [[1.0, -1]], [[np.nan, 1]]):
        with pytest.raises(ConstraintError, match="probs has a row"):
            op(np.array(probs, np.float32), np.array(1), **PLAIN)


def test_inferred_shape() -> None:
    types = [tensor(F32, "?,3"), tensor(I64, "", 4)]
    assert str(infer(op, types, **PLAIN)[0][0]) == "i64[?,4]"
    assert str(infer(op, [types[0], tensor(I64, "")], **PLAIN)[0][0]) == "i64[?,?]"


def test_samples_of_nothing_are_not_drawn_one_by_one() -> None:
    drawn = irexec.opset15.multinomial(np.zeros((0, 3), np.float32), np.int64(1 << 26), "i64", True, False)
    assert drawn.shape == (0, 1 << 26)


def test_with_replacement_a_class_without_weight_is_never_drawn() -> None:
    weights = np.array([[0, 0.25, 0, 0.75, 0], [1, 0, 0, 0, 0]])
    numbers = np.array([[0, 0.25, 0.2500001, 1], [0, 0.5, 1, 1]])
    assert draw(weights, numbers, with_replacement=True).tolist() == [[1, 1, 3, 3], [0, 0, 0, 0]]
