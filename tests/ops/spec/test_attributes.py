"""Texts and values of attributes: how texts are read, and how values are written."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.declared import OP, read

import irexec
from irexec.core.types import F16, PartialShape
from irexec.ops.spec.attributes import attribute_text

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


def test_defaults() -> None:
    values, problems = read()
    assert not problems
    assert values["scale"] == 1.5
    assert values["differs"] == 5
    assert values["maybe"] is None


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


@given(st.floats(width=32))
def test_floats_survive(value: float) -> None:
    back = read(scale=attribute_text(value))[0]["scale"]
    assert back == value or (math.isnan(back) and math.isnan(value))
    assert math.copysign(1, back) == math.copysign(1, value) or math.isnan(value)


@given(st.lists(st.floats(allow_nan=False, width=32)))
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
