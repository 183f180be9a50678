"""MOE: a mixture of experts, without the router that weights them.

Source: operation page MOE and OpenVINO's class ov::op::internal::MOE. The page's code of GEMM3_SWIGLU never uses the
second projection, `x_proj2`; the layers that the fusion replaces multiply it by the activated first one. The page
stores the weights of GEMM2_BIAS_SWIGLU_CLAMP as [inputs, outputs], and the class as [outputs, inputs]: the shapes show
which it is. The page spells the types of experts in capitals. It has routing weights of all experts, and the class
those of the selected ones.
"""

from __future__ import annotations

from math import prod
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.activation.formulas import gelu_erf, gelu_tanh, swish
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import Within
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.tensors import EachIndexTensor, FloatTensor

Activation: TypeAlias = Literal["swiglu", "geglu_tanh", "geglu_erf"]


@operator("MOE", "ie_internal_opset", tolerance=rounded(64))
def moe(
    hidden_states: FloatTensor,
    routing_weights: FloatTensor,
    router_topk_output_indices: EachIndexTensor,
    weight_0: FloatTensor,
    /,
    *others: FloatTensor,
    expert_type: Literal["gemm2_bias_swiglu_clamp", "gemm3_swiglu"],
    expert_alpha: float = 0.0,
    expert_beta: float = 1.0,
    gate_idx: Annotated[int, Within(ge=0, le=1)] = 1,
    activation_type: Activation = "swiglu",
) -> FloatTensor:
    """The sum of the results of all experts for each token [..., H] of `hidden_states`, by their weights.

    `routing_weights` are [experts, ..., 1] of all tokens, or [tokens, selected] of the experts in
    `router_topk_output_indices`. gemm3_swiglu: `others` are weight_1 and weight_2, and an expert computes
    (act(x · `weight_0`ᵀ) * (x · weight_1ᵀ)) · weight_2ᵀ with weights [experts, I, H], [experts, I, H] and
    [experts, H, I]. gemm2_bias_swiglu_clamp: `others` are bias_0, weight_1 and, optionally, bias_1; the columns of
    x · `weight_0` + bias_0 are alternately of the gate, whose first is column `gate_idx`, and of the other factor. The
    gate is limited to `expert_alpha` from above, and the other factor to ±`expert_alpha` before 1 is added to it.
    Weights are [experts, H, 2 I] and [experts, I, H], or transposed. `expert_beta` belongs to Swish.

    C1: there are as many inputs as the type of the experts has. C2: the weights have these shapes. C3: biases have an
    element for each output of each expert, or none. C4: the routing weights have one of these shapes.
    C5: gemm2_bias_swiglu_clamp has the activation swiglu. C6: the indices are of experts.
    """
    x = widen(hidden_states).reshape(prod(hidden_states.shape[:-1]), hidden_states.shape[-1])
    tensors = [widen(each) for each in (weight_0, *others)]
    shares = _shares(widen(routing_weights), router_topk_output_indices, len(weight_0), len(x))
    result = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for expert, share in enumerate(shares):
            chosen = np.flatnonzero(share)
            rows = x[chosen]
            if expert_type == "gemm3_swiglu":
                gate, up, down = (tensor[expert].T for tensor in tensors)
                made = (_activated(rows @ gate, activation_type, expert_beta) * (rows @ up)) @ down
            else:
                first, bias, second, *last = tensors
                if not _holds_inputs_first(first.shape, second.shape, x.shape[-1]):
                    first, second = first.swapaxes(1, 2), second.swapaxes(1, 2)
                both = _biased(rows @ first[expert], bias, expert)
                gate, up = both[:, gate_idx::2], both[:, 1 - gate_idx :: 2]
                gate = _activated(np.minimum(gate, x.dtype.type(expert_alpha)), "swiglu", expert_beta)
                made = gate * (np.clip(up, -expert_alpha, expert_alpha) + 1) @ second[expert]
                made = _biased(made, last[0], expert) if last else made
            result[chosen] += made * share[chosen, None]
    return narrow(result.reshape(hidden_states.shape), hidden_states.dtype)


def _shares(weights: Array, indices: Array, experts: int, tokens: int) -> Array:
    """Return the weight of each expert for each token."""
    if weights.ndim != 2:
        return weights.reshape(experts, tokens)
    in_range(require, "C6", "router_topk_output_indices", indices, 0, experts - 1)
    found = np.zeros((experts, tokens), weights.dtype)
    np.add.at(found, (indices, np.arange(tokens)[:, None]), weights)
    return found


