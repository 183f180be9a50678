"""`--with torch:...`: the messages without a usable network, and with PyTorch itself the first wrong module."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.runtime.processes.child import Child
from irexec.tools.compare.pytorch.server import _made
from irexec.tools.compare.runtimes.runtime import CannotRun

NETWORK = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
    def forward(self, x):
        return torch.relu(x + self.norm(self.conv(x)))

def make():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Flatten(), nn.Linear(256, 3))
"""
BOTH = "{}.conv (Conv2d) and {}.norm (BatchNorm2d)"
"""The two modules of one layer, because the normalization is folded into the convolution before it."""


class Torch:
    """A substitute for the package torch if it is not installed."""

    class nn:
        Module = dict


def test_a_network_is_found_by_its_file(tmp_path: Path) -> None:
    class Network(dict[str, str]):
        def eval(self) -> str:
            return "ready"

    file = tmp_path / "net.py"
    file.write_text("def make():\n    from here import Network\n    return Network()\ndef fails():\n    return 1 / 0\n")
    for function, told in (
        ("other", "has no function 'other'"),
        ("make", "failed: ModuleNotFoundError: No module named 'here'"),
        ("fails", "failed: ZeroDivisionError: division by zero"),
    ):
        with pytest.raises(CannotRun, match=told):
            _made(f"{file}:{function}", Torch)
    file.write_text("class Network(dict):\n    def eval(self):\n        return 'ready'\ndef three():\n    return 3\n")
    assert _made(f"{file}:Network", Torch) == "ready"
    for factory, told in (
        (f"{file}:three", "returned int, expected torch.nn.Module"),
        (f"{tmp_path}/absent.py:make", "absent.py does not exist"),
        ("network", "not of the form package.module:function or file.py:function"),
    ):
        with pytest.raises(CannotRun, match=told):
            _made(factory, Torch)


@pytest.mark.by_hand(0)
def test_the_current_folder_is_not_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_network_here.py").write_text("open('executed', 'w')\n")
    monkeypatch.chdir(tmp_path)
    child = Child()
    try:
        with pytest.raises(CannotRun, match="only if PYTHONPATH contains its full path"):
            child.call(_made, "a_network_here:make", Torch)
    finally:
        child.worker.close()
    assert not (tmp_path / "executed").exists()


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="PyTorch is installed")
def test_without_pytorch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    with pytest.raises(RuntimeError, match=r"PyTorch is not installed: .* pip install '\.\[torch\]'"):
        irexec.compare(
            "samples/classifier/model.xml", f"torch:{tmp_path}/net.py:make", shapes={"image": [1, 3, 32, 32]}
        )


@pytest.mark.models
@pytest.mark.parametrize("kind", ["script", "export"])
def test_the_first_wrong_module(tmp_path: Path, kind: str) -> None:
    torch, openvino = pytest.importorskip("torch"), pytest.importorskip("openvino")
    file = tmp_path / "net.py"
    file.write_text(NETWORK)
    network = _made(f"{file}:make", torch)
    example = torch.randn(2, 4, 8, 8)
    source = torch.export.export(network, (example,)) if kind == "export" else network
    openvino.save_model(
        openvino.convert_model(source, example_input=example), tmp_path / "m.xml", compress_to_fp16=False
    )
    model = irexec.read_model(tmp_path / "m.xml")
    found = irexec.compare(model, f"torch:{file}:make", [example.numpy()])
    assert found.agrees, found.verdict
    assert not [note for note in found.notes if "not in the model" in note]
    assert {row.module for row in found.layers} >= {BOTH.format(0, 0), "1 (Block)", "3 (Linear)"}
    node = [node for node in model.get_ordered_ops() if node.type == "Convolution"][1]
    node.set_argument(1, irexec.opset15.constant(np.asarray(node.inputs[1].node.constant) * np.float32(1.5)))
    found = irexec.compare(model, f"torch:{file}:make", [example.numpy()])
    assert found.culprit is not None
    assert node.friendly_name in [each.friendly_name for each in found.culprit.nodes]
    assert found.culprit.module == BOTH.format(1, 1)


@pytest.mark.models
def test_modules_that_affect_no_result_are_not_missing(tmp_path: Path) -> None:
    torch, openvino = pytest.importorskip("torch"), pytest.importorskip("openvino")
    file = tmp_path / "net.py"
    file.write_text(
        """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused, self.pooled = nn.Linear(4, 3), nn.Linear(3, 2), nn.Tanh()
    def forward(self, x):
        used = self.used(x)
        self.pooled(self.unused(used))
        return used

def make():
    torch.manual_seed(0)
    return Net()
"""
    )
    example = torch.randn(2, 4)
    converted = openvino.convert_model(_made(f"{file}:make", torch), example_input=example)
    openvino.save_model(converted, tmp_path / "m.xml", compress_to_fp16=False)
    found = irexec.compare(tmp_path / "m.xml", f"torch:{file}:make", [example.numpy()])
    assert found.agrees and [row.module for row in found.layers] == ["used (Linear)"]
    assert not [note for note in found.notes if "not in the model" in note]
