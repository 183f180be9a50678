"""irexec conformance on the command line: output, files, exit codes, and rejected arguments."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.commands import printed

from irexec.cli.main import main
from irexec.tools.conformance.defendant import processor
from irexec.tools.conformance.verdict import WORDS

ROOT = Path(__file__).parents[2]
RUNTIME = f"{Path(__file__).parents[1] / 'lib' / 'support' / 'wrong_runtime.py'}:Wrong"
WRONG = ["--with", RUNTIME, "--config", "type=Sigmoid"]
FAILS, PASSES = "Sigmoid-1/f32/x=[2,3]/seed1", "Tanh-1/f32/x=[2,3]/seed1"

pytestmark = pytest.mark.processes


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", *WRONG, "--case", FAILS, "--case", PASSES]) == 1
    text = printed(capsys)
    assert text.startswith(f"irexec with a wrong Sigmoid on {processor()}: 2 cases, seed 0\n")
    assert "1 failure in 1 cluster:" in text and FAILS in text
    assert main(["conformance", *WRONG, "--case", PASSES]) == 0
    assert "1  passed" in printed(capsys)


@pytest.mark.by_hand(0)
def test_drawn_cases_in_processes_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "conformance",
        *WRONG,
        "--only",
        "Tan*",
        "--cases",
        "3",
        "--resume",
        str(tmp_path / "log"),
        "--format",
        "json",
    ]
    assert main([*command, "-j", "2"]) == 0
    first = json.loads(printed(capsys))
    assert first["coverage"]["operators"] == 2 and first["coverage"]["cases"] == 6
    assert main(command) == 0
    assert json.loads(printed(capsys)) == first


def test_results_are_merged_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, page = tmp_path / "a.json", tmp_path / "b.json", tmp_path / "page.html"
    cases = ["--case", FAILS, "--case", PASSES]
    assert main(["conformance", *WRONG, *cases, "-o", str(a), "--html", str(page)]) == 1
    other = ["--with", RUNTIME, "--config", "type=Tanh"]
    assert main(["conformance", *other, *cases, "-o", str(b)]) == 1
    assert "Sigmoid-1: wrong result" in page.read_text()
    printed(capsys)
    assert main(["conformance", "compare", str(a), str(b)]) == 1
    text = printed(capsys)
    assert "fails only in the second: 1\n  Tanh-1: wrong" in text and "fails only in the first: 1\n  Sigmoid-1" in text
    table = tmp_path / "table.json"
    assert main(["conformance", "merge", str(a), str(a), str(b), "--html", str(page), "-o", str(table)]) == 0
    text = printed(capsys)
    assert text.endswith(f"\n{table}\n{page}\n")
    assert json.loads(table.read_text())["operators"]["Sigmoid-1"] == ["2/2", "0/1"]
    assert "Sigmoid-1  0/1" in text.replace("   ", "") or "2/2" in text


@pytest.mark.parametrize("device", ["CPU", "AUTO:CPU", "HETERO:CPU"])
def test_devices_of_openvino_that_use_other_devices(device: str, tmp_path: Path) -> None:
    core: Any = pytest.importorskip("openvino").Core()
    found = tmp_path / "found.json"
    assert main(["conformance", "--with", "openvino", "--device", device, "--case", PASSES, "-o", str(found)]) == 0
    assert json.loads(found.read_text())["processor"] == core.get_property("CPU", "FULL_DEVICE_NAME")


def test_results_of_processors_are_kept_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runtime = tmp_path / "device.py"
    runtime.write_text(DEVICE)
    files = []
    for name in ("P1", "P2"):
        files.append(str(tmp_path / f"{name}.json"))
        options = ["--with", f"{runtime}:Device", "--config", f"processor={name}", "--case", PASSES, "-o", files[-1]]
        assert main(["conformance", *options]) == 1
        assert json.loads(Path(files[-1]).read_text())["processor"] == name
    printed(capsys)
    assert main(["conformance", "compare", *files]) == 0
    assert printed(capsys).startswith("device 1 on P1 compared with device 1 on P2\n")
    page = tmp_path / "page.html"
    merge = ["conformance", "merge", *files, files[0], "--html", str(page)]
    assert main(merge) == 0
    assert printed(capsys).splitlines()[:3] == [
        "operator   device 1  device 1", "processor  P1        P2", "Tanh-1     2/2       1/1",
    ]  # fmt: skip
    assert "<th>processor</th><th>P1</th><th>P2</th>" in page.read_text()
    assert main([*merge, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["processors"] == ["P1", "P2"]


DEVICE = """
class Device:
    def __init__(self, processor):
        self.processor = processor

    def describe(self):
        return {"name": "device 1", "processor": self.processor}

    def load(self, path, cache):
        pass

    def infer(self, inputs):
        return [inputs[0] * 2]
