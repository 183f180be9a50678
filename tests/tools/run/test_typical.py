"""Chosen inputs: tokens below the number of the table's rows, masks of 0 and 1, images from 0 to 1, consecutive
positions, and three steps for a model with variables.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.model.arrays.given import Given
from irexec.tools.run.run import complete

F = np.float32


def chosen(model: Model, **choice: int) -> dict[str, Array]:
    findings = Findings()
    entries = complete(model, Given(typical=True, **choice), findings)
    assert findings.report.ok
    return {entry.port.node.friendly_name: entry.array for entry in entries if entry.array is not None}


def text(rows: int = 37) -> Model:
    """Return a model of tokens that select rows of a table after a Convert, positions and a mask."""
    ids, mask, positions = (
        ops.parameter([-1, -1], "i64", name=n) for n in ("input_ids", "attention_mask", "position_ids")
    )
    table = np.ones((rows, 4), F)
    made = ops.gather(table, ops.convert(ids, "i32"), np.array(0))
    factor = ops.unsqueeze(
        ops.convert(ops.multiply(mask, ops.add(positions, np.array(1, np.int64))), "f32"), np.array(2)
    )
    return Model([ops.multiply(made, factor)], [ids, mask, positions], "text")


def test_a_text() -> None:
    given = chosen(text())
    ids, mask, positions = (given[name] for name in ("input_ids", "attention_mask", "position_ids"))
    assert ids.shape == mask.shape == positions.shape == (1, 12)
    assert 10 < ids.max() < 37
    assert mask.tolist() == [[1] * 11 + [0]]
    assert positions.tolist() == [list(range(12))]


def test_the_step_after_a_text() -> None:
    given = chosen(text(), past=12)
    assert given["input_ids"].shape == given["position_ids"].shape == (1, 1)
    assert given["position_ids"].tolist() == [[12]]
    assert given["attention_mask"].tolist() == [[1] * 13]


def test_the_same_seed_gives_the_same_values() -> None:
    first, again, other = (chosen(text(), seed=seed)["input_ids"].tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("shape", [[1, 3, 8, 8], [1, 8, 8, 3]])
def test_an_image(shape: list[int]) -> None:
    x = ops.parameter(shape, "f32", name="x")
    image = chosen(Model([ops.relu(x)], [x], "image"))["x"]
    assert 0 <= image.min() < 0.2 < 0.8 < image.max() <= 1


def test_other_real_numbers_have_both_signs() -> None:
    x = ops.parameter([4, 8], "f32", name="x")
    assert chosen(Model([ops.relu(x)], [x], "rows"))["x"].min() < 0


def test_a_model_with_variables_runs_three_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ids = ops.parameter([1, -1], "i64", name="input_ids")
    rows = ops.gather(np.arange(40, dtype=F).reshape(10, 4), ids, np.array(0))
    past = ops.read_value(ops.constant(np.zeros((1, 0, 4), F)), "past", "f32", [1, -1, 4])
    together = ops.concat([past, rows], 1)
    model = Model([ops.relu(together, name="last")], [ops.assign(together, "past")], [ids], "cached")
    file, kept = tmp_path / "cached.xml", tmp_path / "inputs"
    irexec.save_model(model, file)
    assert main(["compare", str(file), "--with", str(file), "--save-inputs", str(kept)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "inputs chosen with --seed 0: input_ids [1,12], then [1,1]" in said
    assert sorted(path.name for path in kept.iterdir()) == ["0.npz", "1.npz", "2.npz"]
    assert "only one step" not in said
    steps = [word for number in range(3) for word in ("--input", str(kept / f"{number}.npz"))]
    assert main(["compare", str(file), "--with", str(file), *steps]) == 0
    assert "inputs chosen" not in capsys.readouterr().out
