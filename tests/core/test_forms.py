"""Text forms: what OpenVINO reads is recorded for 1,800 texts in every form; a strict value is OpenVINO's, too."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.text_forms import PLACES, reader, stored, texts

from irexec.core.forms import BOOLEAN, EXTENT, F32, F32_ITEM, F64, I64, ID, INT64_MAX, digits, read, read_list
from irexec.core.types import PartialShape, UnreadableShape

ITEMS = {"id": ID, "extent": EXTENT, "i64": I64, "f64": F64, "f32": F32}
LISTS = {"i64s": I64, "f32s": F32_ITEM, "sizes": I64}


def reading(form: str, text: str) -> Any:
    """Return what OpenVINO reads according to irexec; None for a text that it rejects."""
    if form in ITEMS:
        return read(ITEMS[form], text).openvino
    if form in LISTS:
        return read_list(LISTS[form], text).openvino
    value = read(BOOLEAN, text).openvino
    return value if value is (form == "true") else None


def agrees(form: str, ours: Any, theirs: str | None) -> bool:
    if theirs in (None, "?") or ours is None:
        return (theirs is None) == (ours is None)
    if form in ("true", "false"):
        return True
    if form == "sizes":
        return min(ours, default=0) < 0 or ours == ast.literal_eval(theirs)
    if form in ("id", "i64", "i64s"):
        return ours == ast.literal_eval(theirs)
    value = [math.nan if word == "nan" else float(word) for word in theirs.strip("[]").split(", ") if word != ""]
    given = ours if isinstance(ours, list) else [ours]
    return len(given) == len(value) and all(_is_equal(a, b, form) for a, b in zip(given, value, strict=True))


def _is_equal(a: float, b: float, form: str) -> bool:
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or (form in ("f32", "f32s") and math.isclose(a, b, rel_tol=2**-23, abs_tol=2**-149))


@pytest.mark.parametrize("form", [form for form in PLACES if form != "shape"])
def test_what_openvino_reads(form: str) -> None:
    found = [(text, reading(form, text), values.get(form)) for text, values in stored()]
    assert [row for row in found if not agrees(form, *row[1:])] == []


def test_what_openvino_reads_as_a_shape() -> None:
    """For some texts it reads numbers that nobody means, such as 0 for -7: irexec then has no value."""
    wrong = []
    for text, values in stored():
        theirs, ours = values.get("shape"), None
        try:
            ours = PartialShape.parse(text)
        except UnreadableShape as error:
            ours = None if error.lenient is None else PartialShape(error.lenient)
        if ours is not None and str(ours) != theirs:
            wrong.append((text, ours, theirs))
    assert wrong == []


@pytest.mark.by_hand(0)
def test_the_installed_openvino_reads_the_same() -> None:
    pytest.importorskip("openvino")
    ask, wrong = reader(), []
    data = dict(stored())
    for text in texts()[::40]:
        answers = {form: ask(form, text) for form in PLACES}
        now = {form: str(v) for form, v in answers.items() if v not in (None, PLACES[form].default)}
        if now != data[text]:
            wrong.append((text, now, data[text]))
    assert wrong == []


@pytest.mark.parametrize(
    ("form", "text", "strict", "openvino"),
    [
        (ID, "007", None, 7),
        (ID, "00", None, 0),
        (ID, "9" * 5000, None, None),
        (ID, "0" * 5000 + "1", None, 1),
        (EXTENT, str(INT64_MAX), None, INT64_MAX),
        (EXTENT, "-2", None, None),
        (I64, str(-(2**63)), -(2**63), -(2**63)),
        (F64, "1e400", None, None),
        (F64, "+1.5", None, 1.5),
        (F64, "infinity", None, None),
        (F64, "1e", None, None),
        (F32, "1e39", None, math.inf),
        (F32, "-1e39", None, -math.inf),
        (F32, "1e-50", None, 0.0),
        (F32_ITEM, "1e39", None, None),
        (F32_ITEM, "inf", math.inf, math.inf),
        (F32, "1e-40", 1e-40, 1e-40),
        (BOOLEAN, " true", None, None),
        (I64, None, None, None),
    ],
)
def test_readings(form: Any, text: str | None, strict: Any, openvino: Any) -> None:
    assert read(form, text) == (strict, openvino)


def test_a_blank_that_only_unicode_knows_is_none() -> None:
    assert read_list(I64, "1,\u00a02") == (None, None)


@given(st.integers(-(2**64), 2**64))
def test_every_integer_in_range_reads_as_itself(number: int) -> None:
    text = str(number)
    assert read(I64, text).strict == (number if -(2**63) <= number <= INT64_MAX else None)
    assert read(ID, text).strict == (number if 0 <= number <= INT64_MAX else None)
    assert read(EXTENT, text).strict == (number if -1 <= number < INT64_MAX else None)
    assert digits(text) in (None, number)


@given(st.text(st.sampled_from("0123456789+-. exX,\t\n٣_infa"), max_size=8))
def test_a_strict_reading_is_openvinos_too(text: str) -> None:
    readings = [read(form, text) for form in ITEMS.values()] + [read_list(form, text) for form in LISTS.values()]
    for found in readings:
        assert found.strict is None or found.strict == found.openvino == found.value or "nan" in text


@given(st.floats(allow_nan=False))
def test_every_float_reads_as_itself(number: float) -> None:
    assert read(F64, repr(number)).strict == number
    assert read(F32, repr(number)).openvino == number or not 2**-149 < abs(number) < 3.5e38
