"""irexec compare: layers with random values are judged if the other side has to draw the same values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.verdicts import ROWS, compared, named, through_a_dump

from irexec import Model
from irexec import opset15 as ops

F = np.float32


def noisy(global_seed: int = 1, op_seed: int = 2, most: float = 1.0, factor: float = 1.5) -> Model:
    """Return a model with a result without noise and a result with noise."""
    x = ops.parameter([4, 8], F, name="x")
    noise = ops.random_uniform(np.int64([4, 8]), F(0), F(most), "f32", global_seed, op_seed, name="noise")
    clean = ops.multiply(x, F(factor), name="clean")
    return Model([clean, ops.add(ops.tanh(x, name="bent"), noise, name="noisy")], [x], "random")


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("changed", [{"global_seed": 3}, {"op_seed": 3}, {"most": 1.5}])
def test_other_seeds_or_limits_are_a_difference(changed: dict[str, int], recorded: bool, tmp_path: Path) -> None:
    models = noisy(), noisy(**changed)
    found = through_a_dump(*models, tmp_path, [ROWS]) if recorded else compared(*models, [ROWS])
    assert not found.agrees and named(found) == ["noise"]
    assert "random" not in found.verdict


@pytest.mark.parametrize("recorded", [False, True])
def test_the_same_seeds_agree(recorded: bool, tmp_path: Path) -> None:
    found = through_a_dump(noisy(), noisy(), tmp_path, [ROWS]) if recorded else compared(noisy(), noisy(), [ROWS])
    assert found.same and found.unseen == 0


@pytest.mark.parametrize("recorded", [False, True])
def test_values_that_nobody_can_repeat_are_named(recorded: bool, tmp_path: Path) -> None:
    models = noisy(0, 0), noisy(0, 0)
    found = through_a_dump(*models, tmp_path, [ROWS]) if recorded else compared(*models, [ROWS])
    assert found.agrees and not found.same
    assert "but the random values of noise make the results differ" in found.verdict


@pytest.mark.parametrize("recorded", [False, True])
def test_random_values_hide_no_other_difference(recorded: bool, tmp_path: Path) -> None:
    models = noisy(0, 0), noisy(0, 0, factor=1.6)
    found = through_a_dump(*models, tmp_path, [ROWS]) if recorded else compared(*models, [ROWS])
    assert not found.agrees and named(found) == ["clean"]
