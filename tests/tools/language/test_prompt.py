"""Comparisons of a language model's folder on a prompt: what agrees, planted faults, settings, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.instructions import has_avx2

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main

pytest.importorskip("regex")
SAMPLE = Path(__file__).parents[3] / "samples" / "text_to_text" / "model"
F32 = ("--config", "INFERENCE_PRECISION_HINT=f32")
BLOCK = "__module.model.layers.0.self_attn"


def compared(capsys: pytest.CaptureFixture[str], *options: str | Path, code: int, folder: Path = SAMPLE) -> Any:
    words = ["compare", str(folder), "--prompt", "The sky", "--tokens", "6", "--format", "json", *map(str, options)]
    assert main(words) == code
    return json.loads(capsys.readouterr().out)


def test_a_folder_agrees_with_itself(capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, "--with", SAMPLE, code=0)
    assert found["agrees"] and found["same"] and found["block"] == ""
    assert found["lines"] == [
        "prompt: 4 tokens, 6 steps, greedy, teacher-forced by irexec",
        "the same token in every step",
        "distributions: equal in every step",
    ]
    assert {(row["block"], row["part"]) for row in found["blocks"]} == {
        (None, "embedding"), (None, "positions and masks"), (None, "head"),
        (0, "norms"), (0, "attention"), (0, "MLP"), (0, "sums"),
    }  # fmt: skip
    assert sum(size for row in found["blocks"] for size in row["weights"].values()) == 35547


def test_openvino_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    found = compared(capsys, "--with", "openvino", *F32, "--config", "KV_CACHE_PRECISION=f32", code=0)
    assert max(step["divergence"] for step in found["steps"]) < 1e-10
    assert [part["agrees"] for part in found["parts"].values()] == [True]


def test_a_cache_of_other_precision_is_a_setting(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    found = compared(capsys, "--with", "openvino", *F32, "--settings", code=0)
    if not has_avx2():  # OpenVINO then keeps the caches in f32.
        assert not found["setting"]
        return
    assert found["setting"].startswith("KV_CACHE_PRECISION is f16")
    assert found["lines"][-1] == found["setting"]
    most = {one["name"]: one["divergence"] for one in found["settings"]}
    assert most["KV_CACHE_PRECISION=f32"] < 1e-10 < most["SNIPPETS_MODE=DISABLE"]
    assert not {"INFERENCE_PRECISION_HINT=f32"} & most.keys(), "a property that is given is kept"


def _node(model: irexec.Model, name: str) -> irexec.Node:
    (node,) = (node for node in model.get_ops() if node.friendly_name == name)
    return node


def _scaled(model: irexec.Model, name: str, factor: float, port: int = 0) -> None:
    node = _node(model, name)
    source = node.inputs[port]
    made = ops.multiply(source, ops.constant(np.float32(factor)), name=f"{name}/scaled")
    node.inputs = [made.output(0) if at == port else value for at, value in enumerate(node.inputs)]


def scale_twice(model: irexec.Model) -> None:
    _scaled(model, f"{BLOCK}/aten::scaled_dot_product_attention/ScaledDotProductAttention", 0.25)


def order_of_the_cache(model: irexec.Model) -> None:
    node = _node(model, f"{BLOCK}/aten::cat/Concat_2")
    node.inputs = node.inputs[::-1]


def beams_ignored(model: irexec.Model) -> None:
    node = _node(model, f"{BLOCK}/aten::cat/Concat")
    gather = node.inputs[0].node
    node.inputs = [gather.inputs[0], node.inputs[1]]


def position_off_by_one(model: irexec.Model) -> None:
    (node,) = (
        node for node in model.get_ops() if node.friendly_name.endswith("rotary_emb/aten::unsqueeze/Unsqueeze_2")
    )
    made = ops.add(node.inputs[0], ops.constant(np.int64(1)), name="__module.model.rotary_emb/aten::add/Add")
    node.inputs = [made.output(0), *node.inputs[1:]]


def mask_ignored(model: irexec.Model) -> None:
    node = _node(model, "__module.model/aten::__and__/BitwiseAnd_1")
    for value in node.outputs:
        value.replace_uses(node.inputs[0])


def norm_without_epsilon(model: irexec.Model) -> None:
    _scaled(model, "__module.model.layers.0.post_attention_layernorm/aten::add/Add", 1.5)


def head_untied(model: irexec.Model) -> None:
    node = _node(model, "__module.lm_head/aten::linear/MatMul")
    table = _node(model, "self.model.embed_tokens.weight_compressed").constant
    other = ops.convert(ops.constant(np.roll(table, 1, 0)), "f32", name="self.lm_head.weight")
    node.inputs = [node.inputs[0], other.output(0)]


def swish_for_gelu(model: irexec.Model) -> None:
    node = _node(model, "__module.model.layers.0.mlp.act_fn/aten::silu/Swish")
    made = ops.gelu(node.inputs[0], "erf", name="__module.model.layers.0.mlp.act_fn/aten::gelu/Gelu")
    node.outputs[0].replace_uses(made.output(0))


FAULTS: list[tuple[Callable[[irexec.Model], None], str, str]] = [
    (scale_twice, "block 0, attention", "ScaledDotProductAttention"),
    (order_of_the_cache, "block 0, attention", "Concat_2"),
    (beams_ignored, "block 0, attention", "aten::cat/Concat"),
    (position_off_by_one, "positions and masks", "rotary_emb"),
    (mask_ignored, "positions and masks", "__module.model"),
    (norm_without_epsilon, "block 0, norms", "post_attention_layernorm"),
    (head_untied, "head", "lm_head"),
    (swish_for_gelu, "block 0, MLP", "mlp"),
]


@pytest.mark.parametrize(("plant", "block", "layer"), FAULTS, ids=[plant.__name__ for plant, *_ in FAULTS])
def test_a_planted_fault_is_named_with_its_block(
    plant: Callable[[irexec.Model], None], block: str, layer: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(SAMPLE, tmp_path / "wrong"))
    model = irexec.read_model(SAMPLE / "openvino_model.xml")
    plant(model)
    whole = irexec.Model(model.get_results(), model.get_sinks(), model.get_parameters(), "wrong")
    irexec.save_model(whole, folder / "openvino_model.xml")
    found = compared(capsys, "--with", folder, code=1)
    assert found["block"] == block, found["verdict"]
    verdicts = [found["verdict"], *(part["verdict"] for part in found["parts"].values())]
    assert any(layer in verdict for verdict in verdicts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--input", "x=1"], "--input cannot be combined with --prompt"),
        (["-j", "2"], "-j cannot be combined with --prompt"),
        (["--with", "nothing"], "neither a known runtime"),
    ],
)
def test_what_is_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", str(SAMPLE), "--prompt", "The sky", "--tokens", "2", *options]
    assert main(words if "--with" in options else [*words, "--with", str(SAMPLE)]) == 2
    assert message in capsys.readouterr().err


def test_a_prompt_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(SAMPLE / "openvino_model.xml"), "--prompt", "The sky", "--with", "openvino"]) == 2
    assert "--prompt requires a folder" in capsys.readouterr().err
