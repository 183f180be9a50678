"""Checks of results while a model runs: always against inferred types, against declared dims only with
mode="strict".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import Net

import irexec
from irexec.cli.main import main
from irexec.ops.spec.contents import find


def narrow() -> str:
    """Return a model with x of any length, whose file declares five elements for a value computed from x."""
    net = Net()
    net.result(net.layer("ReLU", [net.parameter("x", "-1")], "5", name="relu"))
    return net.text


def test_declared_dims_are_ignored_as_openvino_does() -> None:
    compiled = irexec.compile_model(irexec.read_model(narrow().encode()))
    for _ in range(3):  # The third run has a plan for these shapes.
        assert compiled([np.ones(4, np.float32)])[0].shape == (4,)
    ov = pytest.importorskip("openvino")
    theirs = ov.Core().compile_model(ov.Core().read_model(narrow().encode()), "CPU")
    assert theirs([np.ones(4, np.float32)])[0].shape == (4,)


def test_declared_dims_are_held_in_strict_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = irexec.compile_model(irexec.read_model(narrow().encode(), mode="strict"))
    assert compiled([np.ones(5, np.float32)])[0].shape == (5,)
    for _ in range(3):
        with pytest.raises(irexec.IRError) as caught:
            compiled([np.ones(4, np.float32)])
        assert [(f.code, f.layer and f.layer.name) for f in caught.value.report] == [("O006", "relu")]
    path = tmp_path / "m.xml"
    path.write_text(narrow(), "utf-8")
    assert main(["run", str(path), "--shape", "x=4"]) == 0
    assert main(["run", str(path), "--shape", "x=4", "--mode", "strict"]) == 1
    assert "relu" in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["openvino", "strict"])
@pytest.mark.parametrize("wrong", [np.ones(2, np.float32), np.ones(3, np.float64)], ids=["shape", "type"])
def test_what_inference_knows_is_held_always(mode: Any, wrong: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find("ReLU", "opset1"), "kernel", lambda x, out=None: wrong)
    net = Net()
    net.result(net.layer("ReLU", [net.parameter("x", "3")], "3", name="relu"))
    with pytest.raises(irexec.IRError) as caught:
        irexec.compile_model(irexec.read_model(net.text.encode(), mode=mode))([np.ones(3, np.float32)])
    assert [(f.layer and f.layer.name) for f in caught.value.report] == ["relu"]
