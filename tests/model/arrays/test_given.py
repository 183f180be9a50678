"""Values supplied by a caller, as arrays of an element type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irexec.core.types import BF16, BOOLEAN, F16, F32, I4, I8, I64, STRING, U8, ElementType
from irexec.model.arrays.given import convert


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ([1, 2], F32, np.array([1, 2], np.float32)),
        ([1.0, 2.0], I64, np.array([1, 2])),
        ([True, False], BOOLEAN, np.array([True, False])),
        (np.array([1, 2], np.int64), I8, np.array([1, 2], np.int8)),
        (np.array([1.1]), F16, np.array([1.1], np.float16)),
        ([], I64, np.zeros(0, np.int64)),
        (3, F32, np.array(3, np.float32)),
        (np.array([1.5], ml_dtypes.bfloat16).view("V2"), BF16, np.array([1.5], ml_dtypes.bfloat16)),
    ],
)
def test_conversion(value: Any, kind: ElementType, expected: np.ndarray[Any, Any]) -> None:
    array = convert(value, kind)
    assert array is not None and array.dtype == expected.dtype
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("value", "kind"),
    [([1.5], I64), ([300], I8), (["a"], F32), ([[1], [2, 3]], F32), ([9], I4), (np.array(["a"]), I64), (["a"], U8)],
)
def test_what_is_not_a_value_of_a_type(value: Any, kind: ElementType) -> None:
    assert convert(value, kind) is None


def test_strings_are_converted() -> None:
    words = convert(["a", "déf"], STRING)
    assert words is not None and words.tolist() == ["a", "déf"]
