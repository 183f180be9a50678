"""A quick check, `pytest -m smoke`: every command, the Python API and each kind of operator work once.

These tests need only irexec's own dependencies, so CI also runs them without the extras.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.calls import calls

import irexec
from irexec import opset15
from irexec.cli.main import main

SAMPLES = Path(__file__).parents[1] / "samples"
CLASSIFIER = SAMPLES / "classifier" / "model.xml"
IMAGE = f"image={SAMPLES / 'classifier' / 'image.npy'}"
TRANSFORMER = SAMPLES / "transformer" / "model.xml"
SNIPPETS = sorted(SAMPLES.glob("s*/example_*.xml"))

pytestmark = pytest.mark.smoke


def printed(capsys: pytest.CaptureFixture[str], *words: str | Path, code: int = 0) -> str:
    """Return the standard output of a command that exits with `code`."""
    assert main([*map(str, words)]) == code
    return capsys.readouterr().out


def test_run(capsys: pytest.CaptureFixture[str]) -> None:
    result = json.loads(printed(capsys, "run", CLASSIFIER, "--input", IMAGE, "--format", "json"))
    assert result["outputs"][0]["shape"] == [2, 10]


@pytest.mark.parametrize("path", SNIPPETS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_run_a_printed_layer(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The pages contain errors in some examples, which irexec reports and repairs.
    assert main(["run", str(path), "--format", "json"]) < 2
    assert json.loads(capsys.readouterr().out)["examples"][0]["executed"]


@pytest.mark.parametrize("path", [CLASSIFIER, TRANSFORMER], ids=lambda path: path.parent.name)
def test_validate(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "validate", path, "--format", "json")
    assert not irexec.validate(path).diagnostics


def test_validate_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "wrong.xml"
    copy.write_bytes((SAMPLES / "wrong.xml").read_bytes())
    assert "D001" in printed(capsys, "validate", copy, code=1)
    printed(capsys, "fix", copy, "--unsafe")
    assert irexec.validate(copy).ok


def test_compare_and_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.xml"
    other.write_text(CLASSIFIER.read_text("utf-8").replace('strides="2, 2"', 'strides="1, 1"', 1), "utf-8")
    other.with_suffix(".bin").write_bytes(CLASSIFIER.with_suffix(".bin").read_bytes())
    assert "agree" in printed(capsys, "compare", CLASSIFIER, "--with", CLASSIFIER, "--input", IMAGE)
    assert "strides" in printed(capsys, "diff", CLASSIFIER, other, code=1)


def test_cut_and_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    layer = irexec.read_model(CLASSIFIER).get_ordered_ops()[-2].friendly_name
    printed(capsys, "cut", CLASSIFIER, "--to", layer, "--input", IMAGE, "-o", tmp_path / "part.xml")
    printed(capsys, "convert", tmp_path / "part.xml", tmp_path / "again.xml")
    assert irexec.validate(tmp_path / "again.xml").ok


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed(capsys, "report", CLASSIFIER, "-o", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "words",
    [["show", CLASSIFIER], ["doctest", SNIPPETS[0]], ["ops", "ScatterNDUpdate"], ["explain", "P011"], ["schema"]],
    ids=lambda words: words[0],
)
def test_a_command_prints(words: list[str | Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(capsys, *words)) > 100


def test_the_python_api(tmp_path: Path) -> None:
    x = opset15.parameter([2, -1], np.float32, name="x")
    irexec.save_model(irexec.Model([opset15.softmax(x, 1)], [x], "soft"), tmp_path / "soft.xml")
    compiled = irexec.compile_model(irexec.read_model(tmp_path / "soft.xml"))
    assert np.allclose(compiled([np.float32([[0, 0], [1, 1]])])[0], 0.5)


def test_every_operator_runs_once() -> None:
    seen = set()
    for call in calls():
        if call.operator.versioned_name not in seen:
            seen.add(call.operator.versioned_name)
            attributes, _ = call.operator.parse_attributes(call.attributes)
            assert call.operator(*call.arrays, **attributes) is not None, call
    assert len(seen) > 200
