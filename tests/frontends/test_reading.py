"""Reading: files, bytes, texts, printed layers and ONNX models use one function, and no file is opened twice."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import PASSING

import irexec
from irexec.cli.main import main
from irexec.frontends.reading import read
from irexec.ir.io import files
from irexec.ir.xml.source import Source

SAMPLES = Path(__file__).parents[2] / "samples"
CLASSIFIER = SAMPLES / "classifier" / "model.xml"
PRINTED = SAMPLES / "scatter_nd_update" / "example_2.xml"
LAYER = '<layer id="0" name="n" type="Abs" version="opset1"/>'


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are opened for reading, in order."""
    names: list[str] = []
    open_file = os.open

    def noting(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if not flags & (os.O_WRONLY | os.O_RDWR) and str(path).endswith(".xml"):
            names.append(Path(os.fspath(path)).name)
        return open_file(path, flags, *rest, **options)

    monkeypatch.setattr(files.os, "open", noting)
    return names


def test_a_model_is_read_with_its_text_and_document() -> None:
    reading = read(CLASSIFIER)
    assert reading.source is not None and reading.document is not None and reading.model is not None
    assert reading.report.ok and reading.snippet is None
    assert reading.model.source is reading.source is reading.document.source
    assert set(reading.seconds) == {"read", "check"}


def test_a_reading_is_read_only() -> None:
    with pytest.raises(AttributeError):
        read(CLASSIFIER).model = None  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        (b"\x89PNG\r\n", ("source",)),
        (b"<net", ("source",)),
        (b"<other/>", ("source",)),
        (PASSING.encode(), ("source", "document", "model")),
        (Source(PASSING), ("source", "document", "model")),
        (LAYER.encode(), ("source", "document", "snippet")),
        (Source(LAYER), ("source", "document", "snippet")),
    ],
)
def test_what_could_not_be_made_is_none(given: bytes | Source, holds: tuple[str, ...]) -> None:
    reading = read(given)
    found = [name for name in ("source", "document", "model", "snippet") if getattr(reading, name) is not None]
    assert tuple(found) == holds
    assert "model" in holds or "snippet" in holds or not reading.report.ok


def test_a_file_that_is_not_there_is_a_finding(tmp_path: Path) -> None:
    reading = read(tmp_path / "none.xml")
    assert [finding.code for finding in reading.report] == ["U001"]


def test_bytes_are_named_by_a_file_and_find_the_weights_beside_it() -> None:
    data = CLASSIFIER.read_bytes()
    assert read(data, file=CLASSIFIER).report.ok
    assert {finding.code for finding in read(data).report.errors} == {"C010"}


def test_an_onnx_model_has_no_text(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    for given in (tmp_path / "m.onnx", model.SerializeToString()):
        reading = read(given)
        assert reading.source is None and reading.document is None
        assert reading.model is not None and reading.report.ok


def test_a_failure_is_located_in_the_text_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    shutil.copy(PRINTED.parents[1] / "classifier" / "model.xml", path)
    shutil.copy(CLASSIFIER.with_suffix(".bin"), tmp_path / "m.bin")
    compiled = irexec.compile_model(irexec.read_model(path))
    path.unlink()
    with pytest.raises(irexec.IRError) as error:
        compiled([np.zeros((2, 3, 1, 1), np.float32)])
    assert all(finding.file == str(path) for finding in error.value.report if finding.line is not None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "wrong.xml"],
        ["validate", "--target", "2020.1", "wrong.xml"],
        ["validate", "printed.xml"],
        ["run", "model.xml"],
        ["run", "printed.xml"],
        ["show", "model.xml"],
        ["convert", "model.xml", "out/new.xml"],
        ["diff", "--run", "model.xml", "model.xml"],
    ],
)
def test_commands_read_each_file_once(
    arguments: list[str], opened: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    for source, name in ((CLASSIFIER, "model"), (SAMPLES / "wrong.xml", "wrong"), (PRINTED, "printed")):
        shutil.copy(source, f"{name}.xml")
        if source.with_suffix(".bin").exists():
            shutil.copy(source.with_suffix(".bin"), f"{name}.bin")
    read_from: list[str] = []
    from_path = Source.from_path

    def noting(path: Any, **options: Any) -> Source:
        read_from.append(path)
        return from_path(path, **options)

    monkeypatch.setattr(Source, "from_path", noting)
    main(arguments)
    named = [each for each in arguments if each.endswith(".xml") and "/" not in each]
    assert read_from == named
    # The command first checks whether the file can be opened.
    assert len(opened) <= 2 * len(named)
