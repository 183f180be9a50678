"""repro.py needs only OpenVINO and NumPy; its outcome is `reproduced`, `not here` or `something else`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from support.failing import reference
from support.waiting import PATIENCE

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.tools.reduce.reduce import Reduction, whole
from irexec.tools.reduce.repro import Repro
from irexec.tools.reduce.repro_script import known_results
from irexec.tools.reduce.verdict import Fault

pytest.importorskip("openvino")


def wrong_on_the_cpu() -> irexec.Model:
    """Return a model whose page rounds to minus infinity, OpenVINO's CPU plugin to zero."""
    x = ops.parameter([2, 3], np.float32, name="x")
    divided = ops.convert(ops.divide(ops.convert(ops.multiply(x, np.float32(10)), "i32"), np.int32(3)), "f32")
    return irexec.Model([ops.relu(ops.negative(divided))], [x], "rounding")


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a reduction, created once because it starts a process of OpenVINO."""
    with chdir(made := tmp_path_factory.mktemp("reduced")):
        irexec.save_model(wrong_on_the_cpu(), "model.xml")
        np.save("x.npy", np.float32([[-1, -2, 3], [-4, 5, -7]]))
        assert main(["reduce", "model.xml", "--with", "openvino", "--input", "x=x.npy"]) == 0
    return made


@pytest.fixture
def folder(reduced: Path, tmp_path: Path) -> Path:
    return shutil.copytree(reduced, tmp_path / "copy")


def ran(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the script without irexec, from another folder, where importing irexec fails."""
    other = folder / "elsewhere"
    other.mkdir(exist_ok=True)
    (other / "irexec.py").write_text("raise ImportError('irexec is not needed')\n")
    words = [sys.executable, *options, str(folder / "repro.py")]
    return subprocess.run(words, capture_output=True, text=True, cwd=other, timeout=PATIENCE)


def test_the_script_reproduces_and_states_where(folder: Path) -> None:
    assert "irexec" not in (folder / "repro.py").read_text()
    shown = ran(folder)
    assert shown.returncode == 1, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("expected failure: OpenVINO") and lines[-1] == "reproduced"
    for word in ("NumPy ", "OpenVINO 20", "EXECUTION_DEVICES ['CPU']", "FULL_DEVICE_NAME ", "settings {}", "PRECISION"):
        assert word in shown.stdout
    assert sorted(path.name for path in folder.glob(".*")) == []


def changed(folder: Path, word: str, value: float) -> None:
    """Change the stored results."""
    with np.load(folder / "repro.expected.npz") as arrays:
        known = dict(arrays)
    np.savez(folder / "repro.expected.npz", **{n: a + value if n.endswith(word) else a for n, a in known.items()})


def test_a_runtime_that_is_right_now_is_said_so(folder: Path) -> None:
    """The wrong results are stored as the expected ones."""
    with np.load(folder / "repro.expected.npz") as arrays:
        known = dict(arrays)
    for name in list(known):
        if name.endswith("_expected"):
            other = name.replace("_expected", "_found")
            known[name], known[other] = known[other], known[name]
    np.savez(folder / "repro.expected.npz", **known)
    shown = ran(folder)
    assert shown.returncode == 0 and shown.stdout.endswith("\nnot here\n")


def test_other_wrong_results_are_something_else(folder: Path) -> None:
    changed(folder, "_expected", 0.5)
    changed(folder, "_found", 100)
    shown = ran(folder)
    assert shown.returncode == 2 and shown.stdout.endswith("\nsomething else\n")


def test_rounding_of_larger_elements_hides_no_failure() -> None:
    right = np.float32([[1e-9] * 8, [0.9] * 8])
    wrong = right + np.float32([[2e-8] + [0] * 7, [6e-8] * 8])
    kept = known_results([[right]], [[wrong]])
    assert kept["step0_result0_failing"].nonzero() == ([0], [0])


def test_settings_that_an_older_release_lacks_are_left_out(folder: Path) -> None:
    edited(folder, CONFIG={"DYNAMIC_QUANTIZATION_GROUP_SIZE": "0", "INFERENCE_PRECISION_HINT": "f32"})
    before = "import openvino as ov\n"
    lacking = "ov.Core.get_property = lambda core, device, name: ['INFERENCE_PRECISION_HINT']\n"
    script = folder / "repro.py"
    script.write_text(script.read_text().replace(f"    {before}", f"    {before}    {lacking}"))
    shown = ran(folder)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "settings {'INFERENCE_PRECISION_HINT': 'f32'}" in shown.stdout


def test_an_error_instead_of_results_is_something_else(folder: Path) -> None:
    (folder / "repro.xml").write_text("<net/>")
    shown = ran(folder)
    assert shown.returncode == 2
    assert "RuntimeError" in shown.stdout and shown.stdout.endswith("\nsomething else\n")


def test_without_the_runtime_it_is_something_else(folder: Path) -> None:
    """A traceback would have the exit code of a reproduced failure."""
    (folder / "openvino.py").write_text("raise ImportError('it is broken here')\n")
    shown = ran(folder)
    assert (shown.returncode, shown.stdout) == (2, "something else: it is broken here\n"), shown.stderr


def edited(folder: Path, **values: object) -> None:
    """Change constants of the script."""
    script = folder / "repro.py"
    lines = script.read_text().splitlines(keepends=True)
    kept = [next((f"{n} = {v!r}\n" for n, v in values.items() if line.startswith(f"{n} = ")), line) for line in lines]
    script.write_text("".join(kept))


@pytest.mark.by_hand(0)
def test_only_the_same_refusal_is_reproduced(folder: Path) -> None:
    (folder / "repro.xml").write_text("<net/>")
    message = next(line for line in ran(folder).stdout.splitlines() if "Exception" in line or "Error" in line)
    words = ["".join(filter(str.isalpha, word)) for word in message.split()]
    edited(folder, KIND="refusal", WORDS=[word for word in words if len(word) > 1])
    assert ran(folder).returncode == 1
    edited(folder, WORDS=["No", "primitive", "for", "a", "layer"])
    shown = ran(folder)
    assert shown.returncode == 2 and shown.stdout.endswith("\nsomething else\n")


COMMAND = """\
import pathlib, sys
text = pathlib.Path("says").read_text()
print(text.partition(" ")[2])
sys.exit(int(text.partition(" ")[0]))
"""


@pytest.mark.parametrize(
    ("same", "says", "outcome", "code"),
    [
        ("", "3 a", "reproduced", 1),
        ("", "0 a", "not here", 0),
        ("", "4 a", "something else", 2),
        ("wrong .o", "4 wrong to", "reproduced", 1),
        ("wrong .o", "3 right", "something else", 2),
    ],
)
def test_a_command_is_judged_like_a_runtime(same: str, says: str, outcome: str, code: int, tmp_path: Path) -> None:
    made = Repro(tmp_path / "repro.xml", "")
    fault = Fault("exit code", "" if same else "3", "it fails")
    (tmp_path / "check.py").write_text(COMMAND)
    (tmp_path / "says").write_text(says)
    words = [sys.executable, "check.py", "{}"]
    made.write_command_script(Reduction(whole(reference("loop")), fault, "it fails"), words, same, 60)
    shown = ran(tmp_path)
    assert (shown.stdout.splitlines()[-1], shown.returncode) == (outcome, code), shown.stdout + shown.stderr
