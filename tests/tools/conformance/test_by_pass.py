"""Passes of OpenVINO's compiler on generated cases: the wrong one, and the cause of a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irexec.cli.main import main

pytest.importorskip("openvino")

WRONG = (
    "graph.reductions/f32/r5/first=ReduceMean-1/second=the same/keep=only the first/axes=the same/between=relu"
    "/before=unsqueeze/kind=i32/extents=ones before/after=transpose/inner=read/static/seed785"
)


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    code = main(["conformance", *options])
    return code, capsys.readouterr().out


def test_a_wrong_pass_is_named_with_its_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "--case", WRONG, "--passes", "-o", str(tmp_path / "found.json"))
    assert code == 1
    assert "\nwrong pass: NopElimination: 1 case\n  removes " in text
    found = json.loads((tmp_path / "found.json").read_text())
    assert (found["cases"], found["run"], found["unknown"]) == (1, found["graphs"], {})
    assert [(one["name"], one["cases"]) for one in found["wrong"]] == [("NopElimination", [WRONG])]


def test_passes_of_sound_cases_and_cases_that_are_not_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "--only", "Negative-1", "--cases", "2", "--passes")
    assert code == 0
    assert ": passes of 2 cases, " in text
    code, text = run(capsys, "--case", "Abs-1/f32/x=[2]/seed1", "--passes", "--format", "json")
    assert (code, json.loads(text)["refused"]) == (0, 0)


def test_the_cause_of_a_cluster_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "--case", WRONG, "--causes")
    assert code == 1
    assert "\n  first wrong pass: NopElimination (" in text
    code, text = run(capsys, "--case", WRONG, "--causes", "--format", "json")
    (cluster,) = json.loads(text)["clusters"]
    assert cluster["cause"].startswith("first wrong pass: NopElimination (")


@pytest.mark.parametrize("options", [["--with", "irexec"], ["--frontend", "onnx"], ["--python", "python"]])
def test_what_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--passes", *options]) == 2
    assert "--passes and --causes require OpenVINO" in capsys.readouterr().err
