"""The operators inside of OpenVINO's compiler: each computes what the layers compute that it replaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import irexec.ops.internal  # noqa: F401 - registers the operators
from irexec.core.types import BF16, F16, F32, I8, U8, Array, PartialShape, TensorType
from irexec.ops.internal.relaxed import Relaxed
from irexec.ops.internal.sequences import TimeFirst
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import REGISTRY, ConstraintError

RNG = np.random.default_rng(7)
X = RNG.standard_normal((2, 3, 8)).astype(np.float32)
W = RNG.standard_normal((4, 8)).astype(np.float32)
BIAS = RNG.standard_normal(4).astype(np.float32)
NOTHING = np.zeros(0, np.float32)
U4 = RNG.integers(0, 16, (4, 8)).astype(np.uint8)
ROWS = RNG.uniform(0.1, 1, (4, 1)).astype(np.float32)
GROUPS = RNG.uniform(0.1, 1, (4, 2)).astype(np.float32)
HEADS = RNG.standard_normal((1, 2, 3, 4)).astype(np.float32)
COS, SIN = (f(RNG.uniform(0, 3, (1, 1, 3, 2))).astype(np.float32) for f in (np.cos, np.sin))
UP = RNG.standard_normal((6, 8)).astype(np.float32)
DOWN = RNG.standard_normal((8, 6)).astype(np.float32)


def silu(x: Array) -> Array:
    return np.asarray(x / (1 + np.exp(-x)))


def rotated(x: Array) -> Array:
    first, second = x[..., :2], x[..., 2:]
    return np.concatenate([COS * first - SIN * second, COS * second + SIN * first], -1)


INTERNAL, CPU, SNIPPETS = "ie_internal_opset", "cpu_plugin_opset", "SnippetsOpset"
TWICE = np.concatenate([COS, COS], -1), np.concatenate([SIN, SIN], -1)
NEIGHBOURS = HEADS.transpose(0, 2, 1, 3)
Row = tuple[str, str, tuple[Any, ...], dict[str, Any], Callable[[], Any]]
KERNELS: list[Row] = [
    ("FullyConnected", INTERNAL, (X, W, NOTHING), {}, lambda: X @ W.T),
    ("FullyConnected", INTERNAL, (X, W, BIAS), {}, lambda: X @ W.T + BIAS),
    ("FullyConnected", INTERNAL, (X, W, BIAS), {"output_type": F16}, lambda: (X @ W.T + BIAS).astype(np.float16)),
    ("FullyConnectedCompressed", INTERNAL, (X, U4, NOTHING, ROWS), {}, lambda: X @ (U4 * ROWS).T),
    ("FullyConnectedCompressed", INTERNAL, (X, U4, NOTHING, GROUPS, np.full((4, 2), 8, np.uint8)), {},
     lambda: X @ ((U4 - 8.0).reshape(4, 2, 4) * GROUPS[..., None]).reshape(4, 8).T),
    ("FullyConnectedQuantizedLegacy", INTERNAL,
     (np.full((2, 8), -3, np.int8), np.ones((4, 8), np.int8), BIAS, np.float32([[0.5]]), NOTHING),
     {"output_type": F32}, lambda: np.full((2, 4), -12.0) + BIAS),
    ("RMS", INTERNAL, (X, np.full(8, 2, np.float32)), {"epsilon": 1e-5},
     lambda: 2 * X / np.sqrt((X * X).mean(-1, keepdims=True) + 1e-5)),
    ("RoPE", INTERNAL, (HEADS, *TWICE), {"rotary_ndims": 4}, lambda: rotated(HEADS)),
    ("RoPE", INTERNAL, (HEADS, COS, SIN), {"rotary_ndims": 4, "cos_sin_ndims": 2}, lambda: rotated(HEADS)),
    ("RoPE", INTERNAL, (NEIGHBOURS, *TWICE), {"rotary_ndims": 4, "input_trans0213": True}, lambda: rotated(HEADS)),
    ("PowerStatic", CPU, (X,), {"scale": 2.0, "power": 2.0, "shift": 1.0}, lambda: (2 * X + 1) ** 2),
    ("PowerStatic", CPU, (np.int32([1, 2]),), {"scale": 0.5, "out_type": F32}, lambda: np.float32([0.5, 1])),
    ("PowerStatic", SNIPPETS, (np.abs(X),), {"power": -1.0}, lambda: 1 / np.abs(X)),
    ("LeakyRelu", CPU, (X,), {"negative_slope": 0.1}, lambda: np.where(X < 0, X * np.float32(0.1), X)),
    ("SwishCPU", CPU, (X,), {"alpha": 1.5}, lambda: X / (1 + np.exp(-1.5 * X))),
    ("FusedMulAdd", SNIPPETS, (X, X, X), {}, lambda: X * X + X),
    ("ConvertSaturation", SNIPPETS, (np.float32([-200, 1.5, 300]),), {"destination_type": I8},
     lambda: np.int8([-128, 2, 127])),
    ("ReduceMax", SNIPPETS, (X,), {"axis": 1}, lambda: X.max(1, keepdims=True)),
    ("ReduceSum", SNIPPETS, (X,), {"axis": 2}, lambda: X.sum(2, keepdims=True)),
    ("Brgemm", SNIPPETS, (X, W.T.copy()), {}, lambda: X @ W.T),
    ("Scalar", SNIPPETS, (), {"element_type": BF16, "shape": (1,), "value": 1.5},
     lambda: np.array([1.5], ml_dtypes.bfloat16)),
    ("LLMMLP", CPU, (X, UP, UP, DOWN), {}, lambda: (silu(X @ UP.T) * (X @ UP.T)) @ DOWN.T),
    ("LLMMLP", CPU, (X, np.concatenate([UP, -UP]), NOTHING, DOWN),
     {"gate_up_type": "COMBINED_UP_GATE", "up_size": 6}, lambda: (silu(X @ -UP.T) * (X @ UP.T)) @ DOWN.T),
    ("GatherCompressed", INTERNAL, (U4, np.int32([2, 0]), np.int32(0), ROWS), {}, lambda: (U4 * ROWS)[[2, 0]]),
    ("CausalMaskPreprocess", CPU, (np.int32([[0, 1, 1]]), np.int32([1]), np.int32([1, 2]), np.int32([3])), {},
     lambda: np.where([[[[0, 1, 0], [0, 1, 1]]]], np.float32(0), np.finfo(np.float32).min)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("type", "opset", "inputs", "attributes", "expected"),
    KERNELS,
    ids=[f"{n}-{row[0]}" for n, row in enumerate(KERNELS)],
)
def test_values(
    type: str, opset: str, inputs: tuple[Any, ...], attributes: dict[str, Any], expected: Callable[[], Any]
) -> None:
    operator, right = REGISTRY[type, opset], np.asarray(expected())
    defaults = {a.name: a.default for a in operator.attributes if not a.required}
    found = operator(*inputs, **attributes)
    assert found.shape == right.shape
    np.testing.assert_allclose(found.astype(np.float64), right.astype(np.float64), rtol=2e-5, atol=2e-6)
    kinds = [TensorType.of(np.asarray(array)) for array in inputs]
    (inferred,) = operator.infer(kinds, defaults | attributes)
    assert inferred.shape.compatible(PartialShape(found.shape))
    assert inferred.element_type.dtype == found.dtype


def test_projections_of_combined_weights() -> None:
    weights = np.concatenate([W, UP, -W])
    sizes = {"proj_size0": 4, "proj_size1": 6, "proj_size2": 4}
    found = REGISTRY["QKVProjection", CPU](X, weights, weights, weights, weights_combined=True, **sizes)
    for array, right in zip(found, (X @ W.T, X @ UP.T, X @ -W.T), strict=True):
        np.testing.assert_allclose(array, right, rtol=2e-5, atol=2e-6)


def test_attention_appends_to_the_beams_of_the_cache() -> None:
    operator = REGISTRY["ScaledDotProductAttentionWithKVCache", CPU]
    new, past = (RNG.standard_normal((2, 1, length, 4)).astype(np.float32) for length in (1, 3))
    beams = np.int32([1, 0])
    result, keys, values = operator(new, new, new, beams, past, past, fuse_concat=True)
    joined = np.concatenate([past[[1, 0]], new], 2)
    scores = np.exp(new @ joined.swapaxes(2, 3) / 2)
    np.testing.assert_array_equal(keys, joined)
    np.testing.assert_array_equal(values, joined)
    np.testing.assert_allclose(result, scores / scores.sum(-1, keepdims=True) @ joined, rtol=1e-5)


def test_attention_without_a_cache_yet() -> None:
    operator = REGISTRY["ScaledDotProductAttentionWithKVCache", CPU]
    new, past = (np.ones((1, 1, length, 4), np.float32) for length in (2, 0))
    result, keys, _ = operator(new, new, new, np.int32([0]), past, past)
    assert (result.shape, keys.shape) == ((1, 1, 2, 4), (1, 1, 2, 4))


def test_a_sequence_with_the_time_first() -> None:
    """Its data are those of a Transpose before it, and its result is transposed after it, though both are Reshapes."""
    operator = find("LSTMSequence", "opset5")
    assert operator is not None
    x = RNG.standard_normal((3, 2, 4)).astype(np.float32)  # Time, batch, features.
    state, weights = np.zeros((2, 1, 5), np.float32), RNG.standard_normal((1, 20, 9)).astype(np.float32)
    others = (state, state, np.int32([3, 3]), weights[..., :4], weights[..., 4:], np.zeros((1, 20), np.float32))
    given = {"hidden_size": 5, "direction": "forward"}
    right = operator(x.transpose(1, 0, 2), *others, **given)
    found = TimeFirst(operator)(x.reshape(2, 3, 4), *others, **given)
    np.testing.assert_array_equal(found[0].reshape(3, 1, 2, 5), right[0].transpose(2, 1, 0, 3))
    for array, state in zip(found[1:], right[1:], strict=True):
        np.testing.assert_array_equal(array, state)


def test_relaxed_results_are_rounded_and_integers_computed_as_real_numbers() -> None:
    subtract, quantize = find("Subtract", "opset1"), find("FakeQuantize", "opset1")
    assert subtract is not None and quantize is not None
    made = Relaxed.of(subtract, {"output_data_types": "f32"})
    np.testing.assert_array_equal(made(np.uint8([1, 200]), np.uint8([128, 128])), np.float32([-127, 72]))
    types = [TensorType(U8, PartialShape([2]))] * 2
    assert made.infer(types, {})[0].element_type is F32
    made = Relaxed.of(quantize, {"output_data_types": "i8"})
    limits = (np.float32(0), np.float32(2.55), np.float32(-128), np.float32(127))
    found = made(np.float32([0, 0.01, 1.27, 9]), *limits, levels=256)
    np.testing.assert_array_equal(found, np.int8([-128, -127, -1, 127]))


def test_indices_of_any_integer_type() -> None:
    operator = REGISTRY["GatherCompressed", INTERNAL]
    found = operator(U4, np.uint8([2, 0]), np.int64(0), ROWS)
    np.testing.assert_allclose(found, (U4 * ROWS)[[2, 0]])


@pytest.mark.parametrize(
    "layout", ["is_chatglm", "is_qwen", "is_ltx_video", "support_2d_rope", "support_3d_rope", "use_rope_cache"]
)
def test_layouts_of_rope_that_are_not_computed_are_refused(layout: str) -> None:
    operator = REGISTRY["RoPE", INTERNAL]
    with pytest.raises(ConstraintError, match=f"the layout that {layout} selects is not supported"):
        operator(HEADS, *TWICE, rotary_ndims=4, **{layout: True})


def test_gru_with_an_attention_score() -> None:
    """A score of 0 leaves the GRU as it is, and a score of 1 takes the candidate instead of the state."""
    cell, gru = REGISTRY["AUGRUCell", INTERNAL], find("GRUCell", "opset3")
    assert gru is not None
    x, state = (RNG.standard_normal((2, size)).astype(np.float32) for size in (4, 5))
    gates = [RNG.standard_normal(shape).astype(np.float32) for shape in ((15, 4), (15, 5), (15,))]
    scores = np.zeros((2, 1), np.float32)
    right = gru(x, state, *gates, hidden_size=5)
    np.testing.assert_allclose(cell(x, state, *gates, scores, hidden_size=5), right, rtol=1e-5, atol=1e-6)
    reset = 1 / (1 + np.exp(-(x @ gates[0][5:10].T + state @ gates[1][5:10].T + gates[2][5:10])))
    candidate = np.tanh(x @ gates[0][10:].T + (reset * state) @ gates[1][10:].T + gates[2][10:])
    found = cell(x, state, *gates, scores + 1, hidden_size=5)
    np.testing.assert_allclose(found, candidate, rtol=1e-5, atol=1e-6)
    with pytest.raises(ConstraintError, match="linear_before_reset is not supported"):
        cell(x, state, *gates, scores, hidden_size=5, linear_before_reset=True)


def test_a_sequence_with_attention_scores() -> None:
    cell, sequence = (REGISTRY[name, INTERNAL] for name in ("AUGRUCell", "AUGRUSequence"))
    x = RNG.standard_normal((2, 3, 4)).astype(np.float32)
    scores, state = RNG.uniform(0, 1, (2, 3, 1)).astype(np.float32), np.zeros((2, 1, 5), np.float32)
    gates = [RNG.standard_normal((1, *shape)).astype(np.float32) for shape in ((15, 4), (15, 5), (15,))]
    steps, last = sequence(x, state, np.int32([3, 2]), *gates, scores, hidden_size=5)
    now = state[:, 0]
    for number in range(3):
        now = cell(x[:, number], now, *(gate[0] for gate in gates), scores[:, number], hidden_size=5)
        np.testing.assert_array_equal(steps[0, 0, number], now[0])
    np.testing.assert_array_equal(steps[1, 0, 2], 0)
    np.testing.assert_array_equal(last[1, 0], steps[1, 0, 1])
    with pytest.raises(ConstraintError, match="W has 14 rows, expected 15"):
        sequence(x, state, np.int32([3, 2]), gates[0][:, :14], *gates[1:], scores, hidden_size=5)
