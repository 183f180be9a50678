"""Compiled pooling: the largest elements and the means of the plain kernels, for all windows, and when it is used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import lowered, ran

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.ops.pooling import avg_pool, max_pool
from irexec.ops.pooling.rule import PoolWindowing
from irexec.ops.rules.windows import Windows
from irexec.runtime.lowering import tasks
from irexec.runtime.lowering.sliding import Sliding, SlidingMean

ops: Any = irexec.opset15


def drawn(seed: int) -> tuple[np.ndarray, Windows]:
    """Return data with a few NaN and infinities, and windows of 1 to 3 axes; some extend beyond the padded data."""
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))

    def numbers(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in rng.integers(low, high, axes))

    extents = numbers(1, 40 if axes < 3 else 10)
    kernel = tuple(map(min, numbers(1, 5), extents))
    how = PoolWindowing(
        kernel=kernel,
        strides=numbers(1, 4),
        pads_begin=numbers(0, 3),
        pads_end=numbers(0, 3),
        dilations=numbers(1, 3),
        rounding_type="ceil" if seed % 2 else "floor",
    )
    data = rng.standard_normal((2, 5, *extents), dtype=np.float32)
    data[rng.random(data.shape) < 0.01] = np.nan
    data[rng.random(data.shape) < 0.05] = -np.inf
    return data, Windows.over(extents, kernel, how, how.rounding_type)


@pytest.mark.parametrize("seed", range(amount(60, 20)))
def test_the_largest_are_those_of_the_plain_kernel(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data, windows = drawn(seed)
    if 0 in windows.counts or 0 in windows.trimmed().kernel:
        return
    expected = max_pool._largest(data, windows, None)
    monkeypatch.setattr(tasks, "WORTH_PRODUCTS", 1)
    try:
        for threads in (1, 2, 8):
            parallel.set_num_threads(threads)
            found = np.full(expected.shape, 7, np.float32)
            ran(Sliding(2, 5, None, windows.trimmed()), data, found)
            np.testing.assert_array_equal(found, expected)
    finally:
        parallel.set_num_threads(None)


@pytest.mark.parametrize("exclude_pad", [False, True])
@pytest.mark.parametrize("seed", range(amount(60, 20)))
def test_the_means_are_those_of_the_plain_kernel(seed: int, exclude_pad: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data, windows = drawn(seed)
    if 0 in windows.counts or 0 in windows.trimmed().kernel:
        return
    expected = avg_pool._means(data, windows, None, exclude_pad)
    monkeypatch.setattr(tasks, "WORTH_PRODUCTS", 1)
    counts = avg_pool.counts(windows, exclude_pad)
    try:
        for threads in (1, 2, 8):
            parallel.set_num_threads(threads)
            found = np.full(expected.shape, 7, np.float32)
            ran(SlidingMean(2, 5, windows.trimmed(), counts), data, found)
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    finally:
        parallel.set_num_threads(None)


@pytest.mark.parametrize("exclude_pad", [False, True])
def test_means_of_large_numbers(exclude_pad: bool) -> None:
    """Sums that overflow f32 are computed with wider numbers, by compiled code as well."""
    x = ops.parameter([1, 3, 9, 9], np.float32, name="x")
    pooled = ops.avg_pool(x, [1, 1], [1, 1], [1, 1], [3, 3], exclude_pad, "floor")
    compiled = lowered(Model([pooled], [x]))
    data = np.full((1, 3, 9, 9), 3e38, np.float32)
    data[0, 1] = 1
    for _ in range(3):
        found = compiled([data])[0]
        np.testing.assert_allclose(found[:, :, 1:-1, 1:-1], data[:, :, 1:-1, 1:-1], rtol=1e-6)
        share = 1 if exclude_pad else np.float32(4 / 9)
        np.testing.assert_allclose(found[:, :, 0, 0], data[:, :, 0, 0] * share, rtol=1e-6)


@pytest.mark.parametrize("version", ["first", "last"])
def test_a_lowered_model(version: str) -> None:
    x = ops.parameter([1, -1, 9, 9], np.float32, name="x")
    windows = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "kernel": [3, 3]}
    if version == "first":
        node = irexec.opset1.max_pool(x, **windows)
    else:
        node = irexec.opset14.max_pool(x, dilations=[1, 1], **windows).output(0)
    compiled = lowered(Model([node], [x]))
    for channels in (3, 3, 3, 3, 5, 5, 5, 5, 1, 0):
        data = np.random.default_rng(0).standard_normal((1, channels, 9, 9), dtype=np.float32)
        padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        expected = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2, ::2].max((4, 5))
        assert np.array_equal(compiled([data])[0], expected)
