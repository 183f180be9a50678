"""irexec reduce --with onnxruntime: an ONNX model is reduced as ONNX, the only format that ONNX Runtime reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from support.failing import SAMPLES
from support.onnx_wrong import WrongOnnxRuntime, deep
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main
from irexec.frontends.onnx import parts
from irexec.tools.compare.runtimes.onnx_runtime import OnnxRuntime
from irexec.tools.functions import beside
from irexec.tools.reduce.case_files import load_case, save_case
from irexec.tools.reduce.onnx_case import ONNX_STAGES, OnnxCase, onnx_case_of, onnx_guesses
from irexec.tools.reduce.reduce import Reduction, begin, reduce
from irexec.tools.reduce.stages import Stage
from irexec.tools.reduce.verdict import ByRuntime
from irexec.tools.run.record import Reference, same


@pytest.fixture
def file(tmp_path: Path) -> Path:
    deep(tmp_path / "deep.onnx")
    return tmp_path / "deep.onnx"


def reference(path: Path) -> Reference:
    rng = np.random.default_rng(1)
    return Reference(irexec.read_model(path), [[rng.normal(0, 1, (2, 3, 8, 8)).astype(np.float32)]])


class Valid:
    """A watcher that checks every smaller case with ONNX's own checker."""

    count = 0

    def tried(self, reduction: Reduction, stage: Stage, smaller: bool) -> None:
        if smaller:
            self.count += 1
            case = reduction.case
            assert isinstance(case, OnnxCase)
            onnx.checker.check_model(case.proto, full_check=True)


@pytest.mark.parametrize("guessed", [True, False])
def test_what_is_left_is_the_wrong_node(file: Path, guessed: bool) -> None:
    """The result is the same if no comparison determines the starting point."""
    run, runtime, valid = reference(file), WrongOnnxRuntime(), Valid()
    judge = ByRuntime(runtime)
    cases = onnx_guesses(run, runtime) if guessed else [onnx_case_of(file, run.steps)]
    found = begin(judge, cases)
    assert found is not None
    reduce(found, judge, [valid], ONNX_STAGES)
    case = found.case
    assert isinstance(case, OnnxCase)
    assert [node.op_type for node in case.proto.graph.node] == ["HardSigmoid"]
    assert max(max(array.shape) for array in case.steps[0]) <= 2
    assert valid.count > 0


def test_the_right_runtime_has_nothing_to_reduce(file: Path) -> None:
    runtime = OnnxRuntime()
    assert begin(ByRuntime(runtime), onnx_guesses(reference(file), runtime)) is None


def test_parts_have_what_reaches_them(file: Path, tmp_path: Path) -> None:
    """Each node alone computes the same values as in the whole model."""
    run = reference(file)
    whole = onnx_case_of(file, run.steps)
    (layers,) = [stage for stage in ONNX_STAGES if stage.name == "layers"]
    for number in parts.layers(whole.proto):
        case = layers.keep(whole, [number])
        name = case.proto.graph.output[0].name  # type: ignore[attr-defined]
        (value,) = [v for node in run.model.nodes for v in node.outputs if name in v.names and node.type != "Result"]
        assert same(case.results[0][0], run.record({value})[0][value]), name


def test_what_was_written_is_read_again(file: Path, tmp_path: Path) -> None:
    case = onnx_case_of(file, reference(file).steps)
    files = save_case(case, tmp_path / "case.onnx")
    assert [path.name for path in files] == ["case.onnx", "case.npz"]
    again = load_case(tmp_path / "case.onnx")
    assert all(same(a, b) for a, b in zip(case.results[0], again.results[0], strict=True))


def test_bodies_keep_what_they_read_outside(tmp_path: Path) -> None:
    text = """<ir_version: 9, opset_import: ["": 17]>
    branching (float[2] x, bool which) => (float[2] y) {
        outer = Exp(x)
        y = If(which) <
            then_branch = yes () => (float[2] a) { a = Neg(outer) },
            else_branch = no () => (float[2] b) { one = Constant<value = float {1.0}>()  b = Add(outer, one) }
        >
    }"""
    proto = onnx.parser.parse_model(text)
    assert sorted(parts.boundary(proto, [1])) == ["outer", "which"]
    onnx.save(proto, tmp_path / "branching.onnx")
    case = onnx_case_of(tmp_path / "branching.onnx", [[np.float32([0, 1]), np.array(True)]])
    (layers,) = [stage for stage in ONNX_STAGES if stage.name == "layers"]
    assert layers.keep(case, [1]).results[0][0].tolist() == (-np.exp(np.float32([0, 1]))).tolist()


# The command


def test_the_command(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    right: Any = beside.runtime_of
    monkeypatch.setattr(
        beside, "runtime_of", lambda text, *rest: WrongOnnxRuntime() if text == "onnxruntime" else right(text, *rest)
    )
    command = ["reduce", "deep.onnx", "--with", "onnxruntime", "--shape", "x=2,3,8,8"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert "ONNX Runtime" in text.splitlines()[0] and "computes a different result" in text.splitlines()[0]
    assert "saved repro.onnx, repro.npz, repro.expected.npz, repro.py, repro.md" in text
    shown = subprocess.run([sys.executable, "repro.py"], capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    # The wrong ONNX Runtime replaces the real one, whose results are correct.
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("expected failure: ") and shown.stdout.endswith("\nnot here\n")
    report = (tmp_path / "repro.md").read_text("utf-8")
    assert "- input " in report and " by irexec: " in report and " by ONNX Runtime" in report
    assert main(command) == 0
    assert capsys.readouterr().out == text


def test_what_cannot_be_reduced_as_onnx(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ir = str(SAMPLES / "classifier" / "model.xml")
    assert main(["reduce", ir, "--with", "onnxruntime", "-o", str(tmp_path / "repro")]) == 2
    assert "ONNX Runtime cannot read an IR; reduce the original .onnx file instead" in capsys.readouterr().err
    assert main(["reduce", str(file), "--shape", "x=1,3,8,8", "--with", "onnxruntime", "-o", str(tmp_path / "r")]) == 2
    assert "nothing to reduce" in capsys.readouterr().err


def test_openvino_reads_the_onnx_file_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before opset 13, Softmax is along all axes from `axis` on; as IR, OpenVINO computes it right."""
    pytest.importorskip("openvino")
    text = """<ir_version: 7, opset_import: ["": 12]>
    normalized (float[2,3,4] x) => (float[2,3,4] y) { act = Relu(x)  y = Softmax<axis = 1>(act) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "softmax.onnx")
    given = ["--with", "openvino", "--config", "INFERENCE_PRECISION_HINT=f32", "-o", str(tmp_path / "small")]
    assert main(["reduce", str(tmp_path / "softmax.onnx"), *given]) == 0
    assert "computes a different result" in capsys.readouterr().out
    assert [node.op_type for node in onnx.load(tmp_path / "small.onnx").graph.node][-1] == "Softmax"
