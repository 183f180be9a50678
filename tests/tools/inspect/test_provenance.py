"""Provenance: entries of rt_info in a summary, with secrets hidden and paths of machines marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import irexec
from irexec import opset15
from irexec.cli.main import main
from irexec.tools.inspect.provenance import provenance

TOKEN = "hf_" + 24 * "x"


@pytest.mark.parametrize(
    ("key", "value", "mark"),
    [
        ("Runtime_version", "2025.4.0-20398-8fdad55727d", None),
        ("ignored_scope", "null", None),
        ("ignored_scope", "['/model/layers.0/attn/MatMul']", None),
        ("eos_token", "</s>", None),
        ("eos_token_id", "2", None),
        ("token", "None", None),
        ("page", "https://huggingface.co/some/model", None),
        ("input_model", "DIR/model.onnx", None),
        ("note", TOKEN, "secret"),
        ("hf_token", "anything", "secret"),
        ("my_api_key", "anything", "secret"),
        ("origin", "https://name:word@host.example/model", "secret"),
        ("key", "-----BEGIN PRIVATE KEY-----", "secret"),
        ("input_model", "/home/user/model.onnx", "path"),
        ("input_model", "C:\\Users\\user\\model.onnx", "path"),
        ("input_model", "\\\\server\\share\\model.onnx", "path"),
        ("advanced_parameters", "{'statistics_path': '/tmp/stats', 'rank': 256}", "path"),
        ("origin", "file:///data/model.onnx", "path"),
    ],
)
def test_marks(key: str, value: str, mark: str | None) -> None:
    (entry,) = provenance({"section": {key: value}, "empty": {}})
    assert (entry.path, entry.mark) == (["section", key], mark)
    assert (entry.value == value) == (mark != "secret")


def test_a_summary_shows_who_made_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = opset15.parameter([2], "f32", name="x")
    model = irexec.Model([opset15.relu(x)], [x], "m")
    model.set_rt_info("int4_sym", ["nncf", "weight_compression", "mode"])
    model.set_rt_info(TOKEN, ["optimum", "note"])
    irexec.save_model(model, tmp_path / "m.xml")
    assert main(["show", str(tmp_path / "m.xml")]) == 0
    text = capsys.readouterr().out
    assert "nncf.weight_compression.mode  int4_sym" in text
    assert "hf_x... (hidden: it may be a secret" in text and TOKEN not in text
    assert main(["show", str(tmp_path / "m.xml"), "--format", "json"]) == 0
    text = capsys.readouterr().out
    found = {".".join(entry["path"]): entry for entry in json.loads(text)["provenance"]}
    assert found["nncf.weight_compression.mode"]["value"] == "int4_sym"
    assert found["optimum.note"]["mark"] == "secret" and TOKEN not in text
