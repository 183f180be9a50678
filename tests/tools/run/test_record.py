"""Runs of irexec whose values are recorded: a comparison runs each model once if its values are small."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import ml_dtypes
import numpy as np
import pytest
from support.verdicts import ROWS, compared, named

import irexec
from irexec import opset15 as ops
from irexec.runtime.engine import run
from irexec.runtime.engine.runner import Runner
from irexec.runtime.engine.spilled import Spill, Spilled
from irexec.tools.compare.numbers import DRAWS
from irexec.tools.run.record import Reference, same


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of layers of each model that is run."""
    counts: list[int] = []
    whole = Runner.run

    def counted(self: Runner, inputs: Sequence[np.ndarray], *, lowered: bool = False) -> list[np.ndarray]:
        counts.append(len(self.plan.model.nodes))
        return whole(self, inputs, lowered=lowered)

    monkeypatch.setattr(Runner, "run", counted)
    yield counts


def network(scale: float = 1.0, layers: int = 12) -> irexec.Model:
    """Return a chain of layers; `scale` multiplies the values of the middle layer."""
    value = x = ops.parameter([4, 8], np.float32, name="x")
    for number in range(layers):
        factor = np.float32(0.9 * (scale if number == layers // 2 else 1.0))
        value = ops.tanh(ops.multiply(value, factor, name=f"scaled{number}"), name=f"tanh{number}")
    return irexec.Model([value], [x], "chain")


@pytest.mark.parametrize(("scale", "culprit"), [(1.0, []), (1.5, ["scaled6"])])
def test_a_comparison_runs_each_model_once(runs: list[int], scale: float, culprit: list[str]) -> None:
    right, other = network(), network(scale)
    assert named(compared(right, other, [ROWS])) == culprit
    assert [count for count in runs if count == len(right.nodes)] == 2 * [len(right.nodes)]


@pytest.mark.parametrize(("spilled", "times"), [(1 << 20, 2), (0, 3 + DRAWS)])
def test_a_comparison_of_large_values_runs_each_model_once(
    runs: list[int], monkeypatch: pytest.MonkeyPatch, spilled: int, times: int
) -> None:
    """Values beyond the memory limit are in a file; the models only run again if the file would become too large."""
    monkeypatch.setattr(run, "HELD_BYTES", 1 << 10)
    monkeypatch.setattr(run, "_SPILLED_BYTES", spilled)
    right = network()
    assert named(compared(right, network(1.5), [ROWS])) == ["scaled6"]
    assert [count for count in runs if count == len(right.nodes)] == times * [len(right.nodes)]


def test_values_return_from_a_file_unchanged() -> None:
    spill = Spill()
    arrays = [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array(3, np.int64),
        np.zeros((0, 4), bool),
        np.array([1.5, -2.0], ml_dtypes.bfloat16),
        np.array(["a", "longer"]),
    ]
    kept = [spill.write(array) for array in arrays]
    for array, there in zip(arrays, kept, strict=True):
        assert same(there.read() if isinstance(there, Spilled) else there, array)


def test_held_values_are_those_of_a_run_of_their_own(runs: list[int]) -> None:
    model = network()
    steps = [[ROWS], [ROWS * 2]]
    held, again = Reference(model, steps), Reference(model, steps)
    held.hold()
    wanted = [value for node in model.nodes if node.type in ("Parameter", "Tanh") for value in node.outputs]
    expected = again.record(wanted)
    assert held.results()
    before = len(runs)
    found = held.record(wanted)
    assert len(runs) == before
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.keys() == theirs.keys() == set(wanted)
        assert all(same(ours[value], theirs[value]) for value in wanted)


def test_random_values_are_not_held(runs: list[int]) -> None:
    size = np.int64([4])
    model = irexec.Model([ops.random_uniform(size, np.float32(0), np.float32(1), "f32", 0, 0)], [], "random")
    reference = Reference(model, [[]])
    reference.hold()
    reference.results()
    before = len(runs)
    reference.record([node.outputs[0] for node in model.nodes if node.type == "RandomUniform"])
    assert len(runs) == before + 1


@pytest.mark.parametrize("dtype", [np.float32, np.int8, bool])
def test_arrays_are_the_same_if_all_elements_are(dtype: type) -> None:
    array = np.zeros((700, 800), dtype)
    other = array.copy()
    assert same(array, other)
    assert same(array, np.asfortranarray(other))
    other[-1, -1] = 1
    assert not same(array, other)
    assert same(np.array(1, dtype), np.array(1, dtype))
    assert not same(array[:, :0], array[:0])
