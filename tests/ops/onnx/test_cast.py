"""Cast of ONNX: types that OpenVINO does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.core.types import (
    C64,
    F4E2M1,
    F8E4M3,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F16,
    F32,
    F64,
    I2,
    I4,
    I32,
    U2,
    U4,
    ElementType,
)
from irexec.ops.onnx.cast import cast_25

FLOAT8 = {F8E4M3: 448.0, F8E4M3FNUZ: 240.0, F8E5M2: 57344.0, F8E5M2FNUZ: 57344.0}


def cast(array: Any, to: ElementType, **attributes: Any) -> np.ndarray:
    (found,) = run(cast_25, np.asarray(array), to=to, **attributes)
    assert found.dtype == to.dtype
    return found


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


def test_c1_nothing_is_cast_to_complex_numbers() -> None:
    assert [b.constraint for b in infer(cast_25, [tensor(F32, "2")], to=C64)[1]] == ["C1"]
