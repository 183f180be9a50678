"""Texts of attributes: what they are read as, what is said when they cannot be, and how values are written."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from pydantic.json_schema import PydanticJsonSchemaWarning

import irexec
from irexec.ops.declare.attribute_model import parse_attributes
from irexec.ops.declare.attributes import (
    Alias,
    AttributeFault,
    Declared,
    NonNegative,
    NonNegativeInts,
    PositiveInts,
    ReaderDefault,
    attribute_text,
    read_plainly,
)
from irexec.ops.declare.operator import ANY_ELEMENTS, Operator
from irexec.types import F16, F32, Array, ElementType, PartialShape

T: TypeAlias = Annotated[Array, ANY_ELEMENTS]


def _kernel(
    x: T,
    /,
    *,
    count: int,
    scale: float = 1.5,
    flag: bool = False,
    mode: Literal["linear", "cubic"] = "linear",
    name: str = "",
    kind: ElementType = F32,
    shape: PartialShape = PartialShape(()),  # noqa: B008 - immutable
    pads: tuple[int, ...] = (),
    weights: tuple[float, ...] = (),
    strides: PositiveInts = (1,),
    offsets: NonNegativeInts = (),
    groups: NonNegative = 0,
    ratio: Annotated[float, Field(gt=0)] = 1.0,
    odd_name: Annotated[int, Alias("odd-name")] = 3,
    differs: Annotated[int, ReaderDefault(7)] = 5,
    maybe: int | None = None,
) -> T:
    return x


OP = Operator("Sample", "opset1", _kernel)


def read(**given: Any) -> tuple[dict[str, Any], list[AttributeFault]]:
    return OP.parse_attributes({"count": "1"} | {k.replace("odd_name", "odd-name"): v for k, v in given.items()})


READABLE = [
    ("count", "42", 42),
    ("count", "-7", -7),
    ("count", " 7 ", 7),
    ("scale", "0.5", 0.5),
    ("scale", "1", 1.0),
    ("scale", "1e-3", 1e-3),
    ("scale", "-inf", -math.inf),
    ("flag", "true", True),
    ("flag", "FALSE", False),
    ("flag", "1", True),
    ("flag", "0", False),
    ("mode", "cubic", "cubic"),
    ("name", "", ""),
    ("name", "a, b", "a, b"),
    ("kind", "f16", F16),
    ("kind", "F16", F16),
    ("shape", "1,?,2..4", PartialShape.parse("1,?,2..4")),
    ("shape", "...", PartialShape.dynamic()),
    ("pads", "1, 2,3", (1, 2, 3)),
    ("pads", "", ()),
    ("pads", "-1", (-1,)),
    ("weights", "1, 0.25", (1.0, 0.25)),
    ("strides", "2,1", (2, 1)),
    ("offsets", "0,3", (0, 3)),
    ("groups", "0", 0),
    ("ratio", "0.1", 0.1),
    ("odd_name", "4", 4),
    ("maybe", "4", 4),
]


@pytest.mark.parametrize(("name", "text", "value"), READABLE)
def test_texts(name: str, text: str, value: object) -> None:
    values, problems = read(**{name: text})
    assert not problems
    assert values[name] == value
    assert type(values[name]) is type(value)


@pytest.mark.parametrize(("name", "text", "value"), READABLE)
def test_the_plain_reader_and_the_model_agree(name: str, text: str, value: object) -> None:
    given_texts = {"count": "1"} | {name.replace("odd_name", "odd-name"): text}
    plain = read_plainly(Declared.of(OP.attributes), given_texts)
    whole, problems = parse_attributes(OP.model, OP.attributes, given_texts)
    assert plain == whole
    assert plain is not None
    assert list(map(type, plain.values())) == list(map(type, whole.values()))
    assert not problems


def test_defaults() -> None:
    values, problems = read()
    assert not problems
    assert values["scale"] == 1.5
    assert values["differs"] == 5
    assert values["maybe"] is None


# name, text, code, what the hint or the message says, what is read instead
UNREADABLE = [
    ("count", "x", "D010", "not a 64-bit integer", 1),
    ("count", "", "D010", "not a 64-bit integer", 1),
    ("count", "1.5", "D003", "not a 64-bit integer", 1),
    ("count", "3x", "D003", "not a 64-bit integer", 3),
    ("count", "9223372036854775808", "D010", "not a 64-bit integer", 1),
    ("count", "١", "D010", "not a 64-bit integer", 1),
    ("scale", "half", "D010", "not a number", 1.5),
    ("scale", "0.5f", "D003", "not a number", 0.5),
    ("flag", "yes", "D004", "true or false", False),
    ("flag", "", "D004", "true or false", False),
    ("mode", "Cubic", "D008", "'Cubic' is spelt 'cubic'", "cubic"),
    ("mode", "cubik", "D005", "did you mean 'cubic'", "linear"),
    ("kind", "FP16", "D010", "did you mean 'f16'?", F32),
    ("kind", "float", "D010", "did you mean 'f32'?", F32),
    ("kind", "f61", "D010", "did you mean 'f64' or 'f16'?", F32),
    ("kind", "xyz", "D010", "not an element type", F32),
    ("shape", "4..2", "S001", "did you mean 2..4", PartialShape(())),
    ("shape", "-3", "S002", "negative", PartialShape(())),
    ("shape", "9223372036854775807", "S003", "64-bit", PartialShape(())),
    ("shape", "a", "S006", "not a dimension", PartialShape(())),
    ("shape", "1,,2", "S006", "empty dimension", PartialShape(())),
    ("pads", "1,2,", "D006", "trailing comma", (1, 2)),
    ("pads", "1,,2", "D006", "empty item", ()),
    ("pads", "1,x", "D010", "not a 64-bit integer", ()),
    ("strides", "0", "D005", "greater than or equal to 1", (1,)),
    ("strides", "1,-1", "D007", "greater than or equal to 1", (1,)),
    ("strides", "1,2.5", "D003", "not a 64-bit integer", (1, 2)),
    ("offsets", "-2", "D007", "greater than or equal to 0", ()),
    ("groups", "-1", "D007", "greater than or equal to 0", 0),
    ("ratio", "0", "D005", "greater than 0", 1.0),
    ("ratio", "nan", "D005", "greater than 0", 1.0),
]


@pytest.mark.parametrize(("name", "text", "code", "said", "instead"), UNREADABLE)
def test_texts_that_are_none(name: str, text: str, code: str, said: str, instead: object) -> None:
    values, (problem,) = read(**{name: text})
    assert (problem.code, problem.attribute) == (code, name)
    assert said in f"{problem.message} {problem.hint}"
    assert values[name] == instead


def test_everything_is_said_at_once() -> None:
    values, problems = OP.parse_attributes({"scale": "x", "flag": "maybe", "modes": "cubic", "groups": "-1"})
    assert sorted((p.code, p.attribute) for p in problems) == [
        ("D001", "modes"),
        ("D002", "count"),
        ("D004", "flag"),
        ("D007", "groups"),
        ("D010", "scale"),
    ]
    assert next(p.hint for p in problems if p.code == "D001") == "did you mean 'mode'?"
    assert values["scale"] == 1.5


def test_an_attribute_has_its_files_name() -> None:
    assert OP.parse_attributes({"count": "1", "odd-name": "4"})[0]["odd_name"] == 4


def test_values_are_taken_as_well_as_texts() -> None:
    values, problems = OP.parse_attributes(
        {"count": 3, "kind": "float16", "shape": [1, -1], "pads": [1, 2], "mode": "cubic", "scale": 2}
    )
    assert [p.attribute for p in problems] == ["kind"]
    values, problems = OP.parse_attributes({"count": 3, "kind": F16, "shape": [1, -1], "pads": [1, 2], "scale": 2})
    assert not problems
    assert (values["shape"], values["pads"], values["scale"]) == (PartialShape.parse("1,?"), (1, 2), 2.0)


@given(st.integers(-(2**63), 2**63 - 1))
def test_integers_survive(value: int) -> None:
    assert read(count=attribute_text(value))[0]["count"] == value


@given(st.floats())
def test_floats_survive(value: float) -> None:
    back = read(scale=attribute_text(value))[0]["scale"]
    assert back == value or (math.isnan(back) and math.isnan(value))
    assert math.copysign(1, back) == math.copysign(1, value) or math.isnan(value)


@given(st.lists(st.floats(allow_nan=False)))
def test_lists_survive(values: list[float]) -> None:
    assert read(weights=attribute_text(values))[0]["weights"] == tuple(values)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (F16, "f16"),
        (PartialShape.parse("1,?,2..4"), "1,?,2..4"),
        (1.0, "1"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        ((1, 2), "1, 2"),
        ((), ""),
        ("cubic", "cubic"),
    ],
)
def test_how_values_are_written(value: object, text: str) -> None:
    assert attribute_text(value) == text


def test_the_schema_knows_texts_and_limits() -> None:
    with pytest.warns(PydanticJsonSchemaWarning, match="Default value"):
        schema = OP.model.model_json_schema()
    assert schema["required"] == ["count"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["mode"]["enum"] == ["linear", "cubic"]
    assert "odd-name" in schema["properties"]
    assert "f16" in schema["properties"]["kind"]["enum"]


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400], ids=["high", "low", "far"])
def test_numbers_beyond_64_bits_are_refused_in_calls(value: int) -> None:
    x = np.float32([1, 2])
    for call in (
        lambda: irexec.opset15.fake_quantize(x, x, x, x, x, value),
        lambda: irexec.opset15.softmax(x, axis=value),
        lambda: irexec.opset15.softmax(x, axis=[0, value]),
        lambda: irexec.opset15.depth_to_space(np.ones((1, 4, 1)), "blocks_first", value),
    ):
        with pytest.raises(irexec.IRError) as error:
            call()
        assert {d.code for d in error.value.report} <= {"D005", "D007"}
