"""Folding windows with a ufunc (maximum, add), one axis after the other, in blocks of channels on all threads."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.ops.compute.parallel import WORTH_BYTES, num_threads, parallel_for, scratch, split
from irexec.ops.declare.signature import Array
from irexec.ops.rules.windows import Windows

# Input and half-folded planes of one block of channels stay in a core's second-level cache.
BLOCK_BYTES = 1 << 20


def slide(ufunc: np.ufunc, data: Array, windows: Windows, neutral: Any, out: Array) -> Array:
    """Fold every window of `data` `[N, C, *X]` into `out` `[N, C, *Y]`; outside of the data there is `neutral`.

    All in `out`'s dtype. The fold of a box is the fold of folds along its axes.
    """
    planes = data.shape[0] * data.shape[1]
    if not out.size:
        return out
    if windows.is_whole:
        ufunc.reduce(data.reshape(planes, -1), axis=1, dtype=out.dtype, out=out.reshape(planes))
        return out
    x = data.reshape(planes, *data.shape[2:])
    y = out.reshape(planes, *out.shape[2:])
    one = int(np.prod(data.shape[2:])) * out.dtype.itemsize
    parts = max(-(-planes * one // BLOCK_BYTES), num_threads() if planes * one >= WORTH_BYTES else 1)
    blocks = split(planes, parts)
    axes = len(windows.extents)

    def task(index: int) -> None:
        first, last = blocks[index]
        block = x[first:last]
        for axis in range(axes):
            shape = (last - first, *windows.counts[: axis + 1], *windows.extents[axis + 1 :])
            into = y[first:last] if axis == axes - 1 else scratch(f"slide{axis}", shape, out.dtype)
            _along(ufunc, block, windows, axis, neutral, into)
            block = into

    parallel_for(len(blocks), task)
    return out


def _along(ufunc: np.ufunc, block: Array, windows: Windows, axis: int, neutral: Any, out: Array) -> None:
    """Fold windows along one spatial axis; the block's first axis is the channels."""
    stride, dilation, begin = windows.strides[axis], windows.dilations[axis], windows.begins[axis]
    extent, count = windows.extents[axis], windows.counts[axis]
    x, y = np.moveaxis(block, axis + 1, 0), np.moveaxis(out, axis + 1, 0)
    taps = []
    for step in range(windows.kernel[axis]):
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


def _every(x: Array, tap: tuple[int, int, int], stride: int) -> Array:
    first, last, start = tap
    return x[start : start + (last - first - 1) * stride + 1 : stride]


def covered(windows: Windows, axis: int) -> Array:
    """How many pixels of the data each window covers along one axis."""
    starts = np.arange(windows.counts[axis]) * windows.strides[axis] - windows.begins[axis]
    places = starts[:, None] + np.arange(windows.kernel[axis]) * windows.dilations[axis]
    inside: Array = ((places >= 0) & (places < windows.extents[axis])).sum(axis=1)
    return inside
