"""CTCLoss: compared with the page's definition (a sum over all paths), constraints, and OpenVINO."""

from __future__ import annotations

from itertools import groupby, product

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32
from irexec.ops.sequence.ctc_loss import ctc_loss_4
from irexec.ops.spec.operator import ConstraintError

RNG = np.random.default_rng(4)


def _decoded(path: tuple[int, ...], blank: int, merge: bool) -> list[int]:
    return [c for c in ([k for k, _ in groupby(path)] if merge else path) if c != blank]


def _by_definition(
    logits: np.ndarray, target: list[int], blank: int, collapse: bool, merge: bool, unique: bool
) -> float:
    """Return one loss, from the sum over every path of the logits [T, C]."""
    if collapse:
        target = [k for k, _ in groupby(target)]
    if unique:
        target = list(dict.fromkeys(target))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    total = 0.0
    for path in product(range(logits.shape[1]), repeat=len(logits)):
        if _decoded(path, blank, merge) == target:
            total += float(np.prod(chances[range(len(path)), path]))
    return float(-np.log(total)) if total else float("inf")


def _case(batch: int, steps: int, classes: int, blank: int) -> list[np.ndarray]:
    logits = RNG.normal(size=(batch, steps, classes)).astype(np.float32)
    lengths = RNG.integers(1, steps + 1, batch).astype(np.int32)
    labels = RNG.integers(0, classes - 1, (batch, steps)).astype(np.int32)
    labels += labels >= blank
    return [logits, lengths, labels, RNG.integers(0, lengths + 1).astype(np.int32), np.array(blank, np.int32)]


def test_example_of_the_decoding() -> None:
    """C = 5, G of length 4 is (0, 3, 2, 2): two paths that the page names decode to it."""
    for path in ((0, 0, 4, 3, 2, 2, 4, 2, 4), (0, 4, 3, 3, 2, 4, 2, 2, 2)):
        assert _decoded(path, 4, True) == [0, 3, 2, 2]
        logits = np.where(np.eye(5)[list(path)] > 0, 100, 0).astype(np.float32)[None]
        labels = np.array([[0, 3, 2, 2, 2, 2, 2, 4, 3]], np.int32)
        found = run(ctc_loss_4, logits, np.array([9]), labels, np.array([4]))[0]
        np.testing.assert_allclose(found, 0, atol=1e-5)