"""


def test_baseline_and_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = tmp_path / "baseline.toml"
    entry = '[[known]]\ncase = "Sigmoid-1/*"\nreason = "ticket 5"\n'
    known.write_text(entry)
    command = ["conformance", *WRONG, "--case", FAILS, "--baseline", str(known)]
    assert main([*command, "--format", "junit"]) == 0
    suite = ElementTree.fromstring(printed(capsys))
    assert suite.get("failures") == "0" and len(suite.findall("testcase/skipped")) == 1
    known.write_text(entry + "expires = 2020-01-31\n")
    assert main([*command, "--format", "junit"]) == 1
    printed(capsys)
    known.write_text(entry + '[[known]]\ncase = "Tanh-1/*"\nreason = "mended"\n')
    unmet = "unexpected pass: no failure matches the baseline entry Tanh-1/*"
    assert main(command) == 0
    assert unmet not in printed(capsys)  # No case of Tanh was run.
    assert main([*command, "--case", PASSES]) == 0
    assert unmet in printed(capsys)
    known.write_text("[[known]]\ncase = 1\n")
    assert main(command) == 2
    assert "needs the strings `case` and `reason`" in capsys.readouterr().err


def test_a_runtime_that_does_not_exist_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", "--with", "nope", "--only", "Tile-1", "--cases", "1"]) == 2
    message = "'nope' is neither openvino, onnxruntime, reference, irexec nor FILE.py:Class"
    assert message in capsys.readouterr().err


def test_a_reproducer_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = "Sigmoid-1/f32/x=[?9|4,3]@1,0/turned/seed1"
    assert main(["conformance", *WRONG, "--case", case, "--reproducers", str(tmp_path)]) == 1
    (script,) = tmp_path.glob("*.py")
    text = printed(capsys)
    name, message, reduced, path = text.partition("1 case\n")[2].splitlines()[:4]
    assert name.strip() == case and " expected, " in message and path.strip() == str(script)
    assert reduced.strip().startswith("reduced to Sigmoid-1/f32/x=[") and text.endswith(f"\n{tmp_path}\n")
    assert {path.suffix for path in tmp_path.iterdir()} == {".py", ".xml", ".bin", ".irt", ".npz"}
    assert outcome(script) == "reproduced" and "irexec with a wrong Sigmoid" in printed(capsys)


def outcome(script: Path) -> str:
    """Return the outcome of a script whose runtime is a class, without another process."""
    parts = runpy.run_path(str(script))
    steps = [dict(enumerate(step)) for step in parts["run"]()]
    results = {f"step{n}_result{i}": parts["wide"](a) for n, step in enumerate(steps) for i, a in step.items()}
    found: str = parts["judged"](results)
    return found


def test_another_exception_is_not_the_one_that_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = "Sigmoid-1/f32/x=[1]/seed1"
    assert main(["conformance", *WRONG, "--config", "how=raise", "--case", case, "--reproducers", str(tmp_path)]) == 1
    (script,) = tmp_path.glob("*.py")
    assert "Sigmoid has no kernel for these shapes" in printed(capsys)
    parts = runpy.run_path(str(script))
    assert parts["KIND"] == "refusal" and parts["is_same_error"]("RuntimeError: Relu has no kernel for these shapes")
    assert not parts["is_same_error"](f"FileNotFoundError: No such file or directory: {parts['FILE']!r}")


@pytest.mark.by_hand(0)
def test_reproducers_of_results_in_bf16(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for returned in ("bits + 256", "bits.view(np.float16)"):
        folder = tmp_path / returned
        runtime = tmp_path / f"{len(returned)}.py"
        runtime.write_text(BF16.format(returned))
        command = ["conformance", "--with", f"{runtime}:Sim", "--case", "Tanh-1/bf16/x=[2]/seed1"]
        assert main([*command, "--reproducers", str(folder)]) == 1
        found.append(printed(capsys))
        (script,) = folder.glob("*.py")
        if returned == "bits + 256":
            assert outcome(script) == "reproduced"
        else:
            parts = runpy.run_path(str(script))
            with pytest.raises(TypeError, match="float16 instead of uint16") as error:
                parts["run"]()
            assert parts["KIND"] == "refusal" and parts["is_same_error"](f"TypeError: {error.value}")
    assert "float16 instead of bfloat16: return bf16 as its bits, uint16\n" in found[1]
    assert "baseline" not in found[0]


BF16 = """
import numpy as np

