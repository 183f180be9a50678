"""ONNX models that are in memory: bytes and streams, as OpenVINO's read_model takes them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
TEXT = '<ir_version: 9, opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Relu(x) }'
DATA = onnx.parser.parse_model(TEXT).SerializeToString()


READS = [irexec.read_model, irexec.Core().read_model]


@pytest.mark.parametrize(
    ("read", "given"),
    [
        *((read, given) for read in READS for given in (DATA, bytearray(DATA), memoryview(DATA), io.BytesIO(DATA))),
        *((irexec.convert_model, given) for given in (DATA, io.BytesIO(DATA))),
    ],
)
def test_a_model_in_memory(read: Any, given: Any) -> None:
    assert irexec.compile_model(read(given))([np.float32([-1, 2])])["y"].tolist() == [0, 2]


def test_its_findings() -> None:
    assert irexec.validate(DATA).ok
    wrong = onnx.parser.parse_model(TEXT.replace("Relu", "Rleu")).SerializeToString()
    (finding,) = irexec.validate(wrong, others=True).errors
    assert (finding.code, finding.file, finding.line) == ("F003", None, None)
    assert [d.code for d in irexec.validate(DATA[:-9]).errors] == ["F002"]
    with pytest.raises(irexec.IRError, match="Rleu"):
        irexec.compile_model(wrong)


def test_it_has_no_folder_for_external_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weight = onnx.numpy_helper.from_array(np.ones(400, np.float32), "w")
    info = [onnx.helper.make_tensor_value_info(name, 1, [400]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "w"], ["y"])], "g", info[:1], info[1:], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    monkeypatch.chdir(tmp_path)
    assert irexec.validate(tmp_path / "m.onnx").ok
    assert [d.code for d in irexec.validate((tmp_path / "m.onnx").read_bytes()).errors] == ["F007"]
