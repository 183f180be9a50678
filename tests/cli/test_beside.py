"""Files beside a model that are too deep, too large, of other types or cut off: a finding that names the file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from irexec.cli.main import main
from irexec.ir.beside import MOST_OF_SETTINGS, Unreadable, read_csv, read_json, read_toml

SAMPLES = Path(__file__).parents[2] / "samples"
DEEP = "[" * 100_000
HOSTILE = {
    "deep": DEEP,
    "number": "1",
    "text": '"x"',
    "list": "[[1], 2]",
    "kind": '{"kind": ["compare"]}',
    "types": '{"kind": "sensitivity", "single": [{"layers": ["a"], "recovered": "", "metric": 1}], "tensors": 1}',
    "results": '{"format": 1, "runtime": "x", "cells": [{"operator": "a", "type": "b", "kind": "c", "verdicts": '
    '{"passed": "x"}}], "findings": []}',
    "cut": '{"kind": "model", "trace": [{',
    "bytes": "\udcff",
}
COMMANDS = {
    "trace": ["report", "model.xml", "--trace", "a.json", "-o", "o.html"],
    "compare": ["report", "model.xml", "--compare", "a.json", "-o", "o.html"],
    "sensitivity": ["report", "model.xml", "--sensitivity", "a.json", "-o", "o.html"],
    "counters": ["report", "model.xml", "--counters", "a.json", "-o", "o.html"],
    "dump": ["report", "model.xml", "--dump", "dump", "-o", "o.html"],
    "with": ["compare", "model.xml", "--with", "dump"],
    "merge": ["conformance", "merge", "a.json"],
    "baseline": ["conformance", "--with", "irexec", "--only", "Abs", "--cases", "1", "--baseline", "a.json"],
    "bundle": ["bundle", "a.xml", "-o", "b.zip"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for suffix in ("xml", "bin"):
        shutil.copy(SAMPLES / "classifier" / f"model.{suffix}", f"model.{suffix}")
    return tmp_path


@pytest.mark.parametrize("content", HOSTILE)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_finding_names_the_file(command: str, content: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "dump").mkdir()
    for name in ("a.json", "dump/index.json", "a.xml", "a.py"):
        (folder / name).write_text(HOSTILE[content], errors="surrogateescape")
    assert main(COMMANDS[command]) == 2
    said = capsys.readouterr()
    text = said.out + said.err
    assert "error[U0" in text
    assert any(name in text for name in ("a.json", "dump", "irexec reduce"))
    assert "internal error" not in text


@pytest.mark.parametrize("content", [DEEP, "select = " + DEEP, "x" * (MOST_OF_SETTINGS + 1), "\udcff"])
def test_settings(content: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "irexec.toml").write_text(content, errors="surrogateescape")
    main(["validate", "model.xml"])
    said = capsys.readouterr()
    assert "U013" in said.out + said.err
    assert "irexec.toml" in said.out + said.err


def test_settings_of_two_gigabytes_are_not_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open("irexec.toml", "wb") as stream:
        stream.truncate(2 << 30)
    main(["validate", "model.xml"])
    assert "the file is larger than" in capsys.readouterr().out


def test_the_readers_raise_one_error() -> None:
    for read in (read_json, read_toml):
        for text in (DEEP, "{", "a = " + DEEP):
            with pytest.raises(Unreadable):
                read(text)
    with pytest.raises(Unreadable, match="line 2"):
        list(read_csv("a\n" + "x" * 200_000))


@pytest.mark.parametrize("content", [DEEP, "select = 1"])
def test_the_language_server_prints_what_is_wrong_in_settings(
    content: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from irexec.cli.lsp import _project

    (folder / "irexec.toml").write_text(content)
    assert _project(str(folder / "model.xml"))[0] == "strict"
    assert capsys.readouterr().err.startswith(f"irexec lsp: {folder / 'irexec.toml'}: ")
