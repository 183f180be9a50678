"""irexec compare: differences that are smaller than rounding, and differences that are only rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.verdicts import ROWS, compared, named, through_a_dump

from irexec import Model
from irexec import opset15 as ops
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

F = np.float32
RNG = np.random.default_rng(0)


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("factor", [1.03, 1.002])
def test_weights_that_are_slightly_larger(kind: str, factor: float) -> None:
    """64 units in the last place of f16 are 6 %."""

    def model(factor: float) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        weights = np.random.default_rng(3).normal(0, 1, (8, 8)) * factor
        narrow = ops.convert(x, kind, name="narrow")
        product = ops.matmul(narrow, ops.constant(weights.astype(F), kind), name="product")
        return Model([ops.convert(ops.relu(product, name="relu"), "f32", name="wide")], [x], "f16")

    found = compared(model(1), model(factor), [ROWS])
    assert not found.agrees
    assert named(found) == ["product"]


def test_weights_of_f16_that_are_slightly_larger_through_a_dump(tmp_path: Path) -> None:
    def model(factor: float) -> Model:
        x = ops.parameter([4, 64], np.float16, name="x")
        weights = (np.random.default_rng(3).normal(0, 1, (64, 8)) * factor).astype(np.float16)
        return Model([ops.relu(ops.matmul(x, weights, name="product"), name="relu")], [x], "f16")

    run = Reference(model(1), [[RNG.normal(0, 1, (4, 64)).astype(np.float16)]])
    dump(run, OtherModel("other.xml", model(1.03)), tmp_path)
    found = compare(run, Folder(tmp_path))
    assert not found.agrees and named(found) == ["product"]
    dump(run, OtherModel("other.xml", model(1)), tmp_path / "same")
    assert compare(run, Folder(tmp_path / "same")).agrees


@pytest.mark.parametrize("name", ["a", "b"])
def test_an_attribute_within_the_tolerance(name: str) -> None:
    """A change that is smaller than rounding is reported, whatever the names of the layers."""

    def model(epsilon: float) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        return Model([ops.mvn(x, np.int64([1]), True, epsilon, "inside_sqrt", name=f"{name}_norm")], [x], "mvn")

    found = compared(model(1e-5), model(1.2e-5), [ROWS])
    assert not found.agrees
    assert "eps is 1.2e-05 instead of 1e-05" in found.verdict


def test_an_epsilon_outside_the_root_through_a_dump(tmp_path: Path) -> None:
    """A small error in one direction, slightly beyond the tolerance, is reported for a recording of irexec."""

    def model(mode: str) -> Model:
        x = ops.parameter([16, 32], F, name="x")
        norm = ops.mvn(x, np.int64([1]), True, 1e-5, mode, name="norm")
        weights = np.random.default_rng(3).normal(0, 1, (32, 8)).astype(F)
        return Model([ops.tanh(ops.matmul(norm, weights, name="product"), name="tanh")], [x], "mvn")

    rows = np.random.default_rng(0).normal(0, 1, (16, 32)).astype(F)
    found = through_a_dump(model("inside_sqrt"), model("outside_sqrt"), tmp_path, [rows])
    assert not found.agrees and named(found) == ["norm"]
    assert through_a_dump(model("inside_sqrt"), model("inside_sqrt"), tmp_path, [rows]).same


def test_another_way_to_round_is_not_a_fault() -> None:
    """x / 3 is compared with x * (1 / 3)."""

    def model(divides: bool) -> Model:
        x = ops.parameter([4, 8], F, name="x")
        wide = ops.exp(x, name="exp")
        third = ops.divide(wide, F(3), name="third") if divides else ops.multiply(wide, F(1) / F(3), name="third")
        return Model([ops.tanh(third, name="tanh")], [x], "third")

    found = compared(model(True), model(False), [ROWS])
    assert found.agrees and not found.same
    assert found.verdict.startswith("the same results, but for rounding, as other.xml")


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("kind", ["constant", "input"])
def test_a_result_without_a_layer(kind: str, recorded: bool, tmp_path: Path) -> None:
    def model(wrong: bool) -> Model:
        x, y = (ops.parameter([4, 8], F, name=name) for name in "xy")
        plain = (y if wrong else x) if kind == "input" else ops.constant(F([1, 3 if wrong else 2]), name="plain")
        ends = [ops.result(ops.add(x, y, name="sum"), name="first"), ops.result(plain, name="second")]
        return Model(ends, [], [x, y], "plain")

    steps = [ROWS, ROWS + 1]
    found = (
        through_a_dump(model(False), model(True), tmp_path, steps)
        if recorded
        else compared(model(False), model(True), steps)
    )
    assert not found.agrees and named(found) == ["second"]
    assert ("reads y instead of x" in found.verdict) == (kind == "input")
