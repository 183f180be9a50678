"""Compression of quantized weights, compared with OpenVINO: the same layers and the same constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec

openvino = pytest.importorskip("openvino")
RNG = np.random.default_rng(31)


def compressed(ov: Any, weights: np.ndarray, limits: list[Any], levels: int) -> list[Any]:
    """Return type, element type and contents of every layer before the product."""
    name = "irexec" if ov is irexec else "openvino"
    ops = __import__(f"{name}.opset13").opset13
    transform = __import__(f"{name}._offline_transformations", fromlist=["x"]).compress_quantize_weights_transformation
    x = ops.parameter([1, weights.shape[1]], weights.dtype, name="x")
    arrays = [np.asarray(limit, weights.dtype) for limit in limits]
    quantized = ops.fake_quantize(ops.constant(weights), *arrays, levels)
    quantized.friendly_name = "weights"
    model = ov.Model([ops.matmul(x, quantized, False, True)], [x], "m")
    transform(model)
    return [
        (
            node.get_type_name(),
            node.get_element_type().get_type_name() if node.get_output_size() == 1 else None,
            node.friendly_name == "weights",
            list(node.get_rt_info().keys()) if node.get_type_name() == "Convert" else [],
            np.asarray(node.data).tolist() if node.get_type_name() == "Constant" else None,
        )
        for node in model.get_ordered_ops()
    ]


CASES: dict[str, tuple[list[Any], int]] = {
    "symmetric": ([-1, 1, -1, 1], 255),
    "a zero point that is not an integer": ([-0.5, 1.5, -0.5, 1.5], 256),
    "a zero point that the weights take": ([-1, 1, 0.5, 255.5], 256),
    "a zero point": ([-1, 1, -2, 3], 256),
    "unsigned": ([0, 1.5, 0, 1.5], 256),
    "per channel": ([[[-1], [-2], [-0.1]], [[1], [2], [0.1]], [[-1], [-2], [-0.1]], [[1], [2], [0.1]]], 255),
    "a channel of zeros": ([[[-1], [0], [-2]], [[1], [0], [2]], [[-1], [0], [-2]], [[1], [0], [2]]], 255),
    "four bits": ([-1, 1, -1, 1], 15),
    "four bits unsigned": ([0, 1, 0, 1], 16),
    "17 levels": ([-1, 1, -1, 0.9], 17),
    "two levels stay": ([-1, 1, -1, 1], 2),
    "257 levels stay": ([-1, 1, -1, 1], 257),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", CASES)
def test_weights_become_the_same_integers(name: str, dtype: type) -> None:
    limits, levels = CASES[name]
    weights = RNG.normal(size=(3, 8)).astype(dtype)
    assert compressed(irexec, weights, limits, levels) == compressed(openvino, weights, limits, levels)


@pytest.mark.parametrize("seed", range(20))
def test_random_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = (rng.normal(size=(3, 16)) * rng.uniform(0.01, 9)).astype(np.float32)
    low, high = -np.abs(weights).max(axis=1, keepdims=True), np.abs(weights).max(axis=1, keepdims=True)
    low = low * rng.choice([1, 0.5]) if seed % 3 else weights.min(axis=1, keepdims=True)
    levels = int(rng.choice([15, 16, 255, 256]))
    limits = [low, high, low, high]
    assert compressed(irexec, weights, limits, levels) == compressed(openvino, weights, limits, levels)


@pytest.mark.parametrize("seed", range(6))
def test_the_model_computes_the_same_before_and_after(seed: int) -> None:
    ops = irexec.opset13
    from irexec._offline_transformations import compress_quantize_weights_transformation

    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(3, 8)).astype(np.float32)
    x = ops.parameter([2, 8], np.float32, name="x")
    for made in (
        ops.fake_quantize(ops.constant(weights), np.float32(-1), np.float32(1), np.float32(-1), np.float32(1), 256),
        ops.fake_convert(ops.constant(weights), np.float32([4]), np.float32([0.5])),
    ):
        model = irexec.Model([ops.matmul(x, made, False, True)], [x], "m")
        given = rng.normal(size=(2, 8)).astype(np.float32)
        before = irexec.compile_model(model)([given])[0]
        compress_quantize_weights_transformation(model)
        assert not {"FakeQuantize", "FakeConvert"} & {node.type for node in model.get_ops()}
        np.testing.assert_allclose(irexec.compile_model(model)([given])[0], before, rtol=1e-5, atol=1e-5)


def decompressed(ov: Any, ops: Any, weights: np.ndarray, zeros: np.ndarray, scales: np.ndarray) -> Any:
    """Return a model of one product with weights of 8 bits, whose scales have another type."""
    kind = {"float16": "f16", "float32": "f32"}[str(scales.dtype)]
    x = ops.parameter([3, weights.shape[1]], np.float32, name="x")
    wide = [ops.convert(ops.constant(part), kind) for part in (weights, zeros)]
    product = ops.multiply(ops.subtract(*wide), ops.constant(scales))
    return ov.Model([ops.matmul(x, ops.convert(product, "f32") if kind == "f16" else product, False, True)], [x], "m")


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_products_of_weights_and_scales_are_rounded_as_the_file_declares(kind: Any) -> None:
    """The products are f16 in files that NNCF compresses; OpenVINO's device computes them in f32."""
    rng = np.random.default_rng(5)
    weights, zeros = rng.integers(0, 256, (32, 48), np.uint8), rng.integers(110, 140, (32, 1), np.uint8)
    scales, given = rng.uniform(1e-4, 9e-4, (32, 1)).astype(kind), rng.normal(size=(3, 48)).astype(np.float32)
    unrounded = (weights.astype(float) - zeros) * scales.astype(float)
    mine, theirs = (given.astype(float) @ each.T for each in (unrounded.astype(kind).astype(float), unrounded))
    found = irexec.Core().compile_model(decompressed(irexec, irexec.opset13, weights, zeros, scales), "CPU")(given)[0]
    np.testing.assert_allclose(found, mine, rtol=0, atol=1e-6)
    exact = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    model = decompressed(openvino, openvino.opset13, weights, zeros, scales)
    np.testing.assert_allclose(openvino.compile_model(model, "CPU", exact)(given)[0], theirs, rtol=0, atol=1e-6)
    # A product differs by at most half a unit in its last place.
    bound = np.abs(given.astype(float)) @ (np.abs(unrounded) * np.finfo(kind).eps / 2).T
    assert (np.abs(found - theirs) <= bound + 1e-6).all()
