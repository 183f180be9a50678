"""`irexec validate`: its options, its output, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.nets import PASSING

from irexec.cli.main import main
from irexec.ops.spec.operator import REGISTRY

BAD = PASSING.replace('from-layer="0"', 'from-layer="7"')
LENIENT = PASSING.replace('from-layer="0"', 'from-layer="+0"', 1)

HALVE = """from typing import Annotated

import irexec
from irexec.ops.spec.operator import Elements
from irexec.ops.rules.shapes import same_as
from irexec.core.types import Array, F32

Float = Annotated[Array, Elements("T", {F32})]


@irexec.operator("Halve", "mine", shapes=same_as())
def halve(x: Float, /) -> Float:
    return x / 2
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {"good.xml": PASSING, "bad.xml": BAD, "lenient.xml": LENIENT}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    result: list[dict[str, object]] = json.loads(capsys.readouterr().out)["diagnostics"]
    return result


def test_a_clean_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.xml"]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_a_wrong_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "bad.xml"]) == 1
    shown = capsys.readouterr().out
    assert "error[E001]" in shown
    assert "--> bad.xml:11:30" in shown
    assert "\x1b" not in shown


def test_all_files_in_one_report(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.xml", "bad.xml", "lenient.xml", "--format", "json"]) == 1
    assert {finding["file"] for finding in findings(capsys)} == {"bad.xml", "lenient.xml"}


def test_the_mode_is_passed_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "lenient.xml"]) == 1
    capsys.readouterr()
    assert main(["validate", "lenient.xml", "--mode", "openvino", "--format", "json"]) == 0
    assert {finding["severity"] for finding in findings(capsys)} == {"warning"}


def test_a_missing_file_does_not_hide_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "god.xml", "bad.xml", "--format", "json"]) == 2
    found = findings(capsys)
    assert [found[0]["code"], found[0]["file"], found[0]["hint"]] == ["U001", "god.xml", "did you mean good.xml?"]
    assert any(finding["file"] == "bad.xml" for finding in found)


@pytest.mark.parametrize("name", ["empty", "bad.xml/x", "\0"])
def test_what_is_not_a_file(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "empty").mkdir()
    assert main(["validate", name, "--format", "json"]) == 2
    assert [finding["code"] for finding in findings(capsys)] == ["U001"]


@pytest.mark.parametrize("format", ["sarif", "github"])
def test_the_other_formats(format: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "bad.xml", "--format", format]) == 1
    shown = capsys.readouterr().out
    assert ("::error file=bad.xml,line=11," if format == "github" else '"version": "2.1.0"') in shown


def test_weights_belong_to_one_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "good.xml", "bad.xml", "--weights", "w.bin", "--format", "json"]) == 2
    assert [finding["code"] for finding in findings(capsys)] == ["U003"]
    assert main(["validate", "good.xml", "--weights", "w.bin", "--format", "json"]) == 2
    assert [finding["code"] for finding in findings(capsys)] == ["U001"]


def test_an_extension_is_loaded_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ops.py").write_text("print('loaded')\n")
    assert main(["validate", "good.xml", "--extension", "ops.py"]) == 0
    assert capsys.readouterr().out == "loaded\nno findings\n"


def test_an_operator_of_ones_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ports = '<port id="0" precision="FP32"><dim>2</dim></port>'
    halve = (
        f'<layer id="2" name="h" type="Halve" version="mine"><input>{ports}</input><output>{ports}</output></layer>'
        '</layers>\n<edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>'
    )
    model = PASSING.replace("</layers>\n    <edges>", halve).replace(
        'from-layer="0" from-port="0" to-layer="1"', "@", 1
    )
    (folder / "halve.xml").write_text(model.replace("@", 'from-layer="2" from-port="0" to-layer="1"'))
    (folder / "ops.py").write_text(HALVE)
    assert main(["validate", "halve.xml", "--format", "json"]) == 1
    assert [finding["code"] for finding in findings(capsys)] == ["L004"]
    try:
        assert main(["validate", "halve.xml", "--extension", "ops.py"]) == 0
    finally:
        REGISTRY.pop(("Halve", "mine"), None)


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("import nowhere_to_be_found\n", "ModuleNotFoundError: No module named 'nowhere_to_be_found'", 1, 1),
        ("def f():\n    return 1 / 0\nf()\n", "ZeroDivisionError: division by zero", 2, 5),
        ("x = (1,\n", "SyntaxError: ", 1, 5),
        ("raise SystemExit(3)\n", "SystemExit: 3", 1, 1),
    ],
)
def test_an_extension_that_fails(
    text: str, message: str, line: int, column: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ops.py").write_text(text)
    assert main(["validate", "good.xml", "--extension", "ops.py", "--format", "json"]) == 2
    (finding,) = findings(capsys)
    assert str(finding["message"]).startswith(message)
    assert [finding[name] for name in ("code", "file", "line", "column")] == ["U002", "ops.py", line, column]


@pytest.mark.parametrize("name", ["ops.txt", "ops.xml"])
def test_an_extension_is_a_python_file(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_text("pass\n")
    assert main(["validate", "good.xml", "--extension", name, "--format", "json"]) == 2
    assert [finding["code"] for finding in findings(capsys)] == ["U002"]
