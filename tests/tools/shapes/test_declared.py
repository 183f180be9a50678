"""Dimensions with the same name in a model have the same size in `irexec.shapes`."""

from __future__ import annotations

from pathlib import Path

import pytest

import irexec
from irexec.cli.main import main

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.any_python


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a model with two inputs that may be broadcast, but whose batch has one name; the mask is square."""
    from onnx import TensorProto, helper

    def declared(name: str, *dims: object) -> object:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    nodes = [helper.make_node("Add", ["tokens", "bias"], ["sum"]), helper.make_node("MatMul", ["mask", "sum"], ["out"])]
    inputs = [declared("tokens", "batch", "seq", 4), declared("bias", "batch", 1, 4), declared("mask", "seq", "seq")]
    graph = helper.make_graph(nodes, "named", inputs, [declared("out", "batch", "seq", 4)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    file = tmp_path_factory.mktemp("named") / "named.onnx"
    onnx.save(model, file)
    return str(file)


def test_one_name_is_one_size(path: str) -> None:
    shapes = irexec.shapes(path)
    assert shapes.conditions == [[]]
    assert [(each["id"], each["symbol"]) for each in shapes.to_dict()["dims"]] == [
        ("0.0", "batch"),
        ("0.1", "seq"),
        ("1.0", "batch"),
        ("2.0", "seq"),
        ("2.1", "seq"),
    ]
    assert shapes.accepts({"tokens": (2, 5, 4), "bias": (2, 1, 4), "mask": (5, 5)})
    assert not shapes.accepts({"tokens": (2, 5, 4), "bias": (1, 1, 4), "mask": (5, 5)}), "it would broadcast"
    assert shapes.outputs([(2, 5, 4), (2, 1, 4), (5, 5)])[0].to_shape() == (2, 5, 4)
    assert all(each["tokens"][0] == each["bias"][0] for each in shapes.sample(5))
    assert shapes.smallest() == {"tokens": (1, 1, 4), "bias": (1, 1, 4), "mask": (1, 1)}


def test_the_command_takes_a_name_as_one_size(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", path, "--shape", "seq=7"]) == 0
    printed = capsys.readouterr().out
    assert "tokens  f32 [batch, 7, 4]" in printed
    assert "mask  f32 [7, 7]" in printed
    table = tmp_path / "sizes.csv"
    table.write_text("tokens,bias,mask\n2x5x4,2x1x4,5x5\n")
    assert main(["shapes", path, "--check", str(table)]) == 0
    assert "1 of 1 combination accepted" in capsys.readouterr().out
    table.write_text("tokens,bias,mask\n2x5x4,1x1x4,5x5\n")
    assert main(["shapes", path, "--check", str(table)]) == 2
    assert "line 2: bias is '1x1x4', expected 2 for batch" in capsys.readouterr().err
