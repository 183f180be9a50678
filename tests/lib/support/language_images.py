"""Folders of tiny vision-language models: those of `language_folders` with models of images, as exporters write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import irexec
from irexec import opset15 as ops
from support.language_folders import HEAD, HEADS, WIDTH, F, L, write
from support.language_folders import Decoder as Parts

IMAGE = 290
"""The token of the image."""
SIDE = 4
"""The height and width of a patch."""


class Vision(Parts):
    """Builds the model of images: two blocks of a transformer over patches. `kind`: llava, which reads pixels, or
    qwen2_vl, whose patches are cut before, and merged by fours in a second model.
    """

    def model(self) -> irexec.Model:
        if self.kind == "llava":
            return self.named("embeddings", self.blocks(*self.patches()))
        x = ops.parameter([-1, 3 * 2 * SIDE * SIDE], F, name="hidden_states")
        return self.named("embeddings", self.linear(x, WIDTH, 3 * 2 * SIDE * SIDE, "patch_embed.proj"), x)

    def merger(self) -> irexec.Model:
        """Return the model that merges squares of four patches."""
        x, mask = (
            ops.parameter([-1, WIDTH], F, name="hidden_states"),
            ops.parameter([1, -1, -1], F, name="attention_mask"),
        )
        angles = ops.parameter([-1, HEAD // 2], F, name="rotary_pos_emb")
        single = ops.unsqueeze(x, np.array([0], L))
        wide = ops.unsqueeze(ops.concat([angles, angles], -1), np.array([0, 1], L))
        self.rotation = ops.cos(wide), ops.sin(wide)
        made, *_ = self.blocks(single, mask=ops.unsqueeze(mask, np.array([1], L)))
        squares = ops.reshape(made, np.array([-1, 4 * WIDTH], L), False, name="__module.merger/aten::view/Reshape")
        return self.named("merger", (self.linear(squares, WIDTH, 4 * WIDTH, "merger.mlp"), x, mask, angles))

    @staticmethod
    def named(name: str, made: Any, *ports: Any) -> irexec.Model:
        result, *inputs = made if isinstance(made, tuple) else (made, *ports)
        for port in inputs:
            port.output(0).names = {port.friendly_name}
        return irexec.Model([result], inputs, name)

    def patches(self) -> tuple[Any, Any]:
        pixels = ops.parameter([-1, 3, -1, -1], F, name="pixel_values")
        weights = ops.constant(self.random.normal(0, 0.1, (WIDTH, 3, SIDE, SIDE)).astype(F))
        cut = ops.convolution(pixels, weights, [SIDE, SIDE], [0, 0], [0, 0], [1, 1])
        flat = ops.reshape(cut, np.array([0, WIDTH, -1], L), True, name="__module.patch_embed/aten::flatten/Reshape")
        return ops.transpose(
            flat, np.array([0, 2, 1], L), name="__module.patch_embed/aten::transpose/Transpose"
        ), pixels

    def blocks(self, x: Any, *ports: Any, mask: Any = None) -> tuple[Any, ...]:
        for block in range(2):
            name = f"__module.vision.blocks.{block}"
            x = ops.add(x, self.attends(self.normed(x, f"{name}.norm1"), block, mask), name=f"{name}/aten::add/Add")
            wide = self.mlp(self.normed(x, f"{name}.norm2"), f"{name}.mlp", block)
            x = ops.add(x, wide, name=f"{name}/aten::add/Add_1")
        return (x, *ports)

    def attends(self, x: Any, block: int, mask: Any) -> Any:
        name = f"vision.blocks.{block}.attn"
        q, k, v = (self.heads(self.linear(x, WIDTH, WIDTH, f"{name}.{part}"), f"__module.{name}") for part in "qkv")
        if mask is not None:
            q, k = (self.rope(each, f"__module.{name}", block) for each in (q, k))
        if self.wrong("image scale", block):
            q = ops.multiply(q, F(0.5), name=f"__module.{name}/aten::mul/Multiply")
        given = [] if mask is None else [mask]
        mixed = ops.scaled_dot_product_attention(
            q, k, v, *given, causal=False, name=f"__module.{name}/aten::sdpa/ScaledDotProductAttention"
        )
        return self.joined(mixed, name, "proj", block)


def write_with_images(folder: Path, kind: str, fault: str = "") -> Path:
    """Write the folder of a vision-language model; return the folder."""
    write(folder, "of_axes" if kind == "qwen2_vl" else "of_embeddings", fault)
    made = Vision(kind, fault)
    irexec.save_model(made.model(), folder / "openvino_vision_embeddings_model.xml", compress_to_fp16=False)
    config: dict[str, Any] = {"image_token_index": IMAGE}
    if kind == "qwen2_vl":
        path = folder / "openvino_vision_embeddings_merger_model.xml"
        irexec.save_model(made.merger(), path, compress_to_fp16=False)
        config["vision_config"] = {
            "patch_size": SIDE,
            "temporal_patch_size": 2,
            "spatial_merge_size": 2,
            "embed_dim": WIDTH,
            "num_heads": HEADS,
        }
    (folder / "config.json").write_text(json.dumps(config))
    return folder
