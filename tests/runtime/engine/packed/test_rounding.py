"""Rounding in f32 gives the same numbers as the conversions of NumPy and ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from irexec.runtime.engine.packed.rounding import OF_BF16, OF_HALF, Dropped, round_raised, round_to_bf16, round_to_half


def neighbours(numbers: np.ndarray) -> np.ndarray:
    """Return numbers, the middles between neighbours, and the floats next to both, with both signs."""
    middles = numbers[1:] / 2 + numbers[:-1] / 2
    both = np.concatenate([numbers, middles])
    found = np.concatenate([both, np.nextafter(both, np.float32(0)), np.nextafter(both, np.float32(np.inf))])
    return np.concatenate([found, -found]).astype(np.float32)


def test_halves() -> None:
    halves = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32)
    x = neighbours(halves[:-1])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16).astype(np.float32)
    found = x.copy()
    round_to_half(found)
    assert np.array_equal(found.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize(("dropped", "dtype"), [(OF_HALF, np.float16), (OF_BF16, ml_dtypes.bfloat16)])
def test_products_of_integers_and_scales(dropped: Dropped, dtype: type) -> None:
    """Every fraction of a scale, times all integers of nine bits; at both ends of the range and in between."""
    whole = np.arange(-256, 257).astype(np.float32)
    fractions = np.arange(1, 2, 1 / 1024, dtype=np.float32).astype(dtype).astype(np.float32)
    for scale in (dropped.smallest, np.float32(1), dropped.largest / 512):
        scales = (fractions * scale).astype(dtype).astype(np.float32)[:, None]
        products = whole * scales
        found = whole * (scales * dropped.factor)
        round_raised(found, dropped)
        np.testing.assert_array_equal(found, products.astype(dtype).astype(np.float32))


def test_bf16() -> None:
    numbers = (np.arange(0x7F80, dtype=np.uint32) << 16).view(np.float32)
    x = np.concatenate([neighbours(numbers), np.array([np.inf, -np.inf, np.nan], np.float32)])
    expected = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    found = x.copy()
    round_to_bf16(found)
    np.testing.assert_array_equal(found, expected)
