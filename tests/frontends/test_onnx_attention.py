"""Attention of com.microsoft: every input and attribute that ONNX Runtime's CPU kernels support, compared with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from support.microsoft import beside_onnx_runtime, model_of

RNG = np.random.default_rng(0)
HEADS, GROUPS, SIZE = 4, 2, 16
Case = tuple[str, list[Any], dict[str, Any], int]


def f(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def i32(values: Any) -> np.ndarray:
    return np.array(values, np.int32)


def bits(*shape: int) -> np.ndarray:
    return RNG.integers(0, 2, shape).astype(np.int32)


def u8(*shape: int) -> np.ndarray:
    return RNG.integers(0, 256, shape).astype(np.uint8)


def turns(half: int) -> list[np.ndarray]:
    angles = f(16, half)
    return [np.cos(angles), np.sin(angles)]


def grouped(times: int, past: int, ends: tuple[int, ...], *more: Any, packed: bool = False, **options: Any) -> Case:
    """Return GroupQueryAttention of rows of a batch that end at `ends`; `past` is the length of the cache, 0
    for none.
    """
    batch = len(ends)
    parts: list[Any] = [f(batch, times, n * SIZE) for n in (HEADS, GROUPS, GROUPS)]
    parts = [np.concatenate(parts, -1), None, None] if packed else parts
    cache = [f(batch, GROUPS, past, SIZE) if past else None for _ in range(2)]
    inputs = [*parts, *cache, i32(ends) - 1, i32(max(ends)), *more]
    return "GroupQueryAttention", inputs, {"num_heads": HEADS, "kv_num_heads": GROUPS} | options, 3


def stored_in_8_bits(times: int, past: int, ends: tuple[int, ...], kind: str, channels: tuple[int, ...]) -> Case:
    """Return the same as `grouped`, with a cache of integers."""
    scales = [RNG.uniform(0.01, 0.03, channels).astype(np.float32) for _ in range(2)]
    type, inputs, attributes, count = grouped(times, past, ends, *[None] * 5, *scales)
    inputs[3:5] = [RNG.integers(-99, 99, (len(ends), GROUPS, past, SIZE)).astype(np.int8) for _ in range(2)]
    return type, inputs, attributes | {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": 8}, count


N4, N2 = {"num_heads": 4}, {"num_heads": 2}
Q, K, V = f(2, 3, 64), f(2, 5, 64), f(2, 5, 64)
X, W, B = f(2, 3, 8), f(8, 24), f(24)
MASK = i32([[1, 1, 0, 1, 0], [1, 1, 1, 1, 1]])

CASES: dict[str, Case] = {
    "group, prompts of different lengths": grouped(5, 0, (3, 5)),
    "group, prompts in one input, rotated": grouped(5, 0, (3, 5), *turns(8), packed=True, do_rotary=1),
    "group, rows that go on at different places": grouped(1, 6, (4, 7)),
    "group, the same, rotated": grouped(1, 6, (4, 7), *turns(8), do_rotary=1),
    "group, the same, rotated in pairs": grouped(1, 6, (4, 7), *turns(8), do_rotary=1, rotary_interleaved=1),
    "group, at given places": grouped(1, 6, (4, 7), *turns(8), np.array([[5], [2]]), do_rotary=1),
    "group, a window": grouped(1, 6, (4, 7), local_window_size=2),
    "group, a large buffer": grouped(1, 12, (4, 7)),
    "group, prompts into a large buffer": grouped(5, 12, (5, 3)),
    "group, several tokens": grouped(3, 9, (8,)),
    "group, bounded scores": grouped(1, 6, (4, 7), softcap=2.0),
    "group, smooth softmax": grouped(1, 6, (4, 7), smooth_softmax=1),
    "group, a sink": grouped(1, 6, (4, 7), None, None, None, None, f(4)),
    "group, a bias": grouped(1, 6, (4, 7), None, None, None, f(2, 4, 1, 7)),
    "group, a scale": grouped(1, 6, (4, 7), scale=0.3),
    "group, what follows too": grouped(5, 0, (3, 5), causal=0),
    "group, what follows too, one after a cache": grouped(1, 6, (4, 7), causal=0),
    "group, a cache of 8 bits": stored_in_8_bits(1, 6, (4, 7), "PER_TENSOR", (1,)),
    "group, the same of each channel": stored_in_8_bits(1, 6, (4, 7), "PER_CHANNEL", (GROUPS * SIZE,)),
    "group, a prompt into 8 bits": stored_in_8_bits(5, 0, (5, 3), "PER_TENSOR", (1,)),
    "decoder, across": ("DecoderMaskedMultiHeadAttention", [f(2, 1, 64), f(2, 4, 5, 16), f(2, 4, 5, 16)], N4, 1),
    "decoder, a buffer": (
        "DecoderMaskedMultiHeadAttention",
        [f(2, 1, 64), f(2, 1, 64), f(2, 1, 64), None, None, f(2, 4, 9, 16), f(2, 4, 9, 16), i32([6])],
        N4 | {"past_present_share_buffer": 1},
        3,
    ),
    "decoder, a buffer, a mask and biases": (
        "DecoderMaskedMultiHeadAttention",
        [
            f(2, 1, 64),
            f(2, 1, 64),
            f(2, 1, 64),
            bits(2, 7),
            f(1, 4, 1, 7),
            f(2, 4, 9, 16),
            f(2, 4, 9, 16),
            i32([6]),
            None,
            None,
            f(192),
        ],
        N4 | {"past_present_share_buffer": 1},
        3,
    ),
    "heads, ends as mask": ("MultiHeadAttention", [Q, K, V, None, i32([3, 5])], N4, 1),
    "heads, ends and sums as mask": ("MultiHeadAttention", [Q, K, V, None, i32([3, 5, 0, 3, 6, 0, 5, 10])], N4, 1),
    "heads, a mask for each query": ("MultiHeadAttention", [Q, K, V, None, bits(2, 3, 5)], N4, 1),
    "heads, mask and bias": ("MultiHeadAttention", [Q, K, V, None, MASK, f(2, 4, 3, 5)], N4, 1),
    "heads, a bias for all": ("MultiHeadAttention", [Q, K, V, None, None, f(1, 4, 3, 5)], N4, 1),
    "heads, past with all": (
        "MultiHeadAttention",
        [Q, f(2, 3, 64), f(2, 3, 64), f(192), bits(2, 9), None, f(2, 4, 6, 16), f(2, 4, 6, 16)],
        N4,
        3,
    ),
    "heads, past, causal": (
        "MultiHeadAttention",
        [Q, f(2, 3, 64), f(2, 3, 64), None, None, None, f(2, 4, 6, 16), f(2, 4, 6, 16)],
        N4 | {"unidirectional": 1},
        3,
    ),
    "heads, keys that have heads": ("MultiHeadAttention", [Q, f(2, 4, 5, 16), f(2, 4, 5, 16), f(192)], N4, 1),
    "heads, other values": ("MultiHeadAttention", [Q, f(2, 5, 64), f(2, 5, 32)], N4 | {"scale": 0.1}, 1),
    "heads, a value for what is masked": (
        "MultiHeadAttention",
        [Q, K, V, None, MASK],
        N4 | {"mask_filter_value": -3.0},
        1,
    ),
    "projected, sizes": ("Attention", [X, f(8, 20), f(20)], N2 | {"qkv_hidden_sizes": [8, 8, 4]}, 1),
    "projected, a bias": ("Attention", [X, W, B, None, None, f(1, 1, 3, 3)], N2 | {"scale": 0.2}, 1),
    "projected, all masked": ("Attention", [X, W, B, i32([[0, 0, 0], [1, 1, 0]])], N2, 1),
    "quantized": (
        "QAttention",
        [u8(2, 3, 8), u8(8, 24), f(24), f(1) ** 2, f(1) ** 2, None, u8(1), u8(1)],
        N2,
        1,
    ),
    "quantized by channels": (
        "QAttention",
        [u8(2, 3, 8), u8(8, 24), f(24), f(1) ** 2, f(24) ** 2, i32([[1, 0, 1], [1, 1, 0]]), u8(1), u8(24)],
        N2 | {"unidirectional": 1},
        1,
    ),
}
for unidirectional in (0, 1):
    options = N2 | {"unidirectional": unidirectional}
    CASES |= {
        f"projected, ends {unidirectional}": ("Attention", [X, W, B, i32([2, 3])], options, 1),
        f"projected, ends and begins {unidirectional}": ("Attention", [X, W, B, i32([2, 3, 1, 0])], options, 1),
        f"projected, a mask {unidirectional}": ("Attention", [X, W, B, i32([[1, 0, 1], [1, 1, 0]])], options, 1),
        f"projected, a mask for each query {unidirectional}": ("Attention", [X, W, B, bits(2, 3, 3)], options, 1),
        f"projected, past {unidirectional}": ("Attention", [X, W, B, bits(2, 7), f(2, 2, 2, 4, 4)], options, 2),
    }


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_beside_onnx_runtime(case: Case, tmp_path: Path) -> None:
    type, inputs, attributes, count = case
    model, fed = model_of(type, inputs, attributes, count)
    for wanted, got in beside_onnx_runtime(model, fed, tmp_path):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5 * max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("open", ["batch", "times", "past", "all"])
def test_extents_that_are_open(open: str, tmp_path: Path) -> None:
    """A decoder as exporters write it: batch, times and past are dynamic, and one file is used for prompt and
    tokens.
    """
    type, _, attributes, _ = grouped(1, 6, (7, 7), do_rotary=1)
    names = ["q", "k", "v", "past_k", "past_v", "ends", "total", "cos", "sin"]
    extents = {"batch": "B", "times": "S", "past": "P"}
    b, s, p = (extents[name] if open in (name, "all") else n for name, n in (("batch", 2), ("times", 1), ("past", 6)))
    shapes = [[b, s, 64], [b, s, 32], [b, s, 32], [b, 2, p, 16], [b, 2, p, 16], [b], [], [16, 8], [16, 8]]
    value = onnx.helper.make_tensor_value_info
    kinds = [1, 1, 1, 1, 1, 6, 6, 1, 1]
    given = [value(*entry) for entry in zip(names, kinds, shapes, strict=True)]
    node = onnx.helper.make_node(type, names, ["y", "k1", "v1"], domain="com.microsoft", **attributes)
    graph = onnx.helper.make_graph([node], "g", given, [value(name, 1, None) for name in ("y", "k1", "v1")])
    opsets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    compiled = irexec.compile_model(path)
    steps = [(1, 6, (7, 4))] + ([(5, 0, (5, 3)), (1, 5, (6, 4))] if open == "all" else [])
    for times, past, ends in steps:
        parts = [f(2, times, 64), f(2, times, 32), f(2, times, 32), f(2, 2, past, 16), f(2, 2, past, 16)]
        fed = dict(zip(names, [*parts, i32(ends) - 1, i32(max(ends)), *turns(8)], strict=True))
        for got, wanted in zip(compiled(fed).to_tuple(), session.run(None, fed), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_what_is_not_translated_is_named(tmp_path: Path) -> None:
    type, inputs, attributes, _ = grouped(1, 6, (4, 7), sliding_window_cache=1)
    onnx.save(model_of(type, inputs, attributes, 3)[0], tmp_path / "model.onnx")
    (finding,) = irexec.validate(tmp_path / "model.onnx").errors
    assert finding.code == "F009" and finding.attribute == "sliding_window_cache"


@pytest.mark.parametrize("case", [grouped(1, 6, (4, 7), *turns(8), do_rotary=1), grouped(5, 0, (5, 3))])
def test_queries_and_keys_that_are_normalized(case: Case, tmp_path: Path) -> None:
    """ONNX Runtime's CPU kernel has no norms: its inputs are already normalized."""
    type, inputs, attributes, _ = case
    scales, epsilon = (f(SIZE), f(SIZE)), 1e-3

    def normal(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
        parts = x.reshape(*x.shape[:2], -1, SIZE)
        return (parts / np.sqrt((parts**2).mean(-1, keepdims=True) + epsilon) * scale).reshape(x.shape)

    theirs = [normal(inputs[0], scales[0]), normal(inputs[1], scales[1]), *inputs[2:]]
    ours = [*inputs, *[None] * (14 - len(inputs)), *scales]
    model, fed = model_of(type, theirs, attributes, 3)
    expected = [wanted for wanted, _ in beside_onnx_runtime(model, fed, tmp_path)]
    model, fed = model_of(type, ours, attributes | {"qk_norm_epsilon": epsilon}, 3)
    onnx.save(model, tmp_path / "ours.onnx")
    found = irexec.compile_model(tmp_path / "ours.onnx")(fed)
    for i, wanted in enumerate(expected):
        np.testing.assert_allclose(found[f"y{i}"], wanted, rtol=1e-4, atol=1e-5)
