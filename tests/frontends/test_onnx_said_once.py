"""Findings about an ONNX file in ONNX's terms, each cause once: missing data, wrong groups of a convolution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
import itertools
import json

from onnx import TensorProto, helper, numpy_helper

import irexec
from irexec.cli.main import main
from irexec.core.diagnostics import Report


def saved(
    path: Path, nodes: list[object], inputs: dict[str, list[int]], weights: dict[str, list[int]], **how: object
) -> None:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [f"d{axis}" for axis in range(len(inputs["x"]))])
    tensors = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in weights.items()]
    graph = helper.make_graph(nodes, "g", values, [result], tensors)
    opset = [helper.make_opsetid("", 17)]
    onnx.save_model(helper.make_model(graph, opset_imports=opset, ir_version=9), path, **how)


def test_a_missing_file_of_data_is_one_finding(tmp_path: Path) -> None:
    names = ["x", *(f"h{index}" for index in range(6)), "y"]
    nodes = [helper.make_node("MatMul", [a, f"w{i}"], [b]) for i, (a, b) in enumerate(itertools.pairwise(names))]
    weights = {f"w{index}": [4, 4] for index in range(len(nodes))}
    how = {"save_as_external_data": True, "location": "vit.onnx.data", "size_threshold": 0}
    path = tmp_path / "vit.onnx"
    saved(path, nodes, {"x": [1, 4]}, weights, **how)
    assert irexec.validate(path, others=True).ok
    (tmp_path / "vit.onnx.data").unlink()
    (finding,) = irexec.validate(path, others=True)
    assert finding.code == "F015"
    assert finding.message == "the file 'vit.onnx.data' with the data of 7 tensors is missing"
    assert finding.found == "w0, w1, w2, w3, w4, ..."
    assert finding.hint == "place vit.onnx.data next to the model"


def convolution(tmp_path: Path, image: list[int], kernel: list[int], group: int, type: str = "Conv") -> Report:
    path = tmp_path / "conv.onnx"
    saved(path, [helper.make_node(type, ["x", "w"], ["y"], group=group, name="conv")], {"x": image}, {"w": kernel})
    return irexec.validate(path)


@pytest.mark.parametrize(
    ("image", "kernel", "group", "message"),
    [
        ([1, 4, 8, 8], [8, 2, 3, 3], 1, "X has 4 channels, but W requires 2; their shapes are [1,4,8,8] and [8,2,3,3]"),
        ([1, 4, 8, 8], [8, 2, 3, 3], 4, "X has 4 channels, but W requires 2 in each of 4 groups"),
        (
            [1, 6, 8, 8],
            [8, 2, 3, 3],
            3,
            "group is 3, which does not divide the 8 filters of W, whose shape is [8,2,3,3]",
        ),
    ],
)
def test_groups_that_do_not_fit_are_reported_in_terms_of_onnx(
    image: list[int], kernel: list[int], group: int, message: str, tmp_path: Path
) -> None:
    (finding,) = convolution(tmp_path, image, kernel, group)
    assert finding.code == "F009" and message in finding.message
    assert "Reshape" not in str(finding.to_dict())


def test_groups_that_fit(tmp_path: Path) -> None:
    assert convolution(tmp_path, [1, 4, 8, 8], [8, 2, 3, 3], 2).ok
    assert convolution(tmp_path, [1, 4, 8, 8], [4, 2, 3, 3], 2, "ConvTranspose").ok


def test_show_states_which_layers_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convolution(tmp_path, [1, 4, 8, 8], [8, 2, 3, 3], 2)
    assert main(["show", str(tmp_path / "conv.onnx")]) == 0
    assert "  the layers are OpenVINO's, which the ONNX nodes were converted to\n" in capsys.readouterr().out


def test_the_nodes_of_a_model_that_cannot_be_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "conv.onnx"
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Conv", ["a", "w"], ["h"], group=2, kernel_shape=[3, 3], name="conv"),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    saved(path, nodes, {"x": [1, 4, 8, 8]}, {"w": [6, 1, 3, 3]})
    assert main(["show", str(path), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    layers = {layer["name"]: layer for layer in found["layers"]}
    assert list(layers) == ["x", "a", "w", "conv", "y", "y/result"]
    assert {a["name"]: a["value"] for a in layers["conv"]["attributes"]} == {"group": "2", "kernel_shape": "3,3"}
    assert layers["a"]["outputs"][0]["shape"] == "[1,4,8,8]"
    assert layers["w"]["outputs"][0]["shape"] == "[6,1,3,3]" and layers["y"]["type"] == "Relu"
    assert [finding["code"] for finding in found["findings"]] == ["F009"]
    assert main(["show", str(path)]) == 1
    text = capsys.readouterr().out
    assert "the layers are ONNX nodes, because the model cannot be converted" in text
    assert "unknown for 3 layers without a known operator" in text and "error[F009]" in text
    assert main(["report", str(path), "-o", str(tmp_path / "out.html")]) == 0
