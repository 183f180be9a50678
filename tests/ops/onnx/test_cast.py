"""Cast and BitCast of ONNX: the tables of the page, rejected values, ONNX's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, run, tensor

import irexec
from irexec.core.types import (
    BOOLEAN,
    C64,
    F4E2M1,
    F8E4M3,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0,
    F16,
    F32,
    F64,
    I2,
    I4,
    I32,
    STRING,
    U2,
    U4,
    U8,
    ElementType,
)
from irexec.ops.onnx.cast import bit_cast_26, cast_25

FLOAT8 = {F8E4M3: 448.0, F8E4M3FNUZ: 240.0, F8E5M2: 57344.0, F8E5M2FNUZ: 57344.0}


def cast(array: Any, to: ElementType, **attributes: Any) -> np.ndarray:
    (found,) = run(cast_25, np.asarray(array), to=to, **attributes)
    assert found.dtype == to.dtype
    return found


def strings(*texts: str) -> np.ndarray:
    return np.array(texts, np.dtypes.StringDType())


@pytest.mark.parametrize(("to", "greatest"), FLOAT8.items())
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_table_of_saturating_casts(to: ElementType, greatest: float, dtype: Any) -> None:
    given = np.array([np.inf, -np.inf, 60000, -60000, 1.5, np.nan], dtype)
    found = cast(given, to).astype(np.float64)
    np.testing.assert_array_equal(found, [greatest, -greatest, greatest, -greatest, 1.5, np.nan])


@pytest.mark.parametrize("to", FLOAT8)
def test_table_of_casts_that_do_not_saturate(to: ElementType) -> None:
    found = cast(np.array([np.inf, -np.inf, 1e6, -1e6, np.nan], np.float32), to, saturate=False).astype(np.float32)
    beyond = np.inf if to is F8E5M2 else np.nan
    np.testing.assert_array_equal(found, [beyond, -beyond, beyond, -beyond, np.nan])


def test_table_of_f8e8m0() -> None:
    given = np.array([0, np.nan, np.inf, 2.0**127 * 1.5, 2.0**-140, 3, 4, 5], np.float32)
    up = cast(given, F8E8M0).view(np.uint8)
    assert up.tolist() == [0, 255, 254, 254, 0, 129, 129, 130]
    nearest = cast(given, F8E8M0, saturate=False, round_mode="nearest").view(np.uint8)
    assert nearest.tolist() == [255, 255, 255, 255, 255, 129, 129, 129]
    down = cast(given, F8E8M0, round_mode="down").view(np.uint8)
    assert down.tolist() == [0, 255, 254, 254, 0, 128, 129, 129]


@pytest.mark.parametrize("source", [*FLOAT8, F4E2M1])
def test_narrow_floats_come_back(source: ElementType) -> None:
    codes = np.arange(16 if source.is_packed else 256, dtype=np.uint8)
    given = codes.view(source.dtype)
    for kind in (F32, F16, F64):
        np.testing.assert_array_equal(cast(given, kind), given.astype(kind.dtype))
        again = cast(cast(given, kind), source, saturate=False)
        np.testing.assert_array_equal(again.astype(np.float32), given.astype(np.float32))


@pytest.mark.parametrize(("kind", "low", "high"), [(I2, -2, 1), (U2, 0, 3), (I4, -8, 7), (U4, 0, 15)])
def test_small_integers_wrap(kind: ElementType, low: int, high: int) -> None:
    numbers = np.arange(low, high + 1)
    found = cast(numbers, kind)
    np.testing.assert_array_equal(found.astype(np.int64), numbers)
    np.testing.assert_array_equal(cast(numbers + (high - low + 1), kind), found)
    np.testing.assert_array_equal(cast(found, F32), numbers.astype(np.float32))
    np.testing.assert_array_equal(cast(found, I32), numbers)


def test_strings_are_read_and_written() -> None:
    assert cast(strings("3.14", "1e-5", " 1E8 ", "+INF", "-inf", "NaN"), F64)[:3].tolist() == [3.14, 1e-5, 1e8]
    assert np.isinf(cast(strings("+INF", "inf", "-InF"), F32)).all()
    assert cast(strings("7", "-9223372036854775808"), ElementType.by_name["i64"]).tolist() == [7, -(2**63)]
    assert cast(strings("0", "2"), BOOLEAN).tolist() == [False, True]
    assert cast(np.array([3.14159, 1e-5, np.nan, -np.inf], np.float32), STRING).tolist() == [
        "3.14159", "1e-05", "NaN", "-INF",
    ]  # fmt: skip
    assert cast(np.array([[True], [False]]), STRING).tolist() == [["1"], ["0"]]
    given = np.random.default_rng(0).normal(size=50).astype(np.float32)
    np.testing.assert_array_equal(cast(cast(given, STRING), F32), given)


def test_c1_nothing_is_cast_to_complex_numbers() -> None:
    assert [b.constraint for b in infer(cast_25, [tensor(F32, "2")], to=C64)[1]] == ["C1"]


def test_c2_a_string_that_spells_no_number() -> None:
    with pytest.raises(irexec.IRError, match="'Hello World!', which is not a number"):
        irexec.onnx25.cast(strings("1", "Hello World!"), to=F32)


def test_bits_are_kept() -> None:
    given = np.random.default_rng(1).integers(0, 2**32, 20, np.uint32)
    (floats,) = run(bit_cast_26, given, to=F32)
    np.testing.assert_array_equal(run(bit_cast_26, floats, to=ElementType.by_name["u32"])[0], given)
    assert run(bit_cast_26, np.array([0, 1, 2], np.uint8), to=BOOLEAN)[0].tolist() == [False, True, True]
    small = np.arange(16).astype(U4.dtype)
    assert run(bit_cast_26, small, to=I4)[0].astype(int).tolist() == [*range(8), *range(-8, 0)]
    np.testing.assert_array_equal(
        run(bit_cast_26, small, to=F4E2M1)[0], np.arange(16, dtype=np.uint8).view(F4E2M1.dtype)
    )


@pytest.mark.parametrize("to", [U8, F64, STRING])
def test_bit_cast_c1_other_widths(to: ElementType) -> None:
    assert [b.constraint for b in infer(bit_cast_26, [tensor(F32, "2")], to=to)[1]] == ["C1"]
