"""How far two right results may lie apart, and how far two arrays do."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from irexec import opset15 as ops
from irexec.trust.errors import measure, tolerance_of
from irexec.types import Array

F = np.float32


@pytest.mark.parametrize("channels, size", [(3, 1), (64, 3), (512, 3)])
def test_the_tolerance_of_a_sum_grows_with_the_root_of_its_terms(channels: int, size: int) -> None:
    x = ops.parameter([-1, channels, 16, 16], F, name="x")
    weights = np.zeros((8, channels, size, size), F)
    node = ops.convolution(x, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    assert tolerance_of(node).ulp == pytest.approx(8 * math.sqrt(channels * size * size))


def test_a_sum_in_another_order_is_within_its_tolerance() -> None:
    """4608 products in f32, from the first to the last, beside the sum in f64: some deviations, not the worst case."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, (2, 2000, 4608)).astype(F)
    exact = np.sum(a.astype(np.float64) * b, 1).astype(F)
    one_by_one = np.cumsum(a * b, 1, dtype=F)[:, -1]
    typical = float(np.sqrt(np.mean(exact.astype(np.float64) ** 2)))
    units = float(np.abs(exact.astype(np.float64) - one_by_one).max()) / float(np.spacing(F(typical)))
    assert 4 < units < 8 * math.sqrt(4608)


def naive(a: Array, b: Array) -> tuple[float, float, float]:
    """The largest error in units, relative and absolute, all at once."""
    apart = np.abs(a.astype(np.float64) - b)
    typical = float(np.sqrt(np.mean(a.astype(np.float64) ** 2)))
    units = apart / np.spacing(np.abs(a)).astype(np.float64)
    return float(units.max()), float((apart / np.maximum(np.abs(a), typical)).max()), float(apart.max())


def test_measuring_in_blocks_is_measuring() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(0, 1, (700, 1000)).astype(F)
    b = (a * (1 + rng.normal(0, 1e-6, a.shape))).astype(F)
    found = measure(a, b)
    assert (found.ulp, found.relative, found.absolute) == pytest.approx(naive(a, b))
    assert found.at is not None
    units = np.abs(a.astype(np.float64) - b) / np.spacing(np.abs(a))
    assert units[found.at] == units.max()


def test_measuring_large_arrays_takes_little_memory() -> None:
    a = np.ones((4000, 1000), F)
    b = a + F(1e-6)
    tracemalloc.start()
    measure(a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * a.nbytes


def test_large_numbers_have_a_typical_one() -> None:
    a = np.full(8, 1e300)
    assert measure(a, a * (1 + 1e-10)).relative == pytest.approx(1e-10, rel=1e-3)
