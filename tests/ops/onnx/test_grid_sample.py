"""ONNX's GridSample of images with any number of axes: the accepted shapes."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.core.types import F32
from irexec.ops.onnx.image import grid_sample_20
from irexec.ops.spec.operator import ConstraintError


@pytest.mark.parametrize(("images", "places"), [(1, 0), (1, 2), (2, 1)])
def test_each_image_has_its_places(images: int, places: int) -> None:
    _, breaches = infer(grid_sample_20, [tensor(F32, f"{images},1,3,4,4"), tensor(F32, f"{places},2,4,2,3")])
    assert [breach.constraint for breach in breaches] == ["C1"]
    x, grid = np.ones((images, 1, 3, 4, 4), np.float32), np.zeros((places, 2, 4, 2, 3), np.float32)
    with pytest.raises(ConstraintError, match="images"):
        grid_sample_20(x, grid)


@pytest.mark.parametrize(("images", "points"), [(0, 2), (2, 0)])
def test_nothing_gives_nothing(images: int, points: int) -> None:
    x, grid = np.ones((images, 1, 3, 4, 4), np.float32), np.zeros((images, points, 4, 2, 3), np.float32)
    assert run(grid_sample_20, x, grid)[0].shape == (images, 1, points, 4, 2)
