"""Convolution and GroupConvolution: all divisions of the work, constant kernels, windows beyond the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import the
from support.oracle import run

from irexec.core.threads import parallel
from irexec.core.types import F32, PartialShape, TensorType
from irexec.ops.spec.operator import NodeTypes

PLAIN = {"strides": (1, 1), "pads_begin": (1, 1), "pads_end": (1, 1), "dilations": (1, 1)}


op = the("Convolution", 1)


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.normal(size=shape).astype(np.float32)


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
        alone = the("GroupConvolution", 1)(x, w, **attributes)
        parallel.set_num_threads(3)
        together = the("GroupConvolution", 1)(x, w, **attributes)
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


def test_strided_views_and_a_strided_result() -> None:
    rng = np.random.default_rng(5)
    x, w = normal(rng, 6, 8, 2, 4).transpose(3, 2, 1, 0), normal(rng, 3, 2, 3, 3)
    expected = op(np.ascontiguousarray(x), w, **PLAIN)
    np.testing.assert_allclose(op(x, w, **PLAIN), expected, rtol=1e-5)
    wide = np.zeros((4, 3, 8, 12), np.float32)
    out = wide[..., ::2]
    assert op(x, w, **PLAIN, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-5)


def test_a_constant_kernel_serves_every_shape() -> None:
    rng = np.random.default_rng(6)
    w = normal(rng, 3, 2, 3, 3)
    attributes = op.parse_attributes(PLAIN)[0]
    dynamic = TensorType(F32, PartialShape.parse("?,2,?,?"))
    assert op.specializer is not None
    fast = op.specializer(NodeTypes((dynamic, TensorType.of(w)), (dynamic,), (None, w), attributes))
    assert fast is not None
    for extent in [3, 9, 5, 3, 4, 6, 7, 8, 10, 11, 12]:
        x = normal(rng, 1, 2, extent, extent + 1)
        np.testing.assert_array_equal(fast(x, w), op(x, w, **PLAIN))
    assert op.specializer(NodeTypes((dynamic, dynamic), (dynamic,), (None, None), attributes)) is None


def test_taps_over_padding_alone_take_nothing() -> None:
    """Dilations and padding of 2**33: the extent of the kernel exceeds any memory, but it meets only four pixels."""
    data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    kernel = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
    far = 1 << 33
    attributes: dict[str, Any] = {"strides": (1, 1), "pads_begin": (far, 1), "pads_end": (far, 1)}
    result = run(op, data, kernel, dilations=(far, 1), **attributes)[0]
    middle = run(op, data, kernel[:, :, 1:2], strides=(1, 1), pads_begin=(0, 1), pads_end=(0, 1), dilations=(1, 1))[0]
    np.testing.assert_array_equal(result, middle)
    nothing = run(op, data, kernel[:, :, :1], dilations=(1, 1), strides=(far, 1), pads_begin=(far, 1), pads_end=(0, 1))
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
        expected = op(np.pad(data, margin), kernel, **attributes, **zeros)
        np.testing.assert_allclose(run(op, data, kernel, **attributes, **pads)[0], expected, rtol=1e-4, atol=1e-5)
