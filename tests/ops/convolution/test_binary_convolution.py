"""BinaryConvolution: results counted by hand, padding values, constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, tensor

from irexec.core.types import F32, U1
from irexec.ops.spec.contents import find

PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1), "mode": "xnor-popcount"}
IMAGE = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 1, 1]])
KERNEL = np.array([1, 0, 1, 0, 1, 0, 1, 0, 1], np.uint8).reshape(1, 1, 3, 3)


op = the("BinaryConvolution", 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8])
@pytest.mark.parametrize("pad_value", [0.0, 1.0, 0.5])
def test_equal_bits_count_one_and_different_ones_minus_one(dtype: Any, pad_value: float) -> None:
    attributes = PLAIN | {"pads_begin": (1, 1), "pads_end": (1, 1), "pad_value": pad_value}
    result = op(IMAGE[None, None].astype(dtype), KERNEL, **attributes)
    padded = np.pad(IMAGE.astype(dtype), 1, constant_values=np.asarray(pad_value).astype(dtype))
    expected = [[2 * int((padded[y : y + 3, x : x + 3] == KERNEL[0, 0]).sum()) - 9 for x in range(4)] for y in range(4)]
    assert result.dtype == dtype and result[0, 0].tolist() == expected


def test_known_results() -> None:
    result = op(IMAGE[None, None].astype(np.float32), KERNEL, **PLAIN, pad_value=0.0)
    assert result[0, 0].tolist() == [[1, 1], [3, -1]]


def test_channels_strides_and_dilations() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 2, (2, 3, 7, 8)).astype(np.float32), rng.integers(0, 2, (4, 3, 3, 2)).astype(np.uint8)
    attributes = PLAIN | {"strides": (2, 1), "dilations": (1, 2), "pad_value": 0.0, "auto_pad": "same_upper"}
    convolution = find("Convolution", "opset1")
    assert convolution is not None
    lists = {k: v for k, v in attributes.items() if k not in ("mode", "pad_value")}
    # The padding bits are 0, which stands for -1: signs of the padded image, convolved without padding.
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    signs = convolution(2 * padded - 1, 2 * w.astype(np.float32) - 1, **lists | {"auto_pad": "valid"})
    np.testing.assert_array_equal(op(x, w, **attributes), signs)


def breach(data: str, kernel: str, **changes: Any) -> list[str | None]:
    inputs = [tensor(F32, data), tensor(U1, kernel)]
    return [b.constraint for b in infer(op, inputs, **PLAIN | {"pad_value": 0.0} | changes)[1]]


def test_shape_of_the_page() -> None:
    attributes = PLAIN | {"pads_begin": (2, 2), "pads_end": (2, 2), "pad_value": 0.0}
    (result,), breaches = infer(op, [tensor(F32, "1,3,224,224"), tensor(U1, "64,3,5,5")], **attributes)
    assert not breaches and str(result.shape) == "[1,64,224,224]"


def test_c1_two_values() -> None:
    assert breach("1,1,4,4", "1,1,3,3", dilations=(1, 1, 1)) == ["C1"]


def test_c2_c3_rank_4() -> None:
    assert breach("1,1,4", "1,1,3,3") == ["C2"]
    assert breach("1,1,4,4", "1,1,3") == ["C3"]


def test_c4_channels() -> None:
    assert breach("1,1,4,4", "1,2,3,3") == ["C4"]


def test_c5_the_kernel_fits() -> None:
    assert breach("1,1,2,4", "1,1,3,3") == ["C5"]


def test_the_kernel_is_u1() -> None:
    found = infer(op, [tensor(F32, "1,1,4,4"), tensor(F32, "1,1,3,3")], **PLAIN, pad_value=0.0)[1]
    assert [b.code for b in found] == ["O002"]
