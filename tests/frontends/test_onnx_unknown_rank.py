"""Images whose rank becomes known only when the model runs, after an If with branches of different ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(11)


def after_an_if(nodes: list[Any], constants: dict[str, np.ndarray], opset: int = 17) -> bytes:
    """Return a model: x [1,2,6] unchanged, or x without its batch, as `flag` chooses; then the nodes on `image`."""
    branches = {
        "then_branch": helper.make_node("Identity", ["x"], ["whole"]),
        "else_branch": helper.make_node("Reshape", ["x", "pair"], ["bare"]),
    }
    graphs = {
        name: helper.make_graph(
            [node], name, [], [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None)]
        )
        for name, node in branches.items()
    }
    choice = helper.make_node("If", ["flag"], ["image"], **graphs)
    graph = helper.make_graph(
        [choice, *nodes],
        "after_an_if",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 6]),
            helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
        ],
        [onnx.ValueInfoProto(name="y")],
        [
            numpy_helper.from_array(np.asarray(array), name)
            for name, array in ({"pair": np.array([2, 6])} | constants).items()
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    return bytes(made.SerializeToString())


KERNEL = RNG.normal(size=(4, 2, 3)).astype(np.float32)
BIAS = RNG.normal(size=4).astype(np.float32)
MODELS = {
    "Conv": ([helper.make_node("Conv", ["image", "w"], ["y"], pads=[1, 1])], {"w": KERNEL}),
    "Conv with a bias": ([helper.make_node("Conv", ["image", "w", "b"], ["y"])], {"w": KERNEL, "b": BIAS}),
    "Conv in groups": ([helper.make_node("Conv", ["image", "w"], ["y"], group=2)], {"w": KERNEL[:, :1]}),
    "ConvTranspose": (
        [helper.make_node("ConvTranspose", ["image", "w", "b"], ["y"], strides=[2])],
        {"w": KERNEL.transpose(1, 0, 2).copy(), "b": BIAS},
    ),
    "MaxPool": ([helper.make_node("MaxPool", ["image"], ["y"], kernel_shape=[3], strides=[2])], {}),
    "AveragePool": ([helper.make_node("AveragePool", ["image"], ["y"], kernel_shape=[2], pads=[0, 1])], {}),
    "Conv and Relu": (
        [helper.make_node("Conv", ["image", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
        {"w": KERNEL},
    ),
}


WITHOUT_A_RANK: dict[str, tuple[list[Any], dict[str, np.ndarray]]] = {
    "LayerNormalization": (
        [helper.make_node("LayerNormalization", ["image", "s"], ["y"])], {"s": RNG.normal(size=6).astype(np.float32)}
    ),
    "LayerNormalization from the front": (
        [helper.make_node("LayerNormalization", ["image", "s"], ["y"], axis=1)], {"s": np.float32([2])}
    ),
    "TopK": ([helper.make_node("TopK", ["image", "k"], ["y", "i"])], {"k": np.array([2])}),
    "ArgMax": ([helper.make_node("ArgMax", ["image"], ["y"], axis=1)], {}),
    "ArgMin, the last of equal elements": (
        [helper.make_node("ArgMin", ["image"], ["y"], axis=-1, select_last_index=1, keepdims=0)], {}
    ),
    "ReduceMean of all": ([helper.make_node("ReduceMean", ["image"], ["y"])], {}),
    "ReduceLogSumExp of all": ([helper.make_node("ReduceLogSumExp", ["image"], ["y"], keepdims=0)], {}),
    "Flatten": ([helper.make_node("Flatten", ["image"], ["y"])], {}),
    "Flatten from the back": ([helper.make_node("Flatten", ["image"], ["y"], axis=-1)], {}),
    "Softmax": ([helper.make_node("Softmax", ["image"], ["y"], axis=1)], {}),
    "Hardmax": ([helper.make_node("Hardmax", ["image"], ["y"])], {}),
    "GatherElements": (
        [helper.make_node("GatherElements", ["image", "i"], ["y"], axis=1)], {"i": np.array([[[1, 0]]])}
    ),
    "Pad": (
        [helper.make_node("Pad", ["image", "p"], ["y"])], {"p": np.array([0, 0, 1, 0, 0, 2])}
    ),
    "Concat": ([helper.make_node("Concat", ["image", "image"], ["y"], axis=1)], {}),
    "Split": ([helper.make_node("Split", ["image", "l"], ["y", "z"], axis=-1)], {"l": np.array([2, 4])}),
    "Transpose": ([helper.make_node("Transpose", ["image"], ["y"])], {}),
    "CumSum": ([helper.make_node("CumSum", ["image", "a"], ["y"])], {"a": np.array(-1)}),
    "LpNormalization": ([helper.make_node("LpNormalization", ["image"], ["y"])], {}),
    "Resize": (
        [helper.make_node("Resize", ["image", "", "s"], ["y"])], {"s": np.array([1, 1, 2], np.float32)}
    ),
    "QuantizeLinear": (
        [helper.make_node("QuantizeLinear", ["image", "s", "z"], ["y"], axis=1)],
        {"s": np.float32([0.5, 2]), "z": np.uint8([3, 4])},
    ),
    "Trilu": ([helper.make_node("Trilu", ["image"], ["y"])], {}),
    "Expand": ([helper.make_node("Expand", ["image", "s"], ["y"])], {"s": np.array([2, 2, 6])}),
}  # fmt: skip
OF_AN_IMAGE = {
    "InstanceNormalization": (
        [helper.make_node("InstanceNormalization", ["image", "s", "b"], ["y"])],
        {"s": RNG.normal(size=2).astype(np.float32), "b": RNG.normal(size=2).astype(np.float32)},
    ),
    "BatchNormalization": (
        [helper.make_node("BatchNormalization", ["image", "s", "s", "s", "s"], ["y"])], {"s": np.float32([1, 2])}
    ),
    "GlobalAveragePool": ([helper.make_node("GlobalAveragePool", ["image"], ["y"])], {}),
    "GlobalMaxPool": ([helper.make_node("GlobalMaxPool", ["image"], ["y"])], {}),
    "LpPool": ([helper.make_node("LpPool", ["image"], ["y"], kernel_shape=[2])], {}),
}  # fmt: skip
# Nodes whose constants fit three axes only.
OF_RANK_3 = ("GatherElements", "Pad", "Resize", "QuantizeLinear")
ALL = MODELS | OF_AN_IMAGE | WITHOUT_A_RANK


@pytest.mark.parametrize("name", [name for name in WITHOUT_A_RANK if name not in OF_RANK_3])
def test_either_rank(name: str) -> None:
    """The branch of the other rank."""
    nodes, constants = ALL[name]
    compare(after_an_if(nodes, constants), np.array(False))


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("flag", [True, False])
def test_along_several_axes(opset: int, name: str, axis: int, flag: bool) -> None:
    node = helper.make_node(name, ["image"], ["y"], axis=axis)
    compare(after_an_if([node], {}, opset), np.array(flag))


def compare(data: bytes, flag: np.ndarray) -> None:
    x = RNG.normal(size=(1, 2, 6)).astype(np.float32)
    theirs = ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x, "flag": flag})[0]
    mine = irexec.compile_model(data)({"x": x, "flag": flag})[0]
    assert mine.shape == theirs.shape
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_beside_onnx_runtime(name: str) -> None:
    nodes, constants = ALL[name]
    compare(after_an_if(nodes, constants), np.array(True))


@pytest.mark.parametrize("name", ["Conv", "MaxPool"])
def test_another_rank_is_reported_when_the_model_runs(name: str) -> None:
    nodes, constants = MODELS[name]
    compiled = irexec.compile_model(after_an_if(nodes, constants))
    with pytest.raises(irexec.IRError, match=r"rank|\[2,6\]"):
        compiled({"x": np.zeros((1, 2, 6), np.float32), "flag": np.array(False)})
