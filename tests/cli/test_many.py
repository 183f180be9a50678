"""The options for many files: folders, processes, a log to resume from, and Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from support.interrupting import interrupted

from irexec.cli.main import main
from irexec.ops.spec.operator import REGISTRY
from irexec.tools import status

SAMPLES = Path(__file__).parents[2] / "samples"
MODEL = str(SAMPLES / "classifier" / "model.xml")

CRASH = """import os
from typing import Annotated

import irexec
from irexec.ops.spec.operator import Elements
from irexec.core.types import Array, F32

Float = Annotated[Array, Elements("T", {F32})]


@irexec.operator("Crash", "mine")
def crash(x: Float, /) -> Float:
    return x


@crash.shapes
def _(check, x):
    os.kill(os.getpid(), 9)
"""
CRASHING = """<layer id="0" name="c" type="Crash" version="mine">
    <input><port id="0" precision="FP32"><dim>2</dim></port></input>
    <output><port id="1" precision="FP32"><dim>2</dim></port></output>
</layer>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The samples, and arrays for the classifier, in the current folder."""
    shutil.copytree(SAMPLES, tmp_path / "samples")
    (tmp_path / "arrays" / "more").mkdir(parents=True)
    image = np.load(SAMPLES / "classifier" / "image.npy")
    np.save(tmp_path / "arrays" / "b.npy", image)
    np.savez(tmp_path / "arrays" / "more" / "a.npz", image=image[:1])
    np.savez(tmp_path / "batch.npz", image=np.concatenate([image, image + 1]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("command", [["validate"], ["doctest"], ["validate", "--format", "json"]])
def test_processes_print_the_same(command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "samples" / "scatter_nd_update" / "no.xml").write_text("<")
    (folder / "samples" / "scatter_nd_update" / "example_5.xml").unlink()  # This example has 40 million elements.
    codes, texts = [], []
    for options in ([], ["-j", "2", "--resume", "log.jsonl"], ["--resume", "log.jsonl"]):
        codes.append(main([*command, "samples/scatter_nd_update", *options]))
        texts.append(capsys.readouterr().out)
    assert len(set(codes)) == 1
    assert len(texts[0]) > 1000 and texts == [texts[0]] * 3


@pytest.mark.by_hand(0)
def test_a_crash_is_a_finding_and_the_rest_continues(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "crash.py").write_text(CRASH)
    (folder / "samples" / "crash.xml").write_text(CRASHING)
    try:
        assert main(["validate", "samples", "-j", "2", "--extension", "crash.py", "--format", "json"]) == 2
    finally:
        REGISTRY.pop(("Crash", "mine"), None)
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    (crash,) = [finding for finding in found if finding["code"] == "U008"]
    assert crash["file"] == "samples/crash.xml"
    assert {finding["file"] for finding in found} >= {"samples/scatter_nd_update/example_2.xml"}


@pytest.mark.by_hand(0)
def test_a_model_on_a_folder_of_inputs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "arrays" / "wrong.npy").write_bytes(b"no array")
    assert main(["run", MODEL, "--inputs", "arrays", "--save", "out", "-j", "2"]) == 2
    shown = capsys.readouterr().out
    assert "2 of 3 inputs; results in out\n" in shown
    assert "findings about inputs\nerror[U004]: the file contains no arrays" in shown
    assert "  = input: arrays/wrong.npy\n" in shown
    assert main(["run", MODEL, "--input", "image=arrays/b.npy", "--save", "one.npz"]) == 0
    expected = np.load("one.npz")["probabilities"]
    np.testing.assert_array_equal(np.load("out/b.npz")["probabilities"], expected)
    assert np.load("out/more/a.npz")["probabilities"].shape == (1, 10)
    assert sorted(path.name for path in (folder / "out").rglob("*")) == ["a.npz", "b.npz", "more"]


@pytest.mark.parametrize(
    "command", [["run", MODEL, "--save", "out"], ["compare", MODEL, "--with", MODEL, "--resume", "log"]]
)
def test_inputs_with_one_fault_are_one_finding(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez("wrong.npz", image=np.zeros((30, 3, 32, 31), np.float32))
    assert main([*command, "--inputs", "wrong.npz"]) == 1
    shown = capsys.readouterr().out
    assert shown.count("error[O008]") == 1
    assert re.search(r"= inputs: wrong.npz:0, .*, wrong.npz:9 and 20 more; --format json lists all\n", shown)
    assert main([*command, "--inputs", "wrong.npz", "--format", "json"]) == 1
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [[found["code"] for found in run["diagnostics"]] for run in runs] == [["O008"]] * 30


def test_a_batch_is_run_sample_by_sample(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", MODEL, "--inputs", "batch.npz", "--save", "out", "--resume", "log.jsonl", "--json"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] and found["kind"] == "runs"
    assert [run["input"] for run in found["runs"]] == [f"batch.npz:{n}" for n in range(4)]
    assert [run["saved"] for run in found["runs"]] == [os.path.join("out", f"00000{n}.npz") for n in range(4)]
    assert found["runs"][0]["outputs"] == [{"name": "probabilities", "element_type": "f32", "shape": [1, 10]}]
    Path("out/000002.npz").unlink()
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["logged"] for run in found["runs"]] == [True, True, False, True]
    assert Path("out/000002.npz").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--inputs", "arrays"], "U003", "--inputs requires -o"),
        (["--inputs", "arrays", "--save", "arrays/out"], "U003", "must not be the folder of the inputs"),
        (["--inputs", "arrays", "--save", "out", "--trace"], "U003", "--trace cannot be combined with --inputs"),
        (["--inputs", "samples/classifier/model.bin", "--save", "out"], "U004", "the file contains no arrays"),
        (["--inputs", "missing.npz", "--save", "out"], "U001", "the file does not exist"),
        (["--inputs", "empty", "--save", "out"], "U001", "the folder contains no .npy or .npz files"),
        (["--inputs", "uneven.npz", "--save", "out"], "U004", "must be the number of samples"),
        (["--inputs", "twice", "--save", "out"], "U003", "would have the same file name"),
        (["--inputs", "arrays", "--save", "out", "--resume", "samples"], "U007", "the log cannot be used"),
        (["-j", "2"], "U003", "require --inputs"),
    ],
)
def test_what_cannot_be_run(
    arguments: list[str], code: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "empty").mkdir()
    (folder / "twice").mkdir()
    np.save("twice/a.npy", 1)
    np.savez("twice/a.npz", image=1)
    np.savez("uneven.npz", a=[1], b=[1, 2])
    assert main(["run", MODEL, *arguments]) == 2
    shown = "".join(capsys.readouterr())
    assert f"error[{code}]" in shown and said in shown
    assert not Path("out").exists()


@pytest.mark.by_hand(0)
@pytest.mark.skipif(os.name == "nt", reason="signals as on POSIX")
@pytest.mark.processes
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_whole_files(folder: Path, sent: signal.Signals) -> None:
    """The command is interrupted during many short runs; the last runs do not end, so that no signal comes too late."""
    said = interrupted(folder, ["-j", "2"], sent)
    assert not list(folder.glob("out/.*"))
    assert re.fullmatch(
        r"interrupted: \d+ of 2004 inputs completed; run the same command again to continue from log.jsonl\n", said
    )


def written_to_terminal(controller: int) -> str:
    """Return all text written to a terminal that is closed. The system delivers it in pieces."""
    shown = b""
    with open(controller, "rb", buffering=0) as stream, contextlib.suppress(OSError):
        while piece := stream.read(1 << 16):
            shown += piece
    return shown.decode()


@pytest.mark.skipif(os.name == "nt", reason="a pseudo-terminal as on POSIX")
def test_a_bar_on_a_terminal_counts(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, terminal = os.openpty()
    monkeypatch.setattr(status, "PATIENCE", 0)
    with open(terminal, "w") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        assert main(["run", MODEL, "--inputs", "batch.npz", "--save", "out"]) == 0
    shown = written_to_terminal(controller)
    assert re.search(r"\[#+ *\] \d+ of \d+ inputs", shown)
    assert "\x1b" not in capsys.readouterr().out
