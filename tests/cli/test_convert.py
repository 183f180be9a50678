"""irexec convert: OpenVINO reads the written files, with the same results."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.cli.main import main

onnx = pytest.importorskip("onnx")

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'
NET = """agraph (float[1, 3, 8, 8] x) => (float[a, b] y) {
    c = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
    p = MaxPool <kernel_shape = [2, 2], ceil_mode = 1> (c)
    n = LpNormalization <axis = 1> (p)
    r = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (n, , scales)
    f = Flatten (r)
    big = ReduceMax <keepdims = 0> (f)
    zero = Constant <value_float = 0.5> ()
    more = Greater(big, zero)
    y = If(more) <then_branch = yes () => (float[a, b] q) { q = Mul(f, big) },
        else_branch = no () => (float[a, b] q) { q = Neg(f) }>
}"""


def written(folder: Path, text: str) -> Path:
    model = onnx.parser.parse_model(HEADER + text)
    weights = np.random.default_rng(0).standard_normal((4, 3, 3, 3)).astype(np.float32)
    for name, array in {"w": weights, "scales": np.array([1, 1, 2, 2], np.float32)}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def test_openvino_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openvino = pytest.importorskip("openvino")
    path, out = written(tmp_path, NET), tmp_path / "out.xml"
    code, shown = main(["convert", os.fspath(path), os.fspath(out)]), capsys.readouterr()
    assert (code, shown.out, shown.err) == (0, f"{out}: written\n", "")
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    theirs = openvino.Core().compile_model(out, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]
    for model in (path, out):
        np.testing.assert_allclose(irexec.compile_model(model)([x])[0], theirs, rtol=1e-5, atol=1e-5)


def test_an_operator_that_openvino_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "agraph (float[2, 2] x) => (float d, float e) { [inner] d = Det(x) [next] e = Det(x) }")
    out = tmp_path / "out.xml"
    assert main(["convert", os.fspath(path), os.fspath(out)]) == 1
    said = capsys.readouterr().err
    assert "OpenVINO has no operator Det in onnx11" in said and "'inner'" in said and "'next'" in said
    assert not out.exists()
    assert main(["convert", os.fspath(path), os.fspath(out), "--any-operator"]) == 0
    found = irexec.compile_model(out)([np.float32([[1, 2], [3, 4]])])
    np.testing.assert_allclose(found[0], -2, rtol=1e-6)


def test_a_model_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", os.fspath(tmp_path / "none.onnx"), os.fspath(tmp_path / "out.xml")]) == 2
    path = written(tmp_path, "agraph (float[2] x) => (float[2] y) { y = Nothing(x) }")
    assert main(["convert", os.fspath(path), os.fspath(tmp_path / "out.xml")]) == 1
    assert "F003" in capsys.readouterr().err
    (tmp_path / "empty.xml").write_text("")
    for command in (["convert", "-o"], ["cut", "--around", "x", "-o"], ["show"], ["run"]):
        assert (
            main([command[0], os.fspath(tmp_path / "empty.xml"), *command[1:], *["out.xml"][: len(command) - 1]]) == 2
        )


def test_for_an_older_openvino(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    openvino = pytest.importorskip("openvino")
    path = Path(__file__).parents[2] / "samples" / "classifier" / "model.xml"
    old = tmp_path / "old.xml"
    assert main(["convert", os.fspath(path), os.fspath(old), "--target", "2021.4"]) == 0
    assert old.read_text().startswith('<?xml version="1.0"?>\n<net name="classifier" version="10">')
    assert main(["validate", os.fspath(old), "--target", "2021.4"]) == 0
    image = np.load(path.with_name("image.npy"))
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    theirs = [openvino.Core().compile_model(file, "CPU", exact)([image])[0] for file in (path, old)]
    np.testing.assert_array_equal(*theirs)
    np.testing.assert_array_equal(*(irexec.compile_model(file)([image])[0] for file in (path, old)))


def test_an_operator_that_an_older_openvino_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = irexec.opset15.parameter([2], np.float32)
    model, out = tmp_path / "model.xml", tmp_path / "old.xml"
    irexec.save_model(irexec.Model([irexec.opset15.mish(irexec.opset15.mish(x))], [x]), model)
    assert main(["convert", os.fspath(model), os.fspath(out), "--opset", "opset3"]) == 1
    assert capsys.readouterr().err.count("W002") == 3
    assert not out.exists()
    assert main(["convert", os.fspath(model), os.fspath(out), "--opset", "4"]) == 0
    with pytest.raises(SystemExit) as exit:
        main(["convert", os.fspath(model), os.fspath(out), "--opset", "99"])
    assert exit.value.code == 2


def test_an_output_that_is_used_keeps_a_layer_from_its_older_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = irexec.opset8.parameter([1, 1, 4, 4], np.float32, name="x")
    pool = irexec.opset8.max_pool(x, [1, 1], [1, 1], [0, 0], [0, 0], [2, 2], name="pool")
    for name, outputs in {"used": [0, 1], "unused": [0]}.items():
        model = irexec.Model([irexec.opset8.convert(pool.output(index), "f64") for index in outputs], [x], name)
        irexec.save_model(model, tmp_path / f"{name}.xml")
    arguments = [os.fspath(tmp_path / "out.xml"), "--opset", "7"]
    assert main(["convert", os.fspath(tmp_path / "used.xml"), *arguments]) == 1
    assert "MaxPool has no equivalent in opset7: the output of indices is used" in capsys.readouterr().err
    assert main(["convert", os.fspath(tmp_path / "unused.xml"), *arguments]) == 0
