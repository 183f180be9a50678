"""`--time-limit` and `--timeout`: commands stop with the findings so far and exit code 2, and write no output."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import pytest
from support.clock import Clock

from irexec.cli.main import COMMANDS, command_parsers, main

SAMPLES = Path(__file__).parents[2] / "samples"
MODEL = str(SAMPLES / "classifier" / "model.xml")
INPUT = f"image={SAMPLES / 'classifier' / 'image.npy'}"
# Commands that take little time.
WITHOUT = {"ops", "explain", "schema", "completion", "bundle"}
USUAL = {
    "validate": 60, "fix": 60, "doctest": 60, "lsp": 30, "shapes": 60, "bisect": 600, "passes": 600, "compare": 600,
    "reduce": 120, "blame": 120, "conformance": 60,
}  # fmt: skip


def limit_of(command: str) -> argparse.Action:
    """The option that limits the time of a command, or of each part of its work."""
    parser = command_parsers([command])[1][command]
    (option,) = [each for each in parser._actions if {"--time-limit", "--timeout"} & {*each.option_strings}]
    return option


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - WITHOUT))
def test_every_command_that_may_take_long_has_a_limit(command: str) -> None:
    option = limit_of(command)
    assert option.default == USUAL.get(command)
    assert option.option_strings == ["--timeout" if command in USUAL else "--time-limit"]


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - WITHOUT))
@pytest.mark.parametrize("none", ["0", "none", "inf", "1e30"])
def test_every_command_takes_the_same_words_for_no_limit(command: str, none: str) -> None:
    option = limit_of(command)
    assert callable(option.type)
    assert option.type(none) is None
    assert option.type("0.5") == 0.5
    assert option.help is not None
    assert "; 0 or none: no limit (default: " in option.help


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", MODEL, "--input", INPUT],
        ["validate", MODEL],
        ["show", MODEL],
        ["report", MODEL, "-o", "out"],
        ["diff", MODEL, MODEL],
        ["cut", MODEL, "--to", "stem/conv", "-o", "out"],
        ["convert", MODEL, "out"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_that_stops(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Clock(monkeypatch)
    monkeypatch.chdir(tmp_path)
    name = limit_of(arguments[0]).option_strings[0]
    assert main([*arguments, name, "40"]) == 2
    captured = capsys.readouterr()
    assert "error[U009]: stopped after 40 s" in captured.out + captured.err
    assert f"increase the limit with {name} SECONDS" in captured.out + captured.err
    assert list(tmp_path.iterdir()) == []


def test_fix_stops_and_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong, fixed = tmp_path / "wrong.xml", tmp_path / "fixed.xml"
    for path in (wrong, fixed):
        shutil.copy(SAMPLES / "wrong.xml", path)
    before, clock = wrong.read_bytes(), Clock(monkeypatch)
    assert main(["fix", str(fixed), "--timeout", "1000000"]) == 1
    assert fixed.read_bytes() != before
    capsys.readouterr()
    for limit in (1, clock.looks // 3, clock.looks // 2):
        assert main(["fix", str(wrong), "--timeout", str(limit)]) == 2
        captured = capsys.readouterr()
        assert f"error[U009]: stopped after {limit} s" in captured.out + captured.err
        assert wrong.read_bytes() == before


@pytest.mark.parametrize("none", ["0", "none"])
def test_no_limit(none: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock(monkeypatch)
    assert main(["validate", MODEL, "--timeout", none]) == 0
    assert clock.looks == 0


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("none", ["0", "none"])
def test_no_limit_for_the_responses_of_another_program(
    none: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("openvino")
    assert main(["compare", MODEL, "--with", "openvino", "--input", INPUT, "--timeout", none]) == 0
    check = f"{sys.executable} -c 'import sys; sys.exit(3)' {{}}"
    assert main(["reduce", MODEL, "--check", check, "--input", INPUT, "--timeout", none]) == 0
    assert "LIMIT = None\n" in Path("repro.py").read_text()
    assert main(["conformance", "--only", "Abs", "--cases", "1", "--timeout", none]) == 0


@pytest.mark.parametrize("wrong", ["-1", "soon", "nan"])
def test_what_is_not_a_limit(wrong: str) -> None:
    with pytest.raises(SystemExit):
        main(["validate", MODEL, "--timeout", wrong])


def test_each_file_has_its_own_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.xml"
    shutil.copy(SAMPLES / "wrong.xml", small)
    Clock(monkeypatch)
    assert main(["validate", MODEL, str(small), MODEL, "--timeout", "60", "--format", "json"]) == 2
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    assert {(Path(d["file"]).name, d["code"]) for d in found} == {
        ("model.xml", "U009"), ("small.xml", "D001"), ("small.xml", "P004"),
    }  # fmt: skip


@pytest.mark.by_hand(0)
def test_the_limit_holds_in_other_processes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", MODEL, str(SAMPLES / "wrong.xml"), "-j", "2", "--timeout", "0.000001"]) == 2
    assert capsys.readouterr().out.count("error[U009]") == 2


def test_a_page_shows_what_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    layer = '<layer type="ReLU" version="opset1"><input><port id="0"><dim>3</dim></port></input>'
    layer += '<output><port id="1"><dim>3</dim></port></output></layer>'
    page = tmp_path / "page.md"
    page.write_text("".join(f"# ReLU\n\n```xml\n{layer}\n```\n\n" for _ in range(30)))
    clock = Clock(monkeypatch)
    assert main(["doctest", str(page), "--timeout", "1000000"]) == 0
    assert "example 29 " in capsys.readouterr().out
    assert main(["doctest", str(page), "--timeout", str(int(0.9 * clock.looks))]) == 2
    out = capsys.readouterr().out
    assert "example 1 " in out and "example 29 " not in out
    assert "error[U009]: stopped after" in out


def test_the_earlier_name_of_both_options(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Clock(monkeypatch)
    for command in (["validate", MODEL], ["show", MODEL]):
        assert main([*command, "--limit", "40"]) == 2
        assert "error[U009]: stopped after 40 s" in "".join(capsys.readouterr())
        with pytest.raises(SystemExit):
            main([command[0], "--help"])
        assert "--limit" not in capsys.readouterr().out
