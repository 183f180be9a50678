"""irexec bundle: one archive that runs in an empty folder, with or without anonymised names."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import zipfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.waiting import PATIENCE

import irexec
from irexec import Node
from irexec import opset15 as ops
from irexec.cli.main import main

pytest.importorskip("openvino")


def rounded(x: Node) -> Node:
    return ops.convert(ops.divide(ops.convert(x, "i32"), np.int32(3), name="secret_division"), "f32")


def saturated(x: Node) -> Node:
    return ops.convert(ops.add(ops.convert(x, "i8"), np.int8(120), name="secret_sum"), "f32")


def doubled(x: Node) -> Node:
    large = ops.multiply(ops.convert(x, "f64"), np.float64(1e300), name="secret_scale")
    return ops.convert(ops.divide(large, np.float64(1e300)), "f32")


@pytest.fixture(
    scope="module", params=[rounded, saturated, doubled][: amount(3, 1)], ids=lambda build: str(build.__name__)
)
def reduced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reduction, created once: the results of the model on OpenVINO's CPU are wrong."""
    with chdir(made := tmp_path_factory.mktemp("reduced")):
        x = ops.parameter([2, 3], np.float32, name="secret_input")
        irexec.save_model(irexec.Model([ops.relu(ops.negative(request.param(x)))], [x], "secret_model"), "secret.xml")
        np.save("x.npy", np.float32([[-10, -20, 30], [-40, 50, -70]]))
        assert main(["reduce", "secret.xml", "--with", "openvino", "--input", "secret_input=x.npy"]) == 0
    return made


@pytest.fixture
def folder(reduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the reduction, as the current folder."""
    monkeypatch.chdir(shutil.copytree(reduced, tmp_path / "copy"))
    return tmp_path / "copy"


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("options", [[], ["--anonymise"]])
def test_the_archive_reproduces_the_failure_elsewhere(
    folder: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", "repro.xml", *options, "-o", "sent.zip"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("saved sent.zip: ")
    clean = folder / "clean"
    with zipfile.ZipFile("sent.zip") as archive:
        assert archive.testzip() is None
        archive.extractall(clean)
    (clean / "irexec.py").write_text("raise ImportError('irexec is not needed')\n")
    (script,) = [path for path in clean.glob("*.py") if path.name != "irexec.py"]
    words = [sys.executable, script.name]
    shown = subprocess.run(words, capture_output=True, text=True, cwd=clean, timeout=PATIENCE)
    assert shown.returncode == 1 and shown.stdout.endswith("\nreproduced\n"), shown.stdout + shown.stderr
    issue = (clean / "ISSUE.md").read_text()
    for heading in ("OpenVINO Version", "Operating System", "Device used for inference", "Issue description"):
        assert f"### {heading}\n" in issue
    assert f"python {script.name}" in issue and "CPU" in issue
    if options:
        assert all(b"secret" not in path.read_bytes() and "repro" not in path.name for path in clean.iterdir())


@pytest.mark.parametrize("suffix", [".xml", ".onnx"])
def test_an_anonymised_bundle_of_a_command(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The script takes the command as its arguments; functions and bodies of ONNX models get other names."""
    monkeypatch.chdir(tmp_path)
    Path("secret.py").write_text("import sys; sys.exit(3 if b'oftm' in open(sys.argv[1], 'rb').read().lower() else 0)")
    if suffix == ".xml":
        x = ops.parameter([2, 4], np.float32, name="secret_x")
        made = irexec.Model([ops.relu(ops.softmax(x, 1, name="secret_soft"), name="secret_end")], [x], "secret")
        irexec.save_model(made, "secret.xml")
    else:
        secret_function("secret.onnx")
    command = shlex.join([sys.executable, "secret.py", "{}"])
    assert main(["reduce", f"secret{suffix}", "--check", command, "-o", f"small{suffix}"]) == 0
    assert main(["bundle", f"small{suffix}", "--anonymize"]) == 0
    with zipfile.ZipFile("small.zip") as archive:
        archive.extractall("clean")
    assert all(b"secret" not in path.read_bytes() for path in Path("clean").iterdir())
    assert "python model.py COMMAND {}" in Path("clean/ISSUE.md").read_text()
    outcomes = []
    for words in (["../secret.py", "{}"], ["-c", "pass"], []):
        script = [sys.executable, "model.py", *([sys.executable] if words else []), *words]
        shown = subprocess.run(script, cwd="clean", capture_output=True, text=True, timeout=PATIENCE)
        outcomes.append((shown.returncode, shown.stdout.splitlines()[-1].partition(":")[0]))
    assert outcomes == [(1, "reproduced"), (0, "not here"), (2, "usage")]


def secret_function(path: str) -> None:
    """Write a model whose SoftMax is in a function, in a branch of an If."""
    pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    def value(name: str, shape: list[str | int] | None, kind: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    soft = helper.make_node("Softmax", ["secret_a"], ["secret_b"], name="secret_node", doc_string="secret")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("secret.domain", 1)]
    function = helper.make_function("secret.domain", "SecretSoft", ["secret_a"], ["secret_b"], [soft], opsets[:1])
    call = helper.make_node("SecretSoft", ["secret_x"], ["secret_y"], domain="secret.domain")
    other = helper.make_node("Neg", ["secret_x"], ["secret_z"])
    branches = {
        "then_branch": helper.make_graph([call], "secret_then", [], [value("secret_y", None)]),
        "else_branch": helper.make_graph([other], "secret_else", [], [value("secret_z", None)]),
    }
    nodes = [
        helper.make_node("Cast", ["secret_f"], ["secret_c"], to=TensorProto.BOOL),
        helper.make_node("If", ["secret_c"], ["secret_o"], name="secret_if", **branches),
    ]
    inputs = [value("secret_x", ["secret_n", 4]), value("secret_f", [])]
    graph = helper.make_graph(nodes, "secret_graph", inputs, [value("secret_o", ["secret_n", 4])])
    made = helper.make_model(graph, functions=[function], opset_imports=opsets, producer_name="secret")
    made.ir_version = 8
    Path(path).write_bytes(made.SerializeToString())


def test_what_reduce_did_not_write_is_not_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    x = ops.parameter([2], np.float32, name="x")
    irexec.save_model(irexec.Model([ops.relu(x)], [x], "m"), "m.xml")
    for text, message in ((None, "m.py does not exist"), ("[]", "was not written by irexec reduce")):
        if text is not None:
            Path("m.json").write_text(text)
            Path("m.py").write_text("")
        assert main(["bundle", "m.xml"]) == 2
        assert message in capsys.readouterr().err
    assert main(["bundle", "m.py"]) == 2
    assert "m.py is not a model" in capsys.readouterr().err
    assert main(["bundle", "none.xml"]) == 2
    assert not Path("m.zip").exists()


def test_a_script_without_the_variables_is_a_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "repro.py").write_text("print('mine')\n")
    assert main(["bundle", "repro.xml", "--anonymize", "-o", "sent.zip"]) == 2
    assert "error[U012]" in (shown := capsys.readouterr().err) and "did not write it" in shown
