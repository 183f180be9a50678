"""ConvolutionBackpropData and its grouped form: the pages' examples, constraints, OpenVINO live, adjointness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64, PartialShape, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

PLAIN = {"strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1), "dilations": (1, 1)}


def op(type: str = "ConvolutionBackpropData") -> Operator:
    found = find(type, "opset1")
    assert found is not None
    return found


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("type", "data", "kernel", "attributes", "expected"),
    [
        ("ConvolutionBackpropData", "1,20,224,224", "20,10,3,3", {"output_padding": (0, 0)}, "1,10,447,447"),
        (
            "ConvolutionBackpropData",
            "1,20,2,2",
            "20,10,3,3",
            {"strides": (3, 3), "pads_begin": (0, 0), "pads_end": (0, 0), "output_padding": (2, 2)},
            "1,10,8,8",
        ),
        ("GroupConvolutionBackpropData", "1,20,224,224", "4,5,2,3,3", {}, "1,8,447,447"),
    ],
)
def test_shapes_of_the_pages(type: str, data: str, kernel: str, attributes: dict[str, Any], expected: str) -> None:
    (result,), breaches = infer(op(type), [tensor(F32, data), tensor(F32, kernel), None], **PLAIN | attributes)
    assert not breaches and result.shape == PartialShape.parse(expected)


def test_output_shape_of_the_page() -> None:
    inputs = [tensor(F32, "1,20,224,224"), tensor(F32, "20,10,3,3"), tensor(I64, "2", [450, 450])]
    (result,), breaches = infer(op(), inputs, **PLAIN, auto_pad="valid")
    assert not breaches and str(result.shape) == "[1,10,450,450]"


def test_partial_shapes() -> None:
    (result,), breaches = infer(op(), [tensor(F32, "?,2,?,3..5"), tensor(F32, "2,4,3,3"), None], **PLAIN)
    assert not breaches and str(result.shape) == "[?,4,1..,5..9]"
    (result,), _ = infer(op(), [tensor(F32, "1,2,5,5"), tensor(F32, "2,4,3,3"), tensor(I64, "2")], **PLAIN)
    assert str(result.shape) == "[1,4,?,?]"


def breach(
    data: str, kernel: str, shape: Any = None, type: str = "ConvolutionBackpropData", **changes: Any
) -> list[Any]:
    return [
        b.constraint for b in infer(op(type), [tensor(F32, data), tensor(F32, kernel), shape], **PLAIN | changes)[1]
    ]


def test_c1_one_value_per_spatial_axis() -> None:
    assert breach("1,2,5,5", "2,3,3,3", output_padding=(1,)) == ["C1"]
    assert breach("1,2,5,5", "2,3,3,3", strides=(1,)) == ["C1"]


def test_c2_rank_of_data() -> None:
    assert breach("1,2", "2,3") == ["C2"]


def test_c3_rank_of_the_kernel() -> None:
    assert breach("1,2,5,5", "2,3,3") == ["C3"]
    assert breach("1,2,5,5", "2,3,3,3", type="GroupConvolutionBackpropData") == ["C3"]


def test_c4_channels() -> None:
    assert breach("1,2,5,5", "3,2,3,3") == ["C4"]
    assert breach("1,5,5,5", "2,2,3,3,3", type="GroupConvolutionBackpropData") == ["C4"]


def test_c5_the_padding_leaves_a_pixel() -> None:
    assert breach("1,2,1,5", "2,3,2,2", pads_begin=(2, 0)) == ["C5"]
    with pytest.raises(ConstraintError, match="the padding removes"):
        op()(np.zeros((1, 1, 1, 1), np.float32), np.zeros((1, 1, 1, 1), np.float32), **PLAIN)


def test_c6_output_shape() -> None:
    assert breach("1,2,5,5", "2,3,3,3", tensor(I64, "3", [5, 5, 5])) == ["C6"]
    assert breach("1,2,5,5", "2,3,3,3", tensor(I64, "2", [5, -5])) == ["C6"]
    assert breach("1,2,5,5", "2,3,3,3", tensor(I64, "2,1")) == ["C6"]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_agrees_with_openvino(axes: int) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(amount(6, 2)):
        n, i, o = rng.integers(1, 4, 3).tolist()
        spatial, kernel = rng.integers(3, 6, axes).tolist(), rng.integers(2, 4, axes).tolist()
        strides = rng.integers(1, 4, axes)
        attributes: dict[str, Any] = {
            "strides": tuple(strides.tolist()),
            "dilations": tuple(rng.integers(1, 3, axes).tolist()),
            "pads_begin": tuple(rng.integers(0, 2, axes).tolist()),
            "pads_end": tuple(rng.integers(0, 2, axes).tolist()),
            "auto_pad": str(rng.choice(["explicit", "same_upper", "same_lower", "valid"])),
            "output_padding": tuple((strides > 1).astype(int).tolist()),
        }
        # OpenVINO's CPU plugin rejects a single group.
        cases = [
            ("ConvolutionBackpropData", normal(rng, n, i, *spatial), normal(rng, i, o, *kernel)),
            ("GroupConvolutionBackpropData", normal(rng, n, 2 * i, *spatial), normal(rng, 2, i, o, *kernel)),
        ]
        for type, data, weights in cases:
            theirs = openvino(op(type), data, weights, **attributes)[0]
            np.testing.assert_allclose(run(op(type), data, weights, **attributes)[0], theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower"])
def test_output_shape_agrees_with_openvino(auto_pad: str) -> None:
    rng = np.random.default_rng(7)
    data, kernel = normal(rng, 1, 2, 4, 5), normal(rng, 2, 3, 3, 4)
    for wanted in [(8, 10), (7, 9), (9, 12)]:
        shape = np.array(wanted)
        theirs = openvino(op(), data, kernel, shape, fixed=[2], **PLAIN, auto_pad=auto_pad)[0]
        mine = run(op(), data, kernel, shape, **PLAIN, auto_pad=auto_pad)[0]
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("auto_pad", ["same_upper", "same_lower", "explicit", "valid"])
def test_a_larger_output_shape_adds_zeros_at_the_end(auto_pad: str) -> None:
    """As in ONNX, OpenVINO and TensorFlow, where the kernel may be smaller than the stride."""
    rng = np.random.default_rng(9)
    attributes: dict[str, Any] = {"strides": (3, 2), "dilations": (1, 1), "auto_pad": auto_pad}
    for padding in [(0, 0), (1, 1)]:
        attributes |= {"output_padding": padding, "pads_begin": (0, 0), "pads_end": (0, 0)}
        for kernel, wanted in [((2, 2), (12, 8)), ((1, 1), (12, 9)), ((3, 3), (14, 11))]:
            data, weights, shape = normal(rng, 1, 2, 4, 4), normal(rng, 2, 3, *kernel), np.array(wanted)
            theirs = openvino(op(), data, weights, shape, fixed=[2], **attributes)[0]
            np.testing.assert_allclose(run(op(), data, weights, shape, **attributes)[0], theirs, rtol=1e-4, atol=1e-4)


def test_output_shape_of_onnx() -> None:
    """The example of ONNX's ConvTranspose with the attribute output_shape."""
    data = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    result = run(op(), data, np.ones((1, 1, 3, 3), np.float32), np.array([10, 8]), strides=(3, 2), dilations=(1, 1))[0]
    rows = [[0, 0, 1, 1, 3, 2, 2, 0], [3, 3, 7, 4, 9, 5, 5, 0], [6, 6, 13, 7, 15, 8, 8, 0]]
    np.testing.assert_array_equal(result[0, 0], np.repeat(rows, [3, 3, 4], axis=0) * np.array([[1]] * 9 + [[0]]))


