"""The sizes that a model accepts, as rows of the report."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path

import pytest
from support.dynamic_nets import MODELS

import irexec
from irexec import opset13 as op
from irexec.cli.main import main
from irexec.tools.render.shapes import SizeRows, open_sizes
from irexec.tools.shapes.words import condition_rows, studied


def conditions(model: irexec.Model) -> list[tuple[str, str]]:
    """Return the rows, without the short time limit of a report, because other processes may take the time."""
    shapes = studied(model, 60.0)
    assert shapes is not None
    return condition_rows(shapes)


def test_rows_of_conditions() -> None:
    assert conditions(MODELS["unet"]()) == [
        ("image", "[batch, 3, H, W]"),
        ("mask", "[batch, 1, H, W]"),
        ("batch", "any"),
        ("H", "multiples of 16, at least 16"),
        ("W", "multiples of 16, at least 16"),
    ]


def test_rows_of_alternatives_and_of_joint_conditions() -> None:
    rows = conditions(MODELS["branches"]())
    assert rows[-2:] == [("one of", "batch % 2 == 0 and batch >= 4"), ("or", "batch in [1, 3]")]
    assert ("whole_1", "1, or equal to one_1 + other_1") in conditions(MODELS["joined"]())
    assert ("together", "(H // 4)*(W // 4) == 24") in conditions(MODELS["flattened"]())


def test_a_model_without_open_dimensions_or_with_an_open_rank_has_no_rows() -> None:
    for shape in ([2, 3], None):
        data = op.parameter(irexec.PartialShape.dynamic() if shape is None else shape, "f32", name="data")
        assert open_sizes(irexec.Model([op.relu(data)], [data], "plain")) == SizeRows()


def test_the_report_shows_them(tmp_path: Path) -> None:
    irexec.save_model(MODELS["halves"](), tmp_path / "halves.xml")
    assert main(["report", str(tmp_path / "halves.xml"), "-o", str(tmp_path / "halves.html")]) == 0
    page = (tmp_path / "halves.html").read_text("utf-8")
    packed = re.search(r'id="data">([^<]*)<', page)
    assert packed is not None
    (model,) = json.loads(zlib.decompress(base64.b64decode(packed[1])))["models"]
    assert model["sizes"] == [["data", "[batch, data_1]"], ["batch", "any"], ["data_1", "multiples of 2"]]
    assert "accepted sizes" in page


def test_the_report_gives_the_costs_of_a_dynamic_model_as_functions_of_its_sizes(tmp_path: Path) -> None:
    irexec.save_model(MODELS["unet"](), tmp_path / "unet.xml")
    path = tmp_path / "unet.xml"
    assert main(["report", str(path), "-o", str(tmp_path / "command.html")]) == 0
    (tmp_path / "editor").mkdir()
    pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")
    from irexec.lsp.more_requests import write_report

    in_editor = write_report(path.read_text("utf-8"), str(path), tmp_path / "editor")
    pages = (tmp_path / "command.html").read_text("utf-8"), in_editor.read_text("utf-8"), irexec.report(path).html
    for text in pages:
        packed = re.search(r'id="data">([^<]*)<', text)
        assert packed is not None
        (model,) = json.loads(zlib.decompress(base64.b64decode(packed[1])))["models"]
        size = dict(model["size"])
        assert re.fullmatch(r"[\d.]+\*batch\*H\*W.*", size["multiply-adds"])
        assert "batch" in size["peak activations"]
