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


def after_an_if(nodes: list[Any], constants: dict[str, np.ndarray], outputs: int = 1) -> bytes:
    """Return a model: x [1,2,6] unchanged, or x without its batch, as `flag` chooses; then the nodes on `image`."""
    branches = {
        "then_branch": helper.make_node("Identity", ["x"], ["whole"]),
        "else_branch": helper.make_node("Squeeze", ["x", "first"], ["bare"]),
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
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(made.SerializeToString())


FIRST = {"first": np.array([0], np.int64)}
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


@pytest.mark.parametrize("name", MODELS)
def test_the_rank_follows_from_the_kernel(name: str) -> None:
    nodes, constants = MODELS[name]
    data = after_an_if(nodes, FIRST | constants)
    x, flag = RNG.normal(size=(1, 2, 6)).astype(np.float32), np.array(True)
    theirs = ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": x, "flag": flag})[0]
    mine = irexec.compile_model(data)({"x": x, "flag": flag})[0]
    np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["Conv", "MaxPool"])
def test_another_rank_is_reported_when_the_model_runs(name: str) -> None:
    nodes, constants = MODELS[name]
    compiled = irexec.compile_model(after_an_if(nodes, FIRST | constants))
    with pytest.raises(irexec.IRError, match=r"rank|\[2,6\]"):
        compiled({"x": np.zeros((1, 2, 6), np.float32), "flag": np.array(False)})
