"""irexec sensitivity: output and files, in several processes and resumed, and rejected arguments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.quantized import inputs, pair

import irexec
from irexec.cli.main import main

SPOILT = "block2/in/fq_output_0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A float model, its quantized form with one damaged quantizer, and a batch, in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, model in zip(("float", "int8"), pair(0, SPOILT, 0.1, blocks=4), strict=True):
        irexec.save_model(model, f"{name}.xml")
    np.savez("batch.npz", x=np.stack(inputs(0)))
    return tmp_path


PAIR = ["sensitivity", "float.xml", "int8.xml", "--inputs", "batch.npz"]


def test_the_text_is_that_of_the_python_function(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(PAIR) == 0
    printed = capsys.readouterr().out
    found = irexec.sensitivity("float.xml", "int8.xml", inputs(0))
    assert printed == f"{found}\n"
    assert "nncf.IgnoredScope(names=['block2/product'])" in printed


def test_the_mixed_model_is_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*PAIR, "--apply", "mixed.xml", "--format", "json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert known["layers"] == ["block2/product"] and known["recovered"] > 0.9
    assert sorted(known["chosen"]) == [SPOILT, "block2/product/fq_weights_1"]
    assert irexec.validate("mixed.xml").ok
    left = [node.friendly_name for node in irexec.read_model("mixed.xml").nodes if node.type == "FakeQuantize"]
    assert len(left) == 3 and SPOILT not in left


@pytest.mark.by_hand(0)
def test_processes_and_a_log_change_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for options in ([], ["-j", "2"], ["--resume", "log.jsonl"], ["--resume", "log.jsonl"]):
        assert main([*PAIR, *options]) == 0
        printed.append(capsys.readouterr().out)
    assert len(set(printed)) == 1
    measured = len(Path("log.jsonl").read_text().splitlines())
    assert measured > 1
    # Another metric is measured again.
    assert main([*PAIR, "--resume", "log.jsonl", "--metric", "cosine", "--target", "0.5"]) == 0
    assert len(Path("log.jsonl").read_text().splitlines()) == 2 * measured


def test_a_precision_without_another_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sensitivity", "float.xml", "--as", "int4-weights", "--inputs", "batch.npz"]) == 0
    assert "layers of float.xml in higher precision:" in capsys.readouterr().out
    assert main(["sensitivity", "float.xml", "--as", "f16", "--metric", "cosine", "--target", "9"]) == 1
    assert "no set of layers meets the target 9" in capsys.readouterr().out


@pytest.mark.by_hand(0)
def test_what_is_not_written_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            ["sensitivity", "float.xml", "--as", "bf16", "--metric", "cosine", "--target", "2", "--apply", "mixed.xml"]
        )
        == 1
    )
    assert "mixed.xml is not written: no set of layers meets the target" in capsys.readouterr().out
    assert main(["sensitivity", "float.xml", "--as", "f16", "--target", "9", "--rescale", "small.xml"]) == 0
    assert "small.xml is not written: nothing overflows" in capsys.readouterr().out
    assert not Path("mixed.xml").exists() and not Path("small.xml").exists()


def test_a_metric_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.py").write_text(
        "import numpy as np\n\ndef worst(expected, found):\n"
        "    return -max(float(np.abs(a[n] - b[n]).max()) for a, b in zip(expected, found) for n in a)\n"
    )
    assert main([*PAIR, "--metric", "mine.py:worst", "--target=-0.2"]) == 0
    printed = capsys.readouterr().out
    assert "to meet the target -0.2, exclude 1 layer of float.xml:\n  block2/product\nmine.py:worst -0." in printed


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["float.xml"], "U003", "give a quantized model or --as"),
        (["float.xml", "int8.xml", "--as", "f16"], "U003", "give a quantized model or --as"),
        (["float.xml", "f16"], "U003", "f16 is a precision, not a model"),
        (["float.xml", "int8.xml", "--apply", "mixed"], "U003", "ends with .xml"),
        (["float.xml", "int8.xml", "--rescale", "small.xml"], "U003", "--rescale requires --as f16"),
        (["float.xml", "none.xml"], "U001", "the file does not exist"),
        (["float.xml", "float.xml"], "U004", "no quantizer"),
        (["int8.xml", "float.xml"], "U004", "the float model comes first"),
        (["float.xml", "int8.xml", "--metric", "psnr"], "U004", "neither snr"),
        (["float.xml", "int8.xml", "--metric", "top-1"], "U004", "FILE.py:function: did you mean top1?"),
        (["float.xml", "int8.xml", "--target", "all"], "U004", "neither a share"),
        (["float.xml", "int8.xml", "--input", "z=[1]"], "U005", "no input has this name"),
        (["float.xml", "int8.xml", "--inputs", "nowhere"], "U001", "the file does not exist"),
    ],
)
def test_what_cannot_be_used_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: str, message: str
) -> None:
    assert main(["sensitivity", *options]) == 2
    printed = capsys.readouterr()
    assert f"error[{code}]" in printed.err and message in printed.err
    assert printed.out == ""