def test_a_smaller_output_shape_is_cut_on_both_sides() -> None:
    data, kernel = np.arange(5, dtype=np.float32).reshape(1, 1, 5), np.ones((1, 1, 1), np.float32)
    for auto_pad, expected in [("valid", [1, 2]), ("same_lower", [1, 2]), ("same_upper", [2, 3])]:
        attributes = {"strides": (1,), "dilations": (1,), "auto_pad": auto_pad}
        assert run(op(), data, kernel, np.array([2]), **attributes)[0].tolist() == [[expected]]


def test_only_what_is_asked_for_takes_memory() -> None:
    """A stride of 2**40 spreads five pixels over an extent that exceeds any memory; two of its pixels are requested."""
    data, kernel = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5), np.ones((1, 1, 2), np.float32)
    attributes = {"strides": (1 << 40,), "dilations": (1 << 38,), "auto_pad": "same_upper"}
    assert run(op(), data, kernel, np.array([2]), **attributes)[0].tolist() == [[[0, 0]]]
    cut = {"pads_begin": (2 << 40,), "pads_end": ((2 << 40) + (1 << 38) - 1,)}
    assert run(op(), data, kernel, **attributes | cut | {"auto_pad": "explicit"})[0].tolist() == [[[3, 0]]]


def test_data_without_pixels() -> None:
    data, kernel = np.ones((1, 2, 0), np.float32), np.ones((2, 1, 3), np.float32)
    plain = {"strides": (1,), "dilations": (1,)}
    assert run(op(), data, kernel, **plain)[0].tolist() == [[[0, 0]]]
    assert "C5" in {b.constraint for b in infer(op(), known(data, kernel), strides=(3,), dilations=(1,))[1]}
    assert "C3" in {b.constraint for b in infer(op(), known(data, kernel[..., :0]), **plain)[1]}
    with pytest.raises(ConstraintError, match="no pixels"):
        op()(data, kernel[..., :0], **plain)


def known(*arrays: np.ndarray) -> list[TensorType | None]:
    return [*map(TensorType.of, arrays)]


def test_it_is_the_adjoint_of_convolution() -> None:
    rng = np.random.default_rng(8)
    x, w = rng.normal(size=(1, 3, 7, 9)), rng.normal(size=(4, 3, 3, 3))
    forward = find("Convolution", "opset1")
    assert forward is not None
    y = forward(x, w, **PLAIN)
    back = rng.normal(size=y.shape)
    spread = run(op(), back, w, **PLAIN)[0]
    np.testing.assert_allclose((y * back).sum(), (x * spread).sum())


def test_integers_wrap() -> None:
    x = np.full((1, 2, 3, 3), 100, np.int8)
    w = np.full((2, 1, 2, 2), 3, np.int8)
    wide = op()(x.astype(np.int64), w.astype(np.int64), **PLAIN)
    np.testing.assert_array_equal(run(op(), x, w, **PLAIN)[0], wide.astype(np.int8))
