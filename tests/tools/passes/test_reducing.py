"""`reduce --with passes`: the smallest model for which the same pass is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import opset13 as ops
from irexec.cli.main import main

pytest.importorskip("openvino")

F32 = ("--config", "INFERENCE_PRECISION_HINT=f32")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model with a Transpose that a pass removes wrongly, between other layers."""
    monkeypatch.chdir(tmp_path)
    x = ops.parameter([1, 1, 3, 2], np.float32, name="x")
    first = ops.reduce_mean(ops.exp(x), np.array([2]), keep_dims=True, name="first")
    second = ops.reduce_mean(first, np.array([2]), keep_dims=False, name="second")
    turned = ops.transpose(second, np.array([2, 1, 0]), name="turned")
    irexec.save_model(irexec.Model([ops.sigmoid(turned, name="end")], [x]), "model.xml")
    return "model.xml"


def test_the_model_is_reduced_to_the_layers_of_the_pass(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", file, "--with", "passes", *F32, "--same", "NopElimination"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("wrong pass of OpenVINO ")
    assert ": NopElimination: removes " in text
    left = [
        node.type for node in irexec.read_model("repro.xml").nodes if node.type not in ("Parameter", "Const", "Result")
    ]
    assert len(left) <= 3
    assert left[-1] == "Transpose"
    found = irexec.passes("repro.xml", inputs=dict(np.load("repro.npz")), config={"INFERENCE_PRECISION_HINT": "f32"})
    assert [one.name for one in found.wrong] == ["NopElimination"]


def test_a_model_whose_passes_are_right(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", file, "--with", "passes", *F32, "--same", "Unheard"]) == 2
    assert "nothing to reduce: the passes of OpenVINO " in capsys.readouterr().err
    assert main(["reduce", file, "--with", "passes", "--python", "python"]) == 2
    assert "requires OpenVINO in this environment" in capsys.readouterr().err
