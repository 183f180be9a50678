"""irexec compare: equal results although layers compute different values."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support.verdicts import ROWS, compared, named, through_a_dump

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.cli.main import main

F = np.float32


def scaled_inside(factor: float, *, wrong: bool = False) -> Model:
    """Return two products between which all values are larger by a factor."""
    x = ops.parameter([4, 8], F, name="x")
    weights = np.random.default_rng(2).normal(0, 1, (2, 8, 8)).astype(F)
    first = ops.matmul(x, weights[0] * F(factor), name="first")
    bent = ops.relu(first, name="relu")
    second = ops.matmul(bent, weights[1] / F(factor), name="second")
    last = ops.multiply(second, F(1.25 if wrong else 1.5), name="last")
    return Model([last], [x], "scaled")


@pytest.mark.parametrize("factor", [0.5, 2.0, 1024.0])
def test_the_same_results_with_other_values_in_between(factor: float) -> None:
    found = compared(scaled_inside(1), scaled_inside(factor), [ROWS])
    assert found.agrees and found.same
    assert found.verdict.startswith("the same results as other.xml; ")
    assert "first" in found.others and "second" in found.others
    assert all(row.compensated for row in found.layers if not row.agrees)


def ended(ending: str) -> Model:
    """A product that is the last layer; other models compute three times as much."""
    x = ops.parameter([4, 8], F, name="x")
    weights = np.random.default_rng(3).normal(0, 1, (8, 8)).astype(F)
    y = ops.matmul(ops.tanh(x, name="bent"), weights * F(3 if ending else 1), name="product")
    y = ops.divide(y, F(3)) if ending == "divided" else ops.divide(y, F(2.9)) if ending == "wrongly" else y
    return Model([ops.result(y, name="end")], [x], "ended")


def test_a_layer_before_a_result_for_which_further_layers_of_the_other_model_compensate() -> None:
    found = compared(ended(""), ended("divided"), [ROWS])
    assert found.agrees and not found.same, found.verdict
    assert found.others == ["product"]
    for ending in ("wrongly", "not at all"):
        found = compared(ended(""), ended(ending), [ROWS])
        assert not found.agrees
        assert named(found) == ["product"]


def test_a_fault_after_other_intermediate_values() -> None:
    """A layer for which others compensate is not the cause of different results."""
    found = compared(scaled_inside(1), scaled_inside(2, wrong=True), [ROWS])
    assert not found.agrees
    assert named(found) == ["last"]


def test_the_exit_codes_of_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", ROWS)
    models = {"right": scaled_inside(1), "same": scaled_inside(2), "wrong": scaled_inside(1, wrong=True)}
    for name, model in models.items():
        irexec.save_model(model, tmp_path / f"{name}.xml")
    given = ["compare", str(tmp_path / "right.xml"), "--input", f"x={tmp_path / 'x.npy'}", "--with"]
    assert main([*given, str(tmp_path / "same.xml")]) == 0
    assert capsys.readouterr().out.startswith("the same results as")
    assert main([*given, str(tmp_path / "wrong.xml")]) == 1
    # All elements are off by the same factor: which one is named depends on the last bits.
    said = (
        r"first wrong layer: last \(Multiply\): 17 % off \(\S+ instead of \S+; no difference is expected\); b is 1.25 "
    )
    assert re.match(said, " ".join(capsys.readouterr().out.split()))


# Values for which other layers compensate


def summed(grouped: bool, *, wrong: bool = False) -> Model:
    """Return the sum of three values of different shapes; the order of the sums determines the shape of the
    first sum.
    """
    x, rng = ops.parameter([4, 8], F, name="x"), np.random.default_rng(6)
    bias, weights = (rng.normal(0, 1, shape).astype(F) for shape in ((8,), (8, 8)))
    row = ops.reduce_mean(x, np.int64([0]), True, name="mean")
    made = ops.matmul(x, weights, name="product")
    if grouped:
        y = ops.add(made, ops.add(row, bias, name="biased"), name="whole")
    else:
        y = ops.add(ops.add(made, bias, name="biased"), row, name="whole")
    return Model([ops.tanh(ops.multiply(y, F(1.25 if wrong else 1.5), name="scaled"), name="last")], [x], "summed")


def test_sums_in_another_order_whose_parts_have_other_shapes() -> None:
    found = compared(summed(False), summed(True), [ROWS])
    assert found.agrees, found.verdict
    assert "biased" in found.others
    found = compared(summed(False), summed(True, wrong=True), [ROWS])
    assert not found.agrees
    assert named(found) == ["scaled"]


def hidden(f: str) -> Model:
    """Return two products, whose hidden values another model may have in another order or scale."""
    rng = np.random.default_rng(4)
    x = ops.parameter([4, 8], F, name="x")
    up, bias, down = (rng.normal(0, 1, shape).astype(F) for shape in ((8, 32), 32, (32, 8)))
    order = rng.permutation(32)
    if "permuted" in f:
        up, bias, down = up[:, order], bias[order], down[order]
    if "scaled" in f:
        up, bias, down = up * F(3), bias * F(3), down / F(3)
    if "later" in f:
        down = down * F(1.01)
    if "only first" in f:
        down = rng.permutation(down)
    wide = ops.relu(ops.add(ops.matmul(x, up, name="up"), bias, name="bias"), name="relu")
    return Model([ops.tanh(ops.add(ops.matmul(wide, down, name="down"), x, name="sum"), name="end")], [x], "hidden")


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("f", ["permuted", "scaled", "permuted and scaled"])
def test_hidden_values_in_another_order_or_scale(f: str, recorded: bool, tmp_path: Path) -> None:
    """Sums in another order round differently, so the results are not exactly equal."""
    models = hidden(""), hidden(f)
    found = through_a_dump(*models, tmp_path, [ROWS]) if recorded else compared(*models, [ROWS])
    assert found.agrees and not found.same
    assert found.verdict.startswith("the same results, but for rounding, as other.xml")
    assert {"up", "down"} <= {row.node.friendly_name for row in found.layers if not row.agrees}


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("f", ["permuted, down larger later", "permuted, only first"])
def test_hidden_values_that_nothing_makes_up_for(f: str, recorded: bool, tmp_path: Path) -> None:
    models = hidden(""), hidden(f)
    found = through_a_dump(*models, tmp_path, [ROWS]) if recorded else compared(*models, [ROWS])
    assert not found.agrees
    assert named(found)[0] in ("up", "down")


def test_a_bias_that_is_added_after_a_sum_through_a_dump(tmp_path: Path) -> None:
    """The layers of the same name read other values, including exact layers."""

    def model(later: bool) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        y = ops.exp(x, name="exp")
        y = y if later else ops.add(y, F(0.3), name="biased")
        y = ops.add(y, x, name="sum")
        y = ops.add(y, F(0.3), name="late") if later else y
        return Model([ops.tanh(ops.minimum(y, F(50), name="limited"), name="end")], [x], "bias")

    found = through_a_dump(model(False), model(True), tmp_path, [ROWS])
    assert found.agrees and not found.same


def test_a_difference_that_the_inputs_do_not_show() -> None:
    def model(most: float) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        return Model([ops.exp(ops.clamp(x, -1.0, most, name="cut"), name="end")], [x], "clamp")

    found = compared(model(100), model(200), [ROWS])
    assert (
        found.same and found.verdict == "all 2 layers agree with other.xml on these inputs, although the models differ"
    )
    assert "without effect on these inputs: cut (Clamp) max is 200.0 instead of 100.0" in found.notes


# Differences that a normalization removes


def normalized(kind: str, scale: float, *, bias: float = 1.0, eps: float = 1e-5, later: float = 1.0) -> Model:
    """Return a product whose scale a normalization removes, in one layer or in several."""
    x, rng = ops.parameter([4, 8], F, name="x"), np.random.default_rng(0)
    first, second = rng.normal(0, 1, (2, 8, 8)).astype(F)
    y = ops.matmul(x, first * F(scale), name="first")
    y = ops.add(y, rng.normal(0, 0.2, 8).astype(F) * F(scale * bias), name="bias")
    if kind == "MVN":
        y = ops.mvn(y, np.int64([-1]), True, eps, "inside_sqrt", name="norm")
    else:
        mean = ops.reduce_mean(ops.multiply(y, y, name="square"), np.int64([-1]), True, name="mean")
        y = ops.multiply(y, ops.power(ops.add(mean, F(eps), name="eps"), F(-0.5), name="inverse"), name="norm")
    return Model([ops.tanh(ops.matmul(y, second * F(later), name="second"), name="end")], [x], "normalized")


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("scale", [0.3, 3.0])
@pytest.mark.parametrize("kind", ["MVN", "RMS"])
def test_a_scale_that_a_normalization_removes(kind: str, scale: float, recorded: bool, tmp_path: Path) -> None:
    models = normalized(kind, 1), normalized(kind, scale)
    found = through_a_dump(*models, tmp_path, [ROWS]) if recorded else compared(*models, [ROWS])
    assert found.agrees and not found.same
    assert found.verdict.startswith("the same results, but for rounding, as other.xml")
    assert found.others == ["first", "bias"]


@pytest.mark.parametrize("kind", ["MVN", "RMS"])
def test_faults_before_and_after_a_normalization(kind: str) -> None:
    """The effect of a fault is visible, or grows with the fault."""
    found = compared(normalized(kind, 1), normalized(kind, 3, bias=1.02), [ROWS])
    assert not found.agrees and named(found)[0] in ("first", "bias")
    found = compared(normalized(kind, 1), normalized(kind, 3, later=1.01), [ROWS])
    assert not found.agrees and named(found) == ["second"]
    found = compared(normalized(kind, 1), normalized(kind, 1, eps=1.2e-5), [ROWS])
    assert not found.agrees and named(found) == (["norm"] if kind == "MVN" else ["eps"])
