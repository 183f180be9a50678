"""Numbers in text: the strict reading, OpenVINO's reading, and their agreement if both accept the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irexec.ir.text import (
    INT64_MAX,
    boolean,
    dim,
    float64,
    int64,
    int64_list,
    list_of,
    name_list,
    whole,
    write_name_list,
)


@pytest.mark.parametrize(
    ("read", "text", "strict", "openvino"),
    [
        (whole, "0", 0, 0),
        (whole, "007", 7, 7),
        (whole, " 7", None, 7),
        (whole, "+7", None, 7),
        (whole, "7 ", None, None),
        (whole, "7x", None, None),
        (whole, "-7", None, None),
        (whole, "-0", None, 0),
        (whole, "", None, None),
        (whole, None, None, None),
        (whole, "1_000", None, None),
        (whole, "٣", None, None),
        (whole, str(INT64_MAX), INT64_MAX, INT64_MAX),
        (whole, str(INT64_MAX + 1), None, None),
        (whole, "9" * 5000, None, None),
        (whole, "0" * 5000 + "1", 1, 1),
        (dim, "3", 3, 3),
        (dim, " \n3\t", 3, 3),
        (dim, "-1", -1, -1),
        (dim, "-2", None, None),
        (dim, "1.5", None, 1),
        (dim, "1..3", None, 1),
        (dim, "+1", None, 1),
        (dim, "?", None, None),
        (dim, None, None, None),
        (dim, str(INT64_MAX), None, INT64_MAX),
        (int64, " -5 ", -5, -5),
        (int64, "1.9", None, 1),
        (int64, "0x1", None, 0),
        (int64, "+1", None, None),
        (int64, "abc", None, None),
        (int64, str(-(2**63)), -(2**63), -(2**63)),
        (int64, str(2**63), None, None),
        (float64, "1.5", 1.5, 1.5),
        (float64, " 1e-3 ", 1e-3, 1e-3),
        (float64, "-inf", float("-inf"), float("-inf")),
        (float64, "1.5f", None, 1.5),
        (float64, "1,5", None, 1.0),
        (float64, "Infinity", None, None),
        (float64, "infinity", None, None),
        (float64, "+2", None, 2.0),
        (float64, "abc", None, None),
        (boolean, "TRUE", True, True),
        (boolean, "0", False, False),
        (boolean, "yes", None, None),
        (boolean, " true", None, None),
        (int64_list, "", [], []),
        (int64_list, "1, 2", [1, 2], [1, 2]),
        (int64_list, "1,2,", None, [1, 2]),
        (int64_list, "1,,2", None, None),
        (int64_list, "1;2", None, [1]),
        (int64_list, "[1,2]", None, None),
    ],
)
def test_readings(read, text, strict, openvino) -> None:
    assert read(text) == (strict, openvino)


def test_items_that_only_openvino_reads() -> None:
    found = list_of(float64, "0.5,2x")
    assert found.strict is None
    assert len(found.openvino) == 2


@given(st.integers(-(2**64), 2**64))
def test_every_integer_in_range_reads_as_itself(number) -> None:
    text = str(number)
    assert int64(text).strict == (number if -(2**63) <= number <= INT64_MAX else None)
    assert whole(text).strict == (number if 0 <= number <= INT64_MAX else None)
    assert dim(text).strict == (number if -1 <= number < INT64_MAX else None)


@given(st.text(st.sampled_from("0123456789+-. exX,\t\n٣_"), max_size=8))
def test_a_strict_reading_is_openvinos_too(text) -> None:
    for read in (whole, dim, int64, float64, int64_list):
        reading = read(text)
        if reading.strict is not None:
            assert reading.strict == reading.openvino
            assert reading.value == reading.strict


@given(st.floats(allow_nan=False))
def test_every_float_reads_as_itself(number) -> None:
    assert float64(repr(number)).strict == number


@given(st.lists(st.text(st.characters(exclude_characters="\\", codec="utf-8"), min_size=1)))
def test_names_survive_being_written(names) -> None:
    assert name_list(write_name_list(names)) == names
