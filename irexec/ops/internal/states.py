"""Recurrences over a state that is a matrix: gated delta rules and selective state spaces, also with paged states.

Source: operation pages GatedDeltaNet, SelectiveSSM, PagedGatedDeltaNet, PagedSelectiveSSM and PagedCausalConv1D. In a
paged state table, a sequence continues from its first block. The states that OpenVINO writes into the table are not a
result of the layer. Pages of some releases differ from what the CPU plugin computes: GatedDeltaNet's example once
declared a last state [64, 64] where the formula gives [64, 128], the code of PagedGatedDeltaNet lacks the exponential
of `gate` and the scale of `query`, and the code of PagedCausalConv1D reads the last block.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range, integers
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import Above0
from irexec.ops.spec.operator import Check, Operator, operator, require, rounded
from irexec.ops.spec.tensors import EachFloatTensor, EachIndexTensor, FloatTensor

_OPSET = "ie_internal_opset"


def _normalized(x: Array, epsilon: float) -> Array:
    return np.asarray(x / np.sqrt((x * x).sum(-1, keepdims=True) + x.dtype.type(epsilon)))


def _repeated(x: Array, heads: int, axis: int) -> Array:
    """Return heads that several consecutive heads share, once for each of them."""
    return np.repeat(x, heads // max(x.shape[axis], 1), axis)


def _delta(query: Array, key: Array, value: Array, state: Array, gate: Array, beta: Array) -> tuple[Array, Array]:
    """Return the results [batch, time, heads, value size], and the last state [batch, heads, key size, value size]."""
    query, key = (_repeated(x, value.shape[2], 2) for x in (query, key))
    query = query * query.dtype.type(1 / np.sqrt(max(query.shape[-1], 1)))
    result = np.empty(value.shape, value.dtype)
    with np.errstate(all="ignore"):
        factors = np.exp(gate)
        for now in range(value.shape[1]):
            state = state * factors[:, now, :, None, None]
            known = (key[:, now, :, None] @ state)[..., 0, :]
            change = (value[:, now] - known) * beta[:, now, :, None]
            state = state + key[:, now, :, :, None] * change[..., None, :]
            result[:, now] = (query[:, now, :, None] @ state)[..., 0, :]
    return result, state


def _selective(a: Array, dt: Array, b: Array, x: Array, c: Array, state: Array) -> tuple[Array, Array]:
    """Return the results [batch, time, heads, head size], and the last state [batch, heads, head size, state size]."""
    b, c = (_repeated(each, x.shape[2], 2) for each in (b, c))
    result = np.empty(x.shape, x.dtype)
    with np.errstate(all="ignore"):
        factors, steps = np.exp(a * dt), dt[..., None] * b
        for now in range(x.shape[1]):
            state = state * factors[:, now, :, None, None] + x[:, now, :, :, None] * steps[:, now, :, None]
            result[:, now] = (state @ c[:, now, :, :, None])[..., 0]
    return result, state


@operator("GatedDeltaNet", _OPSET, tolerance=rounded(64))
def gated_delta_net(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    recurrent_state: FloatTensor,
    gate: FloatTensor,
    beta: FloatTensor,
    /,
    *,
    fuse_qk_l2norm: bool = False,
    q_l2_norm_eps: Above0 = 1e-6,
    k_l2_norm_eps: Above0 = 1e-6,
) -> tuple[FloatTensor, FloatTensor]:
    """The products of a state and `query` / sqrt(K) after each time step, and the last state.

    A step multiplies the state by exp(`gate`) and adds the outer product of `key` and `beta` * (`value` - `key` ·
    state). `query` and `key` are [B, T, H, K], `value` is [B, T, HV, V], `recurrent_state` is [B, HV, K, V], and
    `gate` and `beta` are [B, T, HV]; HV / H consecutive heads share a query and a key. The page calls
    `fuse_qk_l2norm` use_qk_l2norm.

    C1: the inputs have these shapes. C2: H divides HV.
    """
    inputs = [widen(each) for each in (query, key, value, recurrent_state, gate, beta)]
    if fuse_qk_l2norm:
        inputs[:2] = _normalized(inputs[0], q_l2_norm_eps), _normalized(inputs[1], k_l2_norm_eps)
    result, state = _delta(*inputs)
    return narrow(result, query.dtype), narrow(state, query.dtype)


@operator("SelectiveSSM", _OPSET, tolerance=rounded(64))
def selective_ssm(
    A: FloatTensor, dt: FloatTensor, B: FloatTensor, x: FloatTensor, C: FloatTensor, recurrent_state: FloatTensor, /
) -> tuple[FloatTensor, FloatTensor]:
    """The products of a state and `C` after each time step, and the last state.

    A step multiplies the state by exp(`A` * `dt`) and adds the outer product of `x` and `dt` * `B`. `A` is [H], `dt`
    [N, T, H], `B` and `C` [N, T, G, S], `x` [N, T, H, D], and `recurrent_state` [N, H, D, S]; H / G consecutive heads
    share a row of `B` and of `C`.

    C1: the inputs have these shapes. C2: G divides H.
    """
    result, state = _selective(*(widen(each) for each in (A, dt, B, x, C, recurrent_state)))
    return narrow(result, x.dtype), narrow(state, x.dtype)


@operator("PagedGatedDeltaNet", _OPSET, tolerance=rounded(64))
def paged_gated_delta_net(
    query: FloatTensor,
    key: FloatTensor,
    value: FloatTensor,
    recurrent_state_table: FloatTensor,
    gate: FloatTensor,
    beta: FloatTensor,
    subsequence_begins: EachIndexTensor,
    la_block_indices: EachIndexTensor,
    la_block_indices_begins: EachIndexTensor,
    processed_tokens: EachIndexTensor,
    cache_interval: EachIndexTensor,
    /,
    *,
    use_qk_l2norm: bool = False,
    q_l2_norm_eps: Above0 = 1e-6,
    k_l2_norm_eps: Above0 = 1e-6,
) -> FloatTensor:
    """GatedDeltaNet over sequences that are stored one after the other, whose states are blocks of a table.

    `query` and `key` are [tokens, H, K], `value` is [tokens, HV, V], `recurrent_state_table` is [blocks, HV, V, K],
    and `gate` and `beta` are [tokens, HV]. The states in the table are transposed.

    C1: the inputs have these shapes. C2: H divides HV. C3: `subsequence_begins` ascends from 0 to the number of
    tokens. C4: each sequence has a block in the table.
    """
    q, k, v, table, g, b = (widen(each) for each in (query, key, value, recurrent_state_table, gate, beta))
    if use_qk_l2norm:
        q, k = _normalized(q, q_l2_norm_eps), _normalized(k, k_l2_norm_eps)
    result = np.empty(v.shape, v.dtype)
    for tokens, block in _sequences(subsequence_begins, la_block_indices, la_block_indices_begins, len(v), len(table)):
        states = table[None, block].swapaxes(-1, -2)
        one = np.s_[None, tokens]
        result[tokens] = _delta(q[one], k[one], v[one], states, g[one], b[one])[0][0]
    return narrow(result, query.dtype)


@operator("PagedSelectiveSSM", _OPSET, tolerance=rounded(64))
def paged_selective_ssm(
    A: FloatTensor,
    dt: FloatTensor,
    B: FloatTensor,
    x: FloatTensor,
    C: FloatTensor,
    recurrent_state_table: FloatTensor,
    subsequence_begins: EachIndexTensor,
    la_block_indices: EachIndexTensor,
    la_block_indices_begins: EachIndexTensor,
    num_processed_tokens: EachIndexTensor,
    cache_interval: EachIndexTensor,
    /,
) -> FloatTensor:
    """SelectiveSSM over sequences that are stored one after the other, whose states are blocks of a table.

    `A` is [H], `dt` [tokens, H], `B` and `C` [tokens, G, S], `x` [tokens, H, D], and `recurrent_state_table`
    [blocks, H, D, S].

    C1: the inputs have these shapes. C2: G divides H. C3: `subsequence_begins` ascends from 0 to the number of
    tokens. C4: each sequence has a block in the table.
    """
    a, step, b, wide, c, table = (widen(each) for each in (A, dt, B, x, C, recurrent_state_table))
    result = np.empty(wide.shape, wide.dtype)
    for tokens, block in _sequences(
        subsequence_begins, la_block_indices, la_block_indices_begins, len(wide), len(table)
    ):
        one = np.s_[None, tokens]
        result[tokens] = _selective(a, step[one], b[one], wide[one], c[one], table[None, block])[0][0]
    return narrow(result, x.dtype)


@operator("PagedCausalConv1D", _OPSET, tolerance=rounded(64))
def paged_causal_conv1d(
    input_embeds: FloatTensor,
    conv_state_table: EachFloatTensor,
    conv_weight: FloatTensor,
    conv_bias: FloatTensor,
    subsequence_begins: EachIndexTensor,
    la_block_indices: EachIndexTensor,
    la_block_indices_begins: EachIndexTensor,
    num_processed_tokens: EachIndexTensor,
    cache_interval: EachIndexTensor,
    /,
) -> FloatTensor:
    """A grouped convolution along the tokens of each sequence, over a window that ends with the token.

    `input_embeds` `[tokens, hidden]` are the tokens of all sequences, one after the other; before them come the last
    columns of a block of `conv_state_table` `[blocks, hidden, kernel]`. `conv_weight` is [hidden, channels of a group,
    kernel], and `conv_bias` is [hidden] or empty.

    C1: the inputs have these shapes. C2: the channels of a group divide `hidden`. C3:
    `subsequence_begins` ascends from 0 to the number of tokens. C4: each sequence has a block in the table.
    """
    x, table, weight = (widen(each) for each in (input_embeds, conv_state_table, conv_weight))
    hidden, channels, size = weight.shape
    weight = weight.reshape(hidden // channels, channels, channels, size)
    result = np.empty(x.shape, x.dtype)
    for tokens, block in _sequences(subsequence_begins, la_block_indices, la_block_indices_begins, len(x), len(table)):
        joined = np.concatenate([table[block][:, 1:].astype(x.dtype), x[tokens].T], 1)
        windows = np.lib.stride_tricks.sliding_window_view(joined, size, 1)[:, : tokens.stop - tokens.start]
        windows = windows.reshape(len(weight), channels, *windows.shape[1:])
        result[tokens] = np.einsum("gitk,goik->tgo", windows, weight).reshape(x[tokens].shape)
    if conv_bias.size:
        result += widen(conv_bias)
    return narrow(result, input_embeds.dtype)


def _sequences(
    begins: Array, blocks: Array, block_begins: Array, tokens: int, size: int
) -> Iterator[tuple[slice, int]]:
    """Yield the tokens of each sequence, and the block from which it continues. Raises ConstraintError C3 and C4."""
    starts, first = integers(begins), integers(block_begins)
    is_whole = starts[:1] == [0] and starts[-1:] == [tokens] and starts == sorted(starts)
    message = f"subsequence_begins is {starts}, expected numbers that ascend from 0 to {tokens}"
    require("C3", is_whole, message, port="subsequence_begins")
    in_range(require, "C4", "la_block_indices_begins", block_begins[:-1], 0, len(blocks) - 1)
    for place, (start, stop) in enumerate(pairwise(starts)):
        block = blocks[first[place]].item()
        in_range(require, "C4", "la_block_indices", block, 0, size - 1)
        yield slice(start, stop), block


def _declare(declared: Operator, patterns: str, shared: tuple[str, str], *results: str) -> None:
    """Declare the shape rule: a pattern for each input, of which "or 0" also allows no elements, an extent that must
    divide another (C2), and the patterns of the results.
    """

    @declared.shapes
    def _(check: Check, *ports: TensorType) -> list[PartialShape]:
        extents = Extents(check)
        matches = zip(declared.signature.named(ports).items(), patterns.split(", "), strict=True)
        for (name, tensor), pattern in sorted(matches, key=lambda match: match[1] == "bounds"):
            names: list[str | int] = [*pattern.removesuffix(" or 0").split()]
            if names == ["bounds"] and extents["sequences"].is_static:
                names = [extents["sequences"].value + 1]
            if not pattern.endswith(" or 0") or not tensor.shape.compatible(PartialShape([0])):
                extents.match("C1", name, tensor, *names)
        few, many = (extents[name] for name in shared)
        if few.is_static and many.is_static:
            fits = few.value > 0 and many.value % few.value == 0
            check("C2", fits, f"{shared[0]} = {few} does not divide {shared[1]} = {many}")
        return [extents.shape(*result.split()) for result in results]


_PAGES = "bounds, used, bounds, sequences, sequences"
_declare(
    gated_delta_net,
    "B T H K, B T H K, B T HV V, B HV K V, B T HV, B T HV",
    ("H", "HV"),
    "B T HV V",
    "B HV K V",
)
_declare(selective_ssm, "H, N T H, N T G S, N T H D, N T G S, N H D S", ("G", "H"), "N T H D", "N H D S")
_declare(
    paged_gated_delta_net,
    f"tokens H K, tokens H K, tokens HV V, blocks HV V K, tokens HV, tokens HV, {_PAGES}",
    ("H", "HV"),
    "tokens HV V",
)
_declare(
    paged_selective_ssm,
    f"H, tokens H, tokens G S, tokens H D, tokens G S, blocks H D S, {_PAGES}",
    ("G", "H"),
    "tokens H D",
)
_declare(
    paged_causal_conv1d,
    f"tokens hidden, blocks hidden kernel, hidden channels kernel, hidden or 0, {_PAGES}",
    ("channels", "hidden"),
    "tokens hidden",
)
