"""ONNX's own node tests, live from the package: every one of the families that are translated, with ONNX's results."""

from __future__ import annotations

import warnings
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec

onnx = pytest.importorskip("onnx")

FAMILIES = {
    "scatter": "Scatter ScatterElements ScatterND TensorScatter",
    "gather": "Gather GatherElements GatherND Compress",
    "slice": "Slice Split Concat Pad Tile Transpose DepthToSpace SpaceToDepth Trilu ReverseSequence",
    "arithmetic": "Abs Acos Acosh Add Asin Asinh Atan Atanh Ceil Clip Cos Cosh CumProd CumSum Div Erf Exp Floor Log Max"
    " Mean Min Mod Mul Neg Pow Reciprocal Round Sign Sin Sinh Sqrt Sub Sum Tan Tanh",
    "activation": "Celu Elu Gelu HardSigmoid HardSwish Hardmax LeakyRelu LogSoftmax Mish PRelu Relu Selu Shrink Sigmoid"
    " Softmax Softplus Softsign Swish ThresholdedRelu",
    "logic": "And BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Equal Greater GreaterOrEqual IsInf IsNaN Less"
    " LessOrEqual Not Or Where Xor",
    "reduction": "ArgMax ArgMin ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin"
    " ReduceProd ReduceSum ReduceSumSquare TopK",
    "shape": "BitCast Cast CastLike Constant ConstantOfShape Expand EyeLike Flatten Identity NonZero OneHot Range"
    " Reshape Shape Size Squeeze Unique Unsqueeze",
    "matrix": "Einsum Gemm MatMul MatMulInteger",
}
OPERATORS = [(family, type) for family, types in FAMILIES.items() for type in types.split()]
TRANSLATED = {type for _, type in OPERATORS}


@cache
def cases() -> dict[str, list[Any]]:
    """Operator type → its test cases; one whose node was expanded into other operators counts for its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases(None)
    alone = {case.name: case.model.graph.node[0].op_type for case in collected if len(case.model.graph.node) == 1}
    found = defaultdict(list)
    for case in collected:
        types = {node.op_type for node in case.model.graph.node}
        values = [*case.model.graph.input, *case.model.graph.output]
        if types <= TRANSLATED and all(value.type.WhichOneof("value") == "tensor_type" for value in values):
            found[alone.get(case.name.partition("_expanded")[0], "")].append(case)
    return found


def check(case: Any, folder: Path) -> None:
    """Run the case's model on its inputs and compare with its outputs as ONNX's own runner does."""
    from onnx.backend.test.runner import Runner

    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    compiled = irexec.compile_model(irexec.read_model(path))
    for given, expected in case.data_sets:
        inputs = {info.name: _array(item) for info, item in zip(case.model.graph.input, given, strict=True)}
        results = compiled(inputs)
        found = [results[info.name] for info in case.model.graph.output]
        with np.errstate(all="ignore"):
            Runner.assert_similar_outputs(list(map(_array, expected)), found, rtol=case.rtol, atol=case.atol)


def _array(item: Any) -> Any:
    return onnx.numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


@pytest.mark.parametrize(("family", "type"), OPERATORS)
def test_every_node_test_passes(family: str, type: str, tmp_path: Path) -> None:
    if not onnx.defs.has(type):
        pytest.skip(f"onnx {onnx.__version__} has no {type} yet")
    assert cases()[type], f"onnx has no test of {type}"
    failed = {}
    for case in cases()[type]:
        try:
            check(case, tmp_path)
        except Exception as error:  # every kind of failure is collected, to be shown by the case's name
            failed[case.name] = f"{error.__class__.__name__}: {error}"[:300]
    assert not failed


def test_versions_of_translated_operators_are_translated() -> None:
    """An operator of the families is translated in every version that ONNX ever had, but for a named few."""
    from irexec.frontends.onnx import calls
    from irexec.frontends.onnx.op import TRANSLATORS

    calls._load_translators()
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and s.name in TRANSLATED]
    missing = {(s.name, s.since_version) for s in schemas} - TRANSLATORS.keys()
    assert missing <= {("Tile", 1)}, "new versions of operators: read what they change"
    if onnx.defs.onnx_opset_version() >= 28:
        assert TRANSLATORS.keys() <= {(s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()}
