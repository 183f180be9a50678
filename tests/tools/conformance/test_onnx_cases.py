"""Cases of ONNX front ends: recreated from their names, and what their changes are."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from irexec.tools.conformance.campaign import families
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.names import UnreadableName
from irexec.tools.conformance.onnx_cases import draw_onnx, onnx_operators
from irexec.tools.conformance.onnx_changes import COMPUTED, UNCHANGED

LSTM = "onnx.LSTM-22/lstm_with_peepholes"


def proto(case: Case) -> onnx.ModelProto:
    assert case.source is not None
    return onnx.ModelProto.FromString(case.source)


def inputs(case: Case) -> list[str]:
    return list(proto(case).graph.node[0].input)


@pytest.mark.by_hand(0)
def test_every_operator_with_a_node_test_has_cases() -> None:
    names = families(frontend="onnx")
    assert names == onnx_operators() and len(names) > 180
    assert families(["lstm", "Conv*"], "onnx") == [
        name for name in names if name.removeprefix("onnx.").startswith(("LSTM-", "Conv"))
    ]


@pytest.mark.parametrize(
    "operator", ["onnx.LSTM-22", "onnx.Resize-19", "onnx.ScatterND-18", "onnx.StringNormalizer-10"]
)
def test_a_case_is_recreated_from_its_name(operator: str) -> None:
    drawn = [case for number in range(24) if (case := draw_onnx(operator, number)) is not None]
    assert len({case.name for case in drawn}) == 24
    for case in drawn:
        again = case_named(case.name)
        assert (again.source, again.flags, again.facts) == (case.source, case.flags, case.facts)
        for mine, its in zip(again.inputs[0], case.inputs[0], strict=True):
            np.testing.assert_array_equal(mine, its)


def test_the_cases_of_an_operator_end() -> None:
    assert draw_onnx("onnx.Abs-13", 10_000) is None


@pytest.mark.parametrize("text", ["onnx.LSTM-22", "onnx.LSTM-22/none/unchanged", "onnx.None-1/x/unchanged",
                                  f"{LSTM}/nonsense=1", f"{LSTM}/omit:nonsense", f"{LSTM}/size:X.9=+1"])  # fmt: skip
def test_names_that_describe_no_case(text: str) -> None:
    with pytest.raises(UnreadableName):
        case_named(text)


def test_an_attribute_away_from_its_default() -> None:
    case = case_named("onnx.LSTM-22/lstm_defaults/layout=1")
    assert [a.i for a in proto(case).graph.node[0].attribute if a.name == "layout"] == [1]
    assert case.facts["attribute layout"] == "1" and not case.flags


def test_an_omitted_input() -> None:
    assert inputs(case_named(f"{LSTM}/omit:B")) == ["X", "W", "R", "", "sequence_lens", "initial_h", "initial_c", "P"]
    assert inputs(case_named(f"{LSTM}/omit:P"))[-1] == "initial_c"


def test_inputs_after_the_first_are_constants_unless_all_are_computed() -> None:
    constant, computed = case_named(f"{LSTM}/{UNCHANGED}"), case_named(f"{LSTM}/{COMPUTED}")
    assert [value.name for value in proto(constant).graph.input] == ["X"] and len(constant.inputs[0]) == 1
    assert len(proto(computed).graph.input) == len(computed.inputs[0]) == 8


@pytest.mark.parametrize(
    ("change", "shape"), [("size:X.0=+1", [2, 2, 4]), ("rank:X=+1", [1, 1, 2, 4]), ("rank:X=-1", [2, 4])]
)
def test_sizes_and_ranks(change: str, shape: list[int]) -> None:
    assert list(case_named(f"{LSTM}/{change}").inputs[0][0].shape) == shape


def test_the_type_of_all_inputs_with_one_variable() -> None:
    case = case_named(f"{LSTM}/type:T=f16")
    kinds = {value.name: value.data_type for value in proto(case).graph.initializer}
    assert kinds["W"] == onnx.TensorProto.FLOAT16 and kinds["sequence_lens"] == onnx.TensorProto.INT32
    assert {v.type.tensor_type.elem_type for v in proto(case).graph.output} == {onnx.TensorProto.FLOAT16}


def test_a_call_that_irexec_refuses_is_forbidden() -> None:
    case = case_named(f"{LSTM}/omit:W")
    assert case.flags == ("forbidden",) and case.facts["forbidden"].startswith("F004")
