"""The facts about a model: counts, multiply-adds, memory, places, findings, and unknown values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from support.nets import iterating

import irexec
from irexec import opset1, opset15
from irexec.frontends.reading import read
from irexec.tools.inspect.read import summary_of
from irexec.tools.inspect.summary import summarize

SAMPLES = Path(__file__).parents[3] / "samples"


def convolution() -> irexec.Model:
    """Return a 3x3 convolution of 4 to 8 channels on 16x16, an Add of a bias, and a Reshape, which is a view."""
    image = opset15.parameter([1, 4, 16, 16], np.float32, name="image")
    weights = np.ones((8, 4, 3, 3), np.float32)
    made = opset15.convolution(
        image, weights, strides=[1, 1], pads_begin=[1, 1], pads_end=[1, 1], dilations=[1, 1], name="conv"
    )
    biased = opset15.add(made, np.ones((1, 8, 1, 1), np.float32), name="biased")
    return irexec.Model([opset15.reshape(biased, [1, -1], special_zero=False, name="flat")], [image], "small")


def test_sums_are_those_of_the_shapes() -> None:
    totals = summarize(convolution()).totals
    assert totals.multiply_adds == 8 * 16 * 16 * 4 * 3 * 3
    assert totals.parameters == 8 * 4 * 3 * 3 + 8
    assert totals.weight_types == {"f32": 4 * totals.parameters, "i64": 16}
    assert (totals.layers, totals.constants) == (8, 3)
    assert totals.uncounted == totals.dynamic == []


def test_live_memory_is_two_neighbours_and_a_view_is_free() -> None:
    found = summarize(convolution())
    live = found.totals.live
    # The convolution's result and its sum with the bias, 8 x 16 x 16 floats each; the input is no longer needed.
    assert live.bytes == 2 * 8 * 16 * 16 * 4
    assert live.layer is not None and found.layers[live.layer].name == "biased"


def test_the_values_at_the_peak_are_those_that_exist_together() -> None:
    found = summarize(convolution())
    values = found.totals.live.values
    assert [found.layers[value.layer].name for value in values] == ["conv", "biased"]
    assert sum(value.bytes for value in values) == found.totals.live.bytes


def test_values_of_a_body_exist_at_the_peak_as_well(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(iterating().text, "utf-8")
    found = summarize(irexec.read_model(path))
    live = found.totals.live
    assert live.layer is not None and {found.layers[value.layer].parent for value in live.values} == {None, live.layer}
    assert sum(value.bytes for value in live.values) == live.bytes


def test_a_graph_without_memory_to_add_up_reports_it() -> None:
    x = opset15.parameter([-1, 4], np.float32, name="x")
    found = summarize(irexec.Model([opset15.matmul(x, np.ones((4, 2), np.float32), name="y")], [x], "open"))
    assert found.totals.live.bytes is None
    assert [found.layers[i].name for i in found.totals.uncounted] == ["y"]
    assert {found.layers[i].name for i in found.totals.dynamic} >= {"x", "y"}


def test_integer_constants_that_are_converted_are_parameters() -> None:
    x = opset15.parameter([1, 4], np.float32, name="x")
    weights = opset15.convert(opset15.constant(np.ones((4, 2), np.uint8)), destination_type="f32")
    found = summarize(irexec.Model([opset15.matmul(x, weights)], [x], "compressed"))
    assert found.totals.parameters == 8
    assert found.totals.weight_bytes == 8


def test_attributes_say_whether_they_are_defaults() -> None:
    made = next(layer for layer in summarize(convolution()).layers if layer.name == "conv")
    shown = {attribute.name: (attribute.value, attribute.default) for attribute in made.attributes}
    assert shown["pads_begin"] == ("1, 1", False)
    assert shown["auto_pad"] == ("explicit", True)


def test_matmul_transposed_and_batched() -> None:
    a = opset1.parameter([5, 7, 3], np.float32, name="a")
    b = opset1.parameter([5, 7, 2], np.float32, name="b")
    found = summarize(irexec.Model([opset1.matmul(a, b, transpose_a=True)], [a, b], "m"))
    assert found.totals.multiply_adds == 5 * 3 * 2 * 7


def test_a_sample_with_places_attributes_and_names() -> None:
    found, report = summary_of(read(SAMPLES / "classifier" / "model.xml", mode="strict"))
    assert found is not None and report.ok
    assert len(found.layers) == 50
    softmax = next(layer for layer in found.layers if layer.type == "SoftMax")
    lines = (SAMPLES / "classifier" / "model.xml").read_text("utf-8").splitlines()
    assert softmax.line is not None and softmax.name in lines[softmax.line - 1]
    assert softmax.operator == "SoftMax-8"
    assert [port.name for port in found.inputs] == ["image"]
    assert found.outputs[0].names == ["probabilities"]


def test_states_are_reported_with_their_layers() -> None:
    found, _ = summary_of(read(SAMPLES / "transformer" / "model.xml", mode="strict"))
    assert found is not None
    assert [state.name for state in found.states] == ["keys", "values"]
    for state in found.states:
        assert [found.layers[i].type for i in (*state.reads, *state.assigns)] == ["ReadValue", "Assign"]


def test_layers_of_a_body_follow_their_layer_and_count_as_often_as_they_run(tmp_path: Path) -> None:
    path = tmp_path / "loop.xml"
    path.write_text(iterating().text, "utf-8")
    found, report = summary_of(read(path, mode="strict"))
    assert found is not None and report.ok, [str(d) for d in report]
    outer = next(layer for layer in found.layers if layer.type == "TensorIterator")
    inside = [layer for layer in found.layers if layer.parent == outer.index]
    assert [layer.index for layer in inside] == list(range(outer.index + 1, outer.index + 1 + len(inside)))
    assert {layer.branch for layer in inside} == {"body"}
    for layer in inside:
        assert all(entry.layer is None or found.layers[entry.layer].parent == outer.index for entry in layer.inputs)


def test_everything_is_json() -> None:
    found, _ = summary_of(read(SAMPLES / "transformer" / "model.xml", mode="strict"))
    assert found is not None
    again = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(again["layers"]) == 93
    assert again["totals"]["opsets"]["opset1"] == 77


def test_findings_stand_at_their_layers(tmp_path: Path) -> None:
    text = (SAMPLES / "classifier" / "model.xml").read_text("utf-8").replace('axis="1"', 'axes="1"')
    path = tmp_path / "model.xml"
    path.write_text(text, "utf-8")
    (tmp_path / "model.bin").write_bytes((SAMPLES / "classifier" / "model.bin").read_bytes())
    found, report = summary_of(read(path, mode="strict"))
    assert found is not None and len(report)
    at_fault = [layer for layer in found.layers if layer.findings]
    assert "SoftMax" in {layer.type for layer in at_fault}
    softmax = next(layer for layer in at_fault if layer.type == "SoftMax")
    assert found.findings[softmax.findings[0]]["code"] == "D001"


def test_layers_without_a_net_are_not_a_model() -> None:
    found, report = summary_of(read(SAMPLES / "scatter_nd_update" / "example_1.xml", mode="strict"))
    assert found is None
    assert [d.code for d in report] == ["U012"]


def test_attributes_that_an_operator_cannot_have_are_shown_as_they_are_written(tmp_path: Path) -> None:
    text = (SAMPLES / "classifier" / "model.xml").read_text("utf-8").replace('axis="1"', 'axis="high" axes="0"')
    (tmp_path / "model.xml").write_text(text, "utf-8")
    (tmp_path / "model.bin").write_bytes((SAMPLES / "classifier" / "model.bin").read_bytes())
    found, _ = summary_of(read(tmp_path / "model.xml", mode="strict"))
    assert found is not None
    layer = next(layer for layer in found.layers if layer.type == "SoftMax")
    assert [(a.name, a.value, a.default) for a in layer.attributes] == [("axis", "high", False), ("axes", "0", False)]
