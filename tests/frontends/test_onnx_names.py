"""The names of layers that a model of ONNX becomes."""

from __future__ import annotations

import pytest

import irexec

onnx = pytest.importorskip("onnx")


def test_a_convolution_with_a_bias_has_openvinos_names() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17]>
        g (float[1,3,8,8] x, float[4,3,3,3] w, float[4] b) => (float[1,4,6,6] y) { y = Conv(x, w, b) }"""
    )
    model.graph.node[0].name = "/conv/Conv"
    read = irexec.read_model(model.SerializeToString())
    named = {node.type: node.friendly_name for node in read.nodes}
    assert (named["Convolution"], named["Add"]) == ("/conv/Conv/WithoutBiases", "/conv/Conv")
