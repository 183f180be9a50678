"""Exports of several architectures, each with planted faults, which are named with their blocks; no false alarms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.language_folders import write

from irexec.cli.main import main

pytest.importorskip("regex")
KINDS = ("llama", "qwen", "gemma", "mixtral", "of_embeddings", "cross")
EVERY = (*KINDS, "int4", "linear")
ANY = {
    "cache order": "block 1, attention",
    "beams": "block 1, attention",
    "position": "positions and masks",
    "rope pairs": "block 1, attention",
    "prefix mask": "block 1, attention",
    "scale": "block 1, attention",
    "head untied": "head",
}
"""A fault that every architecture may have → the block that is named."""
OWN = [
    ("gemma", "soft cap", "block 1, attention"),
    ("gemma", "window", "positions and masks"),
    ("mixtral", "router", "block 1, router"),
    ("mixtral", "expert", "block 1, experts"),
    ("cross", "cross attention", "block 1, cross attention"),
    ("int4", "zero point", "block 1, attention"),
    ("linear", "decay", "block 1, attention"),
    ("linear", "beams", "block 1, attention"),
    ("linear", "head untied", "head"),
]
PAIRS = [(kind, fault, block) for kind in KINDS for fault, block in ANY.items()]
# Every second pair: each architecture with half of the faults, each fault in half of the architectures.
FAULTS = [*PAIRS[::2], *OWN]


def written(folder: Path, kind: str, fault: str = "", *, first: int = 0) -> Path:
    return write(folder, "llama" if kind == "int4" else kind, fault, first=first, int4=kind == "int4")


def compared(capsys: pytest.CaptureFixture[str], folder: Path, *options: str | Path, code: int) -> Any:
    words = ["compare", str(folder), "--prompt", "The sky is", "--tokens", "4", "--format", "json", *map(str, options)]
    assert main(words) == code, capsys.readouterr()
    return json.loads(capsys.readouterr().out)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(("kind", "fault", "block"), FAULTS, ids=[f"{kind}-{fault}" for kind, fault, _ in FAULTS])
def test_a_fault_is_named_with_its_block(
    kind: str, fault: str, block: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = compared(
        capsys, written(tmp_path / "right", kind), "--with", written(tmp_path / "wrong", kind, fault), code=1
    )
    assert found["block"] == block, (found["verdict"], [part["verdict"] for part in found["parts"].values()])


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("kind", EVERY)
def test_an_export_agrees_with_itself_and_with_other_numbers_of_its_variables(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = written(tmp_path / "other", kind, first=7)
    found = compared(capsys, written(tmp_path / "right", kind), "--with", other, code=0)
    assert not any(step["divergence"] for step in found["steps"])


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("kind", EVERY)
def test_openvino_agrees(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    options = ["INFERENCE_PRECISION_HINT=f32", "KV_CACHE_PRECISION=f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE=0"]
    words = [word for option in options for word in ("--config", option)]
    found = compared(capsys, written(tmp_path / "right", kind), "--with", "openvino", *words, code=0)
    assert max(step["divergence"] for step in found["steps"]) < (1e-4 if kind == "int4" else 1e-8)


@pytest.mark.by_hand(0)
def test_a_fault_beside_other_numbers_of_the_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = written(tmp_path / "wrong", "llama", "scale", first=7)
    found = compared(capsys, written(tmp_path / "right", "llama"), "--with", wrong, code=1)
    assert found["block"] == "block 1, attention"
    assert "ScaledDotProductAttention" in found["verdict"]


@pytest.mark.by_hand(0)
def test_texts_without_padding_are_compared_if_padding_gives_no_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With masks of minus infinity, a position that may read nothing has no result."""
    right, wrong = (written(tmp_path / (fault or "right"), "infinite", fault) for fault in ("", "beams"))
    found = compared(capsys, right, "--with", right, code=0)
    assert [*found["parts"]] == ["two texts, with beams"]
    found = compared(capsys, right, "--with", wrong, code=1)
    assert found["block"] == "block 1, attention"
    assert found["verdict"].startswith("two texts, with beams: first wrong layer")


@pytest.mark.by_hand(0)
def test_embeddings_of_their_own_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right, wrong = (written(tmp_path / (fault or "right"), "of_embeddings", fault) for fault in ("", "embeddings"))
    found = compared(capsys, right, "--with", wrong, code=1)
    assert not found["parts"]["openvino_text_embeddings_model"]["agrees"]
    encoders = [written(tmp_path / f"e{fault}", "cross", fault) for fault in ("", "embeddings")]
    found = compared(capsys, encoders[0], "--with", encoders[1], code=1)
    assert not found["parts"]["openvino_encoder_model"]["agrees"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_generated(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = written(tmp_path / "right", kind)
    assert main(["generate", str(folder), "--prompt", "The sky", "--tokens", "3", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tokens"]) == 3


def test_a_model_without_a_cache_reads_the_whole_text_in_each_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders, texts = [written(tmp_path / kind, kind) for kind in ("llama", "stateless")], []
    for folder in folders:
        assert main(["generate", str(folder), "--prompt", "The sky is", "--tokens", "6", "--format", "json"]) == 0
        texts.append(json.loads(capsys.readouterr().out)["tokens"])
    assert texts[0] == texts[1] and len(texts[0]) == 6
    wrong = written(tmp_path / "wrong", "stateless", "scale")
    assert compared(capsys, folders[1], "--with", wrong, code=1)["block"] == "block 1, attention"


@pytest.mark.by_hand(0)
def test_the_weights_of_two_exports_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = compared(capsys, written(tmp_path / "f32", "llama"), "--with", written(tmp_path / "u4", "int4"), code=1)
    ratios = {(row["block"], row["part"]): row["ratio"] for row in found["blocks"]}
    assert {place for place, ratio in ratios.items() if ratio is not None} == {
        (0, "attention"), (0, "MLP"), (1, "attention"), (1, "MLP"),
    }  # fmt: skip
    # Four bits: 20 to 26 dB.
    assert all(20 < ratio < 26 for ratio in ratios.values() if ratio is not None)
