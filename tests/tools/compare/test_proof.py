"""The proof of verdicts whose layers have no error that could be added to irexec's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.verdicts import ROWS, compared, named

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.tools.compare.blame import largest
from irexec.tools.compare.compare import compare
from irexec.tools.compare.proof import with_ours
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

F, L = np.float32, np.int64


def _two(x: Any, other: bool) -> Any:
    doubled = ops.multiply(x, F(2), name="doubled")
    return ops.result(doubled if other else ops.exp(doubled, name="exp"), name="r")


def _inserted(x: Any, other: bool) -> Any:
    doubled = ops.multiply(x, F(2), name="doubled")
    return ops.result(ops.clamp(doubled, -0.5, 0.5, name="cut") if other else doubled, name="r")


def _shape(x: Any, other: bool) -> Any:
    part = ops.slice(x, L([0]), L([2 if other else 4]), L([1]), L([1]), name="part")
    return ops.result(ops.reduce_sum(part, L([1]), True, name="sum"), name="r")


@pytest.mark.parametrize(
    "build, layer, proof",
    [
        (_two, "r", "irexec's doubled is equal to what the other side returns; its result that should be exp is "),
        (_inserted, "r", "the other side's doubled is equal; its result that should be doubled is "),
        (_shape, "part", "with the other side's part, irexec"),
    ],
)
def test_every_verdict_has_a_proof(build: Callable[[Any, bool], Any], layer: str, proof: str) -> None:
    def model(other: bool) -> Model:
        x = ops.parameter([4, 8], "f32", name="x")
        return irexec.Model([build(x, other)], [x])

    found = compared(model(False), model(True), [ROWS])
    assert not found.agrees and named(found) == [layer], found.verdict
    assert found.proof.startswith(proof), found.proof
    assert "; " in found.proof


def test_the_other_side_has_irexecs_values_in_every_step() -> None:
    """A bias that a softmax cancels, in a cache: with irexec's values in one step alone, the steps do not fit."""

    def model(bias: float) -> Model:
        x = ops.parameter([1, 4], "f32", name="x")
        cache = ops.read_value(ops.constant(np.zeros((1, 4), F)), "cache", "f32", [1, 4], name="cache")
        key = ops.add(ops.multiply(x, F(3), name="scaled"), F(bias), name="key")
        kept = ops.assign(ops.add(cache, key, name="sum"), "cache", name="kept")
        made = ops.result(ops.softmax(ops.subtract(key, cache, name="change"), 1, name="shares"), name="r")
        return irexec.Model([made], [kept], [x])

    steps = [[np.random.default_rng(seed).normal(0, 1, (1, 4)).astype(F)] for seed in range(3)]
    run, other = Reference(model(0.1), steps), OtherModel("other.xml", model(0.1001))
    found = compare(run, other)
    assert named(found) == ["key"] and found.culprit is not None, found.verdict
    repaired = with_ours(run, other.load(run.model), found.culprit)
    assert repaired is not None and not largest(run.results(), repaired)
    assert found.proof.endswith("those of the other side are equal"), found.proof


def test_values_that_variables_keep_are_repaired_step_by_step() -> None:
    """A cache to which new values are added at the wrong end: a step reads what the one before has written."""

    def model(other: bool) -> Model:
        x = ops.parameter([1, 4], "f32", name="x")
        cache = ops.read_value(ops.constant(np.zeros((0, 4), F)), "cache", "f32", [-1, 4], name="cache")
        rows = ops.concat([x, cache] if other else [cache, x], 0, name="rows")
        weights = ops.reshape(ops.cum_sum(ops.exp(rows), L(0), name="all"), L([-1, 4]), False, name="weights")
        made = ops.result(ops.reduce_sum(ops.multiply(rows, weights, name="both"), L([0]), False, name="sum"), name="r")
        return irexec.Model([made], [ops.assign(rows, "cache", name="kept")], [x])

    steps = [[np.random.default_rng(seed).normal(0, 1, (1, 4)).astype(F)] for seed in range(4)]
    found = compare(Reference(model(False), steps), OtherModel("other.xml", model(True)))
    assert named(found) == ["rows"], found.verdict
    assert found.proof.endswith("those of the other side are equal"), found.proof