@pytest.mark.parametrize("collapse", [True, False])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("unique", [True, False])
@pytest.mark.parametrize("blank", [0, 2])
def test_agrees_with_the_definition(collapse: bool, merge: bool, unique: bool, blank: int) -> None:
    logits, lengths, labels, counts, index = _case(5, 6, 3, blank)
    flags = {"preprocess_collapse_repeated": collapse, "ctc_merge_repeated": merge, "unique": unique}
    found = run(ctc_loss_4, logits, lengths, labels, counts, index, **flags)[0]
    expected = [
        _by_definition(row[:n].astype(np.float64), target[:k].tolist(), blank, collapse, merge, unique)
        for row, n, target, k in zip(logits, lengths, labels, counts, strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("unique", [True, False])
def test_agrees_with_openvino(merge: bool, unique: bool) -> None:
    logits, lengths, labels, _, index = _case(4, 9, 6, 5)
    lengths[:] = 9
    counts = np.array([1, 2, 3, 4], np.int32)
    inputs = [logits, lengths, labels, counts, index]
    flags = {"ctc_merge_repeated": merge, "unique": unique, "preprocess_collapse_repeated": True}
    found = run(ctc_loss_4, *inputs, **flags)[0]
    np.testing.assert_allclose(found, openvino(ctc_loss_4, *inputs, fixed=(4,), **flags)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_all_float_types(dtype: type) -> None:
    logits, lengths, labels, counts, index = _case(3, 6, 4, 3)
    found = run(ctc_loss_4, logits.astype(dtype), lengths, labels, counts, index)[0]
    expected = ctc_loss_4(logits.astype(dtype).astype(np.float32), lengths, labels, counts)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.astype(np.float32), expected, rtol=1e-2)


def test_what_no_path_decodes_to_is_infinitely_improbable() -> None:
    labels = np.array([[0, 0, 0]])
    arrays = [np.zeros((1, 3, 2), np.float32), np.array([3]), labels, np.array([3])]
    assert run(ctc_loss_4, *arrays)[0].tolist() == [np.inf]
    np.testing.assert_allclose(run(ctc_loss_4, *arrays, ctc_merge_repeated=False)[0], 3 * np.log(2), rtol=1e-6)


def test_no_label_and_no_step() -> None:
    logits = np.zeros((2, 3, 2), np.float32)
    none = np.zeros((2, 3), np.int64)
    found = run(ctc_loss_4, logits, np.array([3, 0]), none, np.array([0, 0]))[0]
    np.testing.assert_allclose(found, [3 * np.log(2), 0], rtol=1e-6)
    assert not np.signbit(found).any()
    empty = run(ctc_loss_4, logits[:0], none[:0, 0], none[:0], none[:0, 0])[0]
    assert empty.shape == (0,)


def test_large_logits_do_not_overflow() -> None:
    logits = np.array([[[1e4, 0, 0], [0, 1e4, 0]]], np.float32)
    found = run(ctc_loss_4, logits, np.array([2]), np.array([[0, 1]]), np.array([2]))[0]
    assert found.tolist() == [0]


def _breaches(*changes: tuple[int, object]) -> list[str | None]:
    types = [tensor(F32, "2,4,3"), tensor(I32, "2"), tensor(I32, "2,4"), tensor(I32, "2"), tensor(I32, "")]
    for position, other in changes:
        types[position] = other  # type: ignore[call-overload]
    return [b.constraint for b in infer(ctc_loss_4, types)[1]]


def test_c1_logits() -> None:
    assert _breaches((0, tensor(F32, "2,4"))) == ["C1"]
    assert _breaches((0, tensor(F32, "2,4,0"))) == ["C1"]
    with pytest.raises(ConstraintError, match="no class"):
        ctc_loss_4(np.zeros((1, 1, 0)), np.array([1]), np.array([[0]]), np.array([1]))


def test_c2_logit_length() -> None:
    assert _breaches((1, tensor(I32, "3"))) == ["C2"]
    assert _breaches((1, tensor(I32, "2", [4, 5]))) == ["C2"]
    with pytest.raises(ConstraintError, match="logit_length"):
        ctc_loss_4(np.zeros((1, 2, 3)), np.array([3]), np.zeros((1, 2), int), np.array([1]))


@pytest.mark.parametrize("label", [-1, 3, 2])
def test_c3_labels(label: int) -> None:
    labels = [[0, label, 0, 0], [1, 0, 0, 0]]
    assert _breaches((2, tensor(I32, "2,3"))) == ["C3"]
    known = [(2, tensor(I32, "2,4", labels)), (4, tensor(I32, "", 2))]
    assert _breaches(*known, (3, tensor(I32, "2", [2, 1]))) == ["C3"]
    assert _breaches(*known, (3, tensor(I32, "2", [1, 1]))) == []
    with pytest.raises(ConstraintError, match=f"label {label} is not a class"):
        ctc_loss_4(np.zeros((2, 4, 3)), np.array([4, 4]), np.array(labels), np.array([2, 1]))


def test_c4_label_length() -> None:
    assert _breaches((3, tensor(I32, "1"))) == ["C4"]
    assert _breaches((1, tensor(I32, "2", [2, 4])), (3, tensor(I32, "2", [3, 4]))) == ["C4"]
    with pytest.raises(ConstraintError, match="label_length"):
        ctc_loss_4(np.zeros((1, 2, 3)), np.array([1]), np.zeros((1, 2), int), np.array([2]))


def test_c5_blank_index() -> None:
    assert _breaches((4, tensor(I32, "1"))) == ["C5"]
    assert _breaches((4, tensor(I32, "", 3))) == ["C5"]
    with pytest.raises(ConstraintError, match="blank_index is 3"):
        ctc_loss_4(np.zeros((1, 2, 3)), np.array([2]), np.zeros((1, 2), int), np.array([1]), np.array(3))
