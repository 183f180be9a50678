"""Operators in older forms: each computes the same, in irexec bit by bit, and OpenVINO reads it with the same
results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset4, opset8, opset9, opset15, opset16
from irexec.core.diagnostics.findings import Findings
from irexec.core.types import Array
from irexec.ops.spec.contents import CONTENTS, OPSETS, load
from irexec.tools.fixes.older import to_ir_10, to_opset

F = np.float32
POOL = {"strides": [2, 2], "pads_begin": [0, 0], "pads_end": [1, 1], "kernel": [2, 2]}
Make = Callable[..., Any]


def numbers(*shape: int, kind: Any = F) -> Array:
    return (np.random.default_rng(1).random(shape) * 4 - 1).astype(kind)


def const(values: Any, kind: Any = np.int64) -> Any:
    return opset15.constant(np.array(values, kind))


# type, its version, the older version; the inputs; the layer that reads them
CASES: list[tuple[str, int, int, Sequence[Array], Make]] = [
    ("AvgPool", 16, 1, [numbers(1, 2, 6, 6)],
     lambda x: opset16.avg_pool(x, dilations=[1, 1], exclude_pad=True, **POOL)),
    ("AvgPool", 14, 1, [numbers(1, 2, 7, 6)],
     lambda x: opset15.avg_pool(x, exclude_pad=False, rounding_type="ceil", **POOL)),
    ("BatchNormInference", 5, 1, [numbers(2, 3, 4)], lambda x: opset15.batch_norm_inference(
        x, *(const([1.0, 2.0, 3.0], F) for _ in range(4)), epsilon=0.1)),
    ("Broadcast", 3, 1, [numbers(3, 1)], lambda x: opset15.broadcast(x, const([2, 3, 4]))),
    ("DeformableConvolution", 8, 1, [numbers(1, 2, 5, 5), numbers(1, 18, 5, 5), numbers(2, 2, 3, 3)],
     lambda x, o, k: opset15.deformable_convolution(
         x, o, k, strides=[1, 1], pads_begin=[1, 1], pads_end=[1, 1], dilations=[1, 1])),
    ("DetectionOutput", 8, 1, [numbers(1, 8), numbers(1, 6), np.abs(numbers(1, 2, 8))],
     lambda b, c, p: opset15.detection_output(b, c, p, keep_top_k=[4], nms_threshold=0.5, normalized=True)),
    ("Gather", 8, 1, [numbers(4, 3)], lambda x: opset15.gather(x, const([[2, 0], [3, 1]]), const(0))),
    ("Gather", 8, 7, [numbers(2, 4)], lambda x: opset15.gather(x, const([[2, 0], [3, 1]]), const(1), batch_dims=1)),
    ("GatherND", 8, 5, [numbers(2, 4)], lambda x: opset15.gather_nd(x, const([[2], [3]]), batch_dims=1)),
    ("Gelu", 7, 2, [numbers(2, 5)], lambda x: opset15.gelu(x)),
    ("Interpolate", 11, 4, [numbers(1, 2, 4, 4)], lambda x: opset15.interpolate(
        x, const([6, 7]), const([2, 3]), mode="linear_onnx", shape_calculation_mode="sizes")),
    ("Interpolate", 11, 4, [numbers(1, 2, 4, 4)], lambda x: opset15.interpolate(
        x, const([1.5, 2], F), const([2, 3]), mode="nearest", shape_calculation_mode="scales")),
    ("LSTMCell", 4, 1, [numbers(2, 3), numbers(2, 2), numbers(2, 2), numbers(8, 3), numbers(8, 2), numbers(8)],
     lambda *x: opset15.lstm_cell(*x, hidden_size=2)),
    ("MVN", 6, 2, [numbers(2, 3, 4, 5)], lambda x: opset15.mvn(
        x, const([2, 3]), normalize_variance=True, eps=0.01, eps_mode="inside_sqrt")),
    ("MVN", 6, 2, [numbers(2, 3, 4, 5)], lambda x: opset15.mvn(
        x, const([1, 2, 3]), normalize_variance=True, eps=0.01, eps_mode="inside_sqrt")),
    ("MaxPool", 14, 1, [numbers(1, 2, 6, 6)], lambda x: opset15.max_pool(x, **POOL).outputs[0]),
    ("MaxPool", 14, 8, [numbers(1, 2, 6, 6)], lambda x: opset15.max_pool(x, dilations=[2, 2], **POOL).outputs[1]),
    ("OneHot", 16, 1, [np.array([1, 0, -2, 7])], lambda x: opset16.one_hot(
        x, const(3), const(2.0, F), const(0.5, F), axis=0)),
    ("Pad", 12, 1, [numbers(2, 3)], lambda x: opset15.pad(
        x, const([1, 0]), const([0, 2]), const(7.0, F), pad_mode="constant")),
    ("PriorBox", 8, 1, [], lambda: opset15.prior_box(
        const([2, 3]), const([20, 30]), min_size=[4.0], max_size=[9.0], aspect_ratio=[2.0], offset=0.5)),
    ("Proposal", 4, 1, [np.abs(numbers(1, 12, 4, 4)), numbers(1, 24, 4, 4)], lambda p, b: opset15.proposal(
        p, b, const([64.0, 64.0, 1.0], F), base_size=16, pre_nms_topn=20, post_nms_topn=5, nms_thresh=0.7,
        feat_stride=16, min_size=4, ratio=[0.5, 1.0], scale=[2.0, 4.0, 8.0]).outputs[0]),
    ("ROIAlign", 9, 3, [np.abs(numbers(1, 2, 8, 8)), F([[0, 0, 5, 5], [1, 2, 7, 6]])], lambda x, r: opset15.roi_align(
        x, r, const([0, 0], np.int32), pooled_h=2, pooled_w=2, sampling_ratio=2, spatial_scale=1.0, mode="avg")),
    ("Range", 4, 1, [], lambda: opset15.range(const(1), const(9), const(3), output_type="i64")),
    ("ScatterElementsUpdate", 12, 3, [numbers(3, 4), numbers(2, 4)], lambda x, u: opset15.scatter_elements_update(
        x, const([[0, 1, 2, 0], [2, 0, 1, 1]]), u, const(0))),
    ("ScatterNDUpdate", 15, 4, [numbers(4, 2), numbers(2, 2)], lambda x, u: opset15.scatter_nd_update(
        x, const([[3], [1]]), u)),
    ("ShapeOf", 3, 1, [numbers(2, 3)], lambda x: opset15.shape_of(x)),
    ("SoftMax", 8, 1, [numbers(2, 3)], lambda x: opset15.softmax(x, axis=-1)),
    ("Squeeze", 15, 1, [numbers(2, 1, 3)], lambda x: opset15.squeeze(x, const([1]))),
    ("TopK", 11, 1, [numbers(2, 5)], lambda x: opset15.topk(x, const(2), axis=1, mode="max", sort="value").outputs[1]),
]  # fmt: skip


def model_of(inputs: Sequence[Array], make: Make, *, open_input: bool = False) -> irexec.Model:
    parameters = [
        opset15.parameter([-1, *array.shape[1:]] if open_input else array.shape, array.dtype, name=f"x{index}")
        for index, array in enumerate(inputs)
    ]
    made = make(*parameters)
    return irexec.Model([made], parameters, "m")


def layers_of(path: Path, type: str) -> list[str]:
    return re.findall(rf'type="{type}" version="opset(\d+)"', path.read_text())


@pytest.mark.parametrize(
    ("type", "own", "older", "inputs", "make"), CASES, ids=[f"{c[0]}-{c[1]}-{c[2]}" for c in CASES]
)
def test_the_older_form_computes_the_same(
    tmp_path: Path, type: str, own: int, older: int, inputs: Sequence[Array], make: Make
) -> None:
    openvino = pytest.importorskip("openvino")
    new, old = tmp_path / "new.xml", tmp_path / "old.xml"
    irexec.save_model(model_of(inputs, make), new)
    assert layers_of(new, type) == [str(own)]
    model = irexec.read_model(new)
    findings = Findings()
    assert to_opset(model, older, findings), [str(finding) for finding in findings.report]
    irexec.save_model(model, old)
    assert layers_of(old, type) == [str(older)]
    assert irexec.validate(old).ok
    mine, ours = (irexec.compile_model(path)(list(inputs))[0] for path in (new, old))
    assert mine.dtype == ours.dtype
    np.testing.assert_array_equal(mine, ours)
    core = openvino.Core()
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    theirs = [core.compile_model(path, "CPU", exact)(list(inputs))[0] for path in (new, old)]
    np.testing.assert_allclose(theirs[0], theirs[1], rtol=1e-6, atol=1e-6)
    assert theirs[0].shape == ours.shape


def refused(inputs: Sequence[Array], make: Make, opset: int) -> str:
    findings = Findings()
    assert not to_opset(model_of(inputs, make), opset, findings)
    (finding,) = findings.report.errors
    assert finding.code == "W002"
    return finding.message


# Layers without an older form.
REFUSED: list[tuple[str, int, Sequence[Array], Make]] = [
    ("AvgPool has no equivalent in opset15: it has dilations", 15, [numbers(1, 2, 9, 9)],
     lambda x: opset16.avg_pool(x, dilations=[2, 2], exclude_pad=True, **POOL)),
    ("AvgPool has no equivalent in opset8: rounding_type is ceil_torch", 8, [numbers(1, 2, 7, 6)],
     lambda x: opset15.avg_pool(x, exclude_pad=False, rounding_type="ceil_torch", **POOL)),
    ("Gather has no equivalent in opset7: an index is negative or may be outside of data", 7, [numbers(4, 3)],
     lambda x: opset15.gather(x, const([-1]), const(0))),
    ("Gather has no equivalent in opset7: the values of indices are not constant", 7, [np.array([0, 1])],
     lambda i: opset15.gather(const([5, 6]), i, const(0))),
    ("GatherND has no equivalent in opset7: batch_dims is 2; version 5 merges these dimensions", 7, [numbers(2, 2, 4)],
     lambda x: opset15.gather_nd(x, const([[[1], [0]], [[3], [2]]]), batch_dims=2)),
    ("Gelu has no equivalent in opset6: approximation_mode is TANH", 6, [numbers(3)],
     lambda x: opset15.gelu(x, approximation_mode="tanh")),
    ("Interpolate has no equivalent in opset8: mode is bilinear_pillow", 8, [numbers(1, 2, 4, 4)],
     lambda x: opset15.interpolate(
         x, const([6, 7]), const([2, 3]), mode="bilinear_pillow", shape_calculation_mode="sizes")),
    ("Interpolate has no equivalent in opset3: version 1 computes different results than version 4",
     3, [numbers(1, 2, 4, 4)],
     lambda x: opset15.interpolate(x, const([6, 7]), const([2, 3]), mode="nearest", shape_calculation_mode="sizes")),
    ("MaxPool has no equivalent in opset7: the output of indices is used", 7, [numbers(1, 2, 6, 6)],
     lambda x: opset15.max_pool(x, **POOL).outputs[1]),
    ("Mish has no equivalent in opset3: the operator was introduced with opset4",
     3, [numbers(3)], lambda x: opset15.mish(x)),
    ("Pad has no equivalent in opset11: a pad is negative", 11, [numbers(2, 3)],
     lambda x: opset15.pad(x, const([-1, 0]), const([0, 2]), const(7.0, F), pad_mode="constant")),
    ("ROIAlign has no equivalent in opset8: aligned_mode is half_pixel", 8, [numbers(1, 2, 8, 8)],
     lambda x: opset15.roi_align(x, const([[0, 0, 5, 5]], F), const([0], np.int32), pooled_h=2, pooled_w=2,
                                 sampling_ratio=2, spatial_scale=1.0, mode="avg", aligned_mode="half_pixel")),
    ("ScatterNDUpdate has no equivalent in opset14: reduction is sum", 14, [numbers(4), numbers(2)],
     lambda x, u: opset15.scatter_nd_update(x, const([[3], [1]]), u, reduction="sum")),
    ("ScatterNDUpdate has no equivalent in opset14: indices repeat", 14, [numbers(4), numbers(2)],
     lambda x, u: opset15.scatter_nd_update(x, const([[3], [3]]), u)),
    ("ShapeOf has no equivalent in opset1: output_type is i32", 1, [numbers(2)],
     lambda x: opset15.shape_of(x, output_type="i32")),
    ("TopK has no equivalent in opset10: stable is True", 10, [numbers(2, 5)],
     lambda x: opset15.topk(x, const(2), axis=1, mode="max", sort="value", stable=True).outputs[0]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "opset", "inputs", "make"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_layer_without_an_older_form_is_reported_with_the_reason(
    message: str, opset: int, inputs: Sequence[Array], make: Make
) -> None:
    assert refused(inputs, make, opset) == message


def test_all_layers_that_have_none_are_named_together() -> None:
    findings = Findings()
    model = model_of([numbers(3)], lambda x: opset15.mish(opset15.gelu(opset15.mish(x), approximation_mode="tanh")))
    assert not to_opset(model, 3, findings)
    assert [finding.layer.type for finding in findings.report.errors if finding.layer] == ["Mish", "Gelu", "Mish"]


def test_layers_of_bodies(tmp_path: Path) -> None:
    then_body, else_body = (
        irexec.Model([opset8.softmax(given, axis=1)], [given], "body")
        for given in (opset15.parameter([2, 3], F), opset15.parameter([2, 3], F))
    )
    x = opset15.parameter([2, 3], F)
    node = opset8.if_op(const(True, np.bool_))
    node.set_then_body(then_body)
    node.set_else_body(else_body)
    node.set_input(x, then_body.parameters[0], else_body.parameters[0])
    model = irexec.Model([node.set_output(then_body.results[0], else_body.results[0])], [x])
    findings = Findings()
    assert not to_opset(model, 7, findings)
    assert [str(finding.message) for finding in findings.report] == [
        "If has no equivalent in opset7: the operator was introduced with opset8"
    ]
    assert [inner.version for inner in then_body.nodes] == ["opset1"] * 3


def test_every_rule_is_for_a_version_with_one_before_it() -> None:
    tried = {(case[0], version) for case in CASES for version in CONTENTS[case[0]][1] if case[2] < version <= case[1]}
    rules = {
        (type, version)
        for type, (_, versions) in CONTENTS.items()
        for version in versions
        if (declared := load(type, version)) is not None and declared.older_rule is not None
    }
    assert len(rules) > 30
    for type, version in rules:
        assert version in CONTENTS[type][1][1:]
    untried = {"Assign", "ReadValue", "MulticlassNms", "NonMaxSuppression"}  # These have their own tests below.
    assert {rule for rule in rules if rule[0] not in untried} <= tried


def test_state(tmp_path: Path) -> None:
    x = opset15.parameter([2], F, name="x")
    read = opset15.read_value(const([1, 2], F), variable_id="v", variable_shape=[2], variable_type="f32")
    total = opset15.add(x, read)
    model = irexec.Model([total], [x], "m", sinks=[opset15.assign(total, variable_id="v")])
    assert to_opset(model, 3, Findings())
    path = tmp_path / "m.xml"
    irexec.save_model(model, path)
    assert layers_of(path, "ReadValue") == layers_of(path, "Assign") == ["3"]
    request = irexec.compile_model(path).create_infer_request()
    assert [request.infer([F([1, 1])])[0].tolist() for _ in range(2)] == [[2, 3], [3, 4]]
    lone = opset15.read_value(variable_id="v", variable_shape=[2], variable_type="f32")
    model = irexec.Model([opset15.add(lone, const([1, 2], F))], [], "m", sinks=[opset15.assign(lone, variable_id="v")])
    findings = Findings()
    assert not to_opset(model, 5, findings)
    assert "there is no initial value" in str(findings.report.errors[0])


def test_suppression_that_needs_no_newer_version() -> None:
    boxes, scores = np.abs(numbers(1, 5, 4)), np.abs(numbers(1, 2, 5))
    findings = Findings()
    model = model_of([boxes, scores], lambda b, s: opset9.multiclass_nms(b, s).outputs[0])
    assert to_opset(model, 8, findings), [str(finding) for finding in findings.report]
    given = [const(3), const(0.5, F), const(0.1, F)]
    model = model_of([boxes, scores], lambda b, s: opset9.non_max_suppression(b, s, *given).outputs[0])
    assert to_opset(model, 5, Findings())
    model = model_of([boxes, scores], lambda b, s: opset9.non_max_suppression(b, s, *given, const(0.3, F)).outputs[0])
    findings = Findings()
    assert not to_opset(model, 8, findings)
    assert "soft_nms_sigma is not known to be 0" in str(findings.report.errors[0])
    model = model_of([boxes, scores], lambda b, s: opset4.non_max_suppression(b, s, *given))
    findings = Findings()
    assert not to_opset(model, 3, findings)


def test_ir_10(tmp_path: Path) -> None:
    openvino = pytest.importorskip("openvino")
    from irexec.model.graph.write import write_model

    x = opset15.parameter([2], F, name="x")
    model = irexec.Model([opset15.relu(x, name="y")], [x], "m")
    model.outputs[0].names.add("y")
    findings = Findings()
    assert to_ir_10(model, findings)
    path = tmp_path / "old.xml"
    write_model(model, path, version=10)
    assert 'version="10"' in path.read_text()
    for read in (openvino.Core().read_model(path), irexec.read_model(path)):
        assert {"y"} <= set(read.outputs[0].get_names())
    theirs = openvino.Core().compile_model(path, "CPU")([F([-1, 2])])[0]
    assert theirs.tolist() == irexec.compile_model(path)([F([-1, 2])])[0].tolist() == [0, 2]


def test_what_ir_10_cannot_hold(tmp_path: Path) -> None:
    from irexec.model.graph.runtime_info import RuntimeAttribute

    x = opset15.parameter([2, 3], F, name="x")
    x.outputs[0].rt_info["layout_0"] = RuntimeAttribute("layout", "0", {"layout": "[N,C]"})
    x.rt_info["fused_names_0"] = RuntimeAttribute("fused_names", "0", {"value": "x"})
    path = tmp_path / "m.xml"
    irexec.save_model(irexec.Model([opset15.relu(x, name="r")], [x], "m"), path)
    path.write_text(path.read_text().replace('type="Result"', 'type="Result" output_names="score"'))
    model = irexec.read_model(path)
    findings = Findings()
    assert not to_ir_10(model, findings)
    assert [finding.message for finding in findings.report] == [
        "IR 10 cannot store the runtime info 'layout'",
        "IR 10 cannot store the name 'score' of the result",
    ]


def test_all_operators_are_in_the_opset(tmp_path: Path) -> None:
    model = model_of([numbers(2, 3)], lambda x: opset15.softmax(opset15.relu(x), axis=-1), open_input=True)
    assert to_opset(model, 1, Findings())
    assert {OPSETS[node.version] for node in model.walk()} == {1}
