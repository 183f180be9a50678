"""Models as Python scripts: what a script builds in irexec and in OpenVINO is the model that it was written from."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.graphs import RandomGraph, candidates

import irexec
from irexec.cli.main import main
from irexec.frontends.reading import read
from irexec.tools.script.script import save_script

ops: Any = irexec.opset15
SAMPLES = Path(__file__).parents[3] / "samples"
SAME_WORD = re.compile(r": (\w+) became (?i:\1)$")
RUNTIMES = ["irexec", "openvino"]


def built(file: Path, runtime: str) -> Any:
    """Execute a script; return the model that it builds, saved and read by irexec."""
    module = pytest.importorskip(runtime)
    text = file.read_text("utf-8").replace("import openvino as ov", f"import {runtime} as ov")
    names: dict[str, Any] = {"__name__": "script", "__file__": str(file)}
    exec(compile(text, file.name, "exec"), names)
    made = file.with_name("built.xml")
    if runtime == "irexec":
        irexec.save_model(names["build"](), made)
    else:
        module.save_model(names["build"](), made, compress_to_fp16=False)
    return made


def as_read(file: Path, runtime: str) -> Path:
    """Return the model as the runtime writes it: OpenVINO adds inputs and fills lists when it reads a model."""
    if runtime == "irexec":
        return file
    openvino = importlib.import_module(runtime)
    openvino.save_model(openvino.Core().read_model(file), file.with_name("theirs.xml"), compress_to_fp16=False)
    return file.with_name("theirs.xml")


def differences(file: Path, runtime: str, folder: Path) -> str:
    model = read(file).model
    assert model is not None
    save_script(model, folder / "script.py")
    made = built(folder / "script.py", runtime)
    found = irexec.diff(as_read(file, runtime), made)
    # Functions take the members of an enumeration in any case.
    lines = [line for line in str(found).splitlines() if not SAME_WORD.search(line)]
    return "" if lines[0].startswith("no difference") else "\n".join(lines[1:])


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("name", ["classifier", "converted", "segmenter", "transformer"])
def test_samples(name: str, runtime: str, tmp_path: Path) -> None:
    for suffix in (".xml", ".bin"):
        (tmp_path / f"model{suffix}").write_bytes((SAMPLES / name / f"model{suffix}").read_bytes())
    assert differences(tmp_path / "model.xml", runtime, tmp_path) == ""


def test_random_graphs(tmp_path: Path) -> None:
    pool, file = candidates(), tmp_path / "model.xml"
    pool = [op for op in pool if op.opset.startswith("opset")]
    wrong = {}
    for seed in range(amount(200, 20)):
        irexec.save_model(RandomGraph(pool, seed).model, file)
        if found := differences(file, "irexec", tmp_path):
            wrong[seed] = found
    assert wrong == {}


TEXTS: dict[str, str] = {
    "bodies": """model m (c: boolean[], x: f32[4,2], n: i64[]) -> (y, sum, rows)
  go   = Constant boolean[] true
  y    = If-8(c, x)
    then (a: f32[4,2]) -> (b)
      b = Negative-1(a)
    in 1 -> a
    out b -> 0
    else (a: f32[4,2]) -> (b)
      b = ReLU-1(a)
    in 1 -> a
    out b -> 0
  sum  = Loop-5(n, go, x)
    body (total: f32[4,2], step: i64[]) -> (next, go)
      float = Convert-1(step) destination_type=f32
      next  = Add-1(total, float)
      go    = Constant boolean[] true
    in 2 -> total
    in -> step purpose=current_iteration
    out next -> 0
    out go -> purpose=execution_condition
    back next -> total
  rows = TensorIterator-1(x)
    body (row: f32[1,2]) -> (b)
      b = Negative-1(row)
    in 0 -> row axis=0 start=0 end=-1 stride=1 part_size=1
    out b -> 0 axis=0 start=0 end=-1 stride=1 part_size=1
""",
    "states": """model m (x: f32[2]) -> (y)
  read  = ReadValue-6(x) variable_id=v variable_shape=[2] variable_type=f32
  y     = Add-1(read, x)
  store = Assign-6(y) variable_id=v
""",
    "other states": """model m (x: f32[2]) -> (y)
  zero  = Constant i64[] 0
  first = Constant f32[1] 1
  read  = ReadValue-6(first) variable_id=v variable_shape=[...] variable_type=dynamic
  parts = Split-1(x, zero) num_splits=2
  y     = Add-1(read, parts.1)
  store = Assign-6(parts) variable_id=v
""",
    "names": """model "m \\"\\"\\" {x}" ("a b": f32[?,1..8] as ("n\\"", "'"), class: f32[2]) -> ("1" as (p, "q r"))
  "1"     = ReLU-1("a b")
  "a\\nb" = ReLU-1(class)
  _a_b    = ReLU-1("a\\nb")
  sum     = Add-1(_a_b, class)
""",
    "constants": """model m () -> (a, b, c, d, e, f, g, h)
  a = Constant f16[2] [0.1, -0]
  b = Constant bf16[3] [1, 2, 0.5]
  c = Constant i4[3] [-8, 7, 0]
  d = Constant u1[9] [1, 0, 1, 1, 0, 0, 0, 1, 1]
  e = Constant f32[3] [inf, -inf, nan]
  f = Constant f32[0,2] []
  g = Constant f64[2,2] [[0.1, 1e300], [3, 4]]
  h = Constant f32[10,10] seed(1)
""",
}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_files_contain(text: str, runtime: str, tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    irexec.save_model(irexec.parse(text), file)
    assert differences(file, runtime, tmp_path) == ""


def test_strings(tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    irexec.save_model(irexec.parse('model m () -> (s)\n  s = Constant string[2,1] [["a"], ["é\\"\\\\"]]\n'), file)
    for runtime in RUNTIMES:
        assert differences(file, runtime, tmp_path) == ""


def test_an_operator_of_no_opset_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.irt"
    file.write_text("model m (x: f32[2]) -> (y)\n  y = CumProd-onnx26(x, a)\n  a = Constant i64[] 0\n")
    assert main(["convert", str(file), "--any-operator", "-o", str(tmp_path / "m.py")]) == 1
    assert "W001" in capsys.readouterr().err
    assert not (tmp_path / "m.py").exists()


@pytest.mark.parametrize("run", [main])
def test_the_command(run: Callable[[list[str]], int], tmp_path: Path) -> None:
    script = tmp_path / "classifier.py"
    assert run(["convert", str(SAMPLES / "classifier" / "model.xml"), "-o", str(script)]) == 0
    lines = script.read_text("utf-8").splitlines()
    assert "    stem_relu = ov.opset1.relu(stem_norm, name='stem/relu')" in lines
    assert np.fromfile(script.with_suffix(".bin"), np.uint8).size > 10_000
