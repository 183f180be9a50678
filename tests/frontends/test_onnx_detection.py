"""Detectors as they are deployed: PyTorch's export, followed by the suppression of overlapping boxes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("torch", reason="PyTorch, which exports the models, is not installed")

from support.torch_exports import export


def with_suppression(path: Path, threshold: float) -> None:
    """Write a model that appends to a detector's [batch, boxes, 4 + classes] the boxes that remain, with scores and
    classes.
    """
    model = onnx.load(path)
    graph = model.graph
    made = graph.output.pop().name
    make = onnx.helper.make_node
    constants = {
        "four": np.array([4]),
        "most": np.array([20]),
        "overlap": np.float32(0.3),
        "least": np.float32(threshold),
        "one": np.array([1]),
        "two": np.array([2]),
        "ends": np.array([0]),
        "many": np.array([1 << 40]),
        "batch_and_box": np.array([0, 2]),
    }
    graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items())
    graph.node.extend(
        [
            make("Slice", [made, "ends", "four", "two"], ["boxes"], name="take boxes"),
            make("Slice", [made, "four", "many", "two"], ["by_box"], name="take scores"),
            make("Transpose", ["by_box"], ["scores"], perm=[0, 2, 1]),
            make("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["kept"], center_point_box=1),
            make("GatherND", ["scores", "kept"], ["kept_scores"]),
            make("Gather", ["kept", "batch_and_box"], ["places"], axis=1),
            make("GatherND", ["boxes", "places"], ["kept_boxes"]),
            make("Slice", ["kept", "one", "two", "one"], ["classes"]),
            make("Shape", ["kept_scores"], ["count"]),
            make("TopK", ["kept_scores", "count"], ["sorted", "order"], axis=0),
            make("Gather", ["kept_boxes", "order"], ["sorted_boxes"]),
        ]
    )
    for name, kind, shape in (("sorted_boxes", 1, ["n", 4]), ("sorted", 1, ["n"]), ("classes", 7, ["n", 1])):
        graph.output.append(onnx.helper.make_tensor_value_info(name, kind, shape))
    onnx.save(model, path)


@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
@pytest.mark.parametrize(("threshold", "some"), [(0.5, True), (2.0, False)], ids=["some boxes", "no box"])
def test_a_detector_with_suppression(threshold: float, some: bool, dynamo: bool, tmp_path: Path) -> None:
    if dynamo:
        pytest.importorskip("onnxscript", reason="torch's newer exporter needs onnxscript")
    path = tmp_path / "yolo.onnx"
    inputs = [tensor.numpy() for tensor in export("yolo", path, dynamo)]
    with_suppression(path, threshold)
    assert list(irexec.validate(path, others=True)) == []
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    fed = dict(zip((value.name for value in session.get_inputs()), inputs, strict=True))
    found = irexec.compile_model(path)(fed)
    for index, wanted in enumerate(session.run(None, fed)):
        assert (found[index].dtype, found[index].shape) == (wanted.dtype, wanted.shape)
        assert bool(wanted.size) is some
        np.testing.assert_allclose(found[index], wanted, rtol=1e-3, atol=1e-4)
