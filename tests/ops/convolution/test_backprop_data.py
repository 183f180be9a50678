"""ConvolutionBackpropData: the example of ONNX, extents beyond the memory, adjointness."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, run

from irexec.core.types import TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError

PLAIN = {"strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "dilations": (1, 1)}


op = the("ConvolutionBackpropData", 1)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


def test_output_shape_of_onnx() -> None:
    """The example of ONNX's ConvTranspose with the attribute output_shape."""
    data = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    result = run(op, data, np.ones((1, 1, 3, 3), np.float32), np.array([10, 8]), strides=(3, 2), dilations=(1, 1))[0]
    rows = [[0, 0, 1, 1, 3, 2, 2, 0], [3, 3, 7, 4, 9, 5, 5, 0], [6, 6, 13, 7, 15, 8, 8, 0]]
    np.testing.assert_array_equal(result[0, 0], np.repeat(rows, [3, 3, 4], axis=0) * np.array([[1]] * 9 + [[0]]))


def test_only_what_is_asked_for_takes_memory() -> None:
    """A stride of 2**40 spreads five pixels over an extent that exceeds any memory; two of its pixels are requested."""
    data, kernel = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5), np.ones((1, 1, 2), np.float32)
    attributes = {"strides": (1 << 40,), "dilations": (1 << 38,), "auto_pad": "same_upper"}
    assert run(op, data, kernel, np.array([2]), **attributes)[0].tolist() == [[[0, 0]]]
    cut = {"pads_begin": (2 << 40,), "pads_end": ((2 << 40) + (1 << 38) - 1,)}
    assert run(op, data, kernel, **attributes | cut | {"auto_pad": "explicit"})[0].tolist() == [[[3, 0]]]


def test_data_without_pixels() -> None:
    data, kernel = np.ones((1, 2, 0), np.float32), np.ones((2, 1, 3), np.float32)
    plain = {"strides": (1,), "dilations": (1,)}
    assert run(op, data, kernel, **plain)[0].tolist() == [[[0, 0]]]
    assert "C5" in {b.constraint for b in infer(op, known(data, kernel), strides=(3,), dilations=(1,))[1]}
    assert "C3" in {b.constraint for b in infer(op, known(data, kernel[..., :0]), **plain)[1]}
    with pytest.raises(ConstraintError, match="no pixels"):
        op(data, kernel[..., :0], **plain)


def known(*arrays: np.ndarray) -> list[TensorType | None]:
    return [*map(TensorType.of, arrays)]


def test_it_is_the_adjoint_of_convolution() -> None:
    rng = np.random.default_rng(8)
    x, w = rng.normal(size=(1, 3, 7, 9)), rng.normal(size=(4, 3, 3, 3))
    forward = find("Convolution", "opset1")
    assert forward is not None
    y = forward(x, w, **PLAIN)
    back = rng.normal(size=y.shape)
    spread = run(op, back, w, **PLAIN)[0]
    np.testing.assert_allclose((y * back).sum(), (x * spread).sum())
