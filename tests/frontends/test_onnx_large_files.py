"""ONNX files with large tensors, which stay in the file, and with more external data than one message can hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

from irexec.frontends.onnx import wire
from irexec.frontends.onnx.file import read_file
from irexec.frontends.onnx.findings import OnnxFindings
from irexec.ir.weights.file import mapped_file

LARGE = np.arange(1 << 17, dtype=np.float32)


def with_weights(folder: Path, *weights: np.ndarray, padding: int = 0) -> Path:
    """Write y = x + the first element of each of the weights; `padding` moves them within the file."""
    names = [f"w{i}" for i in range(len(weights))]
    nodes = [onnx.helper.make_node("Constant", [], ["zero"], value_int=0)]
    of = "x"
    for i, name in enumerate(names):
        nodes.append(onnx.helper.make_node("Gather", [name, "zero"], [f"g{i}"], axis=0))
        nodes.append(onnx.helper.make_node("Cast", [f"g{i}"], [f"c{i}"], to=1))
        nodes.append(onnx.helper.make_node("Add", [of, f"c{i}"], [f"y{i}"]))
        of = f"y{i}"
    value = onnx.helper.make_tensor_value_info
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in zip(names, weights, strict=True)]
    graph = onnx.helper.make_graph(nodes, "g" + "_" * padding, [value("x", 1, [])], [value(of, 1, None)], stored)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("padding", range(4))
def test_large_tensors_wherever_they_lie_in_the_file(padding: int, tmp_path: Path) -> None:
    path = with_weights(
        tmp_path, LARGE + 1, np.full(9, 10, np.int64), (LARGE % 100).astype(np.float16) + 2, padding=padding
    )
    file = read_file(path, OnnxFindings())
    assert file is not None and sorted(file.raw) == [0, 2]
    assert file.proto.ByteSize() < 2000
    model = irexec.read_model(path)
    assert irexec.compile_model(model)([np.float32(0)])[0] == 1 + 10 + 2
    stored = [node.constant for node in model.nodes if node.constant is not None and node.constant.size == LARGE.size]
    assert all(mapped_file(array) is not None for array in stored)
    np.testing.assert_array_equal(stored[0], LARGE + 1)


def test_a_large_tensor_that_is_too_short(tmp_path: Path) -> None:
    path = with_weights(tmp_path, LARGE)
    model = onnx.load(path)
    model.graph.initializer[0].dims[:] = [1 << 18]
    onnx.save(model, path)
    (finding,) = irexec.validate(path).errors
    assert finding.code == "F006" and f"its data has {LARGE.nbytes}" in finding.message


@pytest.mark.parametrize("change", ["cut", "two graphs", "group", "endless"])
def test_what_no_writer_makes_is_left_to_the_parser(change: str, tmp_path: Path) -> None:
    path = with_weights(tmp_path, LARGE)
    data = path.read_bytes()
    graph = onnx.ModelProto.FromString(data).graph
    again = onnx.ModelProto(graph=onnx.GraphProto(doc_string="more")).SerializeToString()
    changed = {
        "cut": data[:-1],
        "two graphs": data + again,
        "group": data + b"\x0b",
        "endless": data + b"\xff" * 11,
    }[change]
    with pytest.raises(wire.Unusual):
        wire.without_large_tensors(memoryview(changed))
    path.write_bytes(changed)
    report = irexec.validate(path)
    assert report.ok if change == "two graphs" else [d.code for d in report.errors] == ["F002"]
    assert len(graph.initializer) == 1


def test_what_is_kept_is_the_same_message() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 17]> g (float[3] x) => (float[3] y) <float[1] w = {1.5}> { y = Add(x, w) }'
    )
    whole = model.SerializeToString()
    kept, places = wire.without_large_tensors(memoryview(whole))
    assert places == {} and onnx.ModelProto.FromString(kept) == model


@pytest.mark.skipif(not hasattr(os, "SEEK_HOLE"), reason="takes files with holes, or 5 GB of disk")
def test_external_data_of_five_gigabytes(tmp_path: Path) -> None:
    rows, columns = 5 << 18, 1 << 10
    path, data = tmp_path / "model.onnx", tmp_path / "model.data"
    size = rows * columns * 4
    with data.open("wb") as stream:
        stream.truncate(size)
        stream.seek(size - 4 * columns)
        stream.write(np.arange(columns, dtype=np.float32).tobytes())
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 17]> g (int64[n] x) => (float[n, {columns}] y) {{ y = Gather(w, x) }}'
    )
    table: Any = model.graph.initializer.add(name="w", data_type=1, dims=[rows, columns])
    table.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": data.name, "offset": "0", "length": str(size)}.items():
        table.external_data.add(key=key, value=value)
    path.write_bytes(model.SerializeToString())
    assert irexec.validate(path).ok
    found = irexec.compile_model(path)([np.array([rows - 1, 0])])[0]
    np.testing.assert_array_equal(found, [np.arange(columns), np.zeros(columns)])
