"""AvgPool: large kernels, memory, windows without a pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.oracle import run

import irexec

PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (2, 2), "exclude-pad": True}


op = the("AvgPool", 16)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.uint8])
def test_many_taps_give_what_the_padded_sum_gives(dtype: Any) -> None:
    """Large kernels and small kernels are computed in different ways."""
    rng = np.random.default_rng(5)
    data = rng.integers(0, 100, (2, 3, 7, 90)).astype(dtype)
    for kernel, stride, dilation in [(40, 1, 1), (64, 3, 1), (33, 2, 2), (35, 1, 3)]:
        lists: dict[str, Any] = {"kernel": (2, kernel), "strides": (1, stride), "dilations": (1, dilation)}
        lists |= {"pads_begin": (0, 30), "pads_end": (0, 31)}
        padded = np.pad(data.astype(np.float64), [(0, 0), (0, 0), (0, 0), (30, 31)])
        views = np.lib.stride_tricks.sliding_window_view(padded, (2, (kernel - 1) * dilation + 1), (2, 3))
        sums = views[:, :, :, ::stride, :, ::dilation].sum(axis=(4, 5))
        expected = sums / (2 * kernel)
        result = run(op, data, exclude_pad=False, **lists)[0]
        np.testing.assert_allclose(result, expected if dtype == np.float64 else np.rint(expected))


def test_a_kernel_of_billions_costs_what_it_meets() -> None:
    data = np.arange(1, 17, dtype=np.float64).reshape(1, 1, 4, 4)
    far = 1 << 60
    attributes = {"strides": (1, 1), "pads_begin": (far, 0), "pads_end": (far, 0), "kernel": (2 * far, 2)}
    result = run(op, data, exclude_pad=False, **attributes)[0]
    np.testing.assert_allclose(result[0, 0], np.tile(np.array([60, 68, 76]) / (4 * far), (5, 1)))
    result = run(op, data, exclude_pad=True, **attributes)[0]
    np.testing.assert_allclose(result[0, 0], np.tile(np.array([60, 68, 76]) / 8, (5, 1)))


def test_nothing_between_is_larger_than_the_data_or_the_result() -> None:
    """20,001 windows along an axis of one pixel, and one window along an axis of 20,000 pixels."""
    import tracemalloc

    data = np.zeros((1, 1, 1, 20_000), np.float32)
    far = {"kernel": (1, 20_000), "strides": (1, 1), "pads_begin": (10_000, 0), "pads_end": (10_000, 0)}
    tracemalloc.start()
    assert run(op, data, exclude_pad=False, **far)[0].shape == (1, 1, 20_001, 1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_ceil_torch_without_a_pixel_has_no_window() -> None:
    data = np.zeros((1, 2, 0, 5), np.float32)
    attributes = {"strides": (2, 2), "pads_begin": (0, 0), "pads_end": (2, 2), "kernel": (2, 2), "exclude_pad": False}
    assert irexec.opset14.avg_pool(data, **attributes, rounding_type="ceil_torch").shape == (1, 2, 0, 3)
