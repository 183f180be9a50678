"""Findings about an ONNX file in ONNX's words, each cause once: missing data, wrong groups of a convolution."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
import itertools

from onnx import TensorProto, helper, numpy_helper

import irexec
from irexec.cli.main import main
from irexec.diagnostics import Report


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
    assert finding.code == "F006"
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
def test_groups_that_do_not_fit_are_told_in_onnx_words(
    image: list[int], kernel: list[int], group: int, message: str, tmp_path: Path
) -> None:
    (finding,) = convolution(tmp_path, image, kernel, group)
    assert finding.code == "F009" and message in finding.message
    assert "Reshape" not in str(finding.to_dict())


def test_groups_that_fit(tmp_path: Path) -> None:
    assert convolution(tmp_path, [1, 4, 8, 8], [8, 2, 3, 3], 2).ok
    assert convolution(tmp_path, [1, 4, 8, 8], [4, 2, 3, 3], 2, "ConvTranspose").ok


def test_show_says_whose_layers_it_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    convolution(tmp_path, [1, 4, 8, 8], [8, 2, 3, 3], 2)
    assert main(["show", str(tmp_path / "conv.onnx")]) == 0
    assert "  the layers are OpenVINO's, which the ONNX nodes were converted to\n" in capsys.readouterr().out
