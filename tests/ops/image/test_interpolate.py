"""Interpolate: long axes in parts, and the memory of pads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec


@pytest.mark.parametrize("mode", ["nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"])
@pytest.mark.parametrize("extent", [(3, 50), (50, 50), (50, 20), (25, 50)])
def test_a_long_axis_is_resampled_in_parts(mode: Any, extent: tuple[int, int], monkeypatch) -> None:
    x = np.random.default_rng(0).normal(size=(1, 1, extent[0], 4)).astype(np.float32)
    attributes = {"mode": mode, "shape_calculation_mode": "sizes", "antialias": mode == "linear"}
    arguments = (x, np.array([extent[1], 5]), np.array([2, 3]))
    whole = irexec.opset11.interpolate(*arguments, **attributes)
    monkeypatch.setattr("irexec.ops.image.resampling.BLOCK", 7)
    np.testing.assert_allclose(irexec.opset11.interpolate(*arguments, **attributes), whole, rtol=1e-6, atol=1e-6)


def test_pads_take_memory_for_what_is_read_of_them_alone() -> None:
    image = np.ones((1, 1, 8, 8), np.float32)
    call: Any = irexec.opset11.interpolate
    made = call(image, np.int64([4]), "linear", "sizes", [0, 0, 1 << 30, 0], [0] * 4, axes=np.int64([2]))
    assert made.shape == (1, 1, 4, 8) and not made.any()
