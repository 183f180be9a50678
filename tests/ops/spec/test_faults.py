"""Errors in attributes: the code and the message of each, and the value that is used instead."""

from __future__ import annotations

from typing import Any

import pytest
from support.declared import OP, read

from irexec.core.types import F32, PartialShape
from irexec.ops.spec.contents import load

# name, text, code, part of the hint or the message, value that is used instead
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
    ("mode", "Cubic", "D008", "'Cubic' is spelled 'cubic'", "cubic"),
    ("mode", "cubik", "D005", "did you mean 'cubic'", "linear"),
    ("kind", "FP16", "D010", "did you mean 'f16'?", F32),
    ("kind", "float", "D010", "did you mean 'f32'?", F32),
    ("kind", "f61", "D010", "did you mean 'f64' or 'f16'?", F32),
    ("kind", "xyz", "D010", "not an element type", F32),
    ("shape", "4..2", "S001", "did you mean 2..4", PartialShape.parse("?")),
    ("shape", "-3", "S002", "minus sign", PartialShape(())),
    ("shape", "2,-", "S002", "minus sign", PartialShape(())),
    ("shape", "9223372036854775808", "S003", "64-bit", PartialShape(())),
    ("shape", "2,1..9223372036854775807", "S003", "64-bit", PartialShape.parse("2,1..")),
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


def test_everything_is_reported_together() -> None:
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


def test_a_text_that_openvino_reads_as_an_invalid_value_has_both_faults() -> None:
    values, problems = read(strides="1,-2.5")
    assert [p.code for p in problems] == ["D003", "D007"]
    assert values["strides"] == (1,)


def test_a_list_with_two_wrong_items_has_one_fault() -> None:
    _, (problem,) = read(strides="0,-1")
    assert (problem.code, problem.message) == (
        "D007",
        "strides: input should be greater than or equal to 1, not '0,-1'",
    )


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("shape", 3, "D005"),
        ("shape", [object()], "S006"),
        ("kind", "float16", "D010"),
        ("kind", object(), "D005"),
        ("mode", ["linear", "cubic"], "D005"),
        ("count", None, "D005"),
        ("flag", 2, "D005"),
        ("pads", [1, None], "D005"),
    ],
)
def test_values_of_other_types(name: str, value: Any, code: str) -> None:
    values, (problem,) = read(**{name: value})
    assert (problem.code, problem.attribute) == (code, name)
    assert values[name] == (1 if name == "count" else OP.attributes[names().index(name)].default)


def names() -> list[str]:
    return [attribute.name for attribute in OP.attributes]


def test_a_missing_attribute_is_what_openvino_assumes_where_the_page_allows_it() -> None:
    values, (problem,) = load("Reshape", 1).parse_attributes({})
    assert (problem.code, problem.defined, values) == ("D002", True, {"special_zero": False})
    values, (problem,) = load("Concat", 1).parse_attributes({})
    assert (problem.code, problem.defined, values) == ("D002", False, {"axis": 1})
