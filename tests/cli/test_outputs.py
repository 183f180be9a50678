"""No output of any command overwrites an input, under any name: all options that write, all files read."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from support.waiting import PATIENCE

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper

import irexec
from irexec import opset15 as ops
from irexec.cli.main import COMMANDS, command_parsers, main
from irexec.model.arrays.saving import save_arrays, save_json

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links as on POSIX")


@dataclass(frozen=True)
class Output:
    """An option that writes: its value, the files that are written because of it, and the other arguments of the
    command.
    """

    command: str
    option: str
    value: str
    files: tuple[str, ...]
    needs: tuple[str, ...] = ()

    def arguments(self, out: Path) -> list[str]:
        value = str(out / self.value)
        return [self.option, value]


CUT = ("part.xml", "part.bin", "part.irt", "part.npz")
REDUCED = ("small.xml", "small.bin", "small.npz", "small.json", "small.py", "small.md", "small.expected.npz")
SUFFIXES = ("xml", "bin", "irt", "npz")
CULPRIT = (*(f"{name}.{suffix}" for name in ("culprit", "other") for suffix in SUFFIXES), "outputs.npz")
CHECK = ("--check", "false {}")
JUDGED = ("--with", "irexec", "--case", "Abs-1/f32/x=[2]/seed1")
OUTPUTS = [
    Output("run", "-o", "results.npz", ("results.npz",)),
    Output("run", "--dump", "dump", ("dump/index.json", "dump/00000_scaled.npy")),
    Output("run", "-o", "many", ("many/000000.npz", "many/000001.npz"), ("--inputs", "{batch}")),
    Output("run", "--resume", "log", ("log",), ("--inputs", "{batch}", "-o", "{out}/many")),
    Output("validate", "-o", "found.txt", ("found.txt",)),
    Output("validate", "--resume", "log", ("log",)),
    Output("doctest", "--errata", "errata.md", ("errata.md",)),
    Output("doctest", "--resume", "log", ("log",)),
    Output("compare", "--dump", "dump", ("dump/0/index.json", "dump/0/inputs.npz"), ("--with", "{other}")),
    Output("compare", "--save-inputs", "kept", ("kept/0.npz",), ("--with", "{other}")),
    Output("compare", "--save-culprit", "c", tuple(f"c/{name}" for name in CULPRIT), ("--with", "{other}")),
    Output("compare", "--resume", "log", ("log",), ("--inputs", "{batch}", "--with", "{other}")),
    Output("sensitivity", "--apply", "mixed.xml", ("mixed.xml", "mixed.bin"), ("--as", "bf16")),
    Output("sensitivity", "--rescale", "small.xml", ("small.xml", "small.bin"), ("--as", "bf16")),
    Output("sensitivity", "--resume", "log", ("log",), ("--as", "bf16")),
    Output("conformance", "-o", "found.json", ("found.json",), JUDGED),
    Output("conformance", "--html", "page.html", ("page.html",), JUDGED),
    Output("conformance", "--resume", "log", ("log",), JUDGED),
    Output("reduce", "-o", "small.xml", REDUCED, CHECK),
    Output("passes", "--html", "page.html", ("page.html",)),
    Output("bisect", "--resume", "log", ("log",), ("--releases", "1,2")),
    Output("blame", "-o", "sent.zip", ("sent.zip",)),
    Output("bundle", "-o", "sent.zip", ("sent.zip",)),
    Output("cut", "-o", "part.xml", CUT, ("--around", "scaled")),
    Output("convert", "-o", "new.xml", ("new.xml", "new.bin")),
    Output("convert", "-o", "new.py", ("new.py", "new.bin")),
    Output("text", "-o", "new.irt", ("new.irt", "new.bin")),
    Output("report", "-o", "page.html", ("page.html",)),
    Output("show", "-o", "drawing.svg", ("drawing.svg",)),
    Output("shapes", "--unbake", "open.xml", ("open.xml", "open.bin")),
]
NOTHING_READ = {("schema", "-o"), ("conformance", "--reproducers")}
"""Options of a command that reads no file, and of a folder for files that are named after cases."""

READ_OR_NOT_FILES = {
    *("--input", "--inputs", "--weights", "--extension", "--with", "--diff", "--trace"),
    *("--compare", "--check", "--shape", "--prompt", "--image", "--precision", "--page", "--until"),
    *("--cluster", "--config", "--select", "--ignore", "--device", "--python", "--only"),
    *("--case", "--baseline", "--target", "--metric", "--same", "--counters", "--sensitivity"),
    *("--releases", "--environments", "--layer", "--from", "--to", "--around", "--explain-value"),
    *("--constant", "--map", "--outputs", "--replace", "--static", "--bound", "--layout"),
    *("--mean", "--scale", "--reverse-channels", "--rename", "--batch"),
}
"""Options with values that write nothing. (`report --dump` names a folder that is read.)"""


@dataclass(frozen=True)
class Input:
    """A file that a command reads: its argument, with {} for its path, and its suffix."""

    role: str
    commands: tuple[str, ...]
    given: tuple[str, ...]
    suffix: str = ""


TAKES_INPUTS = ("run", "compare", "reduce", "sensitivity", "cut", "report", "passes", "bisect", "blame")
INPUTS = [
    Input("model.xml", (*TAKES_INPUTS, "convert", "validate", "show"), ("{}",), ".xml"),
    Input("model.bin", (*TAKES_INPUTS, "validate"), ("{model}", "--weights", "{}")),
    Input("x.npy", TAKES_INPUTS, ("{model}", "--input", "x=@{}")),
    Input("operators.py", (*TAKES_INPUTS, "validate"), ("{model}", "--extension", "{}"), ".py"),
    Input("operators.py", ("sensitivity",), ("{model}", "--metric", "{}:function"), ".py"),
    Input("baseline.toml", ("conformance",), ("--baseline", "{}")),
    Input("page.md", ("doctest",), ("{}",), ".md"),
    Input("operators.py", ("doctest",), ("{page}", "--extension", "{}"), ".py"),
    Input("trace.json", ("report",), ("{model}", "--trace", "{}")),
    Input("model.xml", ("report",), ("{model}", "--diff", "{}"), ".xml"),
    Input("model.xml", ("compare",), ("{model}", "--with", "{}"), ".xml"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files of every kind that commands read."""
    path = tmp_path / "in"
    path.mkdir()
    x = ops.parameter([1, 2], np.float32, name="x")
    scaled = ops.multiply(x, ops.constant(np.float32([[2, 3]])), name="scaled")
    irexec.save_model(irexec.Model([ops.relu(scaled)], [x], "small"), path / "model.xml")
    for suffix in (".xml", ".bin"):
        shutil.copy(path / f"model{suffix}", path / f"other{suffix}")
    np.save(path / "x.npy", np.ones((1, 2), np.float32))
    (path / "baseline.toml").write_text("")
    save_arrays(path / "batch.npz", {"x": np.ones((2, 2), np.float32)})
    (path / "operators.py").write_text("import irexec\n")
    (path / "page.md").write_text('```xml\n<layer id="0" name="a" type="Abs" version="opset1"/>\n```\n')
    save_json(path / "trace.json", {"kind": "model", "trace": []})
    return path


