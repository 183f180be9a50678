"""Files that are not what their names say: pointers, pages, compiled models, and files whose end is missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import opset15

SAMPLE = Path(__file__).parents[2] / "samples" / "classifier"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4665a5ea\nsize 12345678\n"
PAGE = b'\n<!DOCTYPE HTML>\n<html lang="en"><head><title>Sign in</title></head><body><br>no</body></html>'
HEADER = b"meta=1.0;ov=2025.3.0;isa=Intel AVX2"
EXPORTED = b"RR_UPCVO\x01\0\0\0" + len(HEADER).to_bytes(8, "little") + HEADER + b"0\0\0\0\0\0<?xml version"
CACHED = b'<?xml version="1.0"?><compiled_blob ie_version="2024.6.0-17404-4c0f47d2335" file_info="1"/>\n'
CUT = "the end of the file is missing"


@pytest.mark.parametrize(
    ("data", "kind", "hint"),
    [
        (POINTER, "a Git LFS pointer", "git lfs pull"),
        (PAGE, "an HTML page", "download the file again"),
        (EXPORTED, "OpenVINO 2025.3.0 compiled for Intel AVX2,", "use the .xml file"),
        (CACHED + EXPORTED, "OpenVINO 2025.3.0 compiled for Intel AVX2,", "use the .xml file"),
        (CACHED + b"\x80\xff\0", "OpenVINO 2024.6.0 compiled,", "use the .xml file"),
    ],
)
def test_a_file_in_the_place_of_a_model(data: bytes, kind: str, hint: str, tmp_path: Path) -> None:
    for name in ("m.xml", "m.blob"):
        (tmp_path / name).write_bytes(data)
        (finding,) = irexec.validate(tmp_path / name)
        assert (finding.code, finding.line) == ("X008", 1)
        assert kind in finding.message and hint in (finding.hint or "")


@pytest.mark.parametrize(("data", "kind"), [(POINTER, "a Git LFS pointer"), (PAGE, "an HTML page")])
def test_a_file_in_the_place_of_weights(data: bytes, kind: str, tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "model.xml", tmp_path / "m.xml")
    (tmp_path / "m.bin").write_bytes(data)
    (finding,) = irexec.validate(tmp_path / "m.xml").errors
    assert finding.code == "C002" and f"m.bin is {kind}" in finding.message


def test_a_pointer_is_not_read_as_a_small_constant(tmp_path: Path) -> None:
    x = opset15.parameter([2], np.float32, name="x")
    irexec.save_model(irexec.Model([opset15.add(x, np.float32([1, 2]))], [x]), tmp_path / "m.xml")
    (tmp_path / "m.bin").write_bytes(POINTER)
    (finding,) = irexec.validate(tmp_path / "m.xml").errors
    assert "is a Git LFS pointer" in finding.message


TEXT = (SAMPLE / "model.xml").read_text("utf-8")
LAYER = TEXT.index('<layer id="3"')


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (LAYER + len('<layer id="3"'), "the text ends inside a tag"),
        (LAYER + len('<layer id="3" na'), "the text ends inside a tag"),
        (LAYER + len('<layer id="3" name="a'), "the text ends inside a tag"),
        (TEXT.index("</port>") + 4, "the text ends inside a tag"),
        (LAYER, "<layers> is not closed before the end of the text"),
        (TEXT.index("</net>"), "<net> is not closed before the end of the text"),
    ],
)
def test_a_model_whose_end_is_missing(end: int, message: str) -> None:
    (finding,) = irexec.validate(TEXT[:end].encode()).errors
    assert (finding.code, finding.message) == ("X001", message)
    assert finding.line == TEXT[:end].rstrip().count("\n") + 1
    assert CUT in (finding.hint or "")


def test_weights_whose_end_is_missing(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "model.xml", tmp_path / "m.xml")
    (tmp_path / "m.bin").write_bytes((SAMPLE / "model.bin").read_bytes()[:1000])
    (finding,) = irexec.validate(tmp_path / "m.xml").errors
    assert "is too short: it has 1,000 bytes" in finding.message and "cut off" in (finding.hint or "")


def test_onnx_files(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    ports = [helper.make_tensor_value_info(name, kind, [40]) for name in "xy"]
    weights = onnx.numpy_helper.from_array(np.arange(40, dtype=np.float32), "w")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", ports[:1], ports[1:], [weights])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    whole = model.SerializeToString()
    cases = [
        (POINTER, "the file is a Git LFS pointer", "git lfs pull"),
        (PAGE, "the file is an HTML page", "download"),
        (whole[: len(whole) // 2], "the file ends in the middle of the model", "cut off"),
    ]
    for data, message, hint in cases:
        (tmp_path / "m.onnx").write_bytes(data)
        (finding,) = irexec.validate(tmp_path / "m.onnx").errors
        assert finding.code == "F002" and message in finding.message and hint in (finding.hint or "")
    onnx.save(model, tmp_path / "e.onnx", save_as_external_data=True, location="e.data", size_threshold=0)
    (tmp_path / "e.data").write_bytes(POINTER)
    (finding,) = irexec.validate(tmp_path / "e.onnx").errors
    assert finding.code == "F006" and "is a Git LFS pointer" in finding.message
