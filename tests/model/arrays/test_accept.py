"""Objects that a model accepts as arrays: byte orders, masks, ragged rows, dates, objects, records."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irexec.model.arrays.accept import as_plain_array

NESTED: list = []
NESTED.append(NESTED)


def test_an_array_is_itself() -> None:
    array = np.arange(6.0).reshape(2, 3).T
    assert as_plain_array(array) is array


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, np.bool_, np.float16])
def test_the_dtypes_of_element_types_stay(dtype) -> None:
    array = np.zeros(3, dtype)
    assert as_plain_array(array) is array


@pytest.mark.parametrize("dtype", [">f4", ">i8", ">u2", ">c8", "<f4"])
def test_the_byte_order_becomes_this_machines(dtype) -> None:
    array = np.arange(5).astype(dtype)
    plain = as_plain_array(array)
    assert plain.dtype.isnative
    assert plain.dtype.kind == array.dtype.kind
    assert plain.tolist() == array.tolist()


def test_a_mask_that_hides_nothing_is_not_a_mask() -> None:
    assert as_plain_array(np.ma.array([1, 2], mask=[False, False])).tolist() == [1, 2]


@pytest.mark.parametrize("given", [["a", "bc"], np.array(["a", "bc"], object), np.array(["a", "bc"], "T")])
def test_texts(given) -> None:
    assert as_plain_array(given).tolist() == ["a", "bc"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (np.ma.array([1, 2], mask=[True, False]), "masked"),
        ([[1, 2], [3]], "differ in length"),
        ([1, [2]], "differ in length"),
        ([np.ones(2), np.ones(3)], "differ in length"),
        (NESTED, "dimension"),
        (np.array(["2026-01-01"], "M8[D]"), "dates"),
        (np.array([3], "m8[s]"), "time spans"),
        (np.zeros(2, [("a", "f4")]), "records"),
        (np.zeros(2, "V3"), "raw bytes"),
        (np.array([b"x"]), "bytes"),
        (np.array([{}, 1], object), "objects"),
        (np.array([1, None]), "objects"),
        (10**30, "64 bits"),
        (object(), "objects"),
        (np.zeros(1, np.longdouble), "float64"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_not_a_tensor_is_refused_by_name(given, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        as_plain_array(given)
