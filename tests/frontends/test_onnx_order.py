"""Nodes that are not in topological order: run with a warning, as in ONNX Runtime, and reported as an error by
validate.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
PLAIN = """g (float[2, 3] x) => (float[2, 3] y) {
    [last] y = Add(h, r)
    [middle] r = Relu(h)
    [first] h = Neg(x)
}"""
# The branches read a value that a later node computes.
BODIES = """g (float[2, 3] x, bool c) => (float[2, 3] y) {
    [choice] y = If<then_branch = t () => (float[2, 3] a) { b = Relu(x) a = Mul(b, h) },
                    else_branch = e () => (float[2, 3] d) { d = Identity(h) }>(c)
    [first] h = Neg(x)
}"""


def written(folder: Path, text: str) -> Path:
    path = folder / "model.onnx"
    onnx.save(onnx.parser.parse_model('<ir_version: 9, opset_import: ["" : 18]>\n' + text), path)
    return path


@pytest.mark.parametrize(
    ("text", "given"), [(PLAIN, {}), (BODIES, {"c": np.array(True)}), (BODIES, {"c": np.array(0)})]
)
def test_they_run_as_in_onnx_runtime(text: str, given: dict[str, Any], tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    path = written(tmp_path, text)
    fed = {"x": X} | {name: value.astype(bool) for name, value in given.items()}
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with pytest.warns(UserWarning, match="F005"):
        model = irexec.read_model(path)
    np.testing.assert_array_equal(irexec.compile_model(model)(fed)[0], session.run(None, fed)[0])


def test_the_file_is_judged(tmp_path: Path) -> None:
    report = irexec.validate(written(tmp_path, PLAIN))
    found = [(d.code, d.layer.name, d.layer.id, d.message.split("'")[1]) for d in report.errors]
    assert found == [("F005", "middle", "1", "h"), ("F005", "last", "0", "h"), ("F005", "last", "0", "r")]
    assert all("sort the nodes topologically" in (d.hint or "") for d in report.errors)
    lenient = irexec.validate(written(tmp_path, PLAIN), mode="openvino")
    assert lenient.ok and len(lenient) == 3


def test_nodes_in_a_cycle_are_reported(tmp_path: Path) -> None:
    text = "g (float[2] x) => (float[2] y) { y = Add(x, b) a = Relu(b) b = Neg(a) c = Abs(x) }"
    path = written(tmp_path, text)
    for mode in ("strict", "openvino"):
        found = irexec.validate(path, mode=mode).errors
        assert {d.code for d in found} == {"F005"} and {d.layer.name for d in found} >= {"a"}
    with pytest.raises(irexec.IRError, match="F005"):
        irexec.read_model(path)
