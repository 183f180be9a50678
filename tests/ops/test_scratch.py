"""Kernels that need several numbers of scratch memory for each element work in parts, so that it stays small."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset11, opset15, opset17
from irexec.core.threads.parallel import num_threads

MILLION = 1 << 20
RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.random(shape, np.float32)


def bicubic() -> Any:
    image = RNG.integers(0, 255, (24, 3, 64, 64)).astype(np.uint8)
    attributes = {"mode": "bicubic_pillow", "shape_calculation_mode": "sizes", "pads_begin": [0], "pads_end": [0]}
    return opset11.interpolate(image, np.array([224, 224]), np.array([2, 3]), **attributes)


def regions() -> Any:
    features, boxes = floats(1, 9 * 16, 32, 32), floats(1500, 5) * np.float32([0, 100, 100, 300, 300])
    attributes = {"output_dim": 16, "group_size": 3, "spatial_scale": 0.1, "spatial_bins_x": 4, "spatial_bins_y": 4}
    return opset15.deformable_psroi_pooling(features, boxes, mode="bilinear_deformable", **attributes)


def bins() -> Any:
    attributes = {"mode": "bilinear", "output_dim": 2, "group_size": 1024, "spatial_scale": 1.0}
    return opset15.psroi_pooling(floats(1, 2, 8, 8), np.float32([[0, 0.1, 0.1, 0.9, 0.9]]), **attributes)


def searched() -> Any:
    return opset15.search_sorted(np.sort(floats(32, 500)), floats(32, 1 << 16))


CALLS: dict[str, tuple[Callable[[], Any], float]] = {
    "TopK": (lambda: opset11.topk(floats(8, MILLION), np.int64(9), axis=1, mode="max", sort="value"), 8 * 4),
    "SearchSorted": (searched, 8),
    "STFT": (lambda: opset15.stft(floats(MILLION), floats(512), np.int64(512), np.int64(64), False), 4),
    "ErfInv": (lambda: opset17.erfinv(floats(3 * MILLION)), 3 * 4),
    "Exp of integers": (lambda: opset15.exp(np.ones(3 * MILLION, np.int32)), 3 * 4),
    "Interpolate": (bicubic, 1),
    "DeformablePSROIPooling": (regions, 1),
    "PSROIPooling": (bins, 1),
}


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("name", CALLS)
def test_a_kernel_takes_little_more_than_it_holds(name: str) -> None:
    call, given = CALLS[name]
    tracemalloc.start()
    try:
        results = call()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    held = sum(np.asarray(result).nbytes for result in (results if isinstance(results, (tuple, list)) else [results]))
    # At most as much memory as the inputs and results, and some blocks.
    assert most < 2 * (held + given * MILLION) + 40 * MILLION


@pytest.mark.parametrize("name", ["dft", "idft", "rdft"])
def test_transforms_take_some_blocks_beside_their_result(name: str) -> None:
    """NumPy alone computes in f64, with four times the memory of the result."""
    data = floats(512, 8192, *([2] if name != "rdft" else []))
    transform = getattr(opset15, name)
    tracemalloc.start()
    try:
        result = transform(data, np.array([1, 0]))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 1.1 * result.nbytes + num_threads() * 10 * MILLION


def test_rows_of_any_length_are_unique_in_time_for_their_elements() -> None:
    """NumPy alone would create a record with a field for each of the columns, which takes seconds."""
    width = MILLION // 4
    wide = np.zeros((3, width), np.float32)
    wide[1, -1] = 1
    values, first, inverse, counts = irexec.opset10.unique(wide, np.int64(0))
    assert values.shape == (2, width)
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1], [0, 1, 0], [2, 1])
