"""Folders of tiny language models of several architectures, with names and caches as exporters write, and faults."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

import irexec
from irexec import opset15 as ops

SAMPLE = Path(__file__).parents[3] / "samples" / "text_to_text" / "model"
WORDS, WIDTH, HEADS, HEAD, INNER = 300, 32, 2, 16, 48
F, L = np.float32, np.int64
APART = ("of_embeddings", "of_axes")
"""The models whose embeddings are models of their own."""


class Decoder:
    """Builds a decoder with two blocks. `kind`: llama, qwen (norms of queries and keys), gemma (soft caps, every second
    block with a window), mixtral (experts), of_embeddings (embeddings apart), of_axes (the same, with positions in
    time, height and width), cross (attention to an encoder), linear (block 1 is a loop over the tokens), or
    stateless (llama without a cache). `fault`: what is wrong in block 1. `first`: the number of the first variable in
    their names.
    """

    def __init__(self, kind: str, fault: str = "", *, first: int = 0, int4: bool = False) -> None:
        self.kind, self.fault, self.first, self.int4 = kind, fault, first, int4
        self.random = np.random.default_rng(5)
        self.sinks: list[Any] = []

    def wrong(self, fault: str, block: int) -> bool:
        return self.fault == fault and block == 1

    def model(self) -> irexec.Model:
        if self.kind in APART:
            first = ops.parameter([-1, -1, WIDTH], F, name="inputs_embeds")
        else:
            first = ops.parameter([-1, -1], L, name="input_ids")
        axes = [3] if self.kind == "of_axes" else []
        mask = ops.parameter([-1, -1], L, name="attention_mask")
        positions = ops.parameter([*axes, -1, -1], L, name="position_ids")
        self.beams = ops.parameter([-1], np.int32, name="beam_idx")
        given = [first, mask, positions, *([] if self.kind == "stateless" else [self.beams])]
        if self.kind == "cross":
            self.hidden = ops.parameter([-1, -1, WIDTH], F, name="encoder_hidden_states")
            given.append(self.hidden)
        table = self.random.normal(0, 1, (WORDS, WIDTH)).astype(F)
        x: Any = first
        if self.kind not in APART:
            stored = ops.constant(table, name="self.model.embed_tokens.weight")
            x = ops.gather(stored, first, np.array(0, L), name="__module.model.embed_tokens/aten::embedding/Gather")
        self.batch = ops.gather(ops.shape_of(first, "i64"), np.array([0], L), np.array(0, L))
        self.total = ops.gather(ops.shape_of(mask, "i64"), np.array(1, L), np.array(0, L))
        self.count = ops.gather(ops.shape_of(first, "i64"), np.array(1, L), np.array(0, L))
        self.is_text = ops.unsqueeze(ops.convert(mask, "boolean"), np.array([1, 2], L))
        self.rotation = self.rotated_by(ops.reduce_sum(positions, np.array([0], L)) if axes else positions)
        for block in range(2):
            name = f"__module.model.layers.{block}"
            x = ops.add(
                x, self.attention(self.normed(x, f"{name}.input_layernorm"), block), name=f"{name}/aten::add/Add"
            )
            if self.kind == "cross":
                x = ops.add(
                    x,
                    self.cross(self.normed(x, f"{name}.encoder_attn_layer_norm"), block),
                    name=f"{name}/aten::add/Add_2",
                )
            normal = self.normed(x, f"{name}.post_attention_layernorm")
            wide = self.experts(normal, block) if self.kind == "mixtral" else self.mlp(normal, f"{name}.mlp", block)
            x = ops.add(x, wide, name=f"{name}/aten::add/Add_1")
        x = self.normed(x, "__module.model.norm")
        head = np.roll(table, 1, 0) if self.fault == "head untied" else table
        weights = ops.constant(head, name="self.lm_head.weight")
        logits = ops.matmul(x, weights, False, True, name="__module.lm_head/aten::linear/MatMul")
        if self.kind == "gemma":
            capped = ops.tanh(ops.divide(logits, F(30)), name="__module.lm_head/aten::tanh/Tanh")
            logits = ops.multiply(capped, F(30), name="__module.lm_head/aten::mul/Multiply")
        logits.output(0).names = {"logits"}
        for port in given:
            port.output(0).names = {port.friendly_name}
        return irexec.Model([logits], self.sinks, given, self.kind)

    def weights(self, rows: int, columns: int, name: str, block: int = 0) -> Any:
        values = self.random.normal(0, 1 / np.sqrt(columns), (rows, columns)).astype(F)
        if self.wrong("expert", block) and "experts.1.down" in name:
            values *= F(1.5)
        if not self.int4:
            return ops.constant(values, name=f"self.{name}.weight")
        grouped = values.reshape(rows, -1, 16)
        scale = (np.ptp(grouped, axis=2, keepdims=True) / 15 + 1e-6).astype(np.float16).astype(F)
        zero = np.clip(np.round(-grouped.min(axis=2, keepdims=True) / scale), 0, 15)
        codes = np.clip(np.round(grouped / scale + zero), 0, 15)
        if self.wrong("zero point", block) and name.endswith("o_proj"):
            zero[3, 1] = (zero[3, 1] + 8) % 16
        u4 = irexec.Type.by_name["u4"].dtype
        code, point = (ops.convert(ops.constant(each.astype(u4)), "f16") for each in (codes, zero))
        x = ops.multiply(ops.subtract(code, point), ops.constant(scale.astype(np.float16)))
        return ops.convert(ops.reshape(x, np.array([rows, columns], L), False), "f32", name=f"self.{name}.weight")

    def linear(self, x: Any, rows: int, columns: int, name: str, block: int = 0) -> Any:
        weights = self.weights(rows, columns, name, block)
        return ops.matmul(x, weights, False, True, name=f"__module.{name}/aten::linear/MatMul")

    def normed(self, x: Any, name: str, size: int = WIDTH) -> Any:
        mean = ops.reduce_mean(
            ops.power(x, F(2)), np.array([-1], L), keep_dims=True, name=f"{name}/aten::mean/ReduceMean"
        )
        root = ops.sqrt(ops.add(mean, F(1e-6)), name=f"{name}/aten::rsqrt/Sqrt")
        gain = self.random.normal(1, 0.1, size).astype(F)
        return ops.multiply(ops.divide(x, root), ops.constant(gain), name=f"{name}/aten::mul/Multiply_1")

    def rotated_by(self, positions: Any) -> tuple[Any, Any]:
        name = "__module.model.rotary_emb"
        if self.fault == "position":
            positions = ops.add(positions, self.after_the_first(positions), name=f"{name}/aten::add/Add")
        steps = (100.0 ** (-np.arange(0, HEAD, 2, dtype=F) / HEAD)).astype(F)
        wide = ops.convert(ops.unsqueeze(positions, np.array([1, 3], L)), "f32", name=f"{name}/aten::to/Convert")
        angles = ops.multiply(wide, steps, name=f"{name}/aten::matmul/MatMul")
        angles = ops.concat([angles, angles], -1, name=f"{name}/aten::cat/Concat")
        return ops.cos(angles, name=f"{name}/aten::cos/Cos"), ops.sin(angles, name=f"{name}/aten::sin/Sin")

    def after_the_first(self, positions: Any) -> Any:
        """Return 1 for all positions but 0: rotations only show differences of positions."""
        return ops.convert(
            ops.greater(positions, np.array(0, L)), "i64", name="__module.model.rotary_emb/aten::gt/Greater"
        )

    def rope(self, x: Any, name: str, block: int) -> Any:
        if self.wrong("rope pairs", block):
            pairs = ops.reshape(x, np.array([0, 0, 0, HEAD // 2, 2], L), True)
            a, b = ops.split(pairs, np.array(4, L), 2).outputs
            turned = ops.reshape(ops.concat([ops.negative(b), a], 4), np.array([0, 0, 0, HEAD], L), True)
        else:
            a, b = ops.split(x, np.array(3, L), 2).outputs
            turned = ops.concat([ops.negative(b), a], -1)
        cos, sin = self.rotation
        left = ops.multiply(x, cos, name=f"{name}/aten::mul/Multiply")
        return ops.add(
            left, ops.multiply(turned, sin, name=f"{name}/aten::mul/Multiply_1"), name=f"{name}/aten::add/Add"
        )

    def heads(self, x: Any, name: str) -> Any:
        split = ops.reshape(x, np.array([0, 0, HEADS, HEAD], L), True, name=f"{name}/aten::view/Reshape")
        return ops.transpose(split, np.array([0, 2, 1, 3], L), name=f"{name}/aten::transpose/Transpose")

    def cached(self, x: Any, block: int, part: str, name: str) -> Any:
        if self.kind == "stateless":
            return x
        number = self.first + 2 * block + (part == "value") if self.first else block
        variable = f"cache_{number}" if self.first else f"past_key_values.{number}.{part}present.{number}.{part}"
        shape = ops.concat([self.batch, np.array([HEADS, 0, HEAD], L)], 0)
        past = ops.read_value(ops.broadcast(F(0), shape), variable, "f32", [-1, HEADS, -1, HEAD])
        kept: Any = past if self.wrong("beams", block) else ops.gather(past, self.beams, np.array(0, L))
        parts = [x, kept] if self.wrong("cache order", block) and part == "key" else [kept, x]
        whole = ops.concat(parts, 2, name=f"{name}/aten::cat/Concat_{part}")
        self.sinks.append(ops.assign(whole, variable))
        return whole

    def visible(self, block: int) -> Any:
        """Return which keys each query may read: no later ones, no padding, and in a window only the last ones."""
        one = np.array(1, L)
        before = ops.subtract(self.total, self.count)
        keys = ops.range(np.array(0, L), self.total, one, "i64")
        queries = ops.unsqueeze(ops.range(before, self.total, one, "i64"), np.array([1], L))
        seen = ops.less_equal(keys, queries, name="__module.model/aten::le/LessEqual")
        if self.kind == "gemma" and block == 1:
            window = 3 if self.fault == "window" else 4
            seen = ops.logical_and(seen, ops.greater(keys, ops.subtract(queries, np.array(window, L))))
        if self.wrong("prefix mask", block):
            return ops.logical_and(seen, ops.constant(np.array(True)))
        return ops.logical_and(seen, self.is_text, name=f"__module.model/aten::__and__/And_{block}")

    def loop(self, x: Any, block: int) -> Any:
        """Return linear attention: a loop over the tokens that keeps sums of products of keys and values."""
        name = f"model.layers.{block}.linear_attn"
        q, k, v = (
            self.heads(self.linear(x, WIDTH, WIDTH, f"{name}.{part}_proj", block), f"__module.{name}") for part in "qkv"
        )
        shape = ops.concat([self.batch, np.array([HEADS, HEAD, HEAD], L)], 0)
        past = ops.read_value(ops.broadcast(F(0), shape), "cache_params.past.ssm.1", "f32", [-1, HEADS, HEAD, HEAD])
        kept: Any = past if self.wrong("beams", block) else ops.gather(past, self.beams, np.array(0, L))
        one = [ops.parameter([-1, HEADS, 1, HEAD], F) for _ in "qkv"]
        before = ops.parameter([-1, HEADS, HEAD, HEAD], F)
        decay = F(0.8 if self.wrong("decay", block) else 0.9)
        faded = ops.multiply(before, decay, name=f"__module.{name}/aten::mul/Multiply_2")
        after = ops.add(faded, ops.matmul(one[1], one[2], True, False), name=f"__module.{name}/aten::add/Add")
        out = ops.matmul(one[0], after, False, False, name=f"__module.{name}/aten::matmul/MatMul")
        made = ops.loop(self.count, ops.constant(np.array(True)), name=f"__module.{name}/Loop")
        made.set_function(irexec.Model([out, after, ops.constant(np.array(True))], [*one, before], "body"))
        made.set_special_body_ports([-1, 2])
        for parameter, value in zip(one, (q, k, v), strict=True):
            made.set_sliced_input(parameter, value.output(0), 0, 1, 1, -1, 2)
        made.set_merged_input(before, kept.output(0), after.output(0))
        mixed = made.get_concatenated_slices(out.output(0), 0, 1, 1, -1, 2)
        self.sinks.append(ops.assign(made.get_iter_value(after.output(0), -1), "cache_params.past.ssm.1"))
        return self.joined(mixed, name, "out_proj", block)

    def attention(self, x: Any, block: int) -> Any:
        if self.kind == "linear" and block == 1:
            return self.loop(x, block)
        name = f"model.layers.{block}.self_attn"
        q, k, v = (self.linear(x, WIDTH, WIDTH, f"{name}.{part}_proj", block) for part in "qkv")
        q, k, v = (self.heads(each, f"__module.{name}") for each in (q, k, v))
        if self.kind == "qwen":
            q = self.normed(q, f"__module.{name}.q_norm", HEAD)
            k = self.normed(k, f"__module.{name}.k_norm", HEAD)
        q, k = (self.rope(each, f"__module.{name}", block) for each in (q, k))
        k, v = self.cached(k, block, "key", f"__module.{name}"), self.cached(v, block, "value", f"__module.{name}")
        if self.wrong("scale", block):
            q = ops.multiply(q, F(0.25), name=f"__module.{name}/aten::mul/Multiply_9")
        least = F("-inf") if self.kind == "infinite" else F(-65504)
        allowed = ops.select(self.visible(block), F(0), least, name=f"__module.{name}/aten::where/Select")
        if self.kind == "gemma":
            scores = ops.multiply(ops.matmul(q, k, False, True), F(0.25), name=f"__module.{name}/aten::matmul/MatMul")
            if not self.wrong("soft cap", block):
                scores = ops.multiply(
                    ops.tanh(ops.divide(scores, F(2))), F(2), name=f"__module.{name}/aten::tanh/Multiply"
                )
            weights = ops.softmax(ops.add(scores, allowed), -1, name=f"__module.{name}/aten::softmax/Softmax")
            mixed = ops.matmul(weights, v, False, False, name=f"__module.{name}/aten::matmul/MatMul_1")
        else:
            mixed = ops.scaled_dot_product_attention(
                q,
                k,
                v,
                allowed,
                causal=False,
                name=f"__module.{name}/aten::scaled_dot_product_attention/ScaledDotProductAttention",
            )
        return self.joined(mixed, name, "o_proj", block)

    def joined(self, mixed: Any, name: str, last: str, block: int) -> Any:
        order, shape = np.array([0, 2, 1, 3], L), np.array([0, 0, WIDTH], L)
        whole = ops.reshape(ops.transpose(mixed, order), shape, True, name=f"__module.{name}/aten::reshape/Reshape_2")
        return self.linear(whole, WIDTH, WIDTH, f"{name}.{last}", block)

    def cross(self, x: Any, block: int) -> Any:
        name = f"model.layers.{block}.encoder_attn"
        q = self.heads(self.linear(x, WIDTH, WIDTH, f"{name}.q_proj"), f"__module.{name}")
        k, v = (
            self.heads(self.linear(self.hidden, WIDTH, WIDTH, f"{name}.{p}_proj"), f"__module.{name}") for p in "kv"
        )
        if self.wrong("cross attention", block):
            k, v = v, k
        mixed = ops.scaled_dot_product_attention(
            q, k, v, causal=False, name=f"__module.{name}/aten::scaled_dot_product_attention/ScaledDotProductAttention"
        )
        return self.joined(mixed, name, "out_proj", block)

    def mlp(self, x: Any, name: str, block: int) -> Any:
        plain = name.removeprefix("__module.")
        gate = ops.swish(
            self.linear(x, INNER, WIDTH, f"{plain}.gate_proj", block), name=f"{name}.act_fn/aten::silu/Swish"
        )
        wide = ops.multiply(
            gate, self.linear(x, INNER, WIDTH, f"{plain}.up_proj", block), name=f"{name}/aten::mul/Multiply"
        )
        return self.linear(wide, WIDTH, INNER, f"{plain}.down_proj", block)

    def experts(self, x: Any, block: int) -> Any:
        """Return the sum of two of three experts, weighted by the router."""
        name = f"model.layers.{block}.block_sparse_moe"
        scores = ops.softmax(
            self.linear(x, 3, WIDTH, f"{name}.gate"), -1, name=f"__module.{name}.gate/aten::softmax/Softmax"
        )
        mode = "min" if self.wrong("router", block) else "max"
        top = ops.topk(scores, np.array(2, L), -1, mode, "value", "i64", name=f"__module.{name}.gate/aten::topk/TopK")
        shares = ops.scatter_elements_update(
            ops.multiply(scores, F(0)),
            top.output(1),
            top.output(0),
            np.array(2, L),
            name=f"__module.{name}.gate/aten::scatter/Scatter",
        )
        total: Any = None
        for expert in range(3):
            made = self.mlp(x, f"__module.{name}.experts.{expert}", block)
            share = ops.gather(shares, np.array([expert], L), np.array(2, L))
            part = ops.multiply(made, share, name=f"__module.{name}/aten::mul/Multiply_{expert}")
            total = part if total is None else ops.add(total, part, name=f"__module.{name}/aten::add/Add_{expert}")
        return total


def write(folder: Path, kind: str, fault: str = "", *, first: int = 0, int4: bool = False) -> Path:
    """Write the folder of a model, with the tokenizer of the sample; return the folder."""
    folder.mkdir(parents=True)
    for name in ("tokenizer", "detokenizer"):
        for suffix in ("xml", "bin"):
            shutil.copy(SAMPLE / f"openvino_{name}.{suffix}", folder)
    (folder / "generation_config.json").write_text(json.dumps({"decoder_start_token_id": 1}))
    made = Decoder(kind, fault, first=first, int4=int4)
    name = "language_model" if kind in APART else "decoder_model" if kind == "cross" else "model"
    irexec.save_model(made.model(), folder / f"openvino_{name}.xml", compress_to_fp16=False)
    if kind in (*APART, "cross"):
        ids = ops.parameter([-1, -1], L, name="input_ids")
        ids.output(0).names = {"input_ids"}
        table = np.random.default_rng(6).normal(0, 1, (WORDS, WIDTH)).astype(F)
        table = np.roll(table, 1, 1) if fault == "embeddings" else table
        found = ops.gather(
            ops.constant(table), ids, np.array(0, L), name="__module.embed_tokens/aten::embedding/Gather"
        )
        name = "text_embeddings_model" if kind in APART else "encoder_model"
        irexec.save_model(irexec.Model([found], [ids], name), folder / f"openvino_{name}.xml", compress_to_fp16=False)
    return folder
