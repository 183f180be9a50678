"""Shape rules of ONNX's operators: what they say to shapes and values that an operator cannot take."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.ops.declare.operator import ConstraintError, Operator
from irexec.ops.onnx.pooling import max_unpool_9, roi_align_16
from irexec.ops.onnx.random import random_normal_1, random_uniform_1
from irexec.ops.onnx.signals import stft_17
from irexec.types import F32, I64


@pytest.mark.parametrize("op", [random_normal_1, random_uniform_1])
@pytest.mark.parametrize(("shape", "value"), [("", -2), ("2", [3, -1])])
def test_random_numbers_of_a_negative_shape(op: Operator, shape: str, value: object) -> None:
    _, breaches = infer(op, [tensor(I64, shape, value)], to="f32")
    assert [(breach.code, breach.constraint) for breach in breaches] == [("O001", "C1")]


def test_a_window_is_a_line() -> None:
    given = [tensor(F32, "1,128,1"), tensor(I64, "", 8), tensor(F32, "")]
    _, breaches = infer(stft_17, given)
    assert [(breach.code, breach.constraint) for breach in breaches] == [("O001", "C2")]
    with pytest.raises(ConstraintError, match="window"):
        stft_17(np.ones((1, 128, 1), np.float32), np.array(8), np.array(1, np.float32))


WINDOWS = {"kernel": [2, 1], "strides": [2, 3], "pads_begin": [0, 0], "pads_end": [0, 0]}


def test_shapes_that_no_pool_had() -> None:
    given = [tensor(F32, "1,1,2,0"), tensor(I64, "1,1,2,0")]
    _, breaches = infer(max_unpool_9, given, **WINDOWS)
    assert [(breach.code, breach.constraint) for breach in breaches] == [("O001", "C2")]
    with pytest.raises(ConstraintError, match="no pool"):
        max_unpool_9(np.ones((1, 1, 2, 0), np.float32), np.ones((1, 1, 2, 0), np.int64), **WINDOWS)
    given = [tensor(F32, "1,1,2,2"), tensor(I64, "1,1,2,2"), tensor(I64, "4", [1, 1, -4, 4])]
    _, breaches = infer(max_unpool_9, given, **WINDOWS)
    assert [(breach.code, breach.constraint) for breach in breaches] == [("O001", "C4")]


@pytest.mark.parametrize("extents", [(10, 0), (0, 3)])
def test_regions_of_an_image_without_pixels_are_zero(extents: tuple[int, int]) -> None:
    x, rois = np.ones((1, 2, *extents), np.float32), np.ones((3, 4), np.float32)
    options = {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 1.0, "half_pixel": True}
    assert not run(roi_align_16, x, rois, np.zeros(3, np.int64), **options)[0].any()
