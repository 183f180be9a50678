"""Translators of com.microsoft operators that fuse a few operators: products, activations and norms.

Source: ONNX Runtime's list of contributed operators.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.types import F32, F64, I32, I64
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Input, Op
from irexec.frontends.onnx.operators.convolution import convolved, spatial, with_bias
from irexec.frontends.onnx.operators.matrix import check_product
from irexec.frontends.onnx.operators.normalization import normalized
from irexec.frontends.onnx.registry import MICROSOFT, Translator, corresponds, translates
from irexec.model.graph.model import Value


def microsoft(*operators: str, shapes: str = "") -> Callable[[Translator], Translator]:
    """Return a decorator that registers a translator for operators of ONNX Runtime's own domain, whose version is 1."""
    return translates(*operators, since=(1,), domain=MICROSOFT, shapes=shapes)


@microsoft("FusedMatMul", "TransposeMatMul")
def _fused_matmul(op: Op) -> Value:
    options = {"transpose_a": op.flag("transA"), "transpose_b": op.flag("transB")}
    a, b = op[0], op[1]
    # With transBatch, the first axis contains the rows.
    a = moved(op, a, 0, op.needs_rank(0) - 2) if op.flag("transBatchA") else a
    b = moved(op, b, 0, op.needs_rank(1) - 2) if op.flag("transBatchB") else b
    product, alpha = op.make("MatMul", a, b, **options), op.number("alpha", 1.0)
    return product if alpha == 1 else op.make("Multiply", product, op.like(alpha))


corresponds("Gelu", "Gelu", since=(1,), domain=MICROSOFT, opset=7, approximation_mode="erf")


@microsoft("BiasGelu", shapes="A: ... H; B: H")
def _bias_gelu(op: Op) -> Value:
    return op.make("Gelu", op.make("Add", op[0], op[1]), opset=7, approximation_mode="erf")


@microsoft("FastGelu", shapes="X: ... H; bias: H")
def _fast_gelu(op: Op) -> Value:
    return op.make("Gelu", plus(op, op[0], op.get(1)), opset=7, approximation_mode="tanh")


@microsoft("QuickGelu")
def _quick_gelu(op: Op) -> Value:
    return op.make("Swish", op[0], op.like(op.number("alpha", 1.702)), opset=4)


def plus(op: Op, x: Value, other: Value | None) -> Value:
    """Return the sum, or the value itself if there is no other operand."""
    return x if other is None else op.make("Add", x, other)


def moved(op: Op, x: Value, axis: int, to: int) -> Value:
    """Return the value with one axis moved."""
    order = [i for i in range(x.type.shape.rank or 0) if i != axis]
    order.insert(to, axis)
    return op.make("Transpose", x, order)


# Norms


def root_mean_square(op: Op, x: Value, scale: Value, axes: Input, epsilon: float) -> tuple[Value, Value]:
    """Return x divided by its root mean square and multiplied by the scale, and the factor that was applied to it."""
    wide = x if x.element_type is F64 else op.convert(x, F32)
    squares = op.make("Multiply", wide, wide)
    mean = op.make("ReduceMean", squares, axes, keep_dims=True)
    root = op.make("Sqrt", op.make("Add", mean, op.number_of(epsilon, wide)))
    inverse = op.make("Divide", op.number_of(1, wide), root)
    normal = op.convert(op.make("Multiply", wide, inverse), x.element_type)
    return op.make("Multiply", normal, scale), inverse


@microsoft("SimplifiedLayerNormalization", shapes="X:; scale: <X")
def _simplified(op: Op) -> list[Value]:
    axes = op.axes_from(op.axis("axis", -1))
    op.integer("stash_type", 1)
    return list(root_mean_square(op, op[0], op[1], axes, op.number("epsilon", 1e-5)))


@microsoft("SkipLayerNormalization", shapes="input: ... H; skip: <input; gamma: H; beta: H; bias: H")
def _skip_layer_norm(op: Op) -> list[Value | None]:
    total = plus(op, op.make("Add", op[0], op[1]), op.get(4))
    return [layer_norm(op, total, op[2], op.get(3), op.number("epsilon", 1e-12)), None, None, total]


