"""The names of layers converted from an ONNX model."""

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


def test_a_product_with_a_bias_has_openvinos_names() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 9, opset_import: ["" : 17]>
        g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) { y = Gemm(x, w, b) }"""
    )
    model.graph.node[0].name = "/head/Gemm"
    named = {node.type: node.friendly_name for node in irexec.read_model(model.SerializeToString()).nodes}
    assert (named["MatMul"], named["Add"]) == ("/head/Gemm/WithoutBiases", "/head/Gemm")


@pytest.mark.parametrize(
    ("axis", "extents", "types"),
    [
        (1, (2, 12), ["Parameter", "Const", "Reshape", "Result"]),
        (0, (1, 24), ["Parameter", "Const", "Reshape", "Result"]),
        (2, (6, 4), None),
    ],
)
def test_flattening_is_one_layer_where_a_shape_says_it(axis: int, extents: tuple[int, int], types: object) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 9, opset_import: ["" : 17]>
        g (float[2,3,4] x) => (float[R,C] y) {{ y = Flatten <axis: int = {axis}> (x) }}"""
    )
    read = irexec.read_model(model.SerializeToString())
    assert read.outputs[0].partial_shape == list(extents)
    assert types is None or [node.type for node in read.nodes] == types
