"""Arrays for other programs: NumPy's own dtypes, lists for JSON."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from irexec.core.types import BF16, I4, STRING
from irexec.model.arrays.plain import exact_array, json_values, unicode_array


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


def test_strings_are_fixed_width_unicode_unless_that_loses_or_wastes() -> None:
    def unicode_of(*strings: str) -> np.ndarray:
        return unicode_array(np.array(strings, np.dtypes.StringDType()))

    assert unicode_of("a", "déf", "g\0h").dtype == "U3"
    assert unicode_of().dtype == "U1"
    assert unicode_array(np.array("x", np.dtypes.StringDType())).shape == ()
    assert unicode_of("a", "b\0").tolist() == ["a", "b\0"]
    unequal = unicode_of("a" * 1_000_000, *["b"] * 100)
    assert unequal.dtype == object and unequal.nbytes < 10_000
