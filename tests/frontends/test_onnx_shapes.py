"""The shapes that ONNX requires of a node's inputs: a wrong one is one finding, which names the input."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper

F32, I64, I32, I8, U8 = (getattr(TensorProto, name) for name in ("FLOAT", "INT64", "INT32", "INT8", "UINT8"))


class Wrong(NamedTuple):
    """A node with a wrong shape: `inputs` are name → shape and type; `port`: the input that the finding names."""

    type: str
    inputs: dict[str, tuple[list[int], int]]
    port: str
    attributes: dict[str, Any] = {}  # noqa: RUF012
    outputs: int = 1
    opset: int = 21
    domain: str = ""


def f(*shape: int) -> tuple[list[int], int]:
    return list(shape), F32


def i(*shape: int) -> tuple[list[int], int]:
    return list(shape), I64


NORM = {"scale": f(3), "b": f(3)}
STATISTICS = {"s": f(3), "b": f(3), "m": f(3), "v": f(3)}
LSTM = {"x": f(5, 2, 4), "w": f(1, 12, 4), "r": f(1, 12, 3), "b": f(1, 24)}
QUANTIZED = {"x": ([2, 3], U8), "s": f(), "z": ([], U8), "w": ([3, 4], U8), "ws": f(), "wz": ([], U8)}
MS = {"domain": "com.microsoft"}
ATTENTION = {"x": f(2, 3, 8), "w": f(8, 24), "b": f(24)}
HEADS = {"num_heads": 2}
MULTI = {"q": f(2, 3, 8), "k": f(2, 4, 8), "v": f(2, 4, 8)}
GROUPS = {
    "q": f(2, 1, 32), "k": f(2, 1, 16), "v": f(2, 1, 16), "pk": f(2, 2, 6, 8), "pv": f(2, 2, 6, 8),
    "n": ([2], I32), "t": ([], I32),
}  # fmt: skip
OF_GROUPS = {"num_heads": 4, "kv_num_heads": 2}
EXPERTS = {"x": f(3, 8), "r": f(3, 4), "a": f(4, 16, 8), "ab": f(4, 16), "c": f(4, 8, 16), "cb": f(4, 8)}
LOSS = {"x": f(2, 3, 4, 5), "t": i(2, 4, 5)}
WRONG = {
    "a scale of an instance norm": Wrong("InstanceNormalization", {"x": f(2, 3, 4), **NORM, "scale": f(1)}, "scale"),
    "a bias of an instance norm": Wrong("InstanceNormalization", {"x": f(2, 3, 4), **NORM, "b": f(1)}, "B"),
    "a scale of a layer norm": Wrong("LayerNormalization", {"x": f(1, 3, 1, 1), "s": f(3)}, "Scale"),
    "a bias of a layer norm": Wrong("LayerNormalization", {"x": f(2, 3), "s": f(3), "b": f(2, 2, 3)}, "B"),
    "a scale of a root mean square": Wrong("RMSNormalization", {"x": f(2, 1), "s": f(3)}, "scale", opset=23),
    "a variance": Wrong("BatchNormalization", {"x": f(2, 3, 4), **STATISTICS, "v": f(1)}, "input_var"),
    "a scale of groups": Wrong("GroupNormalization", {"x": f(2, 4, 5), **NORM}, "scale", {"num_groups": 2}),
    "a bias of Conv": Wrong("Conv", {"x": f(1, 2, 5), "w": f(4, 2, 3), "b": f(1)}, "B"),
    "a bias of ConvTranspose": Wrong("ConvTranspose", {"x": f(1, 2, 5), "w": f(2, 3, 3), "b": f(1)}, "B"),
    "a lower bound": Wrong("Clip", {"x": f(1, 3), "low": f(3)}, "min"),
    "an upper bound": Wrong("Clip", {"x": f(1, 3), "": f(), "high": f(3)}, "max"),
    "a C that enlarges the product": Wrong("Gemm", {"a": f(1, 3), "b": f(3, 4), "c": f(2, 4)}, "C"),
    "a C of rank 3": Wrong("Gemm", {"a": f(1, 3), "b": f(3, 4), "c": f(1, 1, 4)}, "C"),
    "a slope": Wrong("PRelu", {"x": f(1, 3, 1, 1), "s": f(3)}, "slope"),
    "weights of an LSTM": Wrong("LSTM", LSTM | {"w": f(1, 9, 4)}, "W", {"hidden_size": 3}),
    "weights of the state": Wrong("GRU", {"x": f(5, 2, 4), "w": f(1, 9, 4), "r": f(1, 12, 3)}, "R", {"hidden_size": 3}),
    "a bias of an LSTM": Wrong("LSTM", LSTM | {"b": f(1, 12)}, "B", {"hidden_size": 3}),
    "a hidden size": Wrong("RNN", {"x": f(5, 2, 4), "w": f(1, 3, 4), "r": f(1, 3, 3)}, "W", {"hidden_size": 4}),
    "lengths": Wrong("LSTM", LSTM | {"n": ([5], I32)}, "sequence_lens", {"hidden_size": 3}),
    "a first state": Wrong("LSTM", LSTM | {"n": ([2], I32), "h": f(1, 5, 3)}, "initial_h", {"hidden_size": 3}),
    "both directions": Wrong("LSTM", LSTM, "W", {"hidden_size": 3, "direction": "bidirectional"}),
    "K": Wrong("TopK", {"x": f(2, 3), "k": i(2)}, "K", outputs=2),
    "a K without an axis": Wrong("TopK", {"x": f(2, 3), "k": i()}, "K", outputs=2),
    "two values": Wrong("OneHot", {"i": i(3), "d": i(), "v": f(3)}, "values"),
    "repeats": Wrong("Tile", {"x": f(2, 3), "r": i(3)}, "repeats"),
    "pads": Wrong("Pad", {"x": f(2, 3), "p": i(6)}, "pads"),
    "pads of axes": Wrong("Pad", {"x": f(2, 3), "p": i(4), "": f(), "a": i(1)}, "axes"),
    "a value of the padding": Wrong("Pad", {"x": f(2, 3), "p": i(4), "v": f(2)}, "constant_value"),
    "ends": Wrong("Slice", {"x": f(2, 3), "s": i(2), "e": i(1)}, "ends"),
    "scales of Resize": Wrong("Resize", {"x": f(1, 2, 3), "": f(), "s": f(2)}, "scales"),
    "sizes of Resize": Wrong("Resize", {"x": f(1, 2, 3), "": f(), " ": f(), "s": i(2)}, "sizes"),
    "regions": Wrong("RoiAlign", {"x": f(1, 2, 5, 5), "r": f(3, 5), "b": i(3)}, "rois"),
    "images of regions": Wrong("RoiAlign", {"x": f(1, 2, 5, 5), "r": f(3, 4), "b": i(2)}, "batch_indices"),
    "boxes": Wrong("NonMaxSuppression", {"b": f(1, 5, 4), "s": f(1, 2, 6)}, "scores"),
    "scales along an axis": Wrong("QuantizeLinear", {"x": f(2, 1, 3), "s": f(4)}, "scale"),
    "a zero point": Wrong("DequantizeLinear", {"x": ([2, 3], U8), "s": f(3), "z": ([], U8)}, "zero_point"),
    "a scale of the kernel": Wrong(
        "QLinearMatMul", QUANTIZED | {"ws": f(3), "ys": f(), "yz": ([], U8)}, "b_scale"
    ),
    "a zero point of a matrix": Wrong(
        "MatMulInteger", {"a": ([2, 3], U8), "b": ([3, 4], U8), "z": ([3], U8)}, "a_zero_point"
    ),
    "a ratio": Wrong("Dropout", {"x": f(2, 3), "r": f(3)}, "ratio"),
    "a position": Wrong("CumSum", {"x": f(2, 3), "a": i(2)}, "axis"),
    "the end of a range": Wrong("Range", {"a": i(), "b": i(2), "c": i()}, "limit"),
    "a matrix": Wrong("EyeLike", {"x": f(2, 3, 4)}, "input"),
    "an embedding": Wrong(
        "SkipLayerNormalization", {"x": f(1, 2, 4), "y": f(1, 2, 4), "g": f(3)}, "gamma", domain="com.microsoft"
    ),
    "projected weights": Wrong("Attention", ATTENTION | {"b": f(23)}, "bias", HEADS, **MS),
    "a projection": Wrong("Attention", ATTENTION | {"w": f(7, 24)}, "weights", HEADS, **MS),
    "a cache of two heads": Wrong("Attention", ATTENTION | {"": f(), "p": f(2, 2, 3, 5, 4)}, "past", HEADS, **MS),
    "keys of other batches": Wrong("MultiHeadAttention", MULTI | {"k": f(3, 4, 8)}, "key", HEADS, **MS),
    "fewer values than keys": Wrong("MultiHeadAttention", MULTI | {"v": f(2, 3, 8)}, "value", HEADS, **MS),
    "a cache of groups": Wrong("GroupQueryAttention", GROUPS | {"pk": f(2, 3, 6, 8)}, "past_key", OF_GROUPS, 3, **MS),
    "lengths of rows": Wrong("GroupQueryAttention", GROUPS | {"n": ([3], I32)}, "seqlens_k", OF_GROUPS, 3, **MS),
    "weights of an expert": Wrong("MoE", EXPERTS | {"a": f(3, 16, 8)}, "fc1_experts_weights", {"k": 1}, **MS),
    "a bias of experts": Wrong("MoE", EXPERTS | {"cb": f(4, 9)}, "fc2_experts_bias", {"k": 1}, **MS),
    "an angle": Wrong(
        "RotaryEmbedding", {"x": f(2, 2, 3, 8), "p": i(2, 3), "c": f(9, 4), "s": f(9, 3)}, "sin_cache", **MS
    ),
    "targets": Wrong("NegativeLogLikelihoodLoss", LOSS | {"t": i(2, 4, 6)}, "target", {"reduction": "mean"}),
    "labels": Wrong("SoftmaxCrossEntropyLoss", LOSS | {"t": i(2, 3, 5)}, "labels"),
    "keys of attention": Wrong(
        "Attention", {"q": f(2, 2, 3, 4), "k": f(1, 2, 3, 4), "v": f(2, 2, 3, 4)}, "K", opset=23
    ),
    "an angle of ONNX": Wrong(
        "RotaryEmbedding", {"x": f(2, 2, 3, 8), "c": f(9, 4), "s": f(8, 4), "p": i(2, 3)}, "sin_cache", opset=23
    ),
    "an image": Wrong("DepthToSpace", {"x": f(4, 6, 6)}, "input", {"blocksize": 2}),
    "axes": Wrong("Squeeze", {"x": f(1, 3), "a": i()}, "axes"),
    "an update": Wrong("TensorScatter", {"c": f(2, 1, 4, 5), "u": f(2, 1, 1, 6), "w": i(2)}, "update", opset=24),
    "a bias of Gelu": Wrong("BiasGelu", {"x": f(2, 3), "b": f(1)}, "B", domain="com.microsoft"),
}  # fmt: skip


def model(case: Wrong) -> bytes:
    """Return a model of one node."""
    values = [
        helper.make_tensor_value_info(name, kind, shape) for name, (shape, kind) in case.inputs.items() if name.strip()
    ]
    made = helper.make_node(
        case.type, [name.strip() for name in case.inputs], [f"y{n}" for n in range(case.outputs)],
        domain=case.domain, **case.attributes,
    )  # fmt: skip
    results = [onnx.ValueInfoProto(name=name) for name in made.output]
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([made], "g", values, results)
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_shape_is_found_at_its_input(name: str) -> None:
    case = WRONG[name]
    (finding,) = irexec.validate(model(case)).errors
    assert (finding.code, finding.port) == ("O001", case.port)
    assert finding.layer is not None and finding.layer.type == case.type


@pytest.mark.parametrize("shape", [[], [1]])
def test_a_bound_may_have_one_element(shape: list[int]) -> None:
    bounds = {"low": (shape, F32), "high": (shape, F32)}
    compiled = irexec.compile_model(model(Wrong("Clip", {"x": f(), **bounds}, "")))
    result = compiled({"x": np.float32(3), "low": np.zeros(shape, np.float32), "high": np.ones(shape, np.float32)})[0]
    assert result.shape == () and result == 1
