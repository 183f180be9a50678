"""Operators of com.microsoft, compared with ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from support.microsoft import assert_close, beside_onnx_runtime, model_of

RNG = np.random.default_rng(0)


def reals(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def bytes_of(*shape: int, low: int = 0, high: int = 256) -> np.ndarray:
    return RNG.integers(low, high, shape).astype(np.uint8)


def scale(*shape: int) -> np.ndarray:
    return RNG.uniform(0.01, 0.1, shape).astype(np.float32)


ZERO = np.array(128, np.uint8)
ONE = np.array(0.05, np.float32)
Q = (bytes_of(2, 3, 4, 4), ONE, ZERO)
OUT = (np.array(0.04, np.float32), np.array(120, np.uint8))
COS, SIN = np.cos(reals(16, 4)), np.sin(reals(16, 4))
WIDE = (np.cos(reals(16, 8)), np.sin(reals(16, 8)))

# (operator, inputs (None: left out), attributes, number of outputs, inputs that are constants)
CASES: list[tuple[str, list[Any], dict[str, Any], int, tuple[int, ...]]] = [
    (
        "QGemm",
        [bytes_of(3, 8), ONE, ZERO, bytes_of(4, 8), scale(4), bytes_of(4), np.arange(4, dtype=np.int32), ONE * 8, ZERO],
        {"transB": 1},
        1,
        (1, 2, 3, 4, 5, 6, 7, 8),
    ),
    ("FusedMatMul", [reals(2, 3, 4), reals(2, 5, 4)], {"transB": 1, "alpha": 0.5}, 1, ()),
    ("Gelu", [reals(3, 4)], {}, 1, ()),
    ("BiasGelu", [reals(3, 4), reals(4)], {}, 1, ()),
    ("FastGelu", [reals(3, 4), reals(4)], {}, 1, ()),
    ("QuickGelu", [reals(3, 4)], {"alpha": 1.5}, 1, ()),
    (
        "SkipLayerNormalization",
        [reals(2, 3, 8), reals(2, 3, 8), reals(8), reals(8), reals(8)],
        {"epsilon": 1e-5},
        1,
        (),
    ),
    ("SkipSimplifiedLayerNormalization", [reals(2, 3, 8), reals(2, 3, 8), reals(8)], {"epsilon": 1e-5}, 1, ()),
    (
        "EmbedLayerNormalization",
        [
            np.array([[1, 2, 0]], np.int32),
            np.array([[0, 1, 1]], np.int32),
            reals(5, 8),
            reals(4, 8),
            reals(2, 8),
            reals(8),
            reals(8),
            np.array([[1, 1, 0]], np.int32),
        ],
        {},
        2,
        (2, 3, 4, 5, 6),
    ),
    ("MultiHeadAttention", [reals(2, 3, 8), reals(2, 5, 8), reals(2, 5, 8)], {"num_heads": 2}, 1, ()),
    ("MultiHeadAttention", [reals(2, 3, 8), reals(2, 5, 8), reals(2, 5, 8), reals(24)], {"num_heads": 2}, 1, (3,)),
    (
        "MultiHeadAttention",
        [reals(2, 3, 8), reals(2, 3, 8), reals(2, 3, 8)],
        {"num_heads": 2, "unidirectional": 1},
        1,
        (),
    ),
    (
        "MultiHeadAttention",
        [reals(2, 3, 8), reals(2, 5, 8), reals(2, 5, 8), None, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)],
        {"num_heads": 2},
        1,
        (),
    ),
    (
        "MultiHeadAttention",
        [reals(2, 1, 8), reals(2, 1, 8), reals(2, 1, 8), None, None, None, reals(2, 2, 3, 4), reals(2, 2, 3, 4)],
        {"num_heads": 2},
        3,
        (),
    ),
    ("Attention", [reals(2, 3, 8), reals(8, 24), reals(24)], {"num_heads": 2}, 1, (1, 2)),
    ("Attention", [reals(2, 3, 8), reals(8, 24), reals(24)], {"num_heads": 2, "unidirectional": 1}, 1, (1, 2)),
    (
        "GroupQueryAttention",
        [reals(1, 3, 32), reals(1, 3, 16), reals(1, 3, 16), None, None, np.array([2], np.int32), np.array(3, np.int32)],
        {"num_heads": 4, "kv_num_heads": 2},
        3,
        (),
    ),
    (
        "GroupQueryAttention",
        [
            reals(1, 1, 64),
            reals(1, 1, 32),
            reals(1, 1, 32),
            reals(1, 2, 5, 16),
            reals(1, 2, 5, 16),
            np.array([5], np.int32),
            np.array(6, np.int32),
            WIDE[0],
            WIDE[1],
        ],
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1},
        3,
        (7, 8),
    ),
    ("RotaryEmbedding", [reals(2, 3, 16), np.array([[0, 1, 2], [3, 4, 5]]), COS, SIN], {}, 1, (2, 3)),
    ("RotaryEmbedding", [reals(2, 2, 3, 8), np.array([4]), COS, SIN], {"interleaved": 1}, 1, (2, 3)),
    ("QLinearAdd", [*Q, *Q, *OUT], {}, 1, (1, 2, 4, 5, 6, 7)),
    ("QLinearMul", [*Q, *Q, *OUT], {}, 1, (1, 2, 4, 5, 6, 7)),
    ("QLinearSigmoid", [*Q, np.array(1 / 256, np.float32), np.array(0, np.uint8)], {}, 1, (1, 2, 3, 4)),
    ("QLinearLeakyRelu", [*Q, *OUT], {"alpha": 0.2}, 1, (1, 2, 3, 4)),
    ("QLinearGlobalAveragePool", [*Q, *OUT], {}, 1, (1, 2, 3, 4)),
    ("QLinearAveragePool", [*Q, *OUT], {"kernel_shape": [2, 2]}, 1, (1, 2, 3, 4)),
    ("QLinearConcat", [*OUT, *Q, *Q], {"axis": 1}, 1, (0, 1, 3, 4, 6, 7)),
    (
        "QLinearSoftmax",
        [*Q, np.array(1 / 256, np.float32), np.array(0, np.uint8)],
        {"axis": -1, "opset": 13},
        1,
        (1, 2, 3, 4),
    ),
    ("DequantizeLinear", [*Q], {}, 1, (1, 2)),
    ("QuantizeLinear", [reals(3, 4), ONE, ZERO], {}, 1, (1, 2)),
    (
        "MatMulIntegerToFloat",
        [bytes_of(3, 8), bytes_of(8, 4), np.array([0.1], np.float32), scale(4), ZERO.reshape(1), bytes_of(4), reals(4)],
        {},
        1,
        (1, 3, 5, 6),
    ),
    ("DynamicQuantizeMatMul", [reals(3, 8), bytes_of(8, 4), scale(4), bytes_of(4), reals(4)], {}, 1, (1, 2, 3, 4)),
    (
        "MatMulNBits",
        [reals(3, 32), bytes_of(4, 2, 8), scale(8)],
        {"K": 32, "N": 4, "bits": 4, "block_size": 16},
        1,
        (1, 2),
    ),
    (
        "MatMulNBits",
        [reals(3, 40), bytes_of(4, 3, 8), scale(12), bytes_of(8)],
        {"K": 40, "N": 4, "bits": 4, "block_size": 16},
        1,
        (1, 2, 3),
    ),
    (
        "FusedConv",
        [reals(1, 2, 5, 5), reals(3, 2, 3, 3), reals(3)],
        {"activation": "Relu", "pads": [1, 1, 1, 1]},
        1,
        (1, 2),
    ),
    (
        "FusedGemm",
        [reals(3, 4), reals(4, 5), reals(5)],
        {"activation": "LeakyRelu", "activation_alpha": 0.1},
        1,
        (1, 2),
    ),
    ("Inverse", [np.eye(3, dtype=np.float32)[None] + 0.1 * reals(2, 3, 3)], {}, 1, ()),
]


@pytest.mark.parametrize(("type", "inputs", "attributes", "outputs", "constants"), CASES)
def test_beside_onnx_runtime(
    type: str, inputs: list[Any], attributes: dict[str, Any], outputs: int, constants: tuple[int, ...], tmp_path: Path
) -> None:
    model, fed = model_of(type, inputs, attributes, outputs, constants)
    for wanted, got in beside_onnx_runtime(model, fed, tmp_path):
        assert_close(got, wanted, atol=2e-4 if type == "FastGelu" else 1e-5)


def test_an_attribute_that_is_not_translated_is_named(tmp_path: Path) -> None:
    model, _ = model_of("Gelu", [reals(3)], {"flavour": 1}, 1, ())
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    (finding,) = irexec.validate(path).errors
    assert (finding.code, finding.attribute) == ("F009", "flavour")


def test_an_operator_that_is_not_known_is_named(tmp_path: Path) -> None:
    model, _ = model_of("QLinearAd", [reals(3)], {}, 1, ())
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    (finding,) = irexec.validate(path).errors
    assert finding.code == "F003" and finding.hint == "did you mean QLinearAdd?"
