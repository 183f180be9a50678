"""irexec reduce --same, --tries, and --check on ONNX files: matching failures, intermittent failures, the user's
format.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from support.failing import SAMPLES, reference
from support.faults import Planted, of_type
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main
from irexec.tools.reduce.reduce import begin, guesses, reduce
from irexec.tools.reduce.verdict import ByCommand, ByRuntime, Sameness

TWO_ERRORS = """\
import re, sys
types = set(re.findall(r'<layer [^>]*type="(\\w+)"', open(sys.argv[1]).read()))
if not "SoftMax" in types:
    sys.exit("SoftMax is missing")
if "MaxPool" in types:
    print("MaxPool before SoftMax")
    sys.exit(1)
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("check.py").write_text(TWO_ERRORS)
    return str(SAMPLES / "classifier" / "model.xml")


@pytest.mark.by_hand(0)
def test_a_failure_that_is_another_one_does_not_count(model: str) -> None:
    """Both failures have exit code 1: without --same any model fails."""
    command = ["reduce", model, "--check", f"{sys.executable} check.py {{}}", "--timeout", f"{PATIENCE}"]
    for options, types in (([], False), (["--same", "before Soft.ax"], True)):
        assert main([*command, *options, "--restart"]) == 0
        text = Path("repro.xml").read_text()
        assert ("MaxPool" in text and "SoftMax" in text) is types
    assert "--same" in Path("repro.md").read_text()


@pytest.mark.by_hand(0)
def test_the_operator_of_a_runtime_s_failure_is_kept() -> None:
    """Two operators are wrong; the one selected by --same remains."""
    run = reference("classifier")
    for kind in ("MaxPool", "SoftMax"):
        wrong = Planted(lambda node: of_type("MaxPool")(node) or of_type("SoftMax")(node))
        judge = ByRuntime(wrong, same=Sameness(kind))
        found = begin(judge, guesses(run, wrong))
        assert found is not None
        assert kind in {node.type for node in reduce(found, judge).case.layers}


@pytest.mark.by_hand(0)
def test_a_flaky_failure_is_tried_again(model: str) -> None:
    """The command fails in every third run."""
    Path("flaky.py").write_text(
        "import pathlib, sys\nfile = pathlib.Path('count')\ncount = int(file.read_text()) + 1 if file.exists() else 1\n"
        "file.write_text(str(count))\nsys.exit(count % 3 == 0)\n"
    )
    command = ["reduce", model, "--check", f"{sys.executable} flaky.py {{}}"]
    assert main(command) == 2
    assert main([*command, "--tries", "3"]) == 0


def test_what_is_not_an_expression_is_refused(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", model, "--check", "false {}", "--same", "("]) == 2
    assert "'(' is not a regular expression" in capsys.readouterr().err


def test_a_hang_counts_with_what_it_has_printed(model: str) -> None:
    case = next(iter(guesses(reference("classifier"), Planted(of_type("MaxPool")))))
    Path("hang.py").write_text("import sys, time\nprint('begun', flush=True)\ntime.sleep(1000)\n")
    command = f"{sys.executable} hang.py {{}}"
    for same, kind in (("begun", "hang"), ("done", None)):
        found = ByCommand(command, 2.0, Sameness(same)).fault(case)
        assert (None if found is None else found.kind) == kind


@pytest.mark.by_hand(0)
def test_onnx_is_given_as_onnx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx = pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    text = """<ir_version: 8, opset_import: ["": 17]>
    g (float[2, 6] x) => (float[2, 6] y) { a = Relu(x)  b = Tanh(a)  c = Abs(b)  y = Exp(c) }"""
    onnx.save(onnx.parser.parse_model(text), "four.onnx")
    Path("check.py").write_text(
        "import sys, onnx\nassert sys.argv[1].endswith('.onnx')\n"
        "sys.exit(any(node.op_type == 'Abs' for node in onnx.load(sys.argv[1]).graph.node))\n"
    )
    assert main(["reduce", "four.onnx", "--check", f"{sys.executable} check.py {{}}"]) == 0
    assert [node.op_type for node in onnx.load("repro.onnx").graph.node] == ["Abs"]
    assert irexec.read_model("repro.onnx").inputs[0].partial_shape == [1, 1]
    assert np.load("repro.npz")["b"].shape == (1, 1)