def _activated(x: Array, activation: Activation, beta: float) -> Array:
    flat = x.reshape(-1)
    made = (
        swish(flat, beta)
        if activation == "swiglu"
        else {"geglu_tanh": gelu_tanh, "geglu_erf": gelu_erf}[activation](flat)
    )
    return np.asarray(made).reshape(x.shape)


def _biased(x: Array, bias: Array, expert: int) -> Array:
    return x + bias[expert].reshape(-1) if bias.size else x


def _holds_inputs_first(first: tuple[int, ...], second: tuple[int, ...], hidden: int) -> bool:
    """Return True for weights [experts, inputs, outputs]; the other order cannot have the same shapes."""
    return first[1] == hidden == second[2] and first[2] == 2 * second[1]


@moe.shapes
def _(
    check: Check,
    hidden_states: TensorType,
    routing_weights: TensorType,
    router_topk_output_indices: TensorType,
    weight_0: TensorType,
    *others: TensorType | None,
    expert_type: str,
    activation_type: str,
) -> PartialShape:
    result, is_three = hidden_states.shape, expert_type == "gemm3_swiglu"
    fits = is_three or activation_type == "swiglu"
    check("C5", fits, f"the activation is {activation_type}, expected swiglu", attribute="activation_type")
    given = [weight_0, *(other for other in others if other is not None)]
    count, allowed = 3 + len(given), (6,) if is_three else (6, 7)
    text = f"{expert_type} has {count} inputs, expected {' or '.join(map(str, allowed))}"
    if not check("C1", count in allowed, text):
        return result
    if not check("C2", result.rank != 0, "hidden_states is a scalar, expected [..., H]", port="hidden_states"):
        return result
    extents = Extents(check)
    if result.rank is not None:
        extents.found["H"] = result[-1]
    if is_three:
        for name, tensor, pattern in zip(_WEIGHTS, given, ("E I H", "E I H", "E H I"), strict=True):
            extents.match("C2", name, tensor, *pattern.split())
    else:
        _check_two(check, extents, given)
    _check_shares(check, extents, result, routing_weights, router_topk_output_indices)
    return result


_WEIGHTS = ("weight_0", "weight_1", "weight_2")


def _check_two(check: Check, extents: Extents, given: list[TensorType]) -> None:
    """Check C2 and C3 of two products with biases."""
    first, bias, second, *last = given
    patterns = "E W0 W1", "E I0 I1"  # The order is not known yet.
    if first.shape.is_static and second.shape.is_static and first.rank == second.rank == 3 and extents["H"].is_static:
        is_first = _holds_inputs_first(first.shape.to_shape(), second.shape.to_shape(), extents["H"].value)
        patterns = ("E H W", "E I H") if is_first else ("E W H", "E H I")
    for name, tensor, pattern in zip(_WEIGHTS, (first, second), patterns, strict=False):
        if not extents.match("C2", name, tensor, *pattern.split()):
            return
    inner, wide = extents["I"], extents["W"]
    if inner.is_static:
        text = f"weight_0 has {wide} columns, expected {2 * inner.value}"
        check("C2", wide.compatible(2 * inner.value), text, port="weight_0")
    for name, tensor, outputs in (("bias_0", bias, wide), *(("bias_1", each, extents["H"]) for each in last)):
        if tensor.shape.is_static and extents["E"].is_static and outputs.is_static:
            fits = tensor.shape.size.value in (0, extents["E"].value * outputs.value)
            text = f"{name} has shape {tensor.shape}, expected [{extents['E']}, {outputs}]"
            check("C3", fits, text, port=name)


def _check_shares(
    check: Check, extents: Extents, hidden: PartialShape, weights: TensorType, indices: TensorType
) -> None:
    """Check the shapes of C4."""
    if not hidden.is_static:
        return
    tokens, experts, count = prod(hidden.to_shape()[:-1]), extents["E"], weights.shape.size
    if weights.rank == 2:
        extents.found["tokens"] = Dimension(tokens)
        for name, tensor in (("routing_weights", weights), ("router_topk_output_indices", indices)):
            extents.match("C4", name, tensor, "tokens", "selected")
    elif count.is_static and experts.is_static:
        text = f"routing_weights has shape {weights.shape}, for {experts} experts and {tokens} tokens"
        check("C4", count.value == experts.value * tokens, text, port="routing_weights")
