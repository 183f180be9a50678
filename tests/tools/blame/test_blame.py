"""`blame`: the answers to all questions about a wrong result, parts that are skipped or fail, and the bundle."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main
from irexec.tools.blame.blame import Blaming
from irexec.tools.compare.runtimes.runtime import CannotRun

pytest.importorskip("openvino")

ROOT = Path(__file__).parents[3]
F32 = ("--config", "INFERENCE_PRECISION_HINT=f32")
NAMES = ["repro.xml", "repro.bin", "repro.py", "repro.md", "repro.expected.npz", "repro.npz", "ISSUE.md"]


def wrong() -> list[str]:
    """A model that a pass of OpenVINO's compiler changes, with its inputs."""
    file = ROOT / "tests" / "data" / "passes" / "reductions.xml"
    return [str(file), "--input", str(file.with_suffix(".npz")), *F32]


@pytest.mark.by_hand(0)
def test_all_questions_are_answered_and_the_bundle_reproduces_the_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "sent.zip"
    given = ["--python", f"{sys.executable}=2024.1", "--python", f"{sys.executable}=2024.2", "--releases", "2024.1"]
    assert main(["blame", *wrong(), "-o", str(target), *given]) == 0
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "smallest model 2 layers of 3: ReduceMean, Transpose",
        "wrong layer first wrong layers: n1 (ReduceMean) and n2 (Transpose) together",
        "pass or kernel first wrong pass: NopElimination (",
        "release no change: the failure is there in 2024.1 and 2024.2",
        "setting no setting of OpenVINO ",
    ):
        assert part in text
    with zipfile.ZipFile(target) as archive:
        assert sorted(archive.namelist()) == sorted(NAMES)
        assert "- pass or kernel: first wrong pass: NopElimination" in archive.read("ISSUE.md").decode()
        archive.extractall(tmp_path / "sent")
    script = tmp_path / "sent" / "repro.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "reproduced")


@pytest.mark.by_hand(0)
def test_parts_are_skipped_or_fail_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Blaming) -> None:
        raise CannotRun("no answer")

    monkeypatch.setattr(Blaming, "_layer", fail)
    target = tmp_path / "sent.zip"
    options = ["--skip", "reduce", "--skip", "settings", "--format", "json"]
    assert main(["blame", *wrong(), "-o", str(target), *options]) == 0
    found = json.loads(capsys.readouterr().out)
    parts = {part["name"]: (part["known"], part["answer"]) for part in found["parts"]}
    assert parts["passes"][0]
    assert {name: answer for name, (known, answer) in parts.items() if not known} == {
        "reduce": "skipped",
        "layer": "no answer",
        "release": "give --releases, with --environments or --python",
        "settings": "skipped",
    }
    assert sorted(zipfile.ZipFile(target).namelist()) == sorted(NAMES)


def test_after_ctrl_c_the_bundle_contains_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Blaming) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Blaming, "_passes", interrupt)
    target = tmp_path / "sent.zip"
    assert main(["blame", *wrong(), "-o", str(target), "--skip", "reduce"]) == 130
    with zipfile.ZipFile(target) as archive:
        issue = archive.read("ISSUE.md").decode()
    assert "- wrong layer: " in issue
    assert "- pass or kernel" not in issue


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "nothing to blame: OpenVINO "),
        (["--with", "torch:a:b"], "give openvino, openvino:DEVICE or onnxruntime"),
        (["--python", "x"], "write PATH=RELEASE"),
    ],
)
def test_what_is_refused(options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "samples" / "classifier" / "model.xml"
    target = tmp_path / "sent.zip"
    assert main(["blame", str(file), "--shape", "image=1,3,32,32", *F32, "-o", str(target), *options]) == 2
    assert reason in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.by_hand(0)
def test_an_onnx_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Exp", ["a"], ["y"])]
    ports = [helper.make_tensor_value_info(name, kind, [2]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    np.savez(tmp_path / "in.npz", x=np.float32([1, 2]))
    command = ["blame", str(tmp_path / "m.onnx"), "--with", "onnxruntime", "--input", str(tmp_path / "in.npz")]
    assert main([*command, "-o", str(tmp_path / "sent.zip")]) == 2
    assert "nothing to blame: ONNX Runtime " in capsys.readouterr().err
    monkeypatch.setattr("irexec.tools.compare.runtimes.separate.Remote.results", lambda self, steps: [[np.zeros(2)]])
    assert main([*command, "-o", str(tmp_path / "sent.zip"), "--skip", "settings", "--skip", "layer"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "smallest model 1 layer of 2" in text
    assert "pass or kernel not known: 'onnxruntime' does not write the graphs after its passes" in text
    assert "repro.onnx" in zipfile.ZipFile(tmp_path / "sent.zip").namelist()


@pytest.mark.by_hand(0)
def test_the_functions_answer_as_the_commands_do(tmp_path: Path) -> None:
    file, config = ROOT / "tests" / "data" / "passes" / "reductions.xml", {"INFERENCE_PRECISION_HINT": "f32"}
    inputs = dict(np.load(file.with_suffix(".npz")))
    pythons = {"2024.1": sys.executable, "2024.2": sys.executable}
    found = irexec.bisect(file, inputs=inputs, config=config, releases="2024.1", pythons=pythons)
    assert found.releases is not None and found.releases.failures == {"2024.1": True, "2024.2": True}
    assert found.verdict == "no change: the failure is there in 2024.1 and 2024.2" in str(found)
    assert found.settings is None and found.to_dict()["release"] is None
    target = tmp_path / "sent.zip"
    blamed = irexec.blame(file, inputs=inputs, config=config, output=target, skip=["passes", "settings"])
    answers = {part.name: part.answer for part in blamed.parts if part.known}
    assert answers["reduce"] == "2 layers of 3: ReduceMean, Transpose" and answers.keys() == {"reduce", "layer"}
    assert blamed.failure in str(blamed) and zipfile.is_zipfile(target)


def test_the_functions_refuse_what_cannot_be_asked() -> None:
    file = ROOT / "samples" / "classifier" / "model.xml"
    with pytest.raises(ValueError, match="needs releases"):
        irexec.bisect(file)
    with pytest.raises(RuntimeError, match="no releases to search"):
        irexec.bisect(file, "torch", settings=True)
    found = irexec.bisect(file, releases="2024.1").releases
    assert found is not None and "no folder for environments" in found.skipped["2024.1"]
    with pytest.raises(ValueError, match="nothing to blame"):
        irexec.blame(file, config={"INFERENCE_PRECISION_HINT": "f32"})
    pytest.importorskip("onnxruntime")
    for model in (file, irexec.read_model(file)):
        with pytest.raises(RuntimeError, match="cannot read an IR; give the original"):
            irexec.blame(model, "onnxruntime")
