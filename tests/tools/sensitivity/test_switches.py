"""Switches: runs of one model with changed inputs give the same results as the model of each choice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.failing import SAMPLES
from support.quantized import inputs, pair
from support.spoilt import NETWORKS, quantized, samples

import irexec
from irexec import opset15 as ops
from irexec.core.types import BF16, Array
from irexec.runtime.engine import CompiledModel
from irexec.runtime.engine.run import Run
from irexec.tools.sensitivity.analysis import trials_of
from irexec.tools.sensitivity.quantizers import quantized_board
from irexec.tools.sensitivity.rounding import rounding_board
from irexec.tools.sensitivity.switches import Board, Switched

pytestmark = pytest.mark.any_python

RNG = np.random.default_rng(0)


def check(board: Board, steps: list[list[Array]], count: int = 6) -> None:
    """Compare random choices, as changes of held runs, with their models run alone."""
    sites, switched = [*board.sites.values()], Switched(board)
    run = Run(switched.model)
    given = [[switched.inputs(step, is_fine) for step in steps] for is_fine in (False, True)]
    for some in given:
        run.hold(some)
    for number in range(count):
        from_fine = bool(number % 2)
        changed = {sites[k] for k in RNG.choice(len(sites), int(RNG.integers(1, 4)))}
        outcomes = run(given[from_fine], change=switched.change(changed, not from_fine))
        compiled = CompiledModel(board.wired({*sites} - changed if from_fine else changed))
        for outcome, step in zip(outcomes, steps, strict=True):
            for mine, theirs in zip(outcome.results, compiled.infer_new_request(step).to_tuple(), strict=True):
                assert mine.shape == theirs.shape
                # A value that rounding moves across the border of two levels differs by one level.
                assert np.mean(np.abs(mine - theirs) > 1e-4 * (1 + np.abs(theirs))) < 0.02


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("name", NETWORKS)
def test_changes_are_the_models_of_their_choices(name: str) -> None:
    model = NETWORKS[name]()
    given = samples(model, 3)
    board, _ = quantized_board(model, quantized(model, given))
    check(board, [[array] for array in given])


@pytest.mark.parametrize("name", ["classifier", "segmenter", "transformer"])
def test_samples_in_bf16(name: str) -> None:
    folder = SAMPLES / name
    model = irexec.read_model(folder / "model.xml")
    steps = [[np.load(folder / f"{port.any_name}.npy") for port in model.inputs]]
    check(rounding_board(model, BF16), steps)


def network(last: Callable[[Any], Any]) -> irexec.Model:
    """Return a network with a batch that is open."""
    x = ops.parameter([-1, 8], np.float32, name="x")
    weights = np.random.default_rng(0).normal(0, 1, (8, 8)).astype(np.float32)
    y = ops.tanh(ops.matmul(x, weights, False, False, name="product"), name="tanh")
    return irexec.Model([last(y)], [x], "batched")


@pytest.mark.parametrize(
    ("last", "together"),
    [
        (lambda y: ops.relu(y, name="y"), True),
        (lambda y: ops.subtract(y, ops.reduce_mean(y, np.int64([0]), True), name="y"), False),
    ],
    ids=["independent", "mean of the batch"],
)
def test_inputs_run_as_one_batch_if_its_elements_do_not_depend_on_each_other(
    last: Callable[[Any], Any], together: bool
) -> None:
    model = network(last)
    steps = [[RNG.normal(0, 1, (3, 8)).astype(np.float32)] for _ in range(4)]
    trials = trials_of(model, "bf16", steps, "snr")
    assert len(trials.steps) == (1 if together else 4)
    alone = [trials_of(model, "bf16", [step], "snr").coarse.noise for step in steps]
    assert min(alone) <= trials.coarse.noise <= max(alone)


def test_inputs_of_a_fixed_batch_run_one_by_one() -> None:
    model, other = pair(1, blocks=2)
    assert len(trials_of(model, other, [[step] for step in inputs(1)], "snr").steps) == len(inputs(1))
