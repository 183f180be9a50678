"""Signals in ONNX: DFT, STFT and the weights of mel scales. Complex numbers are pairs along the last axis.

Source: ONNX operator pages DFT-20, STFT-17, MelWeightMatrix-17.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import in_range, integer, one_element
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, TypeFrom, operator, require, rounded
from irexec.ops.spec.tensors import EachFloatTensor, EachIndexTensor, FloatTensor

# Longer transforms and larger matrices of weights are refused, to limit the memory that a file can claim.
_LONGEST = 1 << 26


def _as_complex(x: Array) -> Array:
    wide = widen(x)
    return wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]


def _as_pairs(x: Array, dtype: np.dtype[Any]) -> Array:
    return narrow(np.stack([x.real, x.imag], -1), dtype)


@operator("DFT", "onnx20", tolerance=rounded(256))
def dft_20(
    x: FloatTensor,
    dft_length: EachIndexTensor | None = None,
    axis: EachIndexTensor | None = None,
    /,
    *,
    inverse: bool = False,
    onesided: bool = False,
) -> FloatTensor:
    """The discrete Fourier transform of `x` along an axis, or the inverse.

    `onesided`: return only the first half of the result, or, if `inverse`, take `x` as this half and return real
    numbers; the other half is symmetric. C1: x is [..., 1] or [..., 2], and the axis is not the last.
    C2: dft_length is positive. C3: only a real signal has a one-sided transform.
    """
    along = -2 if axis is None else integer(axis)
    rank = x.ndim
    _check_axis(require, along, rank)
    along %= rank
    signal = _as_complex(x)
    extent = signal.shape[along]
    whole = 2 * (extent - 1) if inverse and onesided else extent
    length = whole if dft_length is None else integer(dft_length)
    in_range(require, "C2", "dft_length", length, 1, _LONGEST)
    if inverse and onesided:
        return narrow(np.fft.irfft(signal, length, along)[..., None], x.dtype)
    if inverse:
        return _as_pairs(np.fft.ifft(signal, length, along), x.dtype)
    if onesided:
        return _as_pairs(np.fft.rfft(signal, length, along), x.dtype)
    return _as_pairs(np.fft.fft(signal, length, along), x.dtype)


def _check_axis(check: Check, axis: int, rank: int) -> bool:
    fits = -rank <= axis < rank and axis % rank != rank - 1
    return check(
        "C1", fits, f"axis is {axis}, expected an axis in [{-rank}, {rank - 2}] other than the last", port="axis"
    )


def _check_pairs(check: Check, signal: TensorType, port: str, *, real: bool) -> None:
    """Check C1: the last axis contains numbers or pairs. Check C3: with `real`, it contains numbers."""
    last = signal.shape[-1] if signal.rank else None
    fits = signal.rank is None or (signal.rank >= 2 and last is not None and (last.contains(1) or last.contains(2)))
    check("C1", fits, f"{port} has shape {signal.shape}, expected a last axis of 1 or 2 elements", port=port)
    message = f"{port} is complex; only a real signal has a one-sided transform"
    check("C3", not real or last is None or last.contains(1), message, port=port)


@dft_20.shapes
def _(
    check: Check, x: TensorType, length: TensorType | None, axis: TensorType | None, *, inverse: bool, onesided: bool
) -> PartialShape:
    rank = len(x.shape)
    _check_pairs(check, x, "x", real=onesided and not inverse)
    single = [t is None or one_element(check, c, t, n) for c, t, n in (("C1", axis, "axis"), ("C2", length, "length"))]
    along = -2 if axis is None else axis.scalar
    if along is None or not all(single) or not _check_axis(check, along, rank):
        return PartialShape.dynamic(rank)
    extent = x.shape[along]
    if length is not None:
        in_range(check, "C2", "dft_length", length.scalar, 1, _LONGEST)
        extent = Dimension(-1 if length.scalar is None else max(int(length.scalar), 0))
    elif inverse and onesided:
        extent = Dimension(2 * (extent.value - 1)) if extent.is_static and extent.value else Dimension(-1)
    if onesided and not inverse:
        extent = Dimension(extent.value // 2 + 1) if extent.is_static else Dimension(-1)
    return x.shape.with_dim(along, extent).with_dim(rank - 1, 1 if inverse and onesided else 2)


@operator("STFT", "onnx17", tolerance=rounded(256))
def stft_17(
    signal: FloatTensor,
    frame_step: EachIndexTensor,
    window: FloatTensor | None = None,
    frame_length: EachIndexTensor | None = None,
    /,
    *,
    onesided: bool = True,
) -> FloatTensor:
    """The transform of each frame of `signal` [batch, length, 1 or 2]: [batch, frames, bins, 2].

    C1: signal is of that shape, frame_step a positive number. C2: the window is as long as a frame, and a frame no
    longer than the signal. C3: only a real signal has a one-sided transform.
    """
    step, length = integer(frame_step), signal.shape[1] if window is None else window.size
    if frame_length is not None:
        length = integer(frame_length)
    in_range(require, "C1", "frame_step", step, 1)
    _check_frame(require, length, signal.shape[1], None if window is None else Dimension(window.size))
    frames = np.lib.stride_tricks.sliding_window_view(_as_complex(signal), length, 1)[:, ::step]
    weighted = frames if window is None else frames * widen(window)
    transformed = np.fft.rfft(weighted) if onesided else np.fft.fft(weighted)
    return _as_pairs(transformed, signal.dtype)


def _check_frame(check: Check, length: int, longest: int | None, window: Dimension | None) -> None:
    """Check C2 for a known length of a frame."""
    in_range(check, "C2", "frame_length", length, 1, longest)
    message = f"the window has {window} elements, expected {length}, the length of a frame"
    check("C2", window is None or window.contains(length), message, port="window")


@stft_17.shapes
def _(
    check: Check,
    signal: TensorType,
    step: TensorType,
    window: TensorType | None,
    length: TensorType | None,
    *,
    onesided: bool,
) -> PartialShape:
    in_range(check, "C1", "frame_step", step.scalar, 1)
    if has_rank(check, "C1", signal, 3, "signal"):
        _check_pairs(check, signal, "signal", real=onesided)
    for name, tensor in (("frame_step", step), ("frame_length", length)):
        if tensor is not None:
            one_element(check, "C1", tensor, name)
    if window is not None:
        has_rank(check, "C2", window, 1, "window")
    size = Dimension(-1)
    if length is not None:
        size = Dimension(-1 if length.scalar is None else max(int(length.scalar), 0))
    elif window is not None and window.rank == 1:
        size = window.shape[0]
    elif signal.rank == 3:
        size = signal.shape[1]
    if size.is_static and signal.rank == 3:
        of_window = None if window is None else window.shape[0] if window.rank == 1 else ANY_DIMENSION
        _check_frame(check, size.value, signal.shape[1].max, of_window)
    bins = size if not onesided else Dimension(size.value // 2 + 1) if size.is_static else Dimension(-1)
    return PartialShape([signal.shape[0] if signal.rank else -1, -1, bins, 2])


_LEAST = {"num_mel_bins": 0, "dft_length": 0, "sample_rate": 1}
"""The least value of an input of MelWeightMatrix."""


@operator("MelWeightMatrix", "onnx17", tolerance=rounded(16))
def mel_weight_matrix_17(
    num_mel_bins: EachIndexTensor,
    dft_length: EachIndexTensor,
    sample_rate: EachIndexTensor,
    lower_edge_hertz: EachFloatTensor,
    upper_edge_hertz: EachFloatTensor,
    /,
    *,
    output_type: ElementType,
) -> Annotated[Array, TypeFrom("output_type")]:
    """Weights [dft_length // 2 + 1, num_mel_bins]: triangles over the bins of a spectrum, evenly spaced on the mel
    scale.

    C1: each input is one number, none negative. C2: the upper edge is within the spectrum.
    """
    bins, length, rate = map(integer, (num_mel_bins, dft_length, sample_rate))
    for name, value in zip(_LEAST, (bins, length, rate), strict=True):
        in_range(require, "C1", name, value, _LEAST[name])
    rows = length // 2 + 1
    _check_weights(require, rows, bins)
    low, high = (2595 * np.log10(1 + float(v.reshape(-1)[0]) / 700) for v in (lower_edge_hertz, upper_edge_hertz))
    mels = np.arange(bins + 2) * ((high - low) / (bins + 2)) + low
    edges = (((length + 1) * (700 * (10 ** (mels / 2595) - 1))) // rate).astype(np.int64)
    require(
        "C2",
        bool((edges >= 0).all() and (edges <= rows).all()),
        f"the edges are between {edges.min()} and {edges.max()}, expected 0 to {rows}, the number of bins",
    )
    places = np.arange(rows)[:, None]
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    with np.errstate(all="ignore"):
        rising = np.where((places >= left) & (places <= centre), (places - left) / (centre - left), 0)
        rising = np.where(centre == left, places == centre, rising)
        falling = np.where((places >= centre) & (places < right), (right - places) / (right - centre), 0)
    weights = np.where((places >= centre) & (right > centre), falling, rising)
    return weights.astype(output_type.dtype)


def _check_weights(check: Check, rows: int, bins: int) -> None:
    message = f"the result would have {rows} x {bins} weights, expected at most {_LONGEST}"
    check("C1", rows * max(bins, 1) <= _LONGEST, message)


@mel_weight_matrix_17.shapes
def _(check: Check, bins: TensorType, length: TensorType, *rest: TensorType, output_type: ElementType) -> PartialShape:
    names = ("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz")
    for name, tensor in zip(names, (bins, length, *rest), strict=True):
        one_element(check, "C1", tensor, name)
        in_range(check, "C1", name, tensor.scalar, _LEAST.get(name, 0))
    rows = None if length.scalar is None else max(int(length.scalar), 0) // 2 + 1
    columns = None if bins.scalar is None else max(int(bins.scalar), 0)
    if rows is not None and columns is not None:
        _check_weights(check, rows, columns)
    return PartialShape([-1 if rows is None else rows, -1 if columns is None else columns])
