"""irexec compare on ONNX files: with ONNX Runtime, which reads them itself, and with OpenVINO."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper

import irexec
from irexec.tools.compare.compare import compare
from irexec.tools.compare.runtimes.onnx_runtime import OnnxRuntime
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.run.record import Reference


@pytest.fixture
def file(tmp_path: Path) -> Path:
    weights = numpy_helper.from_array(np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4), "weights")
    nodes = [
        helper.make_node("MatMul", ["x", "weights"], ["y"], name="product"),
        helper.make_node("Sigmoid", ["y"], ["s"], name="gate"),
        helper.make_node("Mul", ["y", "s"], ["z"], name="gated"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])]
    outputs = [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 4])]
    graph = helper.make_graph(nodes, "gate", inputs, outputs, [weights])
    path = tmp_path / "gate.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9), path)
    return path


def reference(path: Path) -> Reference:
    return Reference(irexec.read_model(path), [[np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)]])


@pytest.mark.by_hand(0)
def test_both_runtimes_agree(file: Path) -> None:
    run = reference(file)
    for runtime in (OnnxRuntime(), OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"}, run.model)):
        found = compare(run, runtime)
        assert found.agrees, found.verdict
        assert (found.count, found.unseen) == (3, 0)


def test_onnx_runtime_on_a_file_that_changed(file: Path) -> None:
    """The layer that differs in the other file is named; later layers are correct for their inputs."""
    run = reference(file)
    changed = onnx.load(file)
    changed.graph.node[1].op_type = "Tanh"
    onnx.save(changed, file)
    found = compare(run, OnnxRuntime())
    assert found.culprit is not None
    assert [node.friendly_name for node in found.culprit.nodes] == ["gate"]
    assert [row.agrees for row in found.layers] == [True, False, True]


def test_onnx_runtime_takes_no_ir(tmp_path: Path, file: Path) -> None:
    irexec.save_model(irexec.read_model(file), tmp_path / "gate.xml")
    with pytest.raises(CannotRun, match=r"can run \.onnx files only"):
        compare(reference(tmp_path / "gate.xml"), OnnxRuntime())


def test_strings(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info("x", TensorProto.STRING, [2])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.STRING, [2])]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", inputs, outputs)
    path = tmp_path / "same.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=9), path)
    text = np.array(["a", "\u00e9\u0663"], np.dtypes.StringDType())
    assert compare(Reference(irexec.read_model(path), [[text]]), OnnxRuntime()).agrees
