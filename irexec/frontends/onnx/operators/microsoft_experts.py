"""Translators of com.microsoft's mixtures of experts. All experts process all tokens; those not chosen have weight 0.

Source: ONNX Runtime's list of contributed operators.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from irexec.core.types import Array
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import microsoft
from irexec.frontends.onnx.operators.microsoft_weights import unpacked
from irexec.model.graph.model import Value

# Number of a layer of the experts → its weights [experts, outputs, inputs] and its bias [experts, outputs], if any.
Layer = Callable[[int], tuple[Value, Value | None] | None]


@microsoft(
    "MoE",
    shapes="input: ... H; router_probs: _ E; fc1_experts_weights: E _ H; fc1_experts_bias: E _;"
    " fc2_experts_weights: E H I; fc2_experts_bias: E H; fc3_experts_weights: E I H; fc3_experts_bias: E I",
)
def _experts(op: Op) -> Value:
    def layer(number: int) -> tuple[Value, Value | None] | None:
        weights = op.get(2 * number)
        return None if weights is None else (weights, op.get(2 * number + 1))

    return _mixed(op, layer, None)


@microsoft(
    "QMoE",
    shapes="input: ... H; router_probs: _ E; fc1_experts_weights: E F _; fc1_scales: E F ...; fc1_experts_bias: E F;"
    " fc2_experts_weights: E H _; fc2_scales: E H ...; fc2_experts_bias: E H; fc3_experts_weights: E I _;"
    " fc3_scales: E I ...; fc3_experts_bias: E I",
)
def _quantized_experts(op: Op) -> Value:
    if op.text("quant_type", "int") != "int":
        op.refuse("low-bit floating-point weights are not supported", attribute="quant_type")
    if op.integer("weights_prepacked", 0) == 1:
        op.refuse("weights in the layout of another device are not supported", attribute="weights_prepacked")
    op.integer("accuracy_level", 0)
    bits, block = op.integer("expert_weight_bits", 4), op.integer("block_size", 0)
    if any(op.get(i) is not None for i in range(15, 21)):
        op.refuse("activation scales and global scales are not supported")
    widths = [op.integer(f"fc{number}_expert_weight_bits", bits) for number in (1, 2, 3)]

    def layer(number: int) -> tuple[Value, Value | None] | None:
        first, width = 3 * number - 1, widths[number - 1]
        if op.get(first) is None:
            return None
        packed, scales, zeros = op.known(first), op.known(first + 1), op.known(10 + number)
        if packed is None or scales is None or (op.get(10 + number) is not None and zeros is None):
            op.refuse("weights, scales and zero points must be constants")
        if width not in (2, 4, 8) or packed.ndim != 3 or scales.ndim not in (2, 3):
            op.refuse(f"weights of {width} bits and rank {packed.ndim} are not supported")
        return op.constant(_numbers(packed, scales, zeros, width, block).astype(op.kind().dtype)), op.get(first + 2)

    return _mixed(op, layer, op.get(14))


def _numbers(packed: Array, scales: Array, zeros: Array | None, bits: int, block: int) -> Array:
    """Return [experts, outputs, inputs]: the values of packed weights."""
    codes = unpacked(packed, bits).astype(np.float32)
    steps = scales.astype(np.float32).reshape(*codes.shape[:2], -1)
    places = np.arange(codes.shape[2]) // block if block else np.zeros(codes.shape[2], int)
    middle = np.full(steps.shape, 1 << (bits - 1), np.float32)
    if zeros is not None:
        found = unpacked(zeros, bits).astype(np.float32)
        middle = found[..., : steps.shape[2]] if zeros.ndim == 3 else found[:, : steps.shape[1], None]
    return np.asarray((codes - middle[..., places]) * steps[..., places])


def _mixed(op: Op, layer: Layer, weights: Value | None) -> Value:
    """Return the weighted sum of the chosen experts' outputs for each token."""
    if op.flag("use_sparse_mixer"):
        op.refuse("routing by SparseMixer is not supported", attribute="use_sparse_mixer")
    chosen = _chosen(op, op[1], weights)
    size = op[0].type.shape[-1]
    tokens = op.reshape(op[0], [1, -1, size.value if size.is_static else -1])
    inner = _activated(op, _of_layer(op, tokens, layer(1)), layer(3), tokens)
    made = _of_layer(op, inner, layer(2))
    each = op.make("Unsqueeze", op.make("Transpose", chosen, [1, 0]), [2])
    total = op.make("ReduceSum", op.make("Multiply", made, each), [0], keep_dims=False)
    return op.reshape(total, op.shape_of(op[0]))


def _chosen(op: Op, scores: Value, given: Value | None) -> Value:
    """Return [tokens, experts]: the weights of the chosen experts, and 0 for all other experts."""
    best = op.make_node(
        "TopK", scores, op.integer("k", 1), opset=11, axis=-1, mode="max", sort="value",
        index_element_type="i64", stable=True,
    )  # fmt: skip
    if given is not None:
        kept = op.make("GatherElements", given, best.outputs[1], opset=6, axis=1)
        if op.flag("normalize_routing_weights"):
            kept = op.make("Divide", kept, op.make("ReduceSum", kept, [1], keep_dims=True))
    elif op.flag("normalize_routing_weights"):
        kept = op.make("SoftMax", best.outputs[0], opset=8, axis=1)
    else:
        kept = op.make("GatherElements", op.make("SoftMax", scores, opset=8, axis=1), best.outputs[1], opset=6, axis=1)
    nothing = op.make("Multiply", scores, op.number_of(0, scores))
    return op.make("ScatterElementsUpdate", nothing, best.outputs[1], kept, 1, opset=12)


def _of_layer(op: Op, x: Value, layer: tuple[Value, Value | None] | None) -> Value:
    if layer is None:
        op.refuse("the weights of an expert layer are missing")
    weights, bias = layer
    made = op.make("MatMul", x, weights, transpose_b=True)
    return made if bias is None else op.make("Add", made, op.make("Unsqueeze", bias, [1]))


def _activated(op: Op, x: Value, third: tuple[Value, Value | None] | None, tokens: Value) -> Value:
    name = op.text("activation_type", "relu", allowed=("relu", "gelu", "silu", "swiglu", "identity"))
    alpha, beta = op.number("activation_alpha", 1.0), op.number("activation_beta", 0.0)
    limit, fusion = op.number("swiglu_limit", np.inf), op.integer("swiglu_fusion", 0)
    if name == "gelu":
        return op.make("Gelu", x, opset=7, approximation_mode="tanh")
    if name in ("relu", "silu"):
        made = op.make("ReLU", x) if name == "relu" else op.make("Swish", x, opset=4)
        return made if third is None else op.make("Multiply", made, _of_layer(op, tokens, third))
    if name == "identity":
        return x
    if fusion == 1:
        first_two = op.make("Slice", op.shape_of(x), [0], [2], [1], opset=8)
        pairs = op.reshape(x, op.make("Concat", first_two, [-1, 2], axis=0))
        gate, linear = (op.make("Gather", pairs, i, 3, opset=8) for i in (0, 1))
    elif fusion == 2:
        gate, linear = op.make_node("Split", x, 2, num_splits=2).outputs
    else:
        gate, linear = x, _of_layer(op, tokens, third)
    if np.isfinite(limit):
        gate = op.make("Minimum", gate, op.number_of(limit, gate))
        linear = op.make("Clamp", linear, min=-limit, max=limit)
    opened = op.make("Swish", gate, op.number_of(alpha, gate), opset=4)
    return op.make("Multiply", opened, op.make("Add", linear, op.number_of(beta, linear)))
