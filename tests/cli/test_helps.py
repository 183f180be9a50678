"""The help: commands in groups, and two correct examples for each command."""

from __future__ import annotations

import io
import itertools
import os
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support.quantized import inputs, pair

import irexec
from irexec import opset15 as ops
from irexec.cli.helps import EXAMPLES, GROUPS
from irexec.cli.main import COMMANDS, command_parsers, main

SAMPLES = Path(__file__).parents[2] / "samples"
NEEDS = {"--with openvino": "openvino", "model.onnx": "onnx", "exported": "regex"}
"""Text in an example → the package that the example needs in addition to irexec."""
PAGE = """# Relu

```xml
<layer id="0" name="relu" type="ReLU" version="opset1">
    <input><port id="0" precision="FP32"><dim>2</dim></port></input>
    <output><port id="1" precision="FP32"><dim>3</dim></port></output>
</layer>
```
"""
FINDS = {
    "irexec doctest page.md",
    "irexec compare model.onnx --with model.xml --worst 3",
    "irexec diff model.xml changed.xml",
    "irexec diff model.xml changed.xml --run",
}
"""Examples with exit code 1: the page has errors, and the models differ."""
JUDGE = "irexec conformance --only Negative-1 --cases 4 --html page.html"
"""The exit code is 1 for releases of OpenVINO that compute one of these cases wrongly."""
ALL = [(command, example) for command, pair in EXAMPLES.items() for example, _ in pair]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples name, in the current folder."""
    monkeypatch.chdir(tmp_path)
    x = ops.parameter([1, 4], np.float32, name="x")
    doubled = ops.multiply(x, ops.constant(np.float32([[2, 2, 2, 2]])), name="doubled")
    relu = ops.relu(doubled, name="relu")
    model = irexec.Model([ops.reduce_sum(relu, ops.constant(np.int64([1])), keep_dims=True)], [x], "model")
    irexec.save_model(model, "model.xml")
    irexec.save_model(model, "changed.xml")
    Path("changed.xml").write_text(Path("changed.xml").read_text().replace('keep_dims="true"', 'keep_dims="false"'))
    Path("models").mkdir()
    Path("pages").mkdir()
    for name in ("models/one.xml", "models/two.xml"):
        irexec.save_model(model, name)
    Path("page.md").write_text(PAGE)
    Path("pages/page.md").write_text(PAGE)
    np.save("image.npy", np.float32([[1, -2, 3, -4]]))
    Path("sizes.csv").write_text("x\n1x4\n")
    Path("fails.sh").write_text('#!/bin/sh\n! grep -q ReduceSum "$1"\n')
    Path("fails.sh").chmod(0o755)
    return tmp_path


def write_quantized() -> None:
    for name, model in zip(("float", "int8"), pair(0, blocks=2), strict=True):
        irexec.save_model(model, f"{name}.xml")
    Path("samples").mkdir()
    np.savez("samples/one.npz", x=inputs(0)[0])


def write_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    kind = onnx.TensorProto.FLOAT
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    values = [onnx.helper.make_tensor_value_info(name, kind, [1, 4]) for name in ("x", "y")]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, "model.onnx")


def test_every_command_is_in_one_group_and_has_two_examples() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)
    assert {command: len(pair) for command, pair in EXAMPLES.items()} == dict.fromkeys(COMMANDS, 2)
    for command, example in ALL:
        assert example.split()[:2] in (["irexec", command], ["irexec", command.split()[0]])


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    shown, errors = capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["--help"])
    assert (shown, errors) == (capsys.readouterr().out, "")
    headings = [line.removesuffix(":") for line in shown.splitlines() if line.endswith(":")]
    assert headings == [*GROUPS, "options"]
    for name, summary in COMMANDS.items():
        assert [line.split() for line in shown.splitlines()].count([name, *summary.split()]) == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_ends_with_its_examples(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    *before, heading, first, _, second, _ = capsys.readouterr().out.rstrip("\n").splitlines()
    assert (heading, first, second) == ("examples:", *(f"  {example}" for example, _ in EXAMPLES[command]))
    assert max(map(len, before)) <= 70, "other texts are wrapped"


@pytest.mark.skipif(os.name == "nt", reason="a script as on POSIX")
@pytest.mark.parametrize(("command", "example"), ALL, ids=[example for _, example in ALL])
def test_an_example_works(
    command: str, example: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for part, package in NEEDS.items():
        if part in example:
            pytest.importorskip(package)
    words = shlex.split(example)[1:]
    # The server waits for requests, the device is rarely available, and releases would be installed.
    if command in ("lsp", "bisect", "blame") or ":GPU" in example:
        command_parsers([command])[0].parse_args(words)
        return
    if "model.onnx" in example:
        write_onnx()
    if "exported" in example:
        shutil.copytree(SAMPLES / "text_to_text" / "model", "exported")
    if "int8.xml" in example:
        write_quantized()
    if command == "bundle":
        assert main(["reduce", "model.xml", "--check", "./fails.sh {}", "-o", words[1]]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    before = set(folder.rglob("*"))
    code = main(words)
    shown = capsys.readouterr()
    assert code == int(example in FINDS) or (example == JUDGE and "  wrong\n" in shown.out), shown
    for option, value in itertools.pairwise(words):
        if option == "-o":
            assert folder / value in set(folder.rglob("*")) - before
    assert shown.out or shown.err == "no findings\n"


@pytest.mark.parametrize(
    ("words", "older"),
    [
        (["run", "model.xml", "-o", "OUT.npz"], ["run", "model.xml", "--save", "OUT.npz"]),
        (["convert", "model.xml", "-o", "OUT.xml"], ["convert", "model.xml", "OUT.xml"]),
        (["schema", "Relu", "-o", "OUT"], ["schema", "Relu", "--out", "OUT"]),
    ],
)
def test_older_names_of_output_do_the_same(words: list[str], older: list[str], folder: Path) -> None:
    before = set(folder.rglob("*"))
    made = []
    for given in (words, older):
        assert main(given) == 0
        made.append({path.name for path in folder.rglob("*")} - {path.name for path in before})
        for path in [path for path in folder.rglob("OUT*") if path.is_file()]:
            path.unlink()
    assert made[0] == made[1] and made[0]


def test_repairs_are_errors_on_request_by_the_older_name_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("loose.xml").write_text('<layer type="ReLU"><input><port id="0"><dim>2</dim></port></input></layer>')
    assert main(["validate", "loose.xml"]) == 0
    assert main(["validate", "loose.xml", "--no-repairs"]) == 1
    first = capsys.readouterr().out.partition("error")[2]
    assert main(["validate", "loose.xml", "--strict"]) == 1
    assert capsys.readouterr().out.partition("error")[2] == first != ""
    with pytest.raises(SystemExit):
        main(["validate", "--help"])
    assert "--strict" not in capsys.readouterr().out


def test_convert_needs_to_know_where_to_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "model.xml"]) == 2
    assert "help: add -o OUT.xml" in capsys.readouterr().err


def test_show_finds_what_validate_finds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "model.xml"]) == 0
    Path("model.xml").write_text(Path("model.xml").read_text().replace('keep_dims="true"', 'keep_dimms="true"'))
    for form in ("text", "json", "svg", "model-explorer"):
        assert main(["show", "model.xml", "--format", form]) == 1
    assert main(["report", "model.xml"]) == 0
    assert main(["show", "model.xml", "--ignore", "D,P"]) == 0
