"""Quantizers that are chains of layers, as in ONNX models with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.tools.sensitivity.onnx_names import onnx_names
from irexec.tools.sensitivity.quantizers import NoPair

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.any_python

RNG = np.random.default_rng(0)
FIRST: Array = RNG.normal(0, 0.3, (16, 8)).astype(np.float32)
SECOND: Array = RNG.normal(0, 0.3, (8, 16)).astype(np.float32)
STEPS: list[Array] = [RNG.normal(0, 1, (4, 16)).astype(np.float32) for _ in range(3)]


class Graph:
    """Builds x → first → Relu → second → y; in the quantized form, the range of the next quantizer replaces
    the Relu.
    """

    def __init__(self, quantizes: bool, spoilt: str = "") -> None:
        self.quantizes, self.spoilt = quantizes, spoilt
        self.nodes: list[Any] = []
        self.held: list[Any] = []

    def hold(self, name: str, array: Any) -> str:
        self.held.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def layer(self, kind: str, inputs: list[str], output: str) -> str:
        self.nodes.append(onnx.helper.make_node(kind, inputs, [output], name=output))
        return output

    def values(self, name: str, low: float, high: float) -> str:
        if not self.quantizes:
            return name
        scale = np.float32((high - low) / 255 * (0.1 if name == self.spoilt else 1))
        zero = np.uint8(np.clip(round(-low / float(scale)), 0, 255))
        pair = [self.hold(f"{name}_scale", scale), self.hold(f"{name}_zero", zero)]
        self.layer("QuantizeLinear", [name, *pair], f"{name}_QuantizeLinear")
        return self.layer("DequantizeLinear", [f"{name}_QuantizeLinear", *pair], f"{name}_DequantizeLinear")

    def weights(self, name: str, array: Array) -> str:
        if not self.quantizes:
            return self.hold(name, array)
        scale = np.float32(np.abs(array).max() / 127)
        codes = np.clip(np.rint(array / scale), -127, 127).astype(np.int8)
        pair = [self.hold(f"{name}_scale", scale), self.hold(f"{name}_zero", np.int8(0))]
        return self.layer("DequantizeLinear", [self.hold(f"{name}_codes", codes), *pair], f"{name}_DequantizeLinear")

    def save(self, path: Path) -> Path:
        first = self.layer("MatMul", [self.values("x", -4, 4), self.weights("w1", FIRST)], "first")
        bent = first if self.quantizes else self.layer("Relu", [first], "bent")
        self.layer("MatMul", [self.values(bent, 0, 4), self.weights("w2", SECOND)], "second")
        given = self.values("second", -4, 4)
        ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 16]) for name in ("x", given)]
        graph = onnx.helper.make_graph(self.nodes, "g", ports[:1], ports[1:], self.held)
        opsets = [onnx.helper.make_opsetid("", 17)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
        return path


def test_the_quantizers_of_an_onnx_model_are_paired(tmp_path: Path) -> None:
    """Without the quantizers, the Relu that the quantized model lacks is applied, as in the float model."""
    model = Graph(False).save(tmp_path / "float.onnx")
    found = irexec.sensitivity(model, Graph(True).save(tmp_path / "int8.onnx"), STEPS)
    assert found.fine.snr > 120 and found.notes == []
    assert len(found.rows) == 5
    by_name = {row.name: row for row in found.rows}
    assert {"x_QuantizeLinear", "first_QuantizeLinear", "second_QuantizeLinear"} < by_name.keys()
    assert 35 < by_name["x_QuantizeLinear"].snr < 50
    assert by_name["first_QuantizeLinear"].clipped < 0.02
    assert by_name["second_QuantizeLinear"].layers == ["second"]


@pytest.mark.parametrize("name", ["x", "first", "second"])
def test_a_spoilt_chain_is_first_and_its_layer_is_the_scope(name: str, tmp_path: Path) -> None:
    model = Graph(False).save(tmp_path / "float.onnx")
    found = irexec.sensitivity(model, Graph(True, name).save(tmp_path / "int8.onnx"), STEPS)
    assert found.rows[0].name == f"{name}_QuantizeLinear"
    assert found.rows[0].clipped > 0.05
    assert found.layers == (["first"] if name == "x" else ["second"])
    assert found.recovered > 0.9


def test_a_quantizer_that_does_more_than_quantize_is_refused() -> None:
    """The range of the quantizer is doubled, and halved by a further layer: without the quantizer the results would be
    wrong.
    """

    def build(quantizes: bool) -> irexec.Model:
        x = ops.parameter([4, 16], np.float32, name="x")
        read = x
        if quantizes:
            wide = ops.fake_quantize(x, *map(np.float32, (-4, 4, -8, 8)), 256, name="fq")
            read = ops.multiply(wide, np.float32(0.5), name="half")
        return irexec.Model([ops.matmul(read, FIRST, name="y")], [x], "m")

    with pytest.raises(ValueError, match="the results without quantizers are worse"):
        irexec.sensitivity(build(False), build(True), STEPS)


def test_names_of_nodes_are_those_of_the_file(tmp_path: Path) -> None:
    """A Gemm becomes a product and a sum; the scope is for tools that read the ONNX file."""
    files = []
    for name, quantized in (("float", False), ("quantized", True)):
        graph = Graph(quantized)
        graph.nodes += [
            onnx.helper.make_node(
                "Gemm",
                [graph.values("x", -4, 4), graph.weights("w1", FIRST), graph.hold("b", SECOND[0, :8])],
                ["y"],
                "head",
            )
        ]
        made = onnx.helper.make_graph(
            graph.nodes,
            "g",
            [onnx.helper.make_tensor_value_info("x", 1, [4, 16])],
            [onnx.helper.make_tensor_value_info("y", 1, [4, 8])],
            graph.held,
        )
        files.append(tmp_path / f"{name}.onnx")
        onnx.save(
            onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), files[-1]
        )
    found = irexec.sensitivity(str(files[0]), str(files[1]), STEPS)
    assert found.scope == ["head"]
    assert found.ignored_scope == "nncf.IgnoredScope(names=['head'])"
    assert onnx_names("model.xml", ["head_1"]) == []


def test_layers_that_compute_in_integers_are_refused_by_their_types(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[4, 8] x) => (float[4, 8] y) <float s = {0.05}, uint8 z = {128}, int8[8, 8] w = {%s}, int8 o = {0}> {
      q = QuantizeLinear(x, s, z)
      p = QLinearMatMul(q, s, z, w, s, o, s, z)
      y = DequantizeLinear(p, s, z)
    }"""
    text = text.replace("%s", ", ".join(map(str, range(-32, 32))))
    onnx.save(onnx.parser.parse_model(text), tmp_path / "whole.onnx")
    x = ops.parameter([4, 8], np.float32, name="x")
    model = irexec.Model([ops.matmul(x, np.eye(8, dtype=np.float32), False, False)], [x], "m")
    with pytest.raises(NoPair, match=r"computes QLinearMatMul with integers.*QuantFormat.QDQ"):
        irexec.sensitivity(model, str(tmp_path / "whole.onnx"), [np.ones((4, 8), np.float32)])


def test_the_mixed_model_has_the_layers_that_only_a_choice_reads(tmp_path: Path) -> None:
    """The Relu that the range of the next quantizer replaces."""
    model = Graph(False).save(tmp_path / "float.onnx")
    found = irexec.sensitivity(model, Graph(True).save(tmp_path / "int8.onnx"), STEPS, target="100%")
    found.save(tmp_path / "mixed.xml")
    mixed, plain = (irexec.compile_model(file)([STEPS[0]])[0] for file in (tmp_path / "mixed.xml", model))
    np.testing.assert_allclose(mixed, plain, atol=1e-4)
    assert not list(irexec.validate(tmp_path / "mixed.xml"))