class Sim:
    def describe(self):
        return {{"name": "sim"}}

    def load(self, path, cache):
        pass

    def infer(self, inputs):
        values = np.tanh((inputs[0].astype(np.uint32) << 16).view(np.float32))
        bits = (values.view(np.uint32) >> 16).astype(np.uint16)
        return [{}]
"""


def test_json_has_the_keys_of_the_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", *WRONG, "--case", FAILS, "--format", "json"]) == 1
    found = json.loads(printed(capsys))
    schema = json.loads((ROOT / "schemas" / "conformance.schema.json").read_text())
    assert set(found) == set(schema["properties"])
    (finding,) = found["findings"]
    assert set(finding) == set(schema["$defs"]["finding"]["properties"])
    (cluster,) = found["clusters"]
    assert {*cluster, "cause", "reproducer", "script"} == set(schema["$defs"]["clusters"]["items"]["properties"])
    assert schema["$defs"]["verdict"]["enum"] == list(WORDS)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--only", "Nothing*"], "no operator or pattern matches"),
        (["--only", "Rleu"], "no operator or pattern matches: did you mean ReLU-1"),
        (["--case", "Abs"], "is not the name of a case"),
        (["--with", RUNTIME, "--case", "Abs-1/f32/x=[999999999999999]/seed1"], "irexec: not enough memory: "),
        (
            ["--with", f"{RUNTIME}er", "--case", PASSES],
            "wrong_runtime.py has no class 'Wronger': did you mean 'Wrong'?",
        ),
        (["--with", "simm.py:Sim", "--case", PASSES], "simm.py does not exist"),
        (
            ["--with", "openvino:GPU", "--case", PASSES],
            "'openvino:GPU' is neither openvino, onnxruntime, reference, irexec nor",
        ),
        (["--python", "/nowhere/python", "--case", PASSES], "/nowhere/python"),
        (["--baseline", "nowhere.toml"], "nowhere.toml"),
        (["--minutes", "nan"], "not a finite number greater than 0"),
        (["--minutes", "-5"], "not a finite number greater than 0"),
        (["--mode", "kernelz"], "invalid choice: 'kernelz'"),
        (["--case", PASSES, "--only", "Abs*"], "--case names cases and --only operators"),
        (["merge", "a.json", "--format", "junit"], "--format junit cannot be used with merge"),
        (["compare", "a.json", "b.json", "--baseline", "c.toml"], "--baseline cannot be used with compare"),
        (["compare", "a.json", "b.json", "--html", "c.html"], "--html cannot be used with compare"),
        (["merge"], "give merge FILE"),
        (["compare", "nowhere.json", "nowhere.json"], "nowhere.json"),
    ],
)
def test_what_is_refused(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["conformance", *options])
    except SystemExit as refused:
        code = refused.code
    assert code == 2
    assert reason in capsys.readouterr().err
