"""Calls of operators that sum floats, for random shapes, in every precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from irexec.ops.spec.contents import find
from support.calls import Call

PRECISIONS = (np.float16, np.float32, np.float64)


class _Drawn:
    """Draws extents, and arrays of one precision."""

    def __init__(self, rng: np.random.Generator, precision: Any) -> None:
        self._rng, self._precision = rng, precision

    def extent(self, most: int, least: int = 1) -> int:
        return int(self._rng.integers(least, most + 1))

    def array(self, *shape: int) -> np.ndarray:
        return self._rng.standard_normal(shape).astype(self._precision)


def sums(seed: int = 0) -> Iterator[Call]:
    """Yield products, convolutions, attention, recurrent layers and reductions."""
    for precision in PRECISIONS:
        drawn = _Drawn(np.random.default_rng(seed), precision)
        for family in (_products, _convolutions, _attention, _recurrent, _reductions):
            yield from family(drawn)


def _call(type: str, *arrays: np.ndarray, **attributes: Any) -> Call:
    operator = find(type, "opset13")
    assert operator is not None
    return Call(operator, list(arrays), attributes)


def _products(drawn: _Drawn) -> Iterator[Call]:
    array, extent = drawn.array, drawn.extent
    for _ in range(5):
        batch, rows, depth, columns = extent(5), extent(70), extent(90), extent(140)
        yield _call("MatMul", array(rows, depth), array(depth, columns))
        yield _call("MatMul", array(rows, depth), array(columns, depth), transpose_b=True)
        yield _call("MatMul", array(batch, rows, depth), array(depth, columns))
        yield _call("MatMul", array(batch, 2, rows, depth), array(2, depth, columns))
        yield _call("Einsum", array(batch, rows, depth), array(batch, columns, depth), equation="bik,bjk->bij")
    yield _call("MatMul", array(300, 40), array(40, 280))
    yield _call("MatMul", array(40, 600), array(520, 600), transpose_b=True)
    # Few products, which BLAS would nevertheless divide among its own threads.
    yield _call("MatMul", array(1, 400), array(400, 300))


def _convolutions(drawn: _Drawn) -> Iterator[Call]:
    array, extent = drawn.array, drawn.extent
    for axes in (1, 1, 2, 2, 2, 3, 3):
        groups, inputs, outputs = extent(4), extent(9), extent(20)
        windows: dict[str, Any] = {"strides": [extent(2) for _ in range(axes)], "dilations": [1] * axes}
        windows |= {"pads_begin": [extent(1, 0) for _ in range(axes)], "pads_end": [1] * axes}
        taps = [extent(3) for _ in range(axes)]
        data = array(extent(2), groups * inputs, *[extent((60, 14, 7)[axes - 1], 4) for _ in range(axes)])
        yield _call("Convolution", data, array(outputs, groups * inputs, *taps), **windows)
        yield _call("GroupConvolution", data, array(groups, outputs, inputs, *taps), **windows)
        yield _call("GroupConvolutionBackpropData", data, array(groups, inputs, outputs, *taps), **windows)
    yield _call("Convolution", array(1, 64, 7, 7), array(80, 64, 3, 3), **_padded(1, 2))
    yield _call("Convolution", array(2, 40, 14, 14), array(200, 40, 1, 1), **_padded(0, 2))
    yield _call("GroupConvolution", array(1, 4, 3, 4, 4), array(2, 1, 2, 2, 2, 2), **_padded(0, 3))


def _padded(padding: int, axes: int) -> Mapping[str, list[int]]:
    pads = [padding] * axes
    return {"strides": [1] * axes, "dilations": [1] * axes, "pads_begin": pads, "pads_end": pads}


def _attention(drawn: _Drawn) -> Iterator[Call]:
    array, extent = drawn.array, drawn.extent
    for _ in range(5):
        batch, length, keys, depth = (extent(2), extent(5)), extent(40), extent(50), extent(32)
        inputs = array(*batch, length, depth), array(*batch, keys, depth), array(*batch, keys, extent(40))
        yield _call("ScaledDotProductAttention", *inputs, causal=bool(extent(1, 0)))
        yield _call("ScaledDotProductAttention", *inputs, array(length, keys), causal=False)


def _recurrent(drawn: _Drawn) -> Iterator[Call]:
    array, extent = drawn.array, drawn.extent
    for type, gates in (("LSTM", 4), ("GRU", 3)):
        batch, steps, width, units = extent(5), extent(4), extent(70), extent(70)
        states = [array(batch, 2, units) for _ in range(gates - 2)]
        weights = array(2, gates * units, width), array(2, gates * units, units), array(2, gates * units)
        given = array(batch, steps, width), *states, np.full(batch, steps, np.int32), *weights
        yield _call(f"{type}Sequence", *given, hidden_size=units, direction="bidirectional")
    # BLAS would divide these as well.
    states, weights = [array(1, 100), array(1, 100)], (array(400, 200), array(400, 100), array(400))
    yield _call("LSTMCell", array(1, 200), *states, *weights, hidden_size=100)


def _reductions(drawn: _Drawn) -> Iterator[Call]:
    array, extent = drawn.array, drawn.extent
    for axis in (0, 1, 2):
        data, axes = array(extent(9), extent(30), extent(40)), np.array([axis])
        for type in ("ReduceSum", "ReduceMean", "ReduceL2", "ReduceProd"):
            yield _call(type, data, axes)
        yield _call("SoftMax", data, axis=axis)
        yield _call("MVN", data, axes, normalize_variance=True, eps=1e-5, eps_mode="inside_sqrt")
        pads = {"strides": [2], "kernel": [3], "pads_begin": [1], "pads_end": [1]}
        yield _call("AvgPool", data, **pads, **{"exclude-pad": True})
