"""MaxPool: indices that nobody reads, large kernels."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.oracle import run

from irexec.core.types import TensorType
from irexec.ops.spec.operator import NodeTypes

PLAIN = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (2, 2)}


op = the("MaxPool", 14)


def test_unread_indices_are_not_computed() -> None:
    x = np.random.default_rng(0).normal(size=(1, 2, 5, 5)).astype(np.float32)
    attributes = op.parse_attributes(PLAIN)[0]
    outputs = tuple(op.infer([TensorType.of(x)], attributes))
    assert op.specializer is not None
    fast = op.specializer(NodeTypes((TensorType.of(x),), outputs, (None,), attributes, used=(True, False)))
    assert fast is not None
    values, indices = fast(x)
    np.testing.assert_array_equal(values, op(x, **attributes)[0])
    assert indices.shape == values.shape and indices.dtype == np.int64
    assert op.specializer(NodeTypes((TensorType.of(x),), outputs, (None,), attributes, used=(True, True))) is None


def test_many_taps_give_what_few_do() -> None:
    """Large kernels are computed in another way; a window read pixel by pixel gives the expected result."""
    rng = np.random.default_rng(3)
    for _ in range(12):
        # Few values, so that many are equal.
        data = rng.choice([-1.0, 0.0, 2.0, np.nan, -np.inf], (2, 2, 9, 60)).astype(np.float32)
        kernel, dilation = rng.integers([1, 33], [6, 45]), (1, int(rng.integers(1, 3)))
        padding = tuple(rng.integers(0, 45, 2).tolist())
        stride = tuple(rng.integers(1, 4, 2).tolist())
        lists = {"strides": stride, "dilations": dilation, "pads_begin": (0, padding[0]), "pads_end": (0, padding[1])}
        if (kernel[1] - 1) * dilation[1] + 1 > 60 + sum(padding):
            continue
        values, indices = run(op, data, kernel=tuple(kernel.tolist()), axis=2, **lists)
        for place in np.ndindex(values.shape):
            ys = [place[2] * stride[0] + t for t in range(kernel[0])]
            xs = [place[3] * stride[1] - padding[0] + t * dilation[1] for t in range(kernel[1])]
            window = [(y, x) for y in ys for x in xs if 0 <= x < 60]
            pixels = np.array([data[place[0], place[1], y, x] for y, x in window], np.float32)
            best = int(pixels.argmax()) if window else None
            np.testing.assert_equal(values[place], -np.inf if best is None else pixels[best])
            assert indices[place] == (0 if best is None else window[best][0] * 60 + window[best][1])


def test_a_kernel_of_billions_costs_what_it_meets() -> None:
    data = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    far = 1 << 31
    attributes = {"strides": (1, 1), "pads_begin": (0, far), "pads_end": (0, far), "kernel": (2, 2 * far + 2)}
    values, indices = run(op, data, **attributes)
    np.testing.assert_array_equal(values[0, 0], np.repeat([[7], [11], [15]], 3, axis=1))
    np.testing.assert_array_equal(indices, values)
    far = 1 << 61
    gaps = {"strides": (far, 1), "dilations": (far, 1), "pads_begin": (far, 0), "pads_end": (far, 0), "kernel": (3, 4)}
    assert [r.ravel().tolist() for r in run(op, data, **gaps)] == [[3], [3]]