def filled(words: tuple[str, ...], folder: Path, out: Path) -> list[str]:
    known = {
        "model": folder / "model.xml",
        "other": folder / "other.xml",
        "batch": folder / "batch.npz",
        "page": folder / "page.md",
        "out": out,
    }
    return [word.format("{}", **known) for word in words]


def names_of(folder: Path, out: Path, file: str, kind: str, given: Input) -> tuple[Path, Path] | None:
    """Return the path of an input as given and as resolved, such that the output `file` is the same file; None if that
    is impossible, because a model must have a certain name.
    """
    target = out / file
    target.parent.mkdir(parents=True, exist_ok=True)
    source = folder / given.role
    if kind in ("symbolic link", "hard link"):
        (target.symlink_to if kind == "symbolic link" else target.hardlink_to)(source)
        return source, source
    if given.suffix and target.suffix != given.suffix:
        return None
    shutil.copy(source, target)
    if given.suffix == ".xml":
        shutil.copy(source.with_suffix(".bin"), target.with_suffix(".bin"))
    spelled = target if kind == "same path" else Path(f"{target.parent}/../{target.parent.name}/./{target.name}")
    return spelled, target


@pytest.mark.parametrize("kind", ["same path", "other spelling", "symbolic link", "hard link"])
@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: f"{output.command} {output.option} {output.value}")
def test_an_output_that_is_an_input_is_refused(
    output: Output, kind: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, given in enumerate(i for i in INPUTS if output.command in i.commands):
        for file in output.files:
            out = tmp_path / f"{number}-{file.replace('/', '-')}"
            out.mkdir()
            if (found := names_of(folder, out, file, kind, given)) is None:
                continue
            named, real = found
            words = [w.replace("{}", str(named)) if "{}" in w else w for w in given.given]
            needs = filled(output.needs, folder, out)
            if "--with" in words:
                needs = [word for word in needs if word not in ("--with", str(folder / "other.xml"))]
            words = [str(folder / "model.xml") if w == "{model}" else w for w in words]
            words = [str(folder / "page.md") if w == "{page}" else w for w in words]
            arguments = [output.command, *words, *needs, *output.arguments(out)]
            before = everything(tmp_path)
            code = main(arguments)
            shown = capsys.readouterr()
            assert code == 2, (arguments, shown)
            assert shown.err.startswith(f"error[U007]: {output.option} {out}"), (arguments, shown.err)
            assert " is also " in shown.err and "which this command reads; choose another file\n" in shown.err
            assert shown.out == ""
            after = everything(tmp_path)
            assert {path: after.get(path) for path in before} == before, arguments
            assert real.read_bytes() == before[str(real)]


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


SPELLINGS = {"output", "format"}
"""The attributes of older spellings of an option, which are those of the newer ones."""


def options() -> Iterator[tuple[str, argparse.Action]]:
    """Yield every option whose value may name a file: not a number, and not one of some words."""
    _, commands = command_parsers(COMMANDS)
    for name, parser in commands.items():
        for action in parser._actions:
            older = action.help == argparse.SUPPRESS
            closed = action.nargs == 0 or action.type is not None or action.choices is not None
            if not closed and action.option_strings and not (older and action.dest in SPELLINGS):
                yield name, action


def test_the_table_has_every_option_that_writes() -> None:
    """Each option with a value is in one of the tables; the first table contains those that the commands declare."""
    table = {(output.command, output.option) for output in OUTPUTS} | NOTHING_READ
    for command, action in options():
        names = list(action.option_strings)
        if (command, names) == ("report", ["--dump"]):
            continue
        written = any((command, name) in table for name in names)
        assert written != bool({*names} & READ_OR_NOT_FILES), (
            f"{command} {names[0]}: OUTPUTS lists the options that name a file to write, READ_OR_NOT_FILES the others"
        )
    declared = set()
    for command in COMMANDS:
        module = importlib.import_module(f"irexec.cli.{command}")
        if hasattr(module, "outputs"):
            args = argparse.Namespace(output="o.xml", file="m.xml", other="openvino")
            for name in (
                "dump",
                "resume",
                "errata",
                "save_culprit",
                "save_inputs",
                "apply",
                "rescale",
                "unbake",
                "html",
                "reproducers",
            ):
                setattr(args, name, "o")
            declared |= {(command, option) for option, _ in module.outputs(args)}
    assert declared == table


# Cases that the tables do not cover


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) == 2
    return capsys.readouterr().err


