"""Shape rules of ONNX's operators: their findings about shapes and values that an operator does not accept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, run, tensor

from irexec.core.types import F32, I64, TensorType
from irexec.ops.onnx.image import col2im_18
from irexec.ops.onnx.pooling import max_roi_pool_1, max_unpool_9, roi_align_16
from irexec.ops.onnx.random import random_normal_1, random_uniform_1
from irexec.ops.onnx.recurrent import rnn_7
from irexec.ops.onnx.resize import resize_19
from irexec.ops.onnx.signals import dft_20, mel_weight_matrix_17, stft_17
from irexec.ops.spec.operator import ConstraintError, Operator


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


COL2IM = {"strides": [1, 1], "dilations": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0]}
ALIGN = {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 1.0, "half_pixel": True}
RNN = {"hidden_size": 2, "direction": "forward", "activations": ["tanh"]}


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("op", "inputs", "attributes", "constraint"),
    [
        (col2im_18, [ones(1, 4, 9), [4, -4], [2, 2]], COL2IM, "C2"),
        (col2im_18, [ones(1, 4, 9), [4, 4], [2, 0]], COL2IM, "C2"),
        (col2im_18, [ones(1, 4, 9), [4, 4, 4], [2, 2, 1]], COL2IM, "C2"),
        (col2im_18, [ones(1, 5, 9), [4, 4], [2, 2]], COL2IM, "C1"),
        (col2im_18, [ones(1, 4, 8), [4, 4], [2, 2]], COL2IM, "C1"),
        (max_unpool_9, [ones(1, 1, 2, 2), [[[[16, 0], [0, 0]]]]], WINDOWS, "C3"),
        (max_unpool_9, [ones(1, 1, 2, 2), [[[[0, 0], [0, 0]]]], [1, 1, 4, 3]], WINDOWS, "C4"),
        (max_roi_pool_1, [ones(2, 1, 4, 4), 2 * ones(1, 5)], {"pooled_shape": [2, 2]}, "C4"),
        (roi_align_16, [ones(2, 1, 4, 4), ones(1, 4), [-1]], ALIGN, "C3"),
        (dft_20, [ones(1, 8, 1), 0], {}, "C2"),
        (stft_17, [ones(1, 8, 1), 0], {}, "C1"),
        (stft_17, [ones(1, 8, 1), 1, None, 9], {}, "C2"),
        (stft_17, [ones(1, 8, 1), 1, ones(3), 4], {}, "C2"),
        (mel_weight_matrix_17, [8, 16, 0, ones(), 8 * ones()], {"output_type": "f32"}, "C1"),
        (mel_weight_matrix_17, [1 << 25, 16, 8, ones(), 8 * ones()], {"output_type": "f32"}, "C1"),
        (rnn_7, [ones(1, 3, 2), ones(1, 1, 2), [4], ones(1, 2, 2), ones(1, 2, 2), ones(1, 4)], RNN, "C1"),
        (resize_19, [ones(1, 1, 4, 4), None, np.float32([1, 1, -1, 1])], {}, "C3"),
        (resize_19, [ones(1, 1, 4, 4), None, None, [1, 1, -1, 1]], {}, "C3"),
    ],
)
def test_constants_are_checked_by_the_rule_and_other_values_by_the_kernel(
    op: Operator, inputs: list[Any], attributes: dict[str, Any], constraint: str
) -> None:
    arrays = [None if value is None else np.asarray(value) for value in inputs]
    types = [None if array is None else TensorType.of(array) for array in arrays]
    _, breaches = infer(op, types, **attributes)
    assert {(breach.code, breach.constraint) for breach in breaches} == {("O001", constraint)}
    with pytest.raises(ConstraintError) as raised:
        op.compute(*arrays, **op.parse_attributes(attributes)[0])
    assert raised.value.constraint == constraint


@pytest.mark.parametrize("extents", [(10, 0), (0, 3)])
def test_regions_of_an_image_without_pixels_are_zero(extents: tuple[int, int]) -> None:
    x, rois = np.ones((1, 2, *extents), np.float32), np.ones((3, 4), np.float32)
    options = {"output_height": 2, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 1.0, "half_pixel": True}
    assert not run(roi_align_16, x, rois, np.zeros(3, np.int64), **options)[0].any()
