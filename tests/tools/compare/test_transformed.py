"""The tolerance of transforms, from the angles and the number of terms of the sum."""

from __future__ import annotations

import math

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.tools.compare.errors import measure
from irexec.tools.compare.tolerances import tolerance_of


def tolerance(name: str, shape: list[int], axes: list[int]) -> float:
    x = ops.parameter(shape, np.float32)
    (node,) = (n for n in irexec.Model([getattr(ops, name)(x, axes)], [x], "m").nodes if n.type == name.upper())
    return tolerance_of(node).ulp


def test_it_grows_with_the_transformed_axes() -> None:
    assert tolerance("dft", [3, 7, 2], [1]) == pytest.approx(7 * 6 * math.pi)
    assert tolerance("idft", [3, 7, 2], [0, -1]) == pytest.approx(10 * 6 * math.pi)
    assert tolerance("dft", [64, 2], [0]) == pytest.approx(8 * 6 * math.pi)
    assert tolerance("rdft", [3, 7], [1]) == pytest.approx(2 * math.sqrt(7))


@pytest.mark.parametrize("extent", [7, 31, 100])
def test_angles_in_f32_are_within_it(extent: int) -> None:
    """The sum of the page, with the angles that OpenVINO computes."""
    x = np.random.default_rng(0).standard_normal((extent, 2)).astype(np.float32)
    k = np.arange(extent, dtype=np.float32)
    angles = np.float32(2) * np.float32(math.pi) * np.outer(k, k).astype(np.float32) / np.float32(extent)
    turns = np.cos(angles) - 1j * np.sin(angles)
    found = turns.astype(np.complex64) @ x.view(np.complex64)
    right = np.fft.fft(x.astype(np.float64).view(np.complex128)[:, 0])
    apart = measure(right.astype(np.complex64).view(np.float32).reshape(-1, 2), found.view(np.float32)).ulp
    assert extent < apart <= tolerance("dft", [extent, 2], [0])
