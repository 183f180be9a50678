"""`irexec diff` of files with errors: the graphs are compared as far as they can be read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from irexec.cli.main import main

BROKEN = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="s" type="SoftMax" version="opset8"><data axis="5"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="2" name="c" type="Convert" version="opset1"><data destination_type="f61"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="1" precision="FP16"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="3" name="y" type="Result" version="opset1">
<input><port id="0" precision="FP16"><dim>1</dim><dim>4</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
<edge from-layer="2" from-port="1" to-layer="4" to-port="0"/></edges></net>"""


def test_a_file_with_errors_and_its_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = tmp_path / "before.xml", tmp_path / "after.xml"
    before.write_text(BROKEN)
    after.write_text(BROKEN.replace('"5"', '"1"').replace("f61", "f16").replace('to-layer="4"', 'to-layer="3"'))
    assert main(["diff", str(before), str(after)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines[1:-1]] == [
        "connection  y  input 0: nothing became c",
        "attribute   s  axis: 5 became 1",
        "attribute   c  destination_type: f61 became f16",
    ]
    assert lines[-1] == f"{before} has errors: `irexec validate {before}` lists them"
    assert main(["diff", str(before), str(after), "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["with_errors"] == [str(before)]
    assert main(["diff", str(before), str(after), "--run"]) == 2


def test_an_onnx_model_with_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    ports = [helper.make_tensor_value_info(name, 1, [1, 4, 8, 8]) for name in "xy"]
    weights = onnx.numpy_helper.from_array(np.ones((4, 4, 1, 1), np.float32), "w")
    for file, group in (("good", 1), ("wrong", 3)):
        node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", group=group)
        graph = helper.make_graph([node], "g", ports[:1], ports[1:], [weights])
        opsets = [helper.make_opsetid("", 17)]
        (tmp_path / f"{file}.onnx").write_bytes(helper.make_model(graph, opset_imports=opsets).SerializeToString())
    good, wrong = (str(tmp_path / f"{file}.onnx") for file in ("good", "wrong"))
    assert main(["diff", good, wrong]) == 1
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  ~  attribute  conv  group: 1 became 3",
        f"{wrong} has errors: `irexec validate {wrong}` lists them",
    ]
    (tmp_path / "text.onnx").write_text("no model")
    assert main(["diff", good, str(tmp_path / "text.onnx")]) == 2
