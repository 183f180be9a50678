"""Greedy CTC decoders: the pages' description, OpenVINO's reference values, constraints, and OpenVINO live."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32
from irexec.ops.sequence.ctc_greedy_decoder import ctc_greedy_decoder_1, ctc_greedy_decoder_seq_len_6
from irexec.ops.spec.operator import ConstraintError

RNG = np.random.default_rng(6)
A, B, BLANK = 0, 1, 2


def _scores(*sequences: list[int], classes: int = 3) -> np.ndarray:
    """Return scores [N, T, C] whose most probable classes are these."""
    return np.eye(classes, dtype=np.float32)[np.array(sequences)]


def test_example_of_the_attribute() -> None:
    """ABB*B*B is ABBB, or ABBBB where repeated classes are not merged."""
    data, length = _scores([A, B, B, BLANK, B, BLANK, B]), np.array([7], np.int32)
    classes, count = run(ctc_greedy_decoder_seq_len_6, data, length, merge_repeated=True)
    assert classes.tolist() == [[A, B, B, B, -1, -1, -1]] and count.tolist() == [4]
    classes, count = run(ctc_greedy_decoder_seq_len_6, data, length, merge_repeated=False)
    assert classes.tolist() == [[A, B, B, B, B, -1, -1]] and count.tolist() == [5]


def test_masks_and_lengths_end_a_sequence() -> None:
    data = _scores([A, B, A], [B, B, A])
    mask = np.array([[1, 1], [1, 1], [0, 1]], np.float32)
    found = run(ctc_greedy_decoder_1, data.transpose(1, 0, 2), mask)[0]
    assert found.shape == (2, 3, 1, 1)
    assert found[:, :, 0, 0].tolist() == [[A, B, -1], [B, A, -1]]
    classes, count = run(ctc_greedy_decoder_seq_len_6, data, np.array([2, 0]))
    assert classes.tolist() == [[A, B, -1], [-1, -1, -1]] and count.tolist() == [2, 0]


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("blank", [None, 0, 3])
@pytest.mark.parametrize("kinds", [("i32", "i32"), ("i64", "i32"), ("i32", "i64"), ("i64", "i64")])
def test_lengths_agree_with_openvino(merge: bool, blank: int | None, kinds: tuple[str, str]) -> None:
    data = RNG.normal(size=(3, 12, 4)).astype(np.float32)
    inputs = [data, RNG.integers(0, 13, 3).astype(np.int32)] + ([] if blank is None else [np.array(blank, np.int32)])
    attributes = {"merge_repeated": merge, "classes_index_type": kinds[0], "sequence_length_type": kinds[1]}
    expected = openvino(ctc_greedy_decoder_seq_len_6, *inputs, **attributes)
    for found, wanted in zip(run(ctc_greedy_decoder_seq_len_6, *inputs, **attributes), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("merge", [True, False])
def test_masks_agree_with_openvino(merge: bool) -> None:
    data = RNG.normal(size=(12, 3, 4)).astype(np.float32)
    mask = (np.arange(12)[:, None] < RNG.integers(1, 13, 3)).astype(np.float32)
    found = run(ctc_greedy_decoder_1, data, mask, ctc_merge_repeated=merge)[0]
    np.testing.assert_array_equal(found, openvino(ctc_greedy_decoder_1, data, mask, ctc_merge_repeated=merge)[0])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_all_float_types(dtype: type) -> None:
    data = _scores([A, A, B]).transpose(1, 0, 2).astype(dtype)
    found = run(ctc_greedy_decoder_1, data, np.ones((3, 1), dtype))[0]
    assert found.dtype == dtype and found.ravel().astype(float).tolist() == [A, B, -1]


def test_the_first_of_equal_classes_and_a_blank_of_one_element() -> None:
    data = np.zeros((1, 2, 3), np.float32)
    classes, _ = run(ctc_greedy_decoder_seq_len_6, data, np.array([2]), np.array([1]))
    assert classes.tolist() == [[0, -1]]
    assert run(ctc_greedy_decoder_seq_len_6, data, np.array([2]), np.array([0]))[1].tolist() == [0]


def test_no_steps_and_no_sequences() -> None:
    assert run(ctc_greedy_decoder_seq_len_6, np.zeros((2, 0, 3)), np.zeros(2, np.int32))[0].shape == (2, 0)
    assert run(ctc_greedy_decoder_1, np.zeros((4, 0, 3)), np.zeros((4, 0)))[0].shape == (0, 4, 1, 1)


def _lengths(data: str, length: str, values: list[int] | None = None, blank: object = None) -> list[str | None]:
    types = [tensor(F32, data), tensor(I32, length, values), blank]
    return [b.constraint for b in infer(ctc_greedy_decoder_seq_len_6, types)[1]]


def test_c1_data() -> None:
    assert _lengths("2,5", "2") == ["C1"]
    assert _lengths("2,5,0", "2") == ["C1"]
    assert [b.constraint for b in infer(ctc_greedy_decoder_1, [tensor(F32, "5,2"), tensor(F32, "5,2")])[1]] == ["C1"]
    with pytest.raises(ConstraintError, match="no class"):
        ctc_greedy_decoder_1(np.zeros((2, 1, 0)), np.ones((2, 1)))


def test_c2_lengths_and_masks_fit() -> None:
    assert _lengths("2,5,3", "3") == ["C2"]
    assert _lengths("2,5,3", "2", [5, 6]) == ["C2"]
    assert _lengths("2,5,3", "2", [-1, 5]) == ["C2"]
    with pytest.raises(ConstraintError, match=r"sequence_length\[0\] is 3, expected 0 to 2"):
        ctc_greedy_decoder_seq_len_6(np.zeros((1, 2, 3)), np.array([3]))
    assert [b.constraint for b in infer(ctc_greedy_decoder_1, [tensor(F32, "5,2,3"), tensor(F32, "2,5")])[1]] == ["C2"]


def test_c3_masks_are_ones_then_zeros() -> None:
    for mask, said in (([[1], [0], [1]], "after a 0"), ([[1], [0.5], [0]], "expected 0 or 1")):
        types = [tensor(F32, "3,1,3"), tensor(F32, "3,1", mask)]
        assert [b.constraint for b in infer(ctc_greedy_decoder_1, types)[1]] == ["C3"]
        with pytest.raises(ConstraintError, match=said):
            ctc_greedy_decoder_1(np.zeros((3, 1, 3)), np.array(mask, np.float64))


def test_c3_c4_blank_index() -> None:
    assert _lengths("2,5,3", "2", None, tensor(I32, "2")) == ["C3"]
    assert _lengths("2,5,3", "2", None, tensor(I32, "", 3)) == ["C4"]
    with pytest.raises(ConstraintError, match="blank_index is -1"):
        ctc_greedy_decoder_seq_len_6(np.zeros((1, 2, 3)), np.array([2]), np.array(-1))


def test_inferred_from_what_is_known() -> None:
    types = infer(ctc_greedy_decoder_seq_len_6, [tensor(F32, "?,5,3"), tensor(I32, "2")])[0]
    assert [str(t.shape) for t in types] == ["[2,5]", "[2]"]
    types = infer(ctc_greedy_decoder_1, [tensor(F32, "..."), tensor(F32, "7,2")])[0]
    assert str(types[0].shape) == "[2,7,1,1]"
