"""`explain` lists how each layer of a model runs when the model is lowered; `irexec run --explain` prints the list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

import irexec
from irexec import Model
from irexec.cli.main import main
from irexec.runtime.lowering import backend
from irexec.runtime.lowering.explain import explain

ops: Any = irexec.opset15
NO_FORM = "no compiled form for these types, shapes, constants or attributes"


def model_of(rows: int = 4) -> Model:
    x = ops.parameter([rows, 64], np.float32, name="x")
    weights = ops.constant(np.ones((64, 48), np.float32))
    product = ops.matmul(x, weights, False, False, name="product")
    biased = ops.relu(ops.add(product, ops.constant(np.ones(48, np.float32)), name="bias"), name="relu")
    mean = ops.reduce_mean(biased, np.array([0]), True, name="mean")
    return Model([ops.cum_sum(mean, np.int64(0), name="sums")], [x])


def test_each_layer_is_listed_in_the_order_of_the_plan() -> None:
    assert explain(model_of(), [(4, 64)]) == [
        ("product", "MatMul", "compiled", ""),
        ("bias", "Add", "together", "with product (MatMul)"),
        ("relu", "ReLU", "together", "with product (MatMul)"),
        ("mean", "ReduceMean", "kernel", NO_FORM),
        ("sums", "CumSum", "kernel", "CumSum has no compiled form"),
    ]


def test_a_dynamic_model_is_explained_for_the_shapes_of_a_run() -> None:
    assert [row.form for row in explain(model_of(-1), [(9, 64)])] == [
        row.form for row in explain(model_of(9), [(9, 64)])
    ]


def test_the_command_prints_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "model.xml")
    irexec.save_model(model_of(), path)
    assert main(["run", path, "--explain"]) == 0
    text = capsys.readouterr().out
    assert "compiled code (EXECUTION_MODE_HINT=PERFORMANCE)" in text
    assert "with product (MatMul)" in text and "1 compiled, 2 together, 2 kernel" in text
    assert main(["run", path, "--explain", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["explain"]
    assert rows[1] == {"layer": "bias", "type": "Add", "form": "together", "detail": "with product (MatMul)"}


def test_without_compiled_code_a_finding_reports_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from irexec.runtime.lowering import explain as module

    monkeypatch.setattr(module, "is_available", lambda: False)
    path = str(tmp_path / "model.xml")
    irexec.save_model(model_of(), path)
    assert main(["run", path, "--explain"]) == 2
    assert "--explain: compiled code is not available" in capsys.readouterr().out
    assert backend.is_available()
