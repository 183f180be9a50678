"""Arrays as short texts, and their statistics."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from irexec.arrays.brief import (
    Statistics,
    exact_array,
    json_values,
    shown,
    shown_item,
    shown_number,
    shown_seconds,
)
from irexec.types import BF16, I4, STRING


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.0, 2.5, -0.0]), "[1, 2.5, -0]"),
        (np.array([[True], [False]]), "[[true], [false]]"),
        (np.array(7), "7"),
        (np.array([np.nan, np.inf, -np.inf]), "[nan, inf, -inf]"),
        (np.array(["a", "it's"], dtype=np.dtypes.StringDType()), "['a', \"it's\"]"),
        (np.array(["a", "b"]), "['a', 'b']"),
        (np.zeros((2, 0)), "[[], []]"),
        (np.array([1e20, 1 / 3, 16777216], np.float32), "[1e+20, 0.333333, 16777216]"),
        (np.array([1.5], ml_dtypes.bfloat16), "[1.5]"),
        (np.array([1 + 2j]), "[1+2j]"),
    ],
)
def test_shown(array: np.ndarray[Any, Any], text: str) -> None:
    assert shown(array) == text


def test_what_is_long_is_cut_along_every_axis() -> None:
    assert shown(np.arange(1000), 40) == "[0, 1, 2, 3, 4, 5, 6, 7, ...]"
    assert shown(np.zeros((9, 9, 9)), 40) == "[[[0, 0, 0, 0, 0, 0, ...], ...], ...]"


@given(array_shapes(min_dims=0, max_dims=6, max_side=40), st.integers(20, 100))
def test_a_text_is_never_too_long(shape: tuple[int, ...], limit: int) -> None:
    array = np.broadcast_to(np.float32(-1.2345678e-30), shape)
    assert len(shown(array, limit)) <= limit


def test_long_strings_are_cut() -> None:
    assert len(shown(np.array(["x" * 500], dtype=np.dtypes.StringDType()), 60)) == 60
    assert shown_item("a\nb") == r"'a\nb'"


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([1, 2, 6]), Statistics(1, 6, 3, 0, 0)),
        (np.array([True, False]), Statistics(0, 1, 0.5, 0, 0)),
        (np.array([1, np.nan, 3, np.inf, -np.inf]), Statistics(1, 3, 2, 1, 2)),
        (np.array([np.nan]), Statistics(None, None, None, 1, 0)),
        (np.zeros((0, 3)), Statistics(None, None, None, 0, 0)),
        (np.array([1, 3], ml_dtypes.bfloat16), Statistics(1, 3, 2, 0, 0)),
        (np.array(["a"], dtype=np.dtypes.StringDType()), Statistics(None, None, None, 0, 0)),
        (np.array([60000, 60000], np.float16), Statistics(60000, 60000, 60000, 0, 0)),
        (np.array([1, -8], ml_dtypes.int4), Statistics(-8, 1, -3.5, 0, 0)),
    ],
)
def test_statistics(array: np.ndarray[Any, Any], expected: Statistics) -> None:
    assert Statistics.of(array) == expected


def test_numbers_and_times() -> None:
    assert [shown_number(v) for v in (None, 3.0, 1 / 3, 1e9)] == ["-", "3", "0.3333", "1e+09"]
    assert [shown_seconds(s) for s in (2.5, 0.0123, 4.2e-6)] == ["2.5 s", "12.3 ms", "4.2 us"]


def test_values_for_json() -> None:
    assert json_values(np.array([[1.5, np.nan], [np.inf, -np.inf]])) == [[1.5, "NaN"], ["Infinity", "-Infinity"]]
    assert json_values(np.array([1.5], ml_dtypes.bfloat16)) == [1.5]
    assert json_values(np.array([1 + 2j])) == ["(1+2j)"]
    assert json_values(np.zeros(1001)) is None


def test_arrays_that_numpy_alone_can_read() -> None:
    assert exact_array(np.array([1.5], ml_dtypes.bfloat16), BF16).dtype == np.float32
    assert exact_array(np.array([-8], ml_dtypes.int4), I4).dtype == np.int8
    assert exact_array(np.array(["ab"], dtype=np.dtypes.StringDType()), STRING).dtype.kind == "U"
    kept = np.array([1.0])
    assert exact_array(kept, BF16) is kept
