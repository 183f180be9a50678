"""Quantisers that are chains of layers, as in ONNX models with QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.types import Array

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.any_python

RNG = np.random.default_rng(0)
FIRST: Array = RNG.normal(0, 0.3, (16, 8)).astype(np.float32)
SECOND: Array = RNG.normal(0, 0.3, (8, 16)).astype(np.float32)
STEPS: list[Array] = [RNG.normal(0, 1, (4, 16)).astype(np.float32) for _ in range(3)]


class Graph:
    """Builds x → first → Relu → second → y; quantised, the Relu is left to the quantiser behind it."""

    def __init__(self, quantises: bool, spoilt: str = "") -> None:
        self.quantises, self.spoilt = quantises, spoilt
        self.nodes: list[Any] = []
        self.held: list[Any] = []

    def hold(self, name: str, array: Any) -> str:
        self.held.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def layer(self, kind: str, inputs: list[str], output: str) -> str:
        self.nodes.append(onnx.helper.make_node(kind, inputs, [output], name=output))
        return output

    def values(self, name: str, low: float, high: float) -> str:
        if not self.quantises:
            return name
        scale = np.float32((high - low) / 255 * (0.1 if name == self.spoilt else 1))
        zero = np.uint8(np.clip(round(-low / float(scale)), 0, 255))
        pair = [self.hold(f"{name}_scale", scale), self.hold(f"{name}_zero", zero)]
        self.layer("QuantizeLinear", [name, *pair], f"{name}_QuantizeLinear")
        return self.layer("DequantizeLinear", [f"{name}_QuantizeLinear", *pair], f"{name}_DequantizeLinear")

    def weights(self, name: str, array: Array) -> str:
        if not self.quantises:
            return self.hold(name, array)
        scale = np.float32(np.abs(array).max() / 127)
        codes = np.clip(np.rint(array / scale), -127, 127).astype(np.int8)
        pair = [self.hold(f"{name}_scale", scale), self.hold(f"{name}_zero", np.int8(0))]
        return self.layer("DequantizeLinear", [self.hold(f"{name}_codes", codes), *pair], f"{name}_DequantizeLinear")

    def save(self, path: Path) -> Path:
        first = self.layer("MatMul", [self.values("x", -4, 4), self.weights("w1", FIRST)], "first")
        bent = first if self.quantises else self.layer("Relu", [first], "bent")
        self.layer("MatMul", [self.values(bent, 0, 4), self.weights("w2", SECOND)], "second")
        given = self.values("second", -4, 4)
        ports = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 16]) for name in ("x", given)]
        graph = onnx.helper.make_graph(self.nodes, "g", ports[:1], ports[1:], self.held)
        opsets = [onnx.helper.make_opsetid("", 17)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
        return path


def test_the_quantisers_of_an_onnx_model_are_paired(tmp_path: Path) -> None:
    """Without them, the Relu that the quantised model lacks is done, and the results are those of the float model."""
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


def test_a_quantiser_that_does_more_than_quantise_is_refused() -> None:
    """Its range is doubled, and halved by a further layer: without it the results would be wrong."""

    def build(quantises: bool) -> irexec.Model:
        x = ops.parameter([4, 16], np.float32, name="x")
        read = x
        if quantises:
            wide = ops.fake_quantize(x, *map(np.float32, (-4, 4, -8, 8)), 256, name="fq")
            read = ops.multiply(wide, np.float32(0.5), name="half")
        return irexec.Model([ops.matmul(read, FIRST, name="y")], [x], "m")

    with pytest.raises(ValueError, match="without quantisers the results would be worse"):
        irexec.sensitivity(build(False), build(True), STEPS)
