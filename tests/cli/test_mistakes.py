"""Common mistakes with any command: a message of a few lines with the file's name, and exit code 2 or 1."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from irexec.cli import guesses
from irexec.cli.main import COMMANDS, command_parsers, main

CLASSIFIER = Path(__file__).parents[2] / "samples" / "classifier"

READING = {
    "run": ["run", "{}"],
    "validate": ["validate", "{}"],
    "fix": ["fix", "{}"],
    "show": ["show", "{}"],
    "report": ["report", "{}"],
    "compare": ["compare", "{}", "--with", "openvino"],
    "diff": ["diff", "{}", "{}"],
    "reduce": ["reduce", "{}", "--check", "false {}"],
    "cut": ["cut", "{}", "--to", "probabilities"],
    "convert": ["convert", "{}", "out.xml"],
}
JUDGING = {"validate", "fix"}
"""Commands that report the errors in a file."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Return the exit code and the output."""
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = int(str(leaving.code))
    written = capsys.readouterr()
    return code, written.out + written.err


def of_file(command: str, path: str) -> list[str]:
    return [part if "false" in part else part.format(path) for part in READING[command]]


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize("path", ["missing.xml", "folder"])
def test_there_is_no_model(command: str, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder").mkdir()
    code, text = told(capsys, *of_file(command, path))
    assert (code, text.partition(":")[0]) == (2, "error[U001]")
    assert path in text and len(text.splitlines()) < 10


@pytest.mark.parametrize("command", [command for command in READING if command not in ("run", "validate", "fix")])
def test_commands_that_read_no_standard_input(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, *of_file(command, "-"))
    assert code == 2 and "error[U001]: this command cannot read standard input; run, validate and fix can" in text


@pytest.mark.skipif(os.name == "nt", reason="links and pipes as on POSIX")
@pytest.mark.parametrize("path", ["loop.xml", "pipe.xml"])
def test_another_file_is_suggested_only_if_the_file_is_missing(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("loop.xml").symlink_to("loop.xml")
    os.mkfifo("pipe.xml")
    Path("loops.xml").touch()
    Path("pipes.xml").touch()
    assert "did you mean" not in told(capsys, "validate", path)[1]
    assert "did you mean pipes.xml?" in told(capsys, "validate", "piper.xml")[1]


def test_weights_that_are_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(CLASSIFIER / "model.xml", "model.xml")
    Path("model.bin").mkdir()
    assert "there are no weights: model.bin is a directory;" in told(capsys, "validate", "model.xml")[1]


@pytest.mark.parametrize("command", READING)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file contains no element"),
        (b"\x00\x00\x80?" * 300, "the file is a binary file, not an IR"),
        (b"name: a", "the file is not XML"),
        (b"<html></html>", "the file is an HTML page"),
        (b"<page></page>", "the root element is <page>"),
    ],
    ids=["empty", "weights", "text", "page", "other"],
)
def test_it_is_not_a_model(command: str, data: bytes, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.xml").write_bytes(data)
    code, text = told(capsys, *of_file(command, "model.xml"))
    assert message in text and "model.xml:1:1" in text
    assert code == (1 if command in JUDGING else 2)
    assert len(text.splitlines()) < 25  # diff reports the error for both files.


@pytest.mark.parametrize("command", READING)
def test_the_package_for_onnx_is_not_there(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("onnx", "irexec.frontends.onnx.messages"):
        monkeypatch.setitem(sys.modules, name, None)
    Path("model.onnx").write_bytes(b"\x08\x08")
    code, text = told(capsys, *of_file(command, "model.onnx"))
    assert code == 2 and "model.onnx" in text
    assert "ONNX" in text and (command == "fix" or "pip install '.[onnx]'" in text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "the following arguments are required: FILE"),
        (("run", "m.xml", "--seed", "x"), "argument --seed: 'x' is not an integer of 0 or more"),
        (("run", "m.xml", "-j", "-1"), "argument -j/--jobs: '-1' is not an integer of 0 or more"),
        (
            ("validate", "m.xml", "--format", "junit"),
            "with pytest: pytest --ir-doctest PATH --junitxml FILE",
        ),
        (("run", "m.xml", "--format", "yaml"), "argument --format: invalid choice: 'yaml'"),
        (("sensitivity", "m.xml", "--as", "int8"), "'int4-weights'): did you mean int8-weights?"),
        (("validate", "m.xml", "--most", "-1"), "argument --most: '-1' is not an integer of 0 or more"),
        (("compare", "m.xml", "--with", "openvino", "--timeout", "soon"), "'soon' is not a number of 0 or more"),
        (("conformance", "--timeout", "-1"), "'-1' is not a number of 0 or more"),
        (("compare", "m.xml", "--with", "openvino", "--atol", "-0.5"), "'-0.5' is not a number of 0 or more"),
        (("reduce", "m.xml"), "one of the arguments --with --check is required"),
        (("compare", "m.xml", "n.xml"), "unrecognized arguments: n.xml: did you mean --with n.xml?"),
        (
            ("compare", "m.xml", "--device", "GPU"),
            "unrecognized arguments: --device GPU: did you mean --with openvino:",
        ),
        (
            ("compare", "m.xml", "--tolerance=1"),
            "unrecognized arguments: --tolerance=1: did you mean --atol or --rtol?",
        ),
        (("run", "m.xml", "-i", "x=1"), "unrecognized arguments: -i x=1: did you mean --input?"),
        (("run", "m.xml", "--batch", "2"), "unrecognized arguments: --batch 2: did you mean --shape NAME=DIMS?"),
        (("validate", "m.xml", "--json"), "unrecognized arguments: --json: did you mean --format json?"),
        (("fix", "m.xml", "--dry-run"), "unrecognized arguments: --dry-run: did you mean --diff?"),
        (("run", "m.xml", "--sanitize-all"), "unrecognized arguments: --sanitize-all: did you mean --sanitize?"),
    ],
)
def test_the_command_line_is_wrong(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = told(capsys, *arguments)
    command = " ".join(("irexec", *arguments[:1]))
    assert code == 2
    assert re.fullmatch(rf"{command}: error: .*\nfor help: {command} --help\n", text)
    assert message in text


@pytest.mark.parametrize(
    ("name", "told_instead"),
    [("lint", "validate"), ("info", "show"), ("benchmark", "run --repeat N"), ("version", "--version"), ("rum", "run")],
)
def test_commands_of_other_tools(name: str, told_instead: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, name)
    assert code == 2
    assert f"irexec: error: unknown command '{name}': did you mean {told_instead}?\n" in text


def test_names_of_other_tools_lead_to_what_there_is() -> None:
    """Each suggested command exists and has the suggested option; each suggested option belongs to a command."""
    known = {name: {*parser._option_string_actions} for name, parser in command_parsers([*COMMANDS])[1].items()}
    for said in guesses.COMMANDS.values():
        command, *option = said.split()
        assert said == "--version" or (command in known and not {*option[:1]} - known[command]), said
    every = {option for options in known.values() for option in options}
    for found in guesses.OPTIONS.values():
        assert {each.split()[0] for each in found} <= every
    assert not guesses.COMMANDS.keys() & COMMANDS.keys()


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "help") == told(capsys, "--help")
    assert told(capsys, "help", "run") == told(capsys, "run", "--help")
    assert told(capsys, "-V") == told(capsys, "--version")