def test_external_data_of_an_onnx_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="new.bin", size_threshold=0)
    before = everything(tmp_path)
    found = refused(["convert", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "new.xml")], capsys)
    assert f"-o {tmp_path / 'new.bin'} is also external data of the model, which this command reads" in found
    assert everything(tmp_path) == before


def test_a_folder_that_is_compared_with(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, dump = str(folder / "model.xml"), tmp_path / "dump"
    assert main(["compare", model, "--with", str(folder / "other.xml"), "--dump", str(dump)]) == 0
    capsys.readouterr()
    before = everything(tmp_path)
    for arguments in (["--dump", str(dump)], ["--dump", str(tmp_path / "in" / ".." / "dump")]):
        assert "which this command reads" in refused(["compare", model, "--with", str(dump), *arguments], capsys)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "culprit.xml").hardlink_to(dump / "0" / "index.json")
    found = refused(["compare", model, "--with", str(dump), "--save-culprit", str(tmp_path / "x")], capsys)
    assert "culprit.xml is also a recording, which this command reads" in found
    assert {path: everything(tmp_path)[path] for path in before} == before


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_results_that_would_overwrite_the_inputs_of_others(
    jobs: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second input is at the path of the results for the first."""
    inputs, results = tmp_path / "inputs", tmp_path / "results"
    inputs.mkdir()
    results.mkdir()
    for name in ("a", "b"):
        save_arrays(inputs / f"{name}.npz", {"x": np.ones((1, 2), np.float32)})
    (results / "a.npz").hardlink_to(inputs / "b.npz")
    before = everything(tmp_path)
    command = ["run", str(folder / "model.xml"), "--inputs", str(inputs), "-o", str(results), "-j", jobs]
    assert f"-o {results / 'a.npz'} is also an input, which this command reads" in refused(command, capsys)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_pages_that_other_processes_read(jobs: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(folder / "page.md", folder / "second.md")
    before = everything(folder)
    command = ["doctest", str(folder), "-j", jobs, "--errata", str(folder / "second.md")]
    assert "second.md is also an input, which this command reads" in refused(command, capsys)
    assert everything(folder) == before


def test_standard_input(folder: Path) -> None:
    if not os.path.exists("/dev/stdin"):
        pytest.skip("the system does not say what standard input is")
    code = "from irexec.cli.main import main; raise SystemExit(main())"
    path = folder / "model.xml"
    with path.open("rb") as stream:
        done = subprocess.run(
            [sys.executable, "-c", code, "run", "-", "--weights", str(folder / "model.bin"), "-o", str(path)],
            stdin=stream, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
    assert done.returncode == 2
    assert f"-o {path} is also the file on standard input, which this command reads" in done.stderr


def test_the_page_that_a_report_would_replace_by_default(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    Path("page.html").write_text("<pre>&lt;layer id='0' name='a' type='Abs'/&gt;</pre>")
    assert "-o page.html is also the model, which this command reads" in refused(["report", "page.html"], capsys)


def test_a_reduction_continues_from_its_own_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files are read and written again, but are not inputs."""
    check = "sh -c '! grep -q Multiply {}'"
    command = ["reduce", str(folder / "model.xml"), "--check", check, "-o", str(folder / "small")]
    for _ in range(2):
        assert main(command) == 0, capsys.readouterr()
        assert json.loads((folder / "small.json").read_text())["done"]


def test_other_files_are_replaced_as_ever(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(folder / "model.xml")
    (folder / "part.xml").write_text("whatever stood here")
    for _ in range(2):
        assert main(["cut", model, "--around", "scaled", "-o", str(folder / "part.xml")]) == 0
        assert main(["run", model, "--dump", str(folder)]) == 0
    assert irexec.read_model(folder / "part.xml")


def test_a_program_may_replace_what_it_has_read(folder: Path) -> None:
    """The Python API is not a command: the old file exists as long as it is mapped."""
    path = folder / "model.xml"
    irexec.save_model(irexec.read_model(path), path)
    assert irexec.validate(path).ok
