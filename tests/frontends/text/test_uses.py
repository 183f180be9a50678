"""Where commands use the text form: files, findings, differences, reports."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec.cli.main import main

SAMPLES = Path(__file__).parents[3] / "samples"
CLASSIFIER = str(SAMPLES / "classifier" / "model.xml")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert main(["text", CLASSIFIER, "-o", "c.irt"]) == 0
    return tmp_path


COMMANDS = [
    (["validate", "c.irt"], "no findings"),
    (["run", "c.irt"], "probabilities  f32   [1,10]"),
    (["show", "c.irt"], "layers            50"),
    (["shapes", "c.irt"], "image  f32 [batch, 3, 32, 32]"),
    (["compare", "c.irt", "--with", CLASSIFIER], "agree"),
    (["compare", CLASSIFIER, "--with", "c.irt"], "agree"),
    (["diff", "c.irt", CLASSIFIER], "no difference"),
    (["cut", "c.irt", "--to", "head"], "saved cut.xml"),
    (["convert", "c.irt", "-o", "d.xml"], "d.xml: written"),
    (["report", "c.irt"], "c.html"),
    (["text", "c.irt"], "model classifier (image: f32[?,3,32,32])"),
    (["validate", "."], "no findings"),
]


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=lambda value: " ".join(value)[:20])
def test_every_command_reads_a_text(command: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    assert expected in capsys.readouterr().out


def test_openvino_gets_the_model_as_a_file_that_it_reads(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openvino")
    assert main(["compare", "c.irt", "--with", "openvino", "--config", "INFERENCE_PRECISION_HINT=f32"]) == 0
    assert "all 20 layers agree" in capsys.readouterr().out


def test_a_text_uses_the_weights_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in ("xml", "bin"):
        shutil.copy(SAMPLES / "classifier" / f"model.{suffix}", f"model.{suffix}")
    before = (folder / "model.bin").read_bytes()
    assert main(["text", "model.xml", "-o", "model.irt"]) == 0
    assert (folder / "model.bin").read_bytes() == before
    assert "stem/kernel             = Constant f32[16,3,3,3] @0" in (folder / "model.irt").read_text()
    assert main(["diff", "model.xml", "model.irt"]) == 0
    (folder / "model.bin").unlink()
    assert main(["validate", "model.irt"]) == 1
    assert "error[C010]" in capsys.readouterr().out


def test_findings_show_their_layer_in_verbose_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(SAMPLES / "wrong.xml"), "--verbose"]) == 1
    shown = capsys.readouterr().out
    assert shown.count("  = text: soft = SoftMax-8(x) axes=2 -> f16[1,3,8,8]  # f32[1,3,8,8]\n") == 2


def test_a_layer_in_a_body_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """model m (c: boolean[], x: f32[2]) -> (y)
  y = If-8(c, x)
    then (a: f32[2]) -> (b)
      b = SoftMax-8(a) axis=0
    in 1 -> a
    out b -> 0
    else (a: f32[2]) -> (a)
    in 1 -> a
    out a -> 0
"""
    irexec.save_model(irexec.parse(text), "m.xml")
    file = folder / "m.xml"
    file.write_text(file.read_text().replace('axis="0"', 'axis="7"'))
    assert main(["validate", "m.xml", "-v"]) == 1
    assert "= text: b = SoftMax-8(a) axis=7" in capsys.readouterr().out


def test_diff_prints_the_lines_that_differ(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed = (folder / "c.irt").read_text().replace("Add-1(head, head/bias)", "Subtract-1(head, head/bias)")
    (folder / "d.irt").write_text(changed)
    shutil.copy("c.bin", "d.bin")
    assert main(["diff", CLASSIFIER, "d.irt", "--text"]) == 1
    shown = capsys.readouterr().out
    assert "\n-  logits = Add-1(head, head/bias)\n+  logits = Subtract-1(head, head/bias)\n" in shown
    assert shown.count("\n-") == shown.count("\n+") == 2


def test_diff_shows_a_changed_constant(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("c.irt", "d.irt")
    data = np.fromfile("c.bin", np.uint8)
    data[3] ^= 1
    data.tofile("d.bin")
    assert main(["diff", "c.irt", "d.irt", "--text"]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("-  ", "+  "))]
    assert [line.split(" @")[0] for line in lines] == [f"{sign}  stem/kernel = Constant f32[16,3,3,3]" for sign in "-+"]


def test_an_onnx_model_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    text = '<ir_version: 9, opset_import: ["" : 18]> g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    assert main(["text", "m.onnx"]) == 0
    assert capsys.readouterr().out == ("model g (x: f32[?,4]) -> (y: f32[?,4])\n  y = ReLU-1(x)  # f32[?,4]\n")


def test_a_file_without_a_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty.irt").write_text("")
    assert main(["validate", "empty.irt"]) == 1
    (folder / "bad.xml").write_text("<nut/>")
    assert main(["text", "bad.xml"]) in (1, 2)
    assert main(["text", "none.xml"]) == 2
    assert "N001" in capsys.readouterr().err


def test_fix_leaves_a_text_unchanged(folder: Path) -> None:
    text = "model m (x: f32[2]) -> (y)\n  y = SoftMax(x) axes=0\n"
    (folder / "m.irt").write_text(text)
    main(["fix", "m.irt", "--unsafe"])
    assert (folder / "m.irt").read_text() == text


def test_cut_writes_the_text_beside_the_part(folder: Path) -> None:
    assert main(["cut", CLASSIFIER, "--around", "stem/conv", "-o", "part.xml"]) == 0
    assert "stem/conv" in (folder / "part.irt").read_text("utf-8")
    assert main(["diff", "part.xml", "part.irt"]) == 0