def test_compare_is_given_one_model_only(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, "compare", str(CLASSIFIER / "model.xml"))
    assert code == 2 and "error[U003]: the other side is not given: add --with openvino, --with OTHER.xml or" in text


def test_findings_are_written_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = str(CLASSIFIER.parent / "wrong.xml")
    code, printed = told(capsys, "validate", wrong, "--format", "sarif")
    assert told(capsys, "validate", wrong, "--format", "sarif", "-o", "found.sarif") == (
        code,
        "2 errors, written to found.sarif\n",
    )
    assert told(capsys, "validate", wrong, "-o", "found.txt", "-q") == (code, "")
    assert Path("found.sarif").read_text("utf-8") == printed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("validate", "model.xml", "-o", "nowhere/found.txt"), "U007", "-o: there is no folder 'nowhere'"),
        (("conformance", "--with", "nobody", "-o", "nowhere/found.json"), "U007", "-o: there is no folder 'nowhere'"),
        (("convert", "model.xml", "out.onnx"), "U007", "the file name of an IR must end with .xml, but is out.onnx"),
        (("convert", "model.xml", "nowhere/out.xml"), "U007", "-o: there is no folder 'nowhere'"),
        (("cut", "model.xml", "--to", "stem/conv", "-o", "nowhere/out.xml"), "U007", "there is no folder"),
        (("report", "model.xml", "-o", "nowhere/out.html"), "U007", "there is no folder"),
        (("run", "model.xml", "--save", "nowhere/out.npz"), "U007", "there is no folder"),
        (("run", "model.xml", "--dump", "model.txt"), "U007", "cannot be written"),
    ],
)
def test_the_output_cannot_be_written(
    arguments: tuple[str, ...], code: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in ("model.xml", "model.bin"):
        shutil.copy(CLASSIFIER / file, file)
    Path("model.txt").touch()
    left, text = told(capsys, *arguments)
    assert left == 2
    assert f"error[{code}]" in text and message in text and arguments[-1] in text
    assert sorted(path.name for path in Path().iterdir()) == ["model.bin", "model.txt", "model.xml"]


def test_what_is_not_a_log_is_not_appended_to(capsys: pytest.CaptureFixture[str]) -> None:
    text = (CLASSIFIER / "model.xml").read_text("utf-8")
    Path("model.xml").write_text(text, "utf-8")
    Path("other.xml").write_text(text, "utf-8")
    code, said = told(capsys, "validate", "model.xml", "--resume", "other.xml")
    assert code == 2 and "error[U007]: --resume: the log cannot be used: the file exists and is not a log" in said
    assert Path("other.xml").read_text("utf-8") == text


def test_a_model_without_its_weights_is_still_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(CLASSIFIER / "model.xml", "model.xml")
    code, text = told(capsys, "show", "model.xml")
    assert code == 1 and "error[C010]: there are no weights" in text
    shutil.copy(CLASSIFIER / "model.bin", "model.bin")
    _, whole = told(capsys, "show", "model.xml")
    for line in ("layers", "parameters", "weights"):
        (shown,) = re.findall(rf"^  {line} .*$", whole, re.MULTILINE)
        assert shown in text.splitlines()


@pytest.mark.parametrize(
    "command",
    ["compare", "compare --inputs x.npz -j 2", "passes", "reduce", "bisect --settings", "blame", "conformance"],
)
@pytest.mark.parametrize("option", ["INFERENCE_PRECISION_HINT", "=f32"])
def test_a_property_without_name_or_value(command: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(CLASSIFIER / "model.xml", "m.xml")
    shutil.copy(CLASSIFIER / "model.bin", "m.bin")
    np.savez("x.npz", image=np.zeros((1, 3, 32, 32), np.float32))
    name, *more = command.split()
    model = [] if name == "conformance" else ["m.xml", *("--input", "x.npz") * ("--inputs" not in more)]
    code, text = told(capsys, name, *model, *more, "--with", "openvino", "--config", option)
    assert code == 2
    assert f"error[U004]: --config {option}: the option does not have the form INFERENCE_PRECISION_HINT=f32" in text
