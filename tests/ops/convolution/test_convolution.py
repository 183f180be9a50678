"""Convolution and GroupConvolution: the pages' examples, constraints, OpenVINO, element types, all divisions of the
work.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.amounts import amount
from support.oracle import infer, openvino, run, tensor

from irexec.core.threads import parallel
from irexec.core.types import F32, PartialShape, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, NodeTypes, Operator

PLAIN = {"strides": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1), "dilations": (1, 1)}


def op(type: str = "Convolution") -> Operator:
    found = find(type, "opset1")
    assert found is not None
    return found


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("type", "data", "kernel", "attributes", "expected"),
    [
        ("Convolution", "1,5,128", "16,5,4", "2 0 0 1 valid", "1,16,63"),
        ("Convolution", "1,3,224,224", "64,3,5,5", "1,1 2,2 2,2 1,1 explicit", "1,64,224,224"),
        ("Convolution", "1,7,320,320,320", "32,7,3,3,3", "3,3,3 0,0,0 0,0,0 2,2,2 explicit", "1,32,106,106,106"),
        ("GroupConvolution", "1,12,224", "4,1,3,5", "1 2 2 1 explicit", "1,4,224"),
        ("GroupConvolution", "1,12,224,224", "4,1,3,5,5", "1,1 2,2 2,2 1,1 explicit", "1,4,224,224"),
    ],
)
def test_shapes_of_the_pages(type: str, data: str, kernel: str, attributes: str, expected: str) -> None:
    names = ("strides", "pads_begin", "pads_end", "dilations", "auto_pad")
    given = dict(zip(names, attributes.split(), strict=True))
    (result,), breaches = infer(op(type), [tensor(F32, data), tensor(F32, kernel)], **given)
    assert not breaches
    assert result.shape == PartialShape.parse(expected)


def test_partial_shapes() -> None:
    (result,), breaches = infer(op(), [tensor(F32, "?,3,?,4..8"), tensor(F32, "6,3,3,3")], **PLAIN)
    assert not breaches and str(result.shape) == "[?,6,1..,4..8]"
    (result,), _ = infer(op(), [tensor(F32, "..."), tensor(F32, "6,3,3,3")], **PLAIN)
    assert str(result.shape) == "[?,6,1..,1..]"
    (result,), _ = infer(op("GroupConvolution"), [tensor(F32, "1,8,5,5"), tensor(F32, "?,3,2,3,3")], **PLAIN)
    assert str(result.shape) == "[1,12,5,5]"
    (result,), _ = infer(op(), [tensor(F32, "..."), tensor(F32, "...")], **PLAIN)
    assert result.shape.rank is None


def breach(type: str, data: str, kernel: str, **changes: Any) -> list[str | None]:
    return [b.constraint for b in infer(op(type), [tensor(F32, data), tensor(F32, kernel)], **PLAIN | changes)[1]]


def test_c1_one_value_per_spatial_axis() -> None:
    assert breach("Convolution", "1,2,5,5", "3,2,3,3", strides=(1, 1, 1)) == ["C1"]
    assert breach("GroupConvolution", "1,2,5,5", "2,3,1,3,3", pads_end=(1,)) == ["C1"]
    assert breach("Convolution", "1,2,5,5", "3,2,3,3", strides=(), pads_begin=()) == []


def test_c2_rank_of_data() -> None:
    assert breach("Convolution", "1,2", "3,2") == ["C2"]
    assert breach("GroupConvolution", "1,2,3,4,5,6", "1,2,3,4,5,6,7") == ["C2"]


def test_c3_rank_of_the_kernel() -> None:
    assert breach("Convolution", "1,2,5,5", "3,2,3") == ["C3"]
    assert breach("GroupConvolution", "1,2,5,5", "3,2,3,3") == ["C3"]


def test_c4_channels() -> None:
    assert breach("Convolution", "1,2,5,5", "3,4,3,3") == ["C4"]
    assert breach("GroupConvolution", "1,5,5,5", "2,3,2,3,3") == ["C4"]
    x = np.zeros((1, 2, 5, 5), np.float32)
    with pytest.raises(ConstraintError) as error:
        op()(x, np.zeros((3, 4, 3, 3), np.float32), **PLAIN)
    assert error.value.constraint == "C4"


def test_c5_the_kernel_fits() -> None:
    assert breach("Convolution", "1,2,5,2", "3,2,3,5") == ["C5"]
    assert breach("GroupConvolution", "1,2,1,5", "1,3,2,4,3") == ["C5"]
    with pytest.raises(ConstraintError) as error:
        op()(np.zeros((1, 1, 1, 1), np.float32), np.zeros((1, 1, 4, 4), np.float32), **PLAIN)
    assert error.value.constraint == "C5"


def random_attributes(rng: np.random.Generator, axes: int) -> dict[str, Any]:
    def draw(low: int, high: int) -> tuple[int, ...]:
        return tuple(rng.integers(low, high, axes).tolist())

    lists = {"strides": draw(1, 4), "dilations": draw(1, 3), "pads_begin": draw(0, 3), "pads_end": draw(0, 3)}
    return lists | {"auto_pad": str(rng.choice(["explicit", "same_upper", "same_lower", "valid"]))}


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_agrees_with_openvino(axes: int) -> None:
    rng = np.random.default_rng(axes)
    for _ in range(amount(8, 2)):
        n, g, i, o = rng.integers(1, 4, 4).tolist()
        spatial, kernel = rng.integers(6, 10, axes).tolist(), rng.integers(1, 4, axes).tolist()
        attributes = random_attributes(rng, axes)
        cases = [
            ("Convolution", normal(rng, n, i, *spatial), normal(rng, o, i, *kernel)),
            ("GroupConvolution", normal(rng, n, g * i, *spatial), normal(rng, g, o, i, *kernel)),
        ]
        for type, data, weights in cases:
            theirs = openvino(op(type), data, weights, **attributes)[0]
            np.testing.assert_allclose(run(op(type), data, weights, **attributes)[0], theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("data", "kernel"),
    [
        ((1, 64, 40, 40), (1, 32, 64, 3, 3)),
        ((1, 128, 5, 5), (1, 64, 128, 3, 3)),
        ((2, 40, 9, 9), (1, 50, 40, 1, 1)),
        ((1, 200, 3, 3), (1, 300, 200, 1, 1)),
        ((1, 64, 30, 30), (64, 1, 1, 3, 3)),
        ((1, 24, 60, 6), (3, 10, 8, 3, 3)),
        ((1, 40, 2, 40000), (1, 2, 40, 3, 3)),
    ],
    ids=["rows", "channels", "pointwise", "pointwise-few", "depthwise", "groups", "columns"],
)
def test_every_way_of_dividing_gives_the_same(data: tuple[int, ...], kernel: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, w = normal(rng, *data), normal(rng, *kernel)
    pads = tuple(k // 2 for k in kernel[3:])
    attributes = PLAIN | {"pads_begin": pads, "pads_end": pads}
    try:
        parallel.set_num_threads(1)
        alone = op("GroupConvolution")(x, w, **attributes)
        parallel.set_num_threads(3)
        together = op("GroupConvolution")(x, w, **attributes)
    finally:
        parallel.set_num_threads(None)
    slow = np.zeros_like(alone, np.float64)
    groups = x.reshape(data[0], kernel[0], kernel[2], *data[2:]).astype(np.float64)
    padded = np.pad(groups, [(0, 0)] * 3 + [(p, p) for p in pads])
    view = slow.reshape(data[0], kernel[0], kernel[1], *data[2:])
    for y, z in np.ndindex(*kernel[3:]):
        window = padded[..., y : y + data[2], z : z + data[3]]
        view += np.einsum("goi,ngihw->ngohw", w[..., y, z].astype(np.float64), window, optimize=True)
    np.testing.assert_allclose(alone, slow, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(together, slow, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.uint64])
def test_integers_are_exact_and_wrap(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    x = rng.integers(max(info.min, -500), min(info.max, 500), (1, 6, 7, 7)).astype(dtype)
    w = rng.integers(max(info.min, -500), min(info.max, 500), (4, 6, 3, 3)).astype(dtype)
    wide = op()(x.astype(np.int64), w.astype(np.int64), **PLAIN)
    np.testing.assert_array_equal(run(op(), x, w, **PLAIN)[0], wide.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    x, w = normal(rng, 1, 6, 7, 7).astype(dtype), normal(rng, 4, 6, 3, 3).astype(dtype)
    wide = op()(x.astype(np.float32), w.astype(np.float32), **PLAIN)
    np.testing.assert_array_equal(run(op(), x, w, **PLAIN)[0].astype(np.float32), wide.astype(dtype).astype(np.float32))


def test_f64_keeps_its_precision() -> None:
    result = run(op(), np.full((1, 1, 3, 3), 1e300), np.ones((1, 1, 1, 1)), **PLAIN)[0]
    assert result[0, 0, 1, 1] == 1e300


def test_empty_batch_and_no_channels() -> None:
    assert run(op(), np.zeros((0, 2, 4, 4), np.float32), np.zeros((3, 2, 3, 3), np.float32), **PLAIN)[0].shape[0] == 0
    result = run(op(), np.zeros((1, 0, 4, 4), np.float32), np.zeros((3, 0, 3, 3), np.float32), **PLAIN)[0]
    assert result.shape == (1, 3, 4, 4) and not result.any()


def test_strided_views_and_a_strided_result() -> None:
    rng = np.random.default_rng(5)
    x, w = normal(rng, 6, 8, 2, 4).transpose(3, 2, 1, 0), normal(rng, 3, 2, 3, 3)
    expected = op()(np.ascontiguousarray(x), w, **PLAIN)
    np.testing.assert_allclose(op()(x, w, **PLAIN), expected, rtol=1e-5)
    wide = np.zeros((4, 3, 8, 12), np.float32)
    out = wide[..., ::2]
    assert op()(x, w, **PLAIN, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_a_constant_kernel_serves_every_shape() -> None:
    rng = np.random.default_rng(6)
    w = normal(rng, 3, 2, 3, 3)
    attributes = op().parse_attributes(PLAIN)[0]
    dynamic = TensorType(F32, PartialShape.parse("?,2,?,?"))
    assert op().specializer is not None
    fast = op().specializer(NodeTypes((dynamic, TensorType.of(w)), (dynamic,), (None, w), attributes))
    assert fast is not None
    for extent in [3, 9, 5, 3, 4, 6, 7, 8, 10, 11, 12]:
        x = normal(rng, 1, 2, extent, extent + 1)
        np.testing.assert_array_equal(fast(x, w), op()(x, w, **PLAIN))
    assert op().specializer(NodeTypes((dynamic, dynamic), (dynamic,), (None, None), attributes)) is None


def test_taps_over_padding_alone_take_nothing() -> None:
    """Dilations and padding of 2**33: the extent of the kernel exceeds any memory, but it meets only four pixels."""
    data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    kernel = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
    far = 1 << 33
    attributes: dict[str, Any] = {"strides": (1, 1), "pads_begin": (far, 1), "pads_end": (far, 1)}
    result = run(op(), data, kernel, dilations=(far, 1), **attributes)[0]
    middle = run(op(), data, kernel[:, :, 1:2], strides=(1, 1), pads_begin=(0, 1), pads_end=(0, 1), dilations=(1, 1))[0]
    np.testing.assert_array_equal(result, middle)
    nothing = run(
        op(), data, kernel[:, :, :1], dilations=(1, 1), strides=(far, 1), pads_begin=(far, 1), pads_end=(0, 1)
    )
    np.testing.assert_array_equal(nothing[0][:, :, 0], 0)


def test_trimmed_windows_give_what_the_whole_ones_give() -> None:
    rng = np.random.default_rng(12)
    for _ in range(40):
        extents, taps = rng.integers(1, 6, 2), rng.integers(1, 5, 2)
        attributes = {name: tuple(rng.integers(1, 4, 2).tolist()) for name in ("strides", "dilations")}
        pads = {name: tuple(rng.integers(0, 12, 2).tolist()) for name in ("pads_begin", "pads_end")}
        room = extents + np.sum(list(pads.values()), axis=0)
        if np.any((taps - 1) * attributes["dilations"] + 1 > room):
            continue
        data, kernel = normal(rng, 1, 2, *extents), normal(rng, 3, 2, *taps)
        margin = [(0, 0), (0, 0), *zip(pads["pads_begin"], pads["pads_end"], strict=True)]
        zeros: dict[str, Any] = {"pads_begin": (0, 0), "pads_end": (0, 0)}
        expected = op()(np.pad(data, margin), kernel, **attributes, **zeros)
        np.testing.assert_allclose(run(op(), data, kernel, **attributes, **pads)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("type", "shape"), [("Convolution", (3, 2, 0, 3)), ("GroupConvolution", (2, 3, 1, 0, 3))])
def test_c5_a_kernel_without_pixels_is_refused(type: str, shape: tuple[int, ...]) -> None:
    data, kernel = np.ones((1, 2, 4, 4), np.float32), np.ones(shape, np.float32)
    _, breaches = infer(op(type), [TensorType.of(data), TensorType.of(kernel)], **PLAIN)
    assert [b.constraint for b in breaches] == ["C5"]
    with pytest.raises(ConstraintError, match="no pixels along spatial axis 0"):
        op(type)(data, kernel, **PLAIN)
