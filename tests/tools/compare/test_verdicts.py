"""irexec compare: no wrong verdict. Each model was once judged wrongly, or could be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.verdicts import ROWS, compared, named

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

F = np.float32
RNG = np.random.default_rng(0)


# Masks


def attention(*, scaled: bool = True, masked: float = float(np.finfo(F).min)) -> Model:
    """Return scores with a causal mask, scaled unless the mask is added to the unscaled scores."""
    x = ops.parameter([1, 9, 8], F, name="x")
    weights = np.random.default_rng(1).normal(0, 1, (2, 8, 8)).astype(F)
    q, k = (ops.matmul(x, w, name=n) for w, n in zip(weights, "qk", strict=True))
    scores = ops.matmul(q, k, transpose_b=True, name="scores")
    scale = ops.multiply(scores, F(0.35), name="scale")
    mask = np.triu(np.full((9, 9), masked, F), 1)
    both = ops.add(scale if scaled else scores, mask, name="masked")
    return Model([ops.matmul(ops.softmax(both, -1, name="softmax"), x, name="out")], [x], "attention")


X = RNG.normal(0, 1, (1, 9, 8)).astype(F)


@pytest.mark.parametrize("masked", [float(np.finfo(F).min), -65504.0, -np.inf])
def test_a_wrong_edge_after_a_mask(masked: float) -> None:
    found = compared(attention(masked=masked), attention(masked=masked, scaled=False), [X])
    assert not found.agrees
    assert named(found) == ["masked"]
    assert "reads scores instead of scale" in found.verdict


@pytest.mark.parametrize("masked", [float(np.finfo(F).min), -np.inf])
def test_a_wrong_edge_after_a_mask_through_a_dump(masked: float, tmp_path: Path) -> None:
    """A folder identifies layers by name only: the scores are exposed, the scaled scores are not."""
    run = Reference(attention(masked=masked), [[X]])
    dump(run, OtherModel("other.xml", attention(masked=masked, scaled=False)), tmp_path)
    found = compare(run, Folder(tmp_path))
    assert not found.agrees
    assert "masked" in named(found) and len(named(found)) <= 2


# Nothing to compare


def logarithm(last: float) -> Model:
    x = ops.parameter([2, 2], F, name="x")
    log = ops.log(ops.subtract(x, F(10)), name="log")
    return Model([ops.matmul(ops.relu(log, name="relu"), np.full((2, 2), last, F), name="mm")], [x], "nan")


def test_nan_on_both_sides_is_not_an_agreement() -> None:
    found = compared(logarithm(1), logarithm(2), [np.ones((2, 2), F)])
    assert not found.agrees
    assert found.verdict.startswith("nothing was compared with other.xml")


def test_values_that_are_numbers_somewhere_are_compared() -> None:
    found = compared(logarithm(1), logarithm(2), [F([[1, 1], [20, 30]])])
    assert not found.agrees
    assert named(found) == ["mm"]


def test_nothing_compared_is_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 2), F))
    for number in (1, 2):
        irexec.save_model(logarithm(number), tmp_path / f"{number}.xml")
    files = [str(tmp_path / "1.xml"), "--with", str(tmp_path / "2.xml"), "--input", f"x={tmp_path / 'x.npy'}"]
    assert main(["compare", *files]) == 2
    assert "nothing was compared" in capsys.readouterr().out


def test_what_was_nan_in_between_is_reported() -> None:
    x = ops.parameter([2], F, name="x")
    nan = ops.log(ops.subtract(x, F(10)), name="log")
    model = Model([ops.exp(x, name="exp"), ops.relu(nan, name="relu")], [x], "partly")
    found = compared(model, model, [F([1, 2])])
    assert found.agrees
    assert any(note.startswith("not exercised: log and 1 more: all values were NaN") for note in found.notes)


# Shapes


def sliced(stop: int, *, extent: int = 8) -> Model:
    x = ops.parameter([1, extent], F, name="x")
    part = ops.slice(x, np.int64([0]), np.int64([stop]), np.int64([1]), np.int64([1]), name="part")
    bent = ops.tanh(ops.relu(part, name="relu"), name="tanh")
    return Model([ops.reduce_sum(bent, np.int64([1]), True, name="sum")], [x], "sliced")


def test_a_layer_whose_result_has_another_shape_is_named() -> None:
    found = compared(sliced(6), sliced(5), [np.arange(1, 9, dtype=F)[None]])
    assert named(found) == ["part"]
    assert "of shape [1,5] instead of [1,6]" in found.verdict
    assert "stop is [5] instead of [6]" in found.verdict


def reshaped(target: list[int]) -> Model:
    x = ops.parameter([2, 3, 4], F, name="x")
    return Model([ops.relu(ops.reshape(x, np.int64(target), False, name="flat"))], [x], "reshaped")


@pytest.mark.parametrize("target", [[-1, 12], [2, -1]])
def test_an_open_extent_of_a_reshape_is_the_same_shape(target: list[int]) -> None:
    found = compared(reshaped([2, 12]), reshaped(target), [RNG.normal(0, 1, (2, 3, 4)).astype(F)])
    assert found.agrees and found.same
    assert found.culprit is None


@pytest.mark.parametrize("recorded", [False, True])
def test_the_other_model_fails_because_of_a_variable(recorded: bool, tmp_path: Path) -> None:
    """In the second step, the cache is too short for the mask."""

    def caching(extended: bool) -> Model:
        x, mask = ops.parameter([-1, 4], F, name="x"), ops.parameter([-1, 1], F, name="mask")
        past = ops.read_value(ops.constant(np.zeros((0, 4), F)), "cache", "f32", [-1, 4], name="past")
        keys = ops.concat([past, x], 0, name="keys")
        stored = ops.assign(keys if extended else x, "cache", name="stored")
        return Model([ops.add(keys, mask, name="masked")], [stored], [x, mask], "caching")

    steps = [[np.ones((n, 4), F), np.ones((total, 1), F)] for n, total in ((3, 3), (2, 5), (2, 7))]
    run, other = Reference(caching(True), steps), OtherModel("other.xml", caching(False))
    if recorded:
        dump(run, other, tmp_path)
    found = compare(run, Folder(tmp_path) if recorded else other)
    assert found.culprit is not None and not found.agrees
    assert [node.friendly_name for node in found.culprit.nodes] == ["past" if recorded else "stored"]
    assert "then fails: masked (Add)" in found.verdict


def test_the_other_model_fails_because_of_a_layer_before() -> None:
    """The gathered rows determine a shape, which then does not fit."""

    def model(index: int) -> Model:
        x = ops.parameter([-1, -1], F, name="x")
        extents = ops.gather(ops.shape_of(x, name="shape"), np.int64([index, 1]), np.int64(0), name="extents")
        made = ops.broadcast(F(1), extents, name="made")
        return Model([ops.add(made, ops.tanh(x, name="bent"), name="sum")], [x], "failing")

    other = model(1)
    found = compared(model(0), other, [RNG.normal(0, 1, (2, 3)).astype(F)])
    assert not found.agrees
    assert named(found) == ["extents"]
    assert found.failure is not None and found.failure.startswith("sum (Add): ")
    assert "then fails: sum (Add)" in found.verdict


# Edges


def deep(count: int, *, skips: bool) -> Model:
    """Return a chain of layers; the last layer reads the end of the chain, or its input."""
    x = ops.parameter([4, 8], F, name="x")
    begin = value = ops.relu(x, name="begin")
    for number in range(count):
        value = ops.tanh(ops.add(value, F(0.1), name=f"add.{number}"), name=f"bend.{number}")
    return Model([ops.sigmoid(begin if skips else value, name="end")], [x], "deep")


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("count", [1, 40, 200])
def test_an_edge_that_skips_layers(count: int) -> None:
    found = compared(deep(count, skips=False), deep(count, skips=True), [ROWS])
    assert named(found) == ["end"]
    assert f"reads begin instead of bend.{count - 1}" in found.verdict


def test_inputs_in_the_other_order() -> None:
    def model(swapped: bool) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        pair = [ops.relu(x, name="a"), ops.tanh(x, name="b")]
        return Model([ops.subtract(*(pair[::-1] if swapped else pair), name="difference")], [x], "order")

    found = compared(model(False), model(True), [ROWS])
    assert named(found) == ["difference"]
    assert "reads b and a in the other order" in found.verdict


def test_commuted_operands_are_the_same() -> None:
    def model(swapped: bool) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        pair = [ops.relu(x, name="a"), ops.tanh(x, name="b")]
        return Model([ops.add(*(pair[::-1] if swapped else pair), name="sum")], [x], "order")

    found = compared(model(False), model(True), [ROWS])
    assert found.verdict == "all 3 layers agree with other.xml"


def test_a_result_that_reads_another_layer() -> None:
    def model(other: bool) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        a = ops.relu(x, name="a")
        b = ops.tanh(a, name="b")
        return Model([a if other else b, ops.exp(b, name="c")], [x], "results")

    found = compared(model(False), model(True), [ROWS])
    assert not found.agrees
    assert "reads a instead of b" in found.verdict
