"""ONNX Runtime as a judged runtime and as a second opinion, for operators with a counterpart in ONNX."""

from __future__ import annotations

import pytest

from irexec.tools.conformance.block import judged, opinion
from irexec.tools.conformance.defendant import Defendant
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.onnx_graph import NoCounterpart, OnnxGraph

pytest.importorskip("onnxruntime")
onnx = pytest.importorskip("onnx")
pytestmark = [pytest.mark.processes, pytest.mark.any_python]

PASS = [
    "Sigmoid-1/f32/x=[?2|4,3]@1,0/seed1",
    "Divide-1/f32/a=[2,3]/b=[3]/seed1",
    "Clamp-1/f32/min=-1/max=0.5/x=[2,3]/seed1",
    "ReduceMean-1/f32/keep_dims=false/data=[2,3,4]/axes=const:i64[2]{0,-1}/seed1",
    "MatMul-1/f32/transpose_a=true/a=[2,4,3]/b=[4,5]/seed1",
    "Convolution-1/f32/strides=2,1/pads_begin=1,0/pads_end=0,1/dilations=1,2/data=[1,3,7,8]/kernel=const:[4,3,3,2]/seed1",
    "Gather-8/f32/data=[4,3]/indices=const:i64[2]{1,0}/axis=const:i64[]{1}/seed1",
    "Reshape-1/f32/special_zero=true/data=[2,3,4]/shape=i64[2]{0,-1}/seed1",
    "Slice-8/f32/data=[5,6]/start=const:i64[1]{4}/stop=const:i64[1]{0}/step=const:i64[1]{-2}/axes=const:i64[1]{1}/seed1",
    "VariadicSplit-1/f32/data=[5,2]/axis=const:i64[]{0}/split_lengths=const:i64[2]{2,3}/seed1",
    "CumSum-3/f32/exclusive=true/reverse=true/data=[3,4]/axis=const:i64[]{1}/seed1",
    "Transpose-1/f32/arg=[2,3,4]/input_order=const:i64[3]{2,0,1}/seed1",
]


def test_counterparts_compute_the_same() -> None:
    defendant = Defendant("onnxruntime")
    assert {name: judged(case_named(name), defendant).word for name in PASS} == dict.fromkeys(PASS, "passed")
    assert defendant.name.startswith("ONNX Runtime ")
    without = judged(case_named("GRN-1/f32/bias=0.1/data=[1,2,3]/seed1"), defendant)
    assert without.word == "refused" and "GRN has no counterpart in ONNX" in without.detail


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Divide-1/i32/a=[2]/b=const:[2]{2,3}/seed1", "Divide of i32 with auto_broadcast numpy"),
        ("ReduceSum-1/f32/keep_dims=true/data=[2,3]/axes=i64[1]{0}/seed1", ""),
        ("Gather-8/f32/data=[4,3]/indices=i64[2]/axis=const:i64[]{1}/seed1", "may be out of range"),
    ],
)
def test_uses_without_a_twin(name: str, reason: str) -> None:
    model = case_named(name).model
    if not reason:
        assert [node.op_type for node in OnnxGraph(model, onnx).proto.graph.node][-2] == "ReduceSum"
        return
    with pytest.raises(NoCounterpart, match=reason):
        OnnxGraph(model, onnx)


def test_the_second_judge() -> None:
    assert opinion(case_named(PASS[0])) == "ONNX Runtime agrees with irexec"
    assert opinion(case_named("GRN-1/f32/bias=0.1/data=[1,2,3]/seed1")) == ""
