"""irexec bundle: one archive that runs in a clean folder, named or anonymised."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from contextlib import chdir
from pathlib import Path

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
    """The folder of the reduction of a model whose results on OpenVINO's CPU are wrong: made once."""
    with chdir(made := tmp_path_factory.mktemp("reduced")):
        x = ops.parameter([2, 3], np.float32, name="secret_input")
        irexec.save_model(irexec.Model([ops.relu(ops.negative(request.param(x)))], [x], "secret_model"), "secret.xml")
        np.save("x.npy", np.float32([[-10, -20, 30], [-40, 50, -70]]))
        assert main(["reduce", "secret.xml", "--with", "openvino", "--input", "secret_input=x.npy"]) == 0
    return made


@pytest.fixture
def folder(reduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the reduction; the current folder."""
    monkeypatch.chdir(shutil.copytree(reduced, tmp_path / "copy"))
    return tmp_path / "copy"


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


def test_what_reduce_did_not_write_is_no_bundle(
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
