"""STFT and ISTFT: the Fourier transform of a signal frame by frame, and the signal back from its frames.

Source: operation pages STFT-15, ISTFT-16.
"""

from __future__ import annotations

import math
from typing import Annotated, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from irexec.core.types import INDICES, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import drawn_extents, filled, in_range, integer, one_element
from irexec.ops.rules.shapes import has_rank
from irexec.ops.signals.fourier import to_complex, to_pairs
from irexec.ops.spec.operator import Check, Elements, operator, require, rounded
from irexec.ops.spec.tensors import FloatTensor

T_INT: TypeAlias = Annotated[Array, Elements("T_INT", INDICES)]


@operator("STFT", "opset15", tolerance=rounded(64))
def stft_15(
    signal: FloatTensor, window: FloatTensor, frame_size: T_INT, frame_step: T_INT, /, *, transpose_frames: bool
) -> FloatTensor:
    """The spectra of the frames of `signal` [..., length], as pairs [..., frames, frame_size // 2 + 1, 2].

    Each frame is multiplied by `window`, centred and padded with zeros. `transpose_frames`: frames are the axis -2.
    C1: signal has rank 1 or 2. C2: window has rank 1, and 1 to frame_size elements. C3: frame_size is a scalar in
    [1, the signal's length]. C4: frame_step is a positive scalar.
    """
    size, step = _sizes(frame_size, frame_step)
    in_range(require, "C3", "frame_size", size, 1, signal.shape[-1])
    frames = sliding_window_view(widen(signal), size, axis=-1)[..., ::step, :]
    weights = _centred(widen(window), size)
    extents = [frames.shape[-2], size // 2 + 1]
    shape = (*signal.shape[:-1], *(extents[::-1] if transpose_frames else extents))
    result = np.empty(shape, np.result_type(frames.dtype, np.complex64))
    spectra = result.swapaxes(-1, -2) if transpose_frames else result
    # Transform blocks of frames: since frames overlap, all frames can be many times as large as the signal.
    count = max(1, _BLOCK // max(1, math.prod(signal.shape[:-1]) * size))
    for begin in range(0, frames.shape[-2], count):
        part = (..., slice(begin, begin + count), slice(None))
        spectra[part] = np.fft.rfft(frames[part] * weights)
    return to_pairs(result, signal.dtype)


_BLOCK = 1 << 20
"""The number of elements of frames that are transformed at once."""


@stft_15.shapes
def _(
    check: Check,
    signal: TensorType,
    window: TensorType,
    frame_size: TensorType,
    frame_step: TensorType,
    *,
    transpose_frames: bool,
) -> PartialShape:
    ranked = has_rank(check, "C1", signal, (1, 2), "signal")
    size, step = _check_frames(check, window, frame_size, frame_step)
    if signal.rank is None or not ranked:
        return PartialShape.dynamic()
    length = signal.shape[-1]
    frames = bins = Dimension(-1)
    if size is not None:
        fits = in_range(check, "C3", "frame_size", size, 1, length.max)
        bins = Dimension(size // 2 + 1)
        if step is not None and fits:
            frames = (length - size) // step + 1
    last = [bins, frames] if transpose_frames else [frames, bins]
    return PartialShape([*list(signal.shape)[:-1], *last, 2])


@operator("ISTFT", "opset16", tolerance=rounded(64))
def istft_16(
    data: FloatTensor,
    window: FloatTensor,
    frame_size: T_INT,
    frame_step: T_INT,
    signal_length: T_INT | None = None,
    /,
    *,
    center: bool,
    normalized: bool,
) -> FloatTensor:
    """The signal [..., signal_length] whose frames are `data` [..., frame_size // 2 + 1, frames, 2].

    Overlapping frames are added and divided by the sum of the squared windows. `center`: remove half a frame at both
    ends. C1: data has rank 3 or 4, its last dimension is 2. C2: window has rank 1, and 1 to frame_size elements.
    C3: frame_size is a positive scalar and fits data. C4: frame_step is a positive scalar. C5: signal_length is one
    number, not negative.
    """
    size, step = _sizes(frame_size, frame_step)
    bins, count = data.shape[-3], data.shape[-2]
    _check_bins(require, size, Dimension(bins))
    weights = _centred(widen(window), size)
    frames = np.fft.irfft(to_complex(data).swapaxes(-1, -2), n=size).astype(weights.dtype, copy=False)
    if normalized:
        frames *= np.sqrt(weights.dtype.type(size))
    cut = size // 2 if center else 0
    full = max((count - 1) * step + size, 0)
    if signal_length is not None:
        wanted = integer(signal_length)
        in_range(require, "C5", "signal_length", wanted, 0)
        # Samples after the end are not computed.
        full = min(full, cut + wanted)
    signal = np.zeros((*frames.shape[:-2], full), weights.dtype)
    norm = np.zeros(full, weights.dtype)
    for frame in range(min(count, -(-full // step))):
        part = slice(frame * step, min(frame * step + size, full))
        length = part.stop - part.start
        signal[..., part] += (frames[..., frame, :] * weights)[..., :length]
        norm[part] += (weights * weights)[:length]
    signal = np.divide(signal, norm, out=signal, where=norm > np.finfo(norm.dtype).tiny)
    if center:
        signal = signal[..., cut : full - cut if signal_length is None else None]
    if signal_length is not None:
        signal = signal[..., :wanted]
        missing = wanted - signal.shape[-1]
        signal = np.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, missing)])
    return narrow(signal, data.dtype)


@istft_16.shapes
def _(
    check: Check,
    data: TensorType,
    window: TensorType,
    frame_size: TensorType,
    frame_step: TensorType,
    signal_length: TensorType | None,
    *,
    center: bool,
) -> PartialShape:
    ranked = has_rank(check, "C1", data, (3, 4), "data")
    size, step = _check_frames(check, window, frame_size, frame_step)
    if signal_length is not None:
        one_element(check, "C5", signal_length, "signal_length")
    if data.rank is None or not ranked:
        return PartialShape.dynamic()
    message = f"the last dimension of data is {data.shape[-1]}, expected 2"
    check("C1", data.shape[-1].contains(2), message, port="data", found=str(data.shape))
    if size is not None:
        _check_bins(check, size, data.shape[-3])
    length = Dimension(-1)
    if signal_length is not None:
        known = signal_length.ints
        in_range(check, "C5", "signal_length", known, 0)
        length = Dimension(known[0]) if known and known[0] >= 0 else length
    elif step is not None and size is not None:
        # The halves that are removed leave the middle of an odd frame.
        kept = size % 2 if center else size
        length = data.shape[-2] * step + (kept - step)
    return PartialShape([*list(data.shape)[:-3], length])


def _draw_frames(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw frames as long as the window, or as the bins require; each one overlaps half of the next."""
    bins = types["data"].shape[-3].value if "data" in types else 0
    size = max(types["window"].shape[0].value, 2 * (bins - 1), 1)
    return filled(types, port, size if port == "frame_size" else -(-size // 2))


stft_15.oracle.draw("frame_size", "frame_step")(_draw_frames)
istft_16.oracle.draw("frame_size", "frame_step")(_draw_frames)


def _sizes(frame_size: Array, frame_step: Array) -> tuple[int, int]:
    size, step = integer(frame_size), integer(frame_step)
    in_range(require, "C3", "frame_size", size, 1)
    in_range(require, "C4", "frame_step", step, 1)
    return size, step


def _check_bins(check: Check, size: int, bins: Dimension) -> None:
    message = f"data has {bins} frequency bins, expected {size // 2 + 1} for frame_size {size}"
    check("C3", bins.contains(size // 2 + 1), message, port="frame_size")


def _check_window(check: Check, length: int, size: int) -> None:
    message = f"the window has {length} elements, expected at most {size}, the frame_size"
    check("C2", length <= size, message, port="window")


def _centred(window: Array, size: int) -> Array:
    """Return the window centred in a frame, with zeros around it."""
    length = window.shape[0]
    _check_window(require, length, size)
    left = (size - length) // 2
    return np.pad(window, (left, size - length - left))


def _check_frames(
    check: Check, window: TensorType, frame_size: TensorType, frame_step: TensorType
) -> tuple[int | None, int | None]:
    """Report an invalid window, size or step; return size and step if they are known and valid."""
    has_rank(check, "C2", window, 1, "window")
    has_rank(check, "C3", frame_size, 0, "frame_size")
    has_rank(check, "C4", frame_step, 0, "frame_step")
    size, step = frame_size.scalar, frame_step.scalar
    if size is not None and not in_range(check, "C3", "frame_size", size, 1):
        size = None
    if step is not None and not in_range(check, "C4", "frame_step", step, 1):
        step = None
    if size is not None and window.rank == 1:
        _check_window(check, window.shape[0].min, size)
    if window.rank == 1:
        check("C2", window.shape[0].max != 0, "the window is empty, expected at least one element", port="window")
    return size, step


istft_16.oracle.draw("signal_length")(drawn_extents)
