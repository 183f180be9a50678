"""No command executes code in the current folder: tested in a folder that contains every module that could be
imported.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from support.programs import environment, run_python

import irexec
from irexec import opset15 as ops

pytestmark = [pytest.mark.processes, pytest.mark.in_ci("starts every command in a hostile folder")]

MODULE = """open({mark!r}, "a").write({name!r} + "\\n")
raise ImportError({name!r})
"""
PAGE = """# ReLU

```xml
<layer id="0" name="r" type="ReLU">
    <input><port id="0" precision="FP32"><dim>2</dim></port></input>
    <output><port id="1" precision="FP32"><dim>2</dim></port></output>
</layer>
```
"""
SCRIPT = """import sys
from irexec.cli.start import start
sys.exit(start())
"""
"""The script that pip creates for the entry point `irexec`."""


class Hostile:
    """A folder of models with a module of every name; each module writes its name to a file when it is executed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark, self.script = (
            folder / "hostile",
            folder / "executed",
            folder / "bin" / "irexec-script.py",
        )
        self.folder.mkdir()
        self.script.parent.mkdir()
        self.script.write_text(SCRIPT)
        self.shadow({*sys.stdlib_module_names, *packages_distributions(), "irexec", "sitecustomize", "usercustomize"})
        program = self.folder / "false"
        program.write_text(f"#!/bin/sh\necho false >> {self.mark}\nexit 1\n")
        program.chmod(0o755)
        x = ops.parameter([2, 3], np.float32, name="x")
        model = irexec.Model([ops.relu(x, name="last")], [x], "small")
        irexec.save_model(model, self.folder / "a.xml")
        irexec.save_model(model, self.folder / "b.xml")
        (self.folder / "inputs").mkdir()
        for name in "ab":
            (self.folder / f"{name}.md").write_text(PAGE)
            np.save(self.folder / "inputs" / f"{name}.npy", np.ones((2, 3), np.float32))

    def shadow(self, names: set[str]) -> None:
        for name in names:
            (self.folder / f"{name}.py").write_text(MODULE.format(mark=str(self.mark), name=name))

    def executed(self, *words: str | Path, **variables: str) -> tuple[int, str, set[str]]:
        """Return the exit code and the errors of a Python process in this folder, and the modules that it has
        executed.
        """
        self.mark.unlink(missing_ok=True)
        done = run_python(*words, cwd=self.folder, env=environment(**variables))
        return done.returncode, done.stderr, set(self.mark.read_text().split() if self.mark.exists() else ())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    return Hostile(tmp_path_factory.mktemp("current"))


COMMANDS = {
    "validate": (["validate", "a.xml", "b.xml", "-j", "2"], 0),
    "doctest": (["doctest", "a.md", "b.md", "-j", "2"], 0),
    "run": (["run", "a.xml", "--inputs", "inputs", "--save", "out", "-j", "2"], 0),
    "compare": (["compare", "a.xml", "--with", "openvino"], 0),
    "compare many": (["compare", "a.xml", "--with", "openvino", "--inputs", "inputs", "-j", "2"], 0),
    "reduce": (["reduce", "a.xml", "--with", "openvino", "-o", "small.xml"], 2),  # No failure is found.
    "reduce by a program": (["reduce", "a.xml", "--check", "false {}", "-o", "small.xml"], 0),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_executes_nothing_of_the_current_folder(command: str, hostile: Hostile) -> None:
    if "openvino" in COMMANDS[command][0]:
        pytest.importorskip("openvino")
    words, expected = COMMANDS[command]
    path = os.pathsep.join(["", ".", os.environ.get("PATH", os.defpath)])
    code, errors, executed = hostile.executed(hostile.script, *words, PATH=path)
    assert (executed, code) == (set(), expected), errors


@pytest.mark.parametrize("command", [["validate"], ["compare", "--with", "onnxruntime"]])
def test_what_an_onnx_model_is_shown_to_executes_nothing_either(command: list[str], hostile: Hostile) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    text = '<ir_version: 9, opset_import: ["" : 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }'
    onnx.save(onnx.parser.parse_model(text), hostile.folder / "model.onnx")
    code, errors, executed = hostile.executed(hostile.script, command[0], "model.onnx", *command[1:])
    assert (executed, code) == (set(), 0), errors


def test_the_folder_would_be_noticed(hostile: Hostile) -> None:
    assert hostile.executed("-c", "import pickle")[2]


@pytest.mark.parametrize(
    ("words", "variables"),
    [
        (["-m", "irexec"], {}),
        (["bin/irexec-script.py"], {"PYTHONPATH": f"{environment()['PYTHONPATH']}{os.pathsep}"}),
        (["bin/irexec-script.py"], {"PYTHONPATH": f".{os.pathsep}{environment()['PYTHONPATH']}"}),
    ],
    ids=["-m", "an empty entry", "a relative entry"],
)
def test_where_python_itself_looks_in_the_current_folder_irexec_does_not(
    words: list[str], variables: dict[str, str], tmp_path: Path
) -> None:
    """irexec cannot prevent imports by Python before the first line of its command: see docs/security.md."""
    folder = Hostile(tmp_path)
    early = run_python("-c", "import runpy, re, irexec.cli.start, sys; print(*sys.modules)", env=environment())
    for module in [*early.stdout.split(), "sitecustomize", "usercustomize"]:
        (folder.folder / f"{module.partition('.')[0]}.py").unlink(missing_ok=True)
    # Without them the folder is on the path, and later imports would find its modules.
    words = [word.replace("bin/", f"{tmp_path}/bin/") for word in words]
    code, errors, executed = folder.executed(*words, "validate", "a.xml", "b.xml", "-j", "2", **variables)
    assert (executed, code) == (set(), 0), errors
