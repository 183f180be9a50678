"""Resize of ONNX: its constraints; tests/frontends compare its results with ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec

X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
TWICE = np.float32([1, 1, 2, 2])
CROP = {"coordinates": "tf_crop_and_resize"}


@pytest.mark.parametrize(
    ("constraint", "inputs", "attributes"),
    [
        ("C1", (None, np.ones((1, 1, 2, 2), np.float32)), {}),
        ("C1", (None, None, np.int64([[1, 1, 2, 2]])), {}),
        ("C1", (np.zeros((2, 4), np.float32), TWICE), CROP),
        ("C1", (None, TWICE[:3]), {}),
        ("C2", (None, TWICE[:2]), {"axes": (2, 4)}),
        ("C2", (None, TWICE[:2]), {"axes": (-1, 3)}),
        ("C3", (None, np.float32([1, 1, np.nan, 2])), {}),
        ("C3", (None, np.float32([1, 1, np.inf, 2])), {}),
        ("C3", (None, np.float32([1, 1, 1e30, 2])), {}),
        ("C3", (np.float32([0, 0, 0, 0, 1, 1, np.inf, 1]), TWICE), CROP),
        ("C3", (None, None, np.int64([1, 1, -2, 2])), {}),
    ],
)
def test_constraints(constraint: str, inputs: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    resize: Any = irexec.onnx19.resize
    with pytest.raises(irexec.IRError) as refused:
        resize(X, *inputs, **attributes)
    assert {finding.constraint for finding in refused.value.report} == {f"Resize-onnx19 {constraint}"}


@pytest.mark.parametrize("coordinates", ["half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_nothing_is_resized_to_nothing(coordinates: str, mode: str, antialias: bool) -> None:
    resize: Any = irexec.onnx19.resize
    attributes = {"coordinates": coordinates, "mode": mode, "antialias": antialias}
    assert resize(X[:, :, :0], None, TWICE, **attributes).shape == (1, 1, 0, 8)
    assert resize(X, None, None, np.int64([1, 1, 0, 8]), **attributes).shape == (1, 1, 0, 8)
    assert resize(X, None, np.float32([1, 1, 0.1, 2]), **attributes).shape == (1, 1, 0, 8)
