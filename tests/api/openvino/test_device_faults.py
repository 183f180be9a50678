"""Values that OpenVINO's device computes differently, each by one model: reasons of `api_programs/device.py`.

A test that fails because OpenVINO computes the expected values makes the reason unnecessary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irexec

openvino = pytest.importorskip("openvino")

F32 = {"INFERENCE_PRECISION_HINT": "f32"}
Layers = Callable[[Any, Any], Any]


def _padded(ops: Any, x: Any) -> Any:
    """Return the maxima of windows of one element, of which the last three contain padding alone."""
    return ops.max_pool(x, [1, 1], [1, 1], [0, 0], [1, 1], [1, 1]).output(0)


def _dropped_abs(ops: Any, x: Any) -> Any:
    return ops.add(ops.abs(ops.ceiling(ops.constant(np.float32([-3, -2, 0])))), x)


def _function_before_pool(ops: Any, x: Any) -> Any:
    kernel = ops.constant(np.float32([[[[1]]]]))
    return ops.sigmoid(_padded(ops, ops.convolution(x, kernel, [1, 1], [0, 0], [0, 0], [1, 1])))


def _after_reduction(ops: Any, x: Any) -> Any:
    return ops.multiply(ops.reduce_sum(x, [2], False), ops.constant(np.float32([1, 10])))


INF, NAN, LEAST = np.inf, np.nan, np.iinfo(np.int64).min
FAULTS: dict[str, tuple[Layers, np.ndarray, np.ndarray]] = {
    "Abs of a vector that is computed from constants": (_dropped_abs, np.float32([0]), np.float32([3, 2, 0])),
    "Abs of a vector that is reduced from a constant": (
        lambda ops, x: ops.add(ops.abs(ops.reduce_max(ops.constant(np.float32([[-3], [-2]])), [1], False)), x),
        np.float32([0]),
        np.float32([3, 2]),
    ),
    "ReduceL2 of large values": (lambda ops, x: ops.reduce_l2(x, [0]), np.float32([3e20, 4e20]), np.float32(5e20)),
    "a maximum over padding alone": (_padded, np.float32([[[[2]]]]), np.float32([[[[2, -INF], [-INF, -INF]]]])),
    "a function of such a maximum": (
        lambda ops, x: ops.hswish(_padded(ops, x)),
        np.float32([[[[3]]]]),
        np.float32([[[[3, NAN], [NAN, NAN]]]]),
    ),
    "an integer from such a function": (
        lambda ops, x: ops.convert(ops.hswish(_padded(ops, x)), np.int64),
        np.float32([[[[3]]]]),
        np.int64([[[[3, LEAST], [LEAST, LEAST]]]]),
    ),
    "a normalized maximum of this kind": (
        lambda ops, x: ops.normalize_l2(_padded(ops, x), ops.constant(np.int64([3])), 1e-6, "add"),
        np.float32([[[[3]]]]),
        np.float32([[[[0, NAN], [NAN, NAN]]]]),
    ),
    "a weighted sum of such maxima": (
        lambda ops, x: ops.matmul(_padded(ops, x), ops.constant(np.float32([[1], [-1]])), False, False),
        np.float32([[[[3]]]]),
        np.float32([[[[INF], [NAN]]]]),
    ),
    "a function before such a maximum": (
        _function_before_pool,
        np.float32([[[[0]]]]),
        np.float32([[[[0.5, 0], [0, 0]]]]),
    ),
    "HSigmoid of 3": (lambda ops, x: ops.hsigmoid(x), np.float32([3]), np.float32([1])),
    "an integer Sigmoid of 0": (lambda ops, x: ops.sigmoid(x), np.int32([0]), np.int32([1])),
    "an integer Exp of a constant": (
        lambda ops, x: ops.add(ops.exp(ops.constant(np.int32([1, 2, 3]))), x),
        np.int32([0]),
        np.int32([3, 7, 20]),
    ),
    "u8 arithmetic": (lambda ops, x: ops.add(x, ops.constant(np.uint8([200]))), np.uint8([100]), np.uint8([44])),
    "an operand after a reduction": (
        _after_reduction,
        np.float32([[[1, 1], [2, 2]], [[3, 3], [4, 4]]]),
        np.float32([[2, 40], [6, 80]]),
    ),
}


def run(ov: Any, layers: Layers, array: np.ndarray) -> np.ndarray:
    x = ov.opset13.parameter(list(array.shape), array.dtype.type)
    model = ov.Model([ov.opset13.result(layers(ov.opset13, x))], [x], "m")
    result: np.ndarray = ov.Core().compile_model(model, "CPU", F32)(array)[0]
    return result


@pytest.mark.parametrize("fault", FAULTS)
def test_irexec_computes_the_values_of_the_page_and_openvino_others(fault: str) -> None:
    layers, array, expected = FAULTS[fault]
    mine, theirs = run(irexec, layers, array), run(openvino, layers, array)
    assert mine.dtype == theirs.dtype == expected.dtype
    np.testing.assert_allclose(mine, expected, rtol=1e-6)
    assert not np.array_equal(theirs, expected, equal_nan=True)
