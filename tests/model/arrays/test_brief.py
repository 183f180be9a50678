"""Arrays, numbers and times as short texts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from irexec.model.arrays.brief import abridged, shown, shown_item, shown_number, shown_seconds


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


def test_a_long_message_keeps_its_end() -> None:
    text = f"Reshape {'(at a place in its source) ' * 20} does not fit"
    assert abridged(text, 60).startswith("Reshape (at ") and abridged(text, 60).endswith(
        "... source)  does not fit"[3:]
    )
    assert len(abridged(text, 60)) == 60
    assert abridged("short", 60) == "short"


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


def test_numbers_and_times() -> None:
    assert [shown_number(v) for v in (None, 3.0, 1 / 3, 1e9)] == ["-", "3", "0.3333", "1e+09"]
    assert [shown_seconds(s) for s in (2.5, 0.0123, 4.2e-6, 9.996e-4, 0.9994, 1500)] == [
        "2.5 s", "12.3 ms", "4.2 us", "1 ms", "999 ms", "1500 s"
    ]  # fmt: skip
