"""Initializers that are also inputs: values that a caller may omit, compared with ONNX Runtime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.cli.main import main

onnx = pytest.importorskip("onnx")

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TEXT = """<ir_version: 9, opset_import: ["" : 17]>
g (float[2, 3] x, float[3, n] w, int64[2] target) => (float[a, b] y, float[c, d] z)
<float[3, 3] w = {1, 0, 0, 0, 2, 0, 0, 0, 3}, int64[2] target = {3, 2}, float[1] hidden = {10}> {
    product = MatMul(x, w)
    y = Add(product, hidden)
    z = Reshape(x, target)
}"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


WIDE = np.arange(12, dtype=np.float32).reshape(3, 4)
GIVEN: list[dict[str, Any]] = [
    {},
    {"w": WIDE},
    {"target": np.array([6, 1])},
    {"w": -WIDE, "target": np.array([1, -1])},
    {},
]


def test_beside_onnx_runtime(path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    compiled = irexec.compile_model(path)
    request = compiled.create_infer_request()
    for more in GIVEN:
        for infer in (compiled, request.infer):
            results = infer({"x": X} | more)
            for name, wanted in zip(("y", "z"), session.run(["y", "z"], {"x": X} | more), strict=True):
                np.testing.assert_array_equal(results[name], wanted)
                np.testing.assert_array_equal(results[compiled.output(name)], wanted)


def test_they_are_not_among_the_inputs_that_must_be_given(path: Path) -> None:
    model = irexec.read_model(path)
    assert [port.any_name for port in model.inputs] == ["x"]
    assert [port.any_name for port in model.optional_inputs] == ["w", "target"]
    assert [str(port.type.shape) for port in model.outputs] == ["[2,3]", "[3,2]"]
    compiled = irexec.compile_model(model)
    np.testing.assert_array_equal(compiled([X])["z"], X.reshape(3, 2))
    with pytest.raises(irexec.IRError, match="no input is named 'hidden'"):
        compiled({"x": X, "hidden": np.zeros(1, np.float32)})
    with pytest.raises(irexec.IRError, match=r"the array for input .w. has shape"):
        compiled({"x": X, "w": np.zeros((2, 2), np.float32)})


def test_the_command_lists_optional_inputs_and_accepts_their_values(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(path)]) == 0
    assert "taken from the file: w, target" in capsys.readouterr().out
    given = ["--input", f"x={X.tolist()}", "--input", "w=[[1], [1], [1]]"]
    assert main(["run", str(path), *given, "--format", "json"]) == 0
    outputs = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["outputs"]}
    assert outputs["y"]["shape"] == [2, 1] and outputs["y"]["values"] == [[13], [22]]


def test_the_ir_has_the_values_of_the_file(path: Path, tmp_path: Path) -> None:
    assert irexec.validate(path, others=True).ok
    irexec.save_model(irexec.read_model(path), tmp_path / "out.xml")
    again = irexec.compile_model(tmp_path / "out.xml")
    np.testing.assert_array_equal(again([X])["y"], irexec.compile_model(path)([X])["y"])


def test_a_declaration_that_its_initializer_contradicts_is_reported(path: Path) -> None:
    model = onnx.load(path)
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_value = 4
    onnx.save(model, path)
    (finding,) = irexec.validate(path)
    assert finding.code == "F011" and "the input 'w' is declared f32[4,?], and its initializer is" in finding.message


def test_an_input_that_is_declared_twice_is_an_error(path: Path) -> None:
    model = onnx.load(path)
    model.graph.input.append(model.graph.input[0])
    onnx.save(model, path)
    assert [d.code for d in irexec.validate(path).errors] == ["F005"]


NEEDED = """<ir_version: 9, opset_import: ["" : 19]>
g (float[2, 3] x, int64[k] target, float[1] bias) => (float[a, b] y)
<int64[2] target = {3, 2}, float[1] bias = {1}, int64[4] none = {0, 0, 0, 0}> {
    shaped = Reshape(x, target)
    padded = Pad<mode = "wrap">(shaped, none)
    y = Add(padded, bias)
}"""


def test_a_default_that_the_translation_depends_on_is_a_constant(tmp_path: Path) -> None:
    onnx.save(onnx.parser.parse_model(NEEDED), tmp_path / "model.onnx")
    model = irexec.read_model(tmp_path / "model.onnx")
    assert [port.any_name for port in model.optional_inputs] == ["bias"]
    compiled = irexec.compile_model(model)
    np.testing.assert_array_equal(compiled({"x": X, "bias": np.float32([2])})["y"], X.reshape(3, 2) + 2)
    with pytest.raises(irexec.IRError, match="no input is named 'target'"):
        compiled({"x": X, "target": np.array([6, 1])})


def test_before_version_4_initializers_are_constants(path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    for version in (3, 4):
        text = TEXT.replace("ir_version: 9", f"ir_version: {version}").replace(": 17]", ": 8]")
        model = onnx.parser.parse_model(text)
        model.graph.ClearField("output")
        model.graph.output.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None))
        del model.graph.node[2:]
        onnx.save(model, path)
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
        wanted = {port.name for port in session.get_overridable_initializers()} - {"target"}
        found = {port.any_name for port in irexec.read_model(path).optional_inputs} - {"target"}
        assert found == wanted and bool(found) == (version == 4)


def test_an_optional_input_that_no_node_reads_may_be_given(path: Path) -> None:
    model = onnx.load(path)
    model.graph.node.pop()
    model.graph.output.pop()
    onnx.save(model, path)
    compiled = irexec.compile_model(path)
    np.testing.assert_array_equal(compiled({"x": X, "target": np.array([6, 1])})["y"], compiled([X])["y"])


def test_a_changed_copy_keeps_its_change_when_an_optional_input_is_given(path: Path) -> None:
    model = irexec.read_model(path).clone()
    result = model.results[0]
    negative = irexec.opset1.negative(result.input_value(0))
    result.input(0).replace_source_output(negative.output(0))
    compiled = irexec.compile_model(model)
    np.testing.assert_array_equal(compiled({"x": X, "w": WIDE})["y"], -(X @ WIDE + 10))
    np.testing.assert_array_equal(compiled([X])["y"], -irexec.compile_model(path)([X])["y"])


@pytest.mark.parametrize("command", ["show", "report", "compare", "cut"])
def test_commands_take_the_file_s_value(path: Path, tmp_path: Path, command: str) -> None:
    options = {
        "report": ["--run", "-o", str(tmp_path / "report.html")],
        "compare": ["--with", "onnxruntime"],
        "cut": ["-o", str(tmp_path / "part.xml"), "--to", "y"],
    }
    assert main([command, str(path), *options.get(command, [])]) == 0
