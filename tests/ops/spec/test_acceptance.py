"""The schema of a layer accepts attributes and ports in one call, and reports all errors in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np
import pytest
from pydantic import AfterValidator, Field
from pydantic_core import SchemaValidator, ValidationError

import irexec
from irexec.core.types import DYNAMIC, F16, F32, I64, STRING, TensorType
from irexec.ops.spec.acceptance import value_schema
from irexec.ops.spec.attributes import NonNegative, Within
from irexec.ops.spec.contents import load
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.tensors import AnyTensor

T: TypeAlias = AnyTensor
SCATTER = load("ScatterNDUpdate", 15)
NET = (
    '<net name="n" version="11"><layers>'
    '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>'
    '<output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>'
    '<layer id="1" name="y" type="ReLU" version="opset1">'
    '<input><port id="0" precision="FP32"><dim>2</dim></port></input>'
    '<output><port id="1" precision="FP32"><dim>2</dim></port></output></layer>'
    '<layer id="2" name="r" type="Result" version="opset1">'
    '<input><port id="0" precision="FP32"><dim>2</dim></port></input></layer>'
    '</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
    '<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>'
)


def types(*kinds: Any) -> list[TensorType | None]:
    return [None if kind is None else TensorType(kind) for kind in kinds]


def test_attributes_and_ports_in_one_call() -> None:
    accepted = SCATTER.accept({"reduction": "sum"}, types(F32, I64, F32))
    assert (accepted.attributes, accepted.elements) == ({"reduction": "sum"}, {"T": F32, "T_IND": I64})
    assert not accepted.faults
    assert not accepted.breaches


def test_all_that_is_wrong_is_reported_in_one_call() -> None:
    accepted = SCATTER.accept({"reduction": "add", "axis": "0"}, types(F32, F32, F16))
    assert [(fault.code, fault.attribute) for fault in accepted.faults] == [("D005", "reduction"), ("D001", "axis")]
    assert [(breach.code, breach.port) for breach in accepted.breaches] == [("O002", "indices"), ("O003", "updates")]
    assert accepted.breaches[0].message == "indices is f32, expected one of i32, i64"
    assert accepted.breaches[1].message == "updates is f16, expected f32 as data is: both have type T"


@pytest.mark.parametrize(
    "make",
    [
        lambda: irexec.opset15.relu(np.ones(2, np.float32)),
        lambda: irexec.opset15.relu(irexec.opset15.parameter([2], np.float32)),
        lambda: irexec.read_model(NET),
    ],
    ids=["evaluated", "made", "read"],
)
def test_the_attributes_and_the_ports_of_a_layer_are_accepted_once(
    make: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attributes of a file's layer are needed before the types of its inputs are known."""
    relu, seen = load("ReLU", 1), []
    original = relu.accept

    def accept(attributes: Any = None, inputs: Any = None) -> Any:
        seen.extend(part for part, given in (("attributes", attributes), ("ports", inputs)) if given is not None)
        return original(attributes, inputs)

    monkeypatch.setattr(relu, "accept", accept)
    make()
    assert sorted(seen) == ["attributes", "ports"]


def test_a_type_that_is_unknown_so_far_may_become_any() -> None:
    accepted = SCATTER.accept(inputs=types(DYNAMIC, DYNAMIC, F16))
    assert (accepted.elements, accepted.breaches) == ({"T": F16}, [])


def test_ports_that_are_left_out() -> None:
    pad = load("Pad", 12)
    for inputs in (types(F32, I64, I64), types(F32, I64, I64, None)):
        assert not pad.accept(inputs=inputs).breaches


def test_each_port_of_a_variadic_one_is_accepted() -> None:
    concat = load("Concat", 1)
    assert concat.accept(inputs=types(*[STRING] * 5)).elements == {"T": STRING}
    (breach,) = concat.accept(inputs=types(F32, F32, I64)).breaches
    assert (breach.code, breach.port) == ("O003", "tensors[2]")


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("an odd number")
    return value


def _marked(
    x: T,
    /,
    *,
    even: Annotated[int, Within(le=6), AfterValidator(_even)] = 0,
    few: Annotated[tuple[int, ...], Field(max_length=2)] = (),
    pair: tuple[int, int] = (1, 2),
    maybe: NonNegative | None = None,
) -> T:
    return x


MARKED = Operator("Marked", "tests", _marked)


@pytest.mark.parametrize(
    ("given", "code", "message"),
    [
        ({"even": "3"}, "D005", "even: value error, an odd number, not '3'"),
        ({"even": "8"}, "D005", "even: input should be less than or equal to 6, not '8'"),
        ({"few": "1,2,3"}, "D005", "few: tuple should have at most 2 items after validation, not 3, not '1,2,3'"),
        ({"pair": "1"}, "D005", "pair: field required, not '1'"),
        ({"maybe": "-1"}, "D007", "maybe: input should be greater than or equal to 0, not '-1'"),
    ],
)
def test_marks_of_pydantic_and_of_irexec_apply_together(given: dict[str, str], code: str, message: str) -> None:
    values, (problem,) = MARKED.parse_attributes(given)
    assert (problem.code, problem.message) == (code, message)
    assert values == {"even": 0, "few": (), "pair": (1, 2), "maybe": None}
    right = {"even": "4", "few": "1,2", "pair": "3,4", "maybe": "5"}
    assert MARKED.parse_attributes(right) == ({"even": 4, "few": (1, 2), "pair": (3, 4), "maybe": 5}, [])


def test_the_values_of_an_annotation() -> None:
    validate = SchemaValidator(value_schema(tuple[NonNegative, ...])).validate_python
    assert validate([1, 2]) == (1, 2)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        validate([-1])
    with pytest.raises(TypeError, match="Within requires int or float"):
        value_schema(Annotated[int | None, Within(ge=0)])
