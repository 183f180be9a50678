"""Findings of a run of an ONNX model: each names the ONNX node and its input first, and the layer of IR in a note."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.core.diagnostics import Diagnostic

onnx = pytest.importorskip("onnx")

TEXT = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]> g (INPUTS) => (OUTPUTS) { NODE }"""
INDICES = np.array([1, 9], np.int64)
NODES = {
    "Gather": ("float[4] x, int64[n] i", "y = Gather(x, i)", {"i": INDICES}, "indices", "index 9 is outside [-4, 3]"),
    "GatherElements": (
        "float[4] x, int64[n] i", "y = GatherElements(x, i)", {"i": INDICES}, "indices", "9",
    ),
    "TopK": ("float[4] x, int64[1] k", "y, z = TopK(x, k)", {"k": np.array([9])}, "K", "9"),
    "OneHot": (
        "int64[2] x, int64[1] d, float[2] v", "y = OneHot(x, d, v)",
        {"x": INDICES, "d": np.array([-1]), "v": np.ones(2, np.float32)}, "depth", "depth",
    ),
    "EmbedLayerNormalization": (
        "int32[1,n] ids, float[4,2] w, float[4,2] p, float[2] s, float[2] b",
        "y = com.microsoft.EmbedLayerNormalization(ids, , w, p, , s, b)",
        {"ids": np.array([[1, 9]], np.int32), "w": np.ones((4, 2), np.float32), "p": np.ones((4, 2), np.float32),
         "s": np.ones(2, np.float32), "b": np.ones(2, np.float32)}, "input_ids", "index 9 is outside [-4, 3]",
    ),
}  # fmt: skip


def failure(inputs: str, node: str, given: dict[str, object], tmp_path: Path) -> Diagnostic:
    outputs = ", ".join(f"float[] {name.strip()}" for name in node.partition(" = ")[0].split(",")[:1])
    text = TEXT.replace("INPUTS", inputs).replace("OUTPUTS", outputs.replace("[]", "")).replace("NODE", node)
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    compiled = irexec.compile_model(irexec.read_model(tmp_path / "m.onnx"))
    values = ({"x": np.ones(4, np.float32)} if "x" not in given and " x" in inputs else {}) | given
    with pytest.raises(irexec.IRError) as caught:
        compiled(values)
    (finding,) = caught.value.report
    return finding


@pytest.mark.parametrize("type", NODES)
def test_a_finding_names_the_node_and_its_input(type: str, tmp_path: Path) -> None:
    inputs, node, given, port, text = NODES[type]
    finding = failure(inputs, node, given, tmp_path)
    assert finding.layer is not None
    assert (finding.layer.type, finding.port, finding.constraint) == (type, port, None)
    assert text in finding.message
    assert "layer of IR" in dict(finding.notes)
