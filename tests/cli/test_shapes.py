"""irexec shapes on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.commands import printed
from support.dynamic_nets import MODELS

import irexec
from irexec import opset13 as op
from irexec.cli.main import main

ROOT = Path(__file__).parents[2]
SEGMENTER = str(ROOT / "samples" / "segmenter" / "model.xml")


@pytest.mark.by_hand(0)
def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", SEGMENTER]) == 0
    text = printed(capsys)
    assert (
        "  image  f32 [batch, 3, H, W]\n    batch  any\n    H, W   multiples of 4, at least 4  H = 5: Concat-1 C3"
        in text
    )
    assert "  classes  f32  [batch, 4, H, W]\n" in text
    assert "smallest: image=1,3,4,4\n" in text


@pytest.mark.by_hand(0)
def test_text_of_alternatives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS["cache"](), tmp_path / "cache.xml")
    assert main(["shapes", str(tmp_path / "cache.xml")]) == 0
    text = printed(capsys)
    assert "    total    1, or equal to seq + past" in text
    assert "    batch  equal to batch_2, or one of them 1  batch = 2: Add-1 broadcast" in text
    assert "batch of past  3 beside 2: Concat-1 C3" in text


@pytest.mark.by_hand(0)
def test_text_of_joint_conditions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS["flattened"](), tmp_path / "flattened.xml")
    assert main(["shapes", str(tmp_path / "flattened.xml")]) == 0
    assert "together\n  (H // 4)*(W // 4) == 24\n" in printed(capsys)


@pytest.mark.by_hand(0)
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", SEGMENTER, "--format", "json"]) == 0
    found = json.loads(printed(capsys))
    assert found["dims"] == [
        {"id": "0.0", "symbol": "batch"},
        {"id": "0.2", "symbol": "H"},
        {"id": "0.3", "symbol": "W"},
    ]
    assert found["accepts"] == [["H % 4 == 0", "H >= 4", "W % 4 == 0", "W >= 4"]]
    assert found["outputs"] == [["batch", 4, "H", "W"]]
    first = next(each for each in found["because"] if each["symbol"] == "H")
    assert (first["layer"], first["type"], first["refused"]["H"]) == ("up2/joined", "Concat", 5)
    assert first["path"][-1] == "up2/joined" and len(first["path"]) > 3
    assert found["evidence"] == "proved" and found["limits"] == []


SCHEMA = json.loads((ROOT / "schemas" / "shapes.schema.json").read_text())


def _fits_schema(found: dict[str, Any], *absent: str) -> None:
    """Assert that printed JSON fits its schema, and has all of its keys except `absent`, and no others."""
    assert found.keys() == SCHEMA["properties"].keys() - {*absent}
    for kind in ("because", "baked", "checked"):
        keys = SCHEMA["properties"][kind]["items"]["properties"].keys()
        assert all(each.keys() <= keys for each in found.get(kind, []))
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(SCHEMA).validate(found)


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("name", sorted(MODELS))
def test_json_fits_its_schema(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    irexec.save_model(MODELS[name](), tmp_path / "model.xml")
    assert main(["shapes", str(tmp_path / "model.xml"), "--format", "json"]) == 0
    _fits_schema(json.loads(printed(capsys)), "checked")


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    ("table", "code", "expected"),
    [
        ("batch,H,W\n1,64,96\n", 0, "1 of 1 combination accepted"),
        ("batch,H,W\n1,64,96\n\n2,30,64\n", 1, "line 4: batch = 2, H = 30, W = 64: refused by Concat 'up1/joined'"),
        ('image\n1x3x64x64\n"1,3,64,64"\n', 0, "2 of 2 combinations accepted"),
    ],
)
def test_a_table_of_sizes(
    table: str, code: int, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sizes.csv").write_text(table, "utf-8")
    assert main(["shapes", SEGMENTER, "--check", str(tmp_path / "sizes.csv")]) == code
    assert expected in " ".join(printed(capsys).split())


@pytest.mark.by_hand(0)
def test_a_table_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sizes.csv").write_text("batch,H,W\n1,64,98\n", "utf-8")
    assert main(["shapes", SEGMENTER, "--check", str(tmp_path / "sizes.csv"), "--format", "json"]) == 1
    found = json.loads(printed(capsys))
    (row,) = found["checked"]
    assert (row["line"], row["accepted"], row["type"]) == (2, False, "Concat")
    _fits_schema(found)
    assert irexec.shapes(SEGMENTER).to_dict().keys() == set(SCHEMA["required"])


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("", "line 1: the header is missing; possible columns are batch, H, W, image"),
        ("batch,depth\n1,2\n", "line 1: the column 'depth' is not one of batch, H, W, image"),
        ("batch,H,W\n1,2\n", "line 2: 2 values, expected 3"),
        ("batch,H,W\n1,2,x\n", "line 2: W is 'x', expected one size"),
        ("batch,H\n1,4\n", "line 2: the column W is missing"),
        ("batch,H,W\n1,2,99999999999999999999\n", "line 2: 99999999999999999999 exceeds the 64-bit range"),
        ("image\n1x3\n", "line 2: image is '1x3', expected 4 dimensions"),
    ],
)
def test_a_table_that_cannot_be_read(
    table: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model does not matter: a model of one layer takes a tenth of the time of the sample."""
    image = op.parameter(irexec.PartialShape([-1, 3, -1, -1]), "f32", name="image")
    irexec.save_model(irexec.Model([op.relu(image)], [image], "small"), tmp_path / "small.xml")
    (tmp_path / "sizes.csv").write_text(table, "utf-8")
    assert main(["shapes", str(tmp_path / "small.xml"), "--check", str(tmp_path / "sizes.csv")]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and expected in captured.err and "U012" in captured.err


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("H", "the option does not have the form image=?,3,?,?"),
        ("Hight=64", "no input or symbol 'Hight'"),
        ("image=1,4,?,?", "contradicts the declared shape"),
        ("imag=1,3,?,?", "did you mean image?"),
    ],
)
def test_an_input_that_cannot_be_set(option: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", SEGMENTER, "--shape", option]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and expected in captured.err


@pytest.mark.by_hand(0)
def test_a_size_and_a_shape_are_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", SEGMENTER, "--shape", "H=8", "--input", "image=1,3,?,?"]) == 0
    assert "image  f32 [1, 3, 8, W]" in printed(capsys)


@pytest.mark.parametrize("option", ["--input", "--shape"])
def test_every_dimension_is_set(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", SEGMENTER, option, "image=1,3,32,16"]) == 0
    assert "classes  f32  [1, 4, 32, 16]" in printed(capsys)
    assert main(["shapes", SEGMENTER, option, "image=1,3,30,16"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "Concat 'up1/joined'" in captured.err and "rejects these sizes" in captured.err


def test_a_model_that_accepts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = op.parameter(irexec.PartialShape([-1, -1]), "f32", name="data")
    products = [op.matmul(data, op.constant(np.ones((rows, 4), np.float32)), False, False) for rows in (5, 6)]
    irexec.save_model(irexec.Model(products, [data], "never"), tmp_path / "never.xml")
    assert main(["shapes", str(tmp_path / "never.xml")]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and "the model accepts none of the sizes tried" in captured.err


def test_an_onnx_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
        "pool",
        [helper.make_tensor_value_info("x", kind, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("y", kind, None)],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), tmp_path / "pool.onnx")
    assert main(["shapes", str(tmp_path / "pool.onnx"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"] == [["n", 3, "h // 2", "w // 2"]]


def test_files_that_are_not_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shapes", str(tmp_path / "none.xml")]) == 2
    assert "U001" in capsys.readouterr().err
    example = Path(SEGMENTER).parents[1] / "scatter_nd_update" / "example_1.xml"
    assert main(["shapes", str(example)]) == 2
    assert "layers without a model" in capsys.readouterr().err
