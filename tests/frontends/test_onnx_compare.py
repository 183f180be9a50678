"""An ONNX model and the IR that OpenVINO creates from it: the same layers with the same names, compared one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.cli.main import main

onnx = pytest.importorskip("onnx")
ov = pytest.importorskip("openvino")

RNG = np.random.default_rng(0)


def f(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32) / 3


def saved(folder: Path, nodes: list[Any], inputs: dict[str, list[int]], output: str, **weights: np.ndarray) -> Path:
    value = onnx.helper.make_tensor_value_info
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    given = [value(name, 1, shape) for name, shape in inputs.items()]
    graph = onnx.helper.make_graph(nodes, "g", given, [value(output, 1, None)], stored)
    path = folder / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9), path)
    return path


def convolutional(folder: Path) -> Path:
    make = onnx.helper.make_node
    nodes = [
        make("Conv", ["x", "w", "b"], ["c"], name="/stem/Conv", pads=[1, 1, 1, 1]),
        make("Relu", ["c"], ["r"], name="/stem/Relu"),
        make("GlobalAveragePool", ["r"], ["p"], name="/pool"),
        make("Flatten", ["p"], ["t"], name="/flat"),
        make("Gemm", ["t", "v", "d"], ["y"], name="/head/Gemm", transB=1),
    ]
    return saved(folder, nodes, {"x": [1, 3, 8, 8]}, "y", w=f(4, 3, 3, 3), b=f(4), v=f(5, 4), d=f(5))


def recurrent(folder: Path) -> Path:
    nodes = [
        onnx.helper.make_node("LSTM", ["x", "w", "r", "b"], ["s", "", ""], name="/LSTM", hidden_size=4),
        onnx.helper.make_node("Sigmoid", ["s"], ["y"], name="/Sigmoid"),
    ]
    return saved(folder, nodes, {"x": [5, 2, 3]}, "y", w=f(1, 16, 3), r=f(1, 16, 4), b=f(1, 32))


def converted(path: Path) -> Path:
    target = path.with_suffix(".xml")
    ov.save_model(ov.convert_model(path), target, compress_to_fp16=False)
    return target


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("make", [convolutional, recurrent])
def test_all_layers_agree_with_the_ir_of_the_model(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    make(tmp_path)
    # A long name would be split over two lines.
    monkeypatch.chdir(tmp_path)
    path = Path("model.onnx")
    assert main(["compare", str(path), "--with", str(converted(path))]) == 0
    text = capsys.readouterr().out
    assert text.startswith("all ") and " layers agree with " in text
    assert main(["compare", str(path.with_suffix(".xml")), "--with", str(path)]) == 0


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(("name", "output"), [("/stem/Conv", "c"), ("/head/Gemm", "y")])
def test_the_layer_that_differs_has_the_name_of_the_node(name: str, output: str, tmp_path: Path, capsys: Any) -> None:
    path = convolutional(tmp_path)
    model = irexec.read_model(converted(path))
    changed = next(node for node in model.nodes if node.type == "Add" and output in node.outputs[0].names)
    bias = next(value.node for value in changed.inputs if value is not None and value.node.type == "Const")
    bias.constant = np.asarray(bias.constant) + np.float32(0.5)
    irexec.save_model(model, tmp_path / "changed.xml")
    assert main(["compare", str(path), "--with", str(tmp_path / "changed.xml")]) == 1
    node = f"{name} ({name.rpartition('/')[2]} of ONNX)"
    assert capsys.readouterr().out.startswith(f"first wrong node: {node}, in IR {name} (Add)")


def test_a_node_s_name_is_that_of_the_layer_that_makes_its_output(tmp_path: Path) -> None:
    model = irexec.read_model(convolutional(tmp_path))
    named = {node.friendly_name: node for node in model.nodes}
    for name, output in {"/stem/Conv": "c", "/stem/Relu": "r", "/head/Gemm": "y"}.items():
        assert output in named[name].outputs[0].names
    assert len(named) == len(model.nodes)


@pytest.mark.parametrize(
    ("attributes", "inputs", "ignored"),
    [
        ({"layout": 1}, {}, "`layout=1` of LSTM 'rec'"),
        ({"input_forget": 1}, {}, "`input_forget=1` of LSTM 'rec'"),
        ({}, {"p": [1, 12]}, "the input P of LSTM 'rec'"),
    ],
)
def test_the_node_that_openvino_reads_differently_is_named(
    attributes: dict[str, int], inputs: dict[str, list[int]], ignored: str, tmp_path: Path, capsys: Any
) -> None:
    given = ["x", "w", "r", "b", "", "", "", "p"] if inputs else ["x", "w", "r", "b"]
    node = onnx.helper.make_node("LSTM", given, ["y", "", ""], name="rec", hidden_size=4, **attributes)
    path = saved(tmp_path, [node], {"x": [3, 2, 5]}, "y", w=f(1, 16, 5), r=f(1, 16, 4), b=f(1, 32), **{
        name: f(*shape) for name, shape in inputs.items()
    })  # fmt: skip
    main(["compare", str(path), "--with", "openvino", "--config", "INFERENCE_PRECISION_HINT=f32"])
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("first wrong node: rec (LSTM of ONNX), in IR ")
    assert f"OpenVINO 2026.4 ignores {ignored}" in shown


def test_an_index_out_of_range_that_openvino_accepts(tmp_path: Path, capsys: Any) -> None:
    node = onnx.helper.make_node("Gather", ["x", "i"], ["y"], name="pick")
    path = saved(tmp_path, [node], {"x": [3, 2]}, "y")
    model = onnx.load(path)
    model.graph.input.append(onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, ["n"]))
    onnx.save(model, path)
    np.savez(tmp_path / "in.npz", x=np.ones((3, 2), np.float32), i=np.array([1, 3]))
    code = main(["compare", str(path), "--with", "openvino", "--input", str(tmp_path / "in.npz")])
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert code and "agree" not in shown
    assert "= openvino: gives zeros for the index" in shown
    assert "computes results all the same: y [[1, 1], [0, 0]]" in shown