@microsoft("SkipSimplifiedLayerNormalization", shapes="input: ... H; skip: <input; gamma: H; bias: H")
def _skip_simplified(op: Op) -> list[Value | None]:
    total = plus(op, op.make("Add", op[0], op[1]), op.get(3))
    normal, _ = root_mean_square(op, total, op[2], [-1], op.number("epsilon", 1e-12))
    return [normal, None, None, total]


def layer_norm(op: Op, x: Value, scale: Value, bias: Value | None, epsilon: float) -> Value:
    """Return the value normalized along the last axis."""
    wide = x if x.element_type is F64 else op.convert(x, F32)
    normal = op.convert(normalized(op, wide, [-1], epsilon), x.element_type)
    return plus(op, op.make("Multiply", normal, scale), bias)


@microsoft(
    "EmbedLayerNormalization",
    shapes="input_ids: N T; segment_ids: N T; word_embedding: _ H; position_embedding: _ H; segment_embedding: _ H;"
    " gamma: H; beta: H; mask: N T; position_ids: N T | 1 T",
)
def _embed_layer_norm(op: Op) -> list[Value]:
    return embedded(op)


def embedded(op: Op) -> list[Value]:
    """Return normalized embeddings of words, positions and segments; the number of words of each row; and the sum."""
    ids, mask = op[0], op.get(7)
    times = op.extent(ids, 1)
    positions = op.get(8) or op.make("Range", 0, times, 1, opset=4, output_type=I64)
    words = op.make("Gather", op[2], ids, 0, opset=7)
    total = op.make("Add", words, op.make("Gather", op[3], positions, 0, opset=7))
    segments, table = op.get(1), op.get(4)
    if segments is not None and table is not None:
        total = op.make("Add", total, op.make("Gather", table, segments, 0, opset=7))
    normal = layer_norm(op, total, op[5], op[6], op.number("epsilon", 1e-12))
    op.integer("mask_index_type", 0)
    batch = op.extent(ids, [0])
    if mask is None:
        counts = op.make("Broadcast", op.constant(np.array(0, np.int32)), batch, opset=3)
    else:
        counts = op.make("ReduceSum", op.convert(mask, I32), [1], keep_dims=False)
    return [normal, counts, total]


# Products fused with a following operator


@microsoft("FusedConv", shapes="X:; W: M ...; B: M")
def _fused_conv(op: Op) -> Value:
    made = with_bias(op, convolved(op, op[0], op[1]), op.get(2), spatial(op, op[0], like=op.rank(1)) + 2)
    return _activated(op, plus(op, made, op.get(3)), op.numbers("activation_params") or [])


@microsoft("FusedGemm")
def _fused_gemm(op: Op) -> Value:
    check_product(op)
    options = {"transpose_a": op.flag("transA"), "transpose_b": op.flag("transB")}
    product = op.make("MatMul", op[0], op[1], **options)
    result = op.make("Multiply", product, op.like(op.number("alpha", 1.0)))
    added, beta = op.get(2), op.like(op.number("beta", 1.0))
    if added is not None:
        result = op.make("Add", result, op.make("Multiply", added, beta))
    params = [op.number(name) for name in ("activation_alpha", "activation_beta", "activation_gamma") if op.has(name)]
    return _activated(op, result, params)


def _activated(op: Op, x: Value, params: list[float]) -> Value:
    name = op.text("activation", "")
    numbers = [op.number_of(p, x) for p in params]
    if name == "":
        return x
    plain: dict[str, tuple[str, int]] = {"Relu": ("ReLU", 1), "Sigmoid": ("Sigmoid", 1), "Tanh": ("Tanh", 1)}
    if name in plain:
        return op.make(plain[name][0], x, opset=plain[name][1])
    if name == "LeakyRelu":
        return op.make("PReLU", x, *(numbers[:1] or [op.number_of(0.01, x)]))
    if name == "Clip" and len(params) >= 2:
        return op.make("Clamp", x, min=params[0], max=params[1])
    if name == "HardSigmoid":
        defaults: list[Any] = [op.number_of(0.2, x), op.number_of(0.5, x)]
        return op.make("HardSigmoid", x, *(numbers + defaults[len(numbers) :])[:2])
    raise Refused("F009", f"the activation {name!r} is not supported", attribute="activation", found=name)


corresponds("Inverse", "Inverse", since=(1,), domain=MICROSOFT, opset=14, adjoint=False)
