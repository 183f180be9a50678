"""Models as exporters of all periods wrote them, compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(0)
node = onnx.helper.make_node


def f(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def model_of(nodes: list[Any], fed: dict[str, Any], outputs: list[str], opset: int, stored: dict[str, Any]) -> Any:
    kind = onnx.helper.np_dtype_to_tensor_dtype
    given = [onnx.helper.make_tensor_value_info(name, kind(a.dtype), a.shape) for name, a in fed.items()]
    made = [onnx.helper.make_empty_tensor_value_info(name) for name in outputs]
    constants = [onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in stored.items()]
    graph = onnx.helper.make_graph(nodes, "g", given, made, constants)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def compare(model: Any, fed: dict[str, Any], folder: Path) -> None:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    quiet = runtime.SessionOptions()
    quiet.log_severity_level = 4
    expected = runtime.InferenceSession(path, quiet, providers=["CPUExecutionProvider"]).run(None, fed)
    for wanted, got in zip(expected, irexec.compile_model(path)(fed).to_tuple(), strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


IMAGE = {"x": f(1, 2, 7, 9)}
POOL = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 1}
Case = tuple[list[Any], dict[str, Any], int, dict[str, Any]]
CASES: dict[str, Case] = {
    "upsample 7": ([node("Upsample", ["x"], ["y"], scales=[1.0, 1.0, 2.0, 3.0], mode="linear")], IMAGE, 8, {}),
    "upsample 9": ([node("Upsample", ["x", "s"], ["y"])], IMAGE, 9, {"s": np.float32([1, 1, 2.5, 2])}),
    "resize 10, larger": ([node("Resize", ["x", "s"], ["y"])], IMAGE, 10, {"s": np.float32([1, 1, 2.5, 2])}),
    "resize 10, smaller": ([node("Resize", ["x", "s"], ["y"])], IMAGE, 10, {"s": np.float32([1, 1, 0.5, 0.6])}),
    "resize 10, both": ([node("Resize", ["x", "s"], ["y"])], IMAGE, 10, {"s": np.float32([1, 1, 0.4, 1.7])}),
    "pool, a window that sticks out": (
        [node("AveragePool", ["x"], ["y"], ceil_mode=1, **POOL)],
        {"x": f(1, 2, 6, 6)},
        11,
        {},
    ),
    "pool, none that does": ([node("AveragePool", ["x"], ["y"], ceil_mode=1, **POOL)], {"x": f(1, 2, 5, 7)}, 11, {}),
    "pool, with steps": (
        [node("AveragePool", ["x"], ["y"], ceil_mode=1, dilations=[2, 1], **POOL)],
        {"x": f(1, 2, 8, 8)},
        19,
        {},
    ),
    "affine": ([node("Affine", ["x"], ["y"], alpha=0.5, beta=2.0)], IMAGE, 9, {}),
    "scale": ([node("Scale", ["x"], ["y"], scale=0.5)], IMAGE, 9, {}),
    "image scaler": ([node("ImageScaler", ["x"], ["y"], scale=0.5, bias=[1.0, 2.0])], IMAGE, 9, {}),
    "scaled tanh": ([node("ScaledTanh", ["x"], ["y"], alpha=0.5, beta=2.0)], IMAGE, 9, {}),
    "parametric softplus": ([node("ParametricSoftplus", ["x"], ["y"], alpha=0.5, beta=2.0)], IMAGE, 9, {}),
    "thresholded": ([node("ThresholdedRelu", ["x"], ["y"], alpha=0.5)], IMAGE, 9, {}),
    "crop": ([node("Crop", ["x"], ["y"], border=[1, 2, 0, 3])], IMAGE, 9, {}),
    "crop to a size": ([node("Crop", ["x"], ["y"], border=[1, 2, 0, 0], scale=[3, 4])], IMAGE, 9, {}),
    "dynamic slice": (
        [node("DynamicSlice", ["x", "s", "e"], ["y"])],
        {"x": f(4, 5), "s": np.array([1, 1]), "e": np.array([3, 4])},
        9,
        {},
    ),
    "normalization of each element": (
        [node("BatchNormalization", ["x", "a", "b", "c", "d"], ["y"], spatial=0)],
        {"x": f(2, 3, 4, 4)},
        7,
        {name: np.abs(f(3, 4, 4)) for name in "abcd"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_beside_onnx_runtime(name: str, tmp_path: Path) -> None:
    nodes, fed, opset, stored = CASES[name]
    compare(model_of(nodes, fed, ["y"], opset, stored), fed, tmp_path)


def test_a_pool_whose_windows_all_fit_is_irs(tmp_path: Path) -> None:
    for name, types in (("pool, none that does", ["AvgPool"]), ("pool, a window that sticks out", ["AveragePool"])):
        nodes, fed, opset, stored = CASES[name]
        path = tmp_path / "model.onnx"
        path.write_bytes(model_of(nodes, fed, ["y"], opset, stored).SerializeToString())
        pools = [n.type for n in irexec.read_model(path).nodes if n.type not in ("Parameter", "Result")]
        assert pools == types


def test_weights_of_four_bits_in_blocks_become_ir_that_openvino_agrees_with(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    import ml_dtypes

    codes = RNG.integers(-8, 8, (64, 5)).astype(ml_dtypes.int4)
    zeros = RNG.integers(-8, 8, (4, 5)).astype(ml_dtypes.int4)
    stored = {"w": codes, "s": np.abs(f(4, 5)) + np.float32(0.1), "z": zeros}
    nodes = [node("DequantizeLinear", ["w", "s", "z"], ["d"], axis=0, block_size=16), node("MatMul", ["x", "d"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", 1, [3, 64])],
        [helper.make_tensor_value_info("y", 1, [3, 5])],
        [numpy_helper.from_array(array, name) for name, array in stored.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    fed = {"x": f(3, 64)}
    onnx.save(model, tmp_path / "model.onnx")
    whole = codes.astype(np.float32) - zeros.astype(np.float32).repeat(16, 0)
    expected = fed["x"] @ (whole * stored["s"].repeat(16, 0))
    np.testing.assert_allclose(irexec.compile_model(tmp_path / "model.onnx")(fed)[0], expected, rtol=1e-4, atol=1e-4)
    irexec.save_model(irexec.read_model(tmp_path / "model.onnx"), tmp_path / "out.xml")
    config = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    made = openvino.Core().compile_model(tmp_path / "out.xml", "CPU", config)(fed)
    np.testing.assert_allclose(made[0], expected, rtol=1e-4, atol=1e-4)
