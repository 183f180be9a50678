"""Comparisons on many inputs: a verdict for each, in their order, from processes and from a log."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from irexec.cli.main import main
from irexec.tools import parallel

XML = """<net name="m" version="11"><layers>
    <layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,3" element_type="f32"/>
        <output><port id="0" precision="FP32" names="x"><dim>1</dim><dim>3</dim></port></output></layer>
    <layer id="1" name="{name}" type="{type}" version="opset1">
        <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
        <output><port id="1" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
    <layer id="2" name="y" type="Result" version="opset1">
        <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input></layer>
</layers><edges>
    <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
    <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
</edges></net>
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.xml").write_text(XML.format(name="middle", type="ReLU"))
    (tmp_path / "other.xml").write_text(XML.format(name="middle", type="Abs"))
    # ReLU and Abs agree for positive values.
    np.savez(tmp_path / "batch.npz", x=np.float32([[1, 2, 3], [1, -2, 3]]))
    return tmp_path


def task(folder: Path) -> parallel.CompareInput:
    return parallel.CompareInput(str(folder / "model.xml"), str(folder / "other.xml"))


def test_each_input_has_its_verdict(folder: Path) -> None:
    items = [f"{folder / 'batch.npz'}:{number}" for number in range(2)]
    found = [outcome.result for outcome in parallel.gather(task(folder), items)]
    assert [result and result.agrees for result in found] == [True, False]
    assert found[1] is not None and found[1].culprit == "middle" and "middle" in found[1].verdict
    with parallel.Processes(2) as workers:
        assert [outcome.result for outcome in parallel.gather(task(folder), items, workers)] == found


def test_an_input_that_cannot_be_read_is_a_finding_and_the_rest_continues(folder: Path) -> None:
    (folder / "broken.npy").write_bytes(b"nothing")
    np.save(folder / "good.npy", np.float32([[1, 2, 3]]))
    items = [str(folder / "broken.npy"), str(folder / "good.npy")]
    broken, good = parallel.gather(task(folder), items)
    assert broken.result is None and [finding.code for finding in broken.report] == ["U004"]
    assert good.result is not None and good.result.agrees


def test_what_the_result_depends_on(folder: Path) -> None:
    files = {Path(path).name for path in task(folder).files(f"{folder / 'batch.npz'}:1")}
    assert files == {"model.xml", "model.bin", "other.xml", "other.bin", "batch.npz"}


def test_the_command_states_on_how_many_inputs_they_agree_and_continues_from_its_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", str(folder / "model.xml"), "--with", str(folder / "other.xml")]
    command += ["--inputs", str(folder / "batch.npz"), "--resume", str(folder / "log.jsonl")]
    assert main([*command, "-j", "2"]) == 1
    assert "agrees on 1 of 2 inputs" in capsys.readouterr().out
    assert main([*command, "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [run["agrees"] for run in told["runs"]] == [True, False]
    assert [run["logged"] for run in told["runs"]] == [True, True]
    assert told["runs"][1]["culprit"] == "middle"


@pytest.mark.parametrize("wrong", [["-j", "2"], ["--inputs", "there is none.npz"], ["--with", "nothing"]])
def test_what_cannot_be_compared(wrong: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ["--inputs", str(folder / "batch.npz")] if wrong[0] == "--with" else []
    command = ["compare", str(folder / "model.xml"), "--with", str(folder / "other.xml"), *inputs, *wrong]
    assert main(command) == 2
    captured = capsys.readouterr()
    assert "U00" in captured.err + captured.out or "neither a known runtime" in captured.out
