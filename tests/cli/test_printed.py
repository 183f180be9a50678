"""One way to the terminal: nothing that is printed acts on a terminal, or is a command in the log of an action."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irexec.cli.main import main
from irexec.core.diagnostics.render.characters import inert, inert_json

NAMES = [
    "::error::x",
    "a\n::error file=a::x",
    "  ::stop-commands::x",
    "##[error]x",
    "\x1b]52;c;aa\x07",
    "\x9b31mX\r",
    "\u202e",
]
ACTING = {chr(c) for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"} | {"\u202e"}


def assert_inert(text: str) -> None:
    assert not set(text) & ACTING
    assert "##[" not in text
    assert not any(line.lstrip().startswith("::") and not line.lstrip().startswith("::: ") for line in text.split("\n"))


@pytest.mark.parametrize("name", NAMES)
def test_a_text(name: str) -> None:
    assert_inert(inert(f"{name}\n"))
    assert json.loads(inert_json(json.dumps(name))) == name
    assert inert("\x1b[1mbold\x1b[0m\n") == "\x1b[1mbold\x1b[0m\n"


MODEL = """<net name="{0}" version="11"><layers>
<layer id="0" name="{0}" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="1" name="{0}2" type="ReLU" version="opset1"><input><port id="0" precision="FP32"><dim>2</dim></port></input>
<output><port id="1" precision="FP32"><dim>2</dim></port></output></layer>
<layer id="2" name="{0}3" type="Result">
<input><port id="0" precision="FP32"><dim>2</dim></port></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""
COMMANDS = [
    ["show", "m.xml"], ["run", "m.xml"], ["run", "m.xml", "--trace"], ["shapes", "m.xml"], ["validate", "m.xml"],
    ["validate", "m.xml", "--format", "concise"], ["compare", "m.xml", "--with", "m.xml"], ["diff", "m.xml", "n.xml"],
    ["show", "m.xml", "--format", "json"], ["validate", "m.xml", "--format", "sarif"],
    ["sensitivity", "m.xml", "--as", "f16"], ["cut", "m.xml", "--around", "x"], ["explain", "::x"],
    ["conformance", "merge", "r.json"], ["conformance", "compare", "r.json", "r.json"],
]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["::error::x", "a&#10;::error file=a::x", "##[error]x", "\u009b31m\u009d52;c;aa\u009c"]
)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_a_command_prints_is_inert(
    command: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.xml").write_text(MODEL.format(name))
    Path("n.xml").write_text(MODEL.format(name).replace("ReLU", "Abs"))
    cell = {"operator": name, "type": name, "kind": name, "verdicts": {"passed": 1, "\x1b[31m": 1}}
    results = {"format": 1, "runtime": f"{name}\x1b[31m", "processor": name, "cells": [cell], "findings": []}
    Path("r.json").write_text(json.dumps(results))
    try:
        main(command)
    except SystemExit as end:
        assert end.code == 2
    said = capsys.readouterr()
    assert said.out + said.err
    assert_inert(said.out + said.err)
