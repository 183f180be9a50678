"""irexec schema: schemas on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import etree
from support.commands import output


@pytest.mark.by_hand(0)
def test_the_schema_of_the_format(capsys: pytest.CaptureFixture[str]) -> None:
    schema = etree.RelaxNG(etree.fromstring(output(["schema"], capsys).encode()))
    assert schema.validate(etree.fromstring('<net version="11"><layers/><edges/></net>'))
    assert not schema.validate(etree.fromstring('<net version="9"><layers/><edges/></net>'))


def test_the_schema_of_an_operator(capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads(output(["schema", "ScatterNDUpdate"], capsys))
    assert schema["title"] == "ScatterNDUpdate-15"
    assert schema["properties"]["reduction"]["default"] == "none"
    assert json.loads(output(["schema", "scatterNDUpdate-opset5"], capsys))["title"] == "ScatterNDUpdate-4"


@pytest.mark.by_hand(0)
def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "a" / "b"
    assert output(["schema", "Gather", "--out", str(folder)], capsys) == f"{folder / 'Gather-opset8.json'}\n"
    assert json.loads((folder / "Gather-opset8.json").read_text())["title"] == "Gather-8"
    assert output(["schema", "--out", str(folder)], capsys).endswith(f"schemas in {folder}\n")
    assert (folder / "ir.rng").is_file()
    assert (folder / "operators" / "Gather-opset7.json").is_file()


@pytest.mark.by_hand(0)
def test_an_unknown_operator_and_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean Gather" in output(["schema", "Gathr"], capsys, code=2)
    (tmp_path / "file").write_text("")
    for arguments in (["schema"], ["schema", "Gather"]):
        assert "error[U007]" in output([*arguments, "--out", str(tmp_path / "file")], capsys, code=2)
