"""Reduction of windows with a ufunc (maximum, add), axis by axis, in blocks of channels on all threads.

Neither time nor memory grows with the size of a kernel or of the padding, only with the data and the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.threads.parallel import WORTH_BYTES, parallel_for, parts_for, scratch, split
from irexec.core.types import Array
from irexec.ops.rules.windows import Windows, dilated

# The size of a block of channels whose input and intermediate planes stay in a core's second-level cache.
BLOCK_BYTES = 1 << 20
# With more taps, folds of 2, 4, 8... neighbours are combined, which takes fewer passes than one per tap.
MANY_TAPS = 32


def slide(ufunc: np.ufunc, data: Array, windows: Windows, neutral: Any, out: Array) -> Array:
    """Fold every window of `data` `[N, C, *X]` into `out` `[N, C, *Y]`, in `out`'s dtype; padding is `neutral`.

    Windows are folded one axis after another.
    """
    planes = data.shape[0] * data.shape[1]
    if not out.size:
        return out
    if windows.is_whole:
        ufunc.reduce(data.reshape(planes, -1), axis=1, dtype=out.dtype, out=out.reshape(planes))
        return out
    x = data.reshape(planes, *data.shape[2:])
    y = out.reshape(planes, *out.shape[2:])
    nbytes = planes * int(np.prod(data.shape[2:])) * out.dtype.itemsize
    blocks = split(planes, max(-(-nbytes // BLOCK_BYTES), parts_for(nbytes, WORTH_BYTES)))
    # The axis with the smallest result comes first, so that no intermediate array is larger than the data or the
    # result.
    order = sorted(range(len(windows.extents)), key=lambda a: windows.counts[a] / max(windows.extents[a], 1))

    def task(index: int) -> None:
        first, last = blocks[index]
        block, shape = x[first:last], [last - first, *windows.extents]
        for axis in order:
            shape[axis + 1] = windows.counts[axis]
            into = y[first:last] if axis == order[-1] else scratch(f"slide{axis}", tuple(shape), out.dtype)
            _along(ufunc, block, windows, axis, neutral, into)
            block = into

    parallel_for(len(blocks), task)
    return out


def _along(ufunc: np.ufunc, block: Array, windows: Windows, axis: int, neutral: Any, out: Array) -> None:
    """Combine the elements of windows along one spatial axis; the first axis of the block is that of the channels."""
    x, y = np.moveaxis(block, axis + 1, 0), np.moveaxis(out, axis + 1, 0)
    steps = windows.taps(axis)
    if len(steps) > MANY_TAPS:
        fold_runs(ufunc, x, *covered(windows, axis), windows.dilations[axis], neutral, y)
        return
    stride, dilation, begin = windows.strides[axis], windows.dilations[axis], windows.begins[axis]
    extent, count = windows.extents[axis], windows.counts[axis]
    taps = []
    for step in steps:
        # Window j reads pixel j * stride + shift.
        shift = step * dilation - begin
        first = max(0, -(shift // stride))
        last = min(count, -(-(extent - shift) // stride))
        if last > first:
            taps.append((first, last, first * stride + shift))
    complete = [t for t in taps if t[:2] == (0, count)]
    partial = [t for t in taps if t[:2] != (0, count)]
    if len(complete) > 1:
        ufunc(_every(x, complete.pop(), stride), _every(x, complete.pop(), stride), out=y, dtype=out.dtype)
    elif complete:
        np.copyto(y, _every(x, complete.pop(), stride), casting="unsafe")
    else:
        y[...] = neutral
    for tap in complete + partial:
        target = y[tap[0] : tap[1]]
        ufunc(target, _every(x, tap, stride), out=target)


def fold_runs(ufunc: np.ufunc, x: Array, starts: Array, lengths: Array, step: int, neutral: Any, out: Array) -> None:
    """Fold `lengths[i]` items of x's first axis, from `starts[i]` on every `step`-th, into `out[i]`.

    A run is composed of folds of 1, 2, 4... items, one for each bit that is set in its length.
    """
    out[...] = neutral
    folds, at, size = x.astype(out.dtype, copy=False), starts.copy(), 1
    longest = int(lengths.max(initial=0))
    while size <= longest:
        taking = np.flatnonzero(lengths & size)
        out[taking] = ufunc(out[taking], folds[at[taking]])
        at[taking] += size * step
        if 2 * size <= longest:
            folds = ufunc(folds[: -size * step], folds[size * step :])
        size *= 2


def _every(x: Array, tap: tuple[int, int, int], stride: int) -> Array:
    first, last, start = tap
    return x[start : start + (last - first - 1) * stride + 1 : stride]


def covered(windows: Windows, axis: int) -> tuple[Array, Array]:
    """Return the run of data that each window covers along one axis: its first pixel and the number of pixels."""
    stride, dilation, begin = windows.strides[axis], windows.dilations[axis], windows.begins[axis]
    extent, kernel = windows.extents[axis], windows.kernel[axis]
    far = (windows.counts[axis] * stride + begin + extent + dilated(kernel, dilation)) >= 1 << 62
    origins = np.arange(windows.counts[axis]).astype(object if far else np.int64) * stride - begin
    first = np.maximum(0, -(origins // dilation))
    last = np.minimum(kernel, -((origins - extent) // dilation))
    counts = np.maximum(last - first, 0)
    return np.where(counts > 0, origins + first * dilation, 0).astype(np.int64), counts.astype(np.int64)
