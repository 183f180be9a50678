"""Comparisons of integers, indices, counts and booleans, which are exact: another value is not rounding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irexec import Model
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.run.record import Reference

F = np.float32
RNG = np.random.default_rng(5)
SCORES = RNG.normal(0, 1, (2, 8)).astype(F)
IMAGE = RNG.normal(0, 1, (1, 2, 6, 6)).astype(F)
WEIGHTS = RNG.normal(0, 1, (8, 40)).astype(F)
BOXES = np.sort(RNG.uniform(0, 9, (1, 6, 4)).astype(F), -1)
Build = Callable[[Any], list[Any]]


def _classes(x: Any) -> list[Any]:
    best = ops.topk(ops.matmul(x, WEIGHTS, name="logits"), np.int64(3), 1, "max", "value", name="layer")
    return [best.output(1)]


def _chain(x: Any) -> list[Any]:
    best = ops.topk(ops.matmul(x, WEIGHTS, name="logits"), np.int64(1), 1, "max", "value", name="best")
    return [ops.convert(ops.squeeze(best.output(1), np.int64([1]), name="squeezed"), "i64", name="layer")]


def _boxes(x: Any) -> list[Any]:
    scores = ops.constant(RNG.uniform(0, 1, (1, 2, 6)).astype(F))
    return [*ops.matrix_nms(x, scores, score_threshold=0.0, name="layer").outputs()]


ROWS: dict[str, tuple[Array, Build, int]] = {
    "the classes of TopK": (SCORES, _classes, 0),
    "the index of a largest value, converted": (SCORES, _chain, 0),
    "the indices of MaxPool": (
        IMAGE,
        lambda x: [*ops.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], name="layer").outputs()],
        1,
    ),
    "the boxes of MatrixNms": (BOXES, _boxes, 1),
    "the indices of Unique": (np.round(SCORES), lambda x: [*ops.unique(x, name="layer").outputs()], 1),
    "the inverse of Unique": (np.round(SCORES), lambda x: [*ops.unique(x, name="layer").outputs()], 2),
    "the counts of Unique": (np.round(SCORES), lambda x: [*ops.unique(x, name="layer").outputs()], 3),
    "the positions of NonZero": (
        np.where(SCORES > 0, SCORES, F(0)),
        lambda x: [ops.non_zero(ops.relu(x, name="relu"), "i64", name="layer")],
        0,
    ),
    "a count": (
        SCORES,
        lambda x: [
            ops.reduce_sum(ops.convert(ops.greater(x, F(0), name="is"), "i32", name="one"), np.int64(1), name="layer")
        ],
        0,
    ),
    "a boolean": (SCORES, lambda x: [ops.greater(ops.exp(x, name="exp"), F(0.7), name="layer")], 0),
    "an integer of 64 bits": (
        np.int64([[2**40, 3], [5, 7]]),
        lambda x: [ops.multiply(x, np.int64(3), name="layer")],
        0,
    ),
}


def _compared(given: Array, build: Build, folder: Path, change: Callable[[list[Array]], None]) -> Comparison:
    """Return the comparison of a model with an archive of its results, after a change of them."""
    x = ops.parameter(list(given.shape), given.dtype, name="x")
    model = Model(build(x), [x], "model")
    reference = Reference(model, [[given]])
    (results,) = reference.results()
    made = [np.array(array) for array in results]
    change(made)
    names = [f"r{index}" for index in range(len(made))]
    for name, port in zip(names, model.outputs, strict=True):
        port.tensor.set_names({name})
    np.savez(folder / "other.npz", **dict(zip(names, made, strict=True)))
    return compare(reference, Folder(folder / "other.npz"))


@pytest.mark.parametrize("off", [1, 4, 32])
@pytest.mark.parametrize("row", ROWS)
def test_another_integer_is_a_fault_of_the_layer(row: str, off: int, tmp_path: Path) -> None:
    given, build, output = ROWS[row]

    def change(made: list[Array]) -> None:
        first = made[output].reshape(-1)
        first[0] = not first[0] if first.dtype == np.bool_ else first[0] + off

    found = _compared(given, build, tmp_path, change)
    assert not found.agrees
    assert found.culprit is not None and "layer" in [node.friendly_name for node in found.culprit.nodes]
    assert "no difference is expected" in found.verdict and not any("rounding" in hint for hint in found.hints)
    assert _compared(given, build, tmp_path, lambda made: None).same


def test_an_index_is_rounding_if_rounding_exchanges_it(tmp_path: Path) -> None:
    """Two scores that differ by one unit in the last place: only their order may differ."""

    def build(x: Any) -> list[Any]:
        scores = ops.matmul(x, np.eye(4, dtype=F) * F(1.5), name="scores")
        return [ops.topk(scores, np.int64(2), 1, "max", "value", name="layer").output(1)]

    given = np.array([[0.1, 0.7, np.nextafter(F(0.7), F(1)), 0.2]], F)
    exchanged = _compared(given, build, tmp_path, lambda made: made.__setitem__(0, made[0][:, ::-1].copy()))
    assert exchanged.agrees and not exchanged.same
    text = "the values 1.05 and 1.05 at 2 and 1 differ by 1 ulp, so that layer (TopK) may choose either: scores"
    assert text in exchanged.notes
    another = _compared(given, build, tmp_path, lambda made: made.__setitem__(0, np.array([[2, 3]], np.int32)))
    assert not another.agrees


@pytest.mark.parametrize("division", [ops.divide, ops.mod, ops.floor_mod])
def test_integers_divided_by_zero_are_no_fault_of_the_layer(division: Callable[..., Any], tmp_path: Path) -> None:
    given = np.int32([3, 0, 2])
    found = _compared(
        given,
        lambda x: [division(np.int32([7, 7, 7]), x, name="layer")],
        tmp_path,
        lambda made: made[0].__setitem__(1, -(2**31)),
    )
    assert found.culprit is None
    assert "because layer has no defined result for its inputs" in found.verdict


def test_undefined_elements_of_a_conversion_are_no_fault(tmp_path: Path) -> None:
    """Infinity as an integer, as in the relative positions of MPNet and T5, which do not use it."""

    def build(x: Any) -> list[Any]:
        return [ops.convert(x, "i64", name="layer")]

    given = np.array([-np.inf, -4.5, 2], F)
    found = _compared(given, build, tmp_path, lambda made: made[0].__setitem__(0, -(2**31)))
    assert [row.agrees for row in found.layers] == [True] and found.culprit is None
    assert "undefined for some inputs: layer (Convert); only the elements of these inputs differ" in found.notes
    another = _compared(given, build, tmp_path, lambda made: made[0].__setitem__(1, -5))
    assert another.culprit is not None and not another.agrees


def test_all_ties_rounded_in_the_other_direction_are_no_rounding(tmp_path: Path) -> None:
    """Each tie alone may be rounded either way; that all are, is another rule: quantize, then add an odd zero point."""

    def build(x: Any) -> list[Any]:
        levels = ops.round(ops.divide(x, F(1), name="divided"), "half_to_even", name="rounded")
        return [ops.convert(ops.clamp(ops.add(levels, F(5), name="moved"), -128, 127, name="held"), "i8", name="layer")]

    given = np.arange(-20, 20, 0.5, dtype=F)
    right = (np.rint(given) + 5).astype(np.int8)
    found = _compared(given, build, tmp_path, lambda made: made.__setitem__(0, np.rint(given + 5).astype(np.int8)))
    assert found.culprit is not None and found.culprit.nodes[-1].friendly_name == "layer" and not found.agrees
    assert "with the error of layer, irexec's results are off by 1 as well" in found.proof
    assert [row.agrees for row in found.layers] == [False] and not found.culprit.changes
    one = right.copy()
    one[1] += 1
    assert _compared(given, build, tmp_path, lambda made: made.__setitem__(0, one)).agrees
