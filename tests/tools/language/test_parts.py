"""irexec show with a folder: a line for each part, with the programs that wrote it, and errors of one part."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from irexec.cli.main import main

SAMPLE = Path(__file__).parents[3] / "samples" / "text_to_text" / "model"


def test_each_part_is_a_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    shutil.copy(folder / "openvino_detokenizer.xml", folder / "other.xml")
    shutil.copy(folder / "openvino_detokenizer.bin", folder / "other.bin")
    assert main(["show", str(folder)]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split(", ")[0].strip() for line in lines] == [
        "openvino_tokenizer.xml: tokenizer",
        "openvino_detokenizer.xml: detokenizer",
        "openvino_model.xml: language model",
        "other.xml: another model",
        "chat_template.jinja: chat template",
    ]
    assert lines[2].endswith(
        "167 layers, 2 states, f16 34.8 kB, i64 640 bytes, i32 104 bytes; "
        "optimum-intel 2.2.0, optimum 2.3.0, transformers 5.5.4, PyTorch 2.13.0, OpenVINO 2026.4.1"
    )


def test_a_folder_without_a_tokenizer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in (".xml", ".bin"):
        shutil.copy(SAMPLE / f"openvino_detokenizer{suffix}", tmp_path / f"openvino_model{suffix}")
    assert main(["show", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("  openvino_model.xml: language model, 7 layers")


def test_the_compression_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "openvino_model.xml"
    entry = '<nncf><weight_compression><mode value="int4_asym" /><group_size value="64" /></weight_compression></nncf>'
    text = path.read_text(encoding="utf-8")
    before, after = text.rsplit("<optimum>", 1)
    path.write_text(f"{before}{entry}<optimum>{after}", encoding="utf-8")
    assert main(["show", str(folder), "--format", "json"]) == 0
    parts = {part["file"]: part for part in json.loads(capsys.readouterr().out)["parts"]}
    assert parts["openvino_model.xml"]["compressed"] == "int4_asym in groups of 64"
    assert parts["openvino_tokenizer.xml"]["compressed"] == ""


def test_errors_of_a_part_are_reported_and_the_others_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "openvino_detokenizer.xml").write_text("<net")
    assert main(["show", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "openvino_model.xml: language model, 167 layers" in out
    assert "openvino_detokenizer.xml:1" in out


@pytest.mark.parametrize("options", [["--format", "svg"], ["--shape", "x=1"], ["-o", "out.svg"]])
def test_what_is_for_models_alone(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SAMPLE), *options]) == 2
    assert "requires a model, not a folder" in capsys.readouterr().err
