"""irexec show: the summary of a model on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import irexec
from irexec.cli.main import main
from irexec.ir.xml.source import Source
from irexec.tools.shapes.probe import Prober

SAMPLES = Path(__file__).parents[2] / "samples"


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SAMPLES / "transformer" / "model.xml")]) == 0
    text = capsys.readouterr().out
    for heading in ("inputs", "outputs", "size", "operators", "states", "dynamic"):
        assert f"\n{heading}\n" in text
    assert "parameters        56.5 k\n" in text
    assert "keys    f32  [1,4,?,16]" in text


def test_costs_of_a_dynamic_model(capsys: pytest.CaptureFixture[str]) -> None:
    """A summary infers a model once: the search for accepted sizes, hundreds of inferences, belongs to `shapes`."""
    segmenter = str(SAMPLES / "segmenter" / "model.xml")
    with patch.object(Prober, "__init__", side_effect=AssertionError("a summary probes sizes")):
        assert main(["show", segmenter]) == 0
    assert "irexec shapes finds the sizes that the model accepts" in capsys.readouterr().out
    assert main(["show", segmenter, "--shape", "image=1,3,8,8"]) == 0
    text = capsys.readouterr().out
    assert "multiply-adds     125 k\n" in text and "irexec shapes" not in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SAMPLES / "classifier" / "model.xml"), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["totals"]["layers"] == len(found["layers"]) == 50


def test_one_constant_is_not_several(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = irexec.opset15.parameter([2], np.float32, name="x")
    irexec.save_model(irexec.Model([irexec.opset15.add(x, np.float32([1, 2]))], [x], "one"), tmp_path / "one.xml")
    assert main(["show", str(tmp_path / "one.xml")]) == 0
    assert "4, including 1 constant, 1 input and 1 output\n" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["json", "svg"])
def test_a_format_is_an_option_of_its_own(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for option in ([f"--{kind}"], ["--format", kind]):
        assert main(["show", str(SAMPLES / "transformer" / "model.xml"), *option]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and len(shown[0]) > 1000


def test_a_snippet_and_a_missing_file_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["show", str(SAMPLES / "scatter_nd_update" / "example_1.xml")]) == 2
    assert "layers without a model" in capsys.readouterr().err
    assert main(["show", str(tmp_path / "none.xml")]) == 2
    assert "U001" in capsys.readouterr().err


def test_a_broken_file_is_refused_with_its_findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "broken.xml"
    path.write_text("<net name='x' version='11'><layers>", "utf-8")
    assert main(["show", str(path)]) != 0
    assert "X001" in capsys.readouterr().err


def test_a_given_shape_closes_what_is_open(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(SAMPLES / "classifier" / "model.xml")
    assert main(["show", model, "--shape", "image=2,3,32,32"]) == 0
    text = capsys.readouterr().out
    assert "probabilities  f32  [2,10]" in text
    assert "not known" not in text and "dynamic" not in text
    assert main(["show", model, "--shape", "image=2,4,32,32"]) == 2
    assert "does not match the model's shape" in capsys.readouterr().err
    assert main(["show", model, "--shape", "picture=1"]) == 2
    assert "no input has this name" in capsys.readouterr().err


def test_a_summary_does_not_look_for_the_lines_of_layers(capsys: pytest.CaptureFixture[str]) -> None:
    """Finding them takes as long as reading the file, and text does not contain them."""
    with patch.object(Source, "locate", side_effect=AssertionError("a summary locates layers")):
        assert main(["show", str(SAMPLES / "transformer" / "model.xml")]) == 0
    assert "parameters        56.5 k\n" in capsys.readouterr().out


def test_layers_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    model = str(SAMPLES / "classifier" / "model.xml")
    assert main(["show", model, "--text"]) == 0
    shown = capsys.readouterr().out
    assert main(["text", model]) == 0
    text = capsys.readouterr().out
    assert shown.startswith("classifier\n\ninputs") and shown.endswith(f"\n\n{text}")
    assert main(["show", model, "--layer", "head", "--layer", "pool", "--layer", "image"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "image: f32[?,3,32,32]",
        "pool = MaxPool-14(block2/pointwise/relu) strides=[2,2] pads=[0,0]:[0,0] dilations=[1,1] kernel=[2,2]"
        "  # f32[?,64,8,8], i64[?,64,8,8]",
        "head = MatMul-1(mean, head/weights)  # f32[?,10]",
    ]


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--layer", "heads"], "U005", "did you mean head"),
        (["--layer", "head", "--format", "svg"], "U003", "--layer requires --format text"),
        (["--text", "--json"], "U003", "--text requires --format text"),
    ],
)
def test_layers_that_cannot_be_printed(
    options: list[str], code: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(SAMPLES / "classifier" / "model.xml"), *options]) == 2
    text = capsys.readouterr()
    assert code in text.err and told in text.err and not text.out


def test_layers_of_bodies_and_of_onnx_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.irt").write_text(
        "model m (x: f32[4,2]) -> (y)\n  y = TensorIterator-1(x)\n    body (row: f32[1,2]) -> (b)\n"
        "      b = Negative-1(row)\n    in 0 -> row axis=0\n    out b -> 0 axis=0\n"
    )
    assert main(["show", str(tmp_path / "m.irt"), "--layer", "b"]) == 0
    assert capsys.readouterr().out == "b = Negative-1(row)  # f32[1,2]\n"
    onnx = pytest.importorskip("onnx")
    onnx.save(onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[2] x) => (float[2] y) { y = Neg(x) }'
    ), tmp_path / "m.onnx")  # fmt: skip
    assert main(["show", str(tmp_path / "m.onnx"), "--layer", "y"]) == 0
    assert capsys.readouterr().out.endswith(" = Negative-1(x)  # f32[2]\n")
