"""Grouped convolution of 1 to 3 spatial axes as matrix products over cache-sized blocks of columns, on all threads.

Per block of output pixels: the input pixels under it are copied, padded, into a slab; every kernel tap becomes rows of
a column matrix; one matrix product writes the block of the output. Nothing larger than a block is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from irexec.ops.parallel import parallel_for, scratch, split, threads_for
from irexec.ops.signature import Array
from irexec.ops.windows import Windows, dilated

# One block's column matrix: large enough for BLAS, small enough for the caches.
BLOCK_BYTES = 1 << 22
# Fewer output pixels per thread than this, and the output channels are divided instead: each block reads all weights.
FEW_PIXELS = 96

Range = tuple[int, int]
Runner = Callable[[Array, Array], Array]


def convolver(batch: int, weights: Array, windows: Windows) -> Runner:
    """A function (data, out) that convolves `[batch, G * I, *X]` with `weights` `[G, O, I, *K]` into `[N, G * O, *Y]`.

    All arrays have the same dtype, one that can be summed in.
    """
    windows = windows.lifted(3)
    groups, outputs, inputs = weights.shape[:3]
    matrix = np.ascontiguousarray(weights.reshape(groups, outputs, -1))
    if windows.is_pointwise and all(s == 1 for s in windows.strides):
        return _pointwise(batch, matrix, windows)
    work = _Blocks(batch, groups, inputs, matrix, windows)
    return work.divided_by_channels if work.few_pixels else work.divided_by_pixels


def _pointwise(batch: int, matrix: Array, windows: Windows) -> Runner:
    """A 1×1 kernel: a plain matrix product per image and group."""
    groups, outputs, inputs = matrix.shape
    pixels = int(np.prod(windows.extents))
    images = batch * groups
    threads = threads_for(images * pixels * outputs * inputs)
    by_pixel = pixels >= outputs
    pieces = split(pixels if by_pixel else outputs, -(-threads // max(images, 1)), 16)
    tasks = list(product(range(batch), range(groups), pieces))

    def run(data: Array, out: Array) -> Array:
        x = data.reshape(batch, groups, inputs, pixels)
        y = out.reshape(batch, groups, outputs, pixels)

        def task(index: int) -> None:
            n, g, (start, stop) = tasks[index]
            if by_pixel:
                np.matmul(matrix[g], x[n, g, :, start:stop], out=y[n, g, :, start:stop])
            else:
                np.matmul(matrix[g, start:stop], x[n, g], out=y[n, g, start:stop])

        if threads == 1:
            parallel_for(1, lambda _: np.matmul(matrix, x, out=y))
        else:
            parallel_for(len(tasks), task)
        return out

    return run


class _Blocks:
    """The geometry of one convolution, and its two ways of dividing the work."""

    def __init__(self, batch: int, groups: int, inputs: int, matrix: Array, windows: Windows) -> None:
        self.batch, self.groups, self.inputs, self.matrix, self.windows = batch, groups, inputs, matrix, windows
        self.outputs = matrix.shape[1]
        self.depth = matrix.shape[2]
        self.dtype = matrix.dtype
        z, y, x = windows.counts
        columns = batch * groups * z * y * x
        # An element of the columns costs about as much to write as so many multiply-adds.
        self.threads = threads_for(columns * self.depth * (self.outputs + 32))
        self.few_pixels = self.threads > 1 and columns < FEW_PIXELS * self.threads and self.outputs >= 32
        self.tasks = [] if self.few_pixels else list(self._tasks())

    def _tasks(self) -> list[tuple[int, Range, int, Range, Range]]:
        """(image, groups, z, rows, columns) of each block."""
        z, y, x = self.windows.counts
        limit = max(1, BLOCK_BYTES // (self.depth * self.dtype.itemsize))
        wanted = -(-self.threads // max(1, self.batch * z))
        fitting = max(1, limit // (x * y))
        group_parts = max(-(-self.groups // fitting), min(self.groups, wanted) if self.groups > 1 else 1)
        row_parts = max(-(-y // max(1, limit // x)), -(-wanted // group_parts))
        column_parts = -(-x // limit)
        ranges = split(self.groups, group_parts), range(z), split(y, row_parts), split(x, column_parts)
        return [(n, *block) for n in range(self.batch) for block in product(*ranges)]

    def divided_by_pixels(self, data: Array, out: Array) -> Array:
        """Each thread makes the columns of its own blocks."""
        x = data.reshape(self.batch, self.groups * self.inputs, *self.windows.extents)
        y = out.reshape(self.batch, self.groups, self.outputs, self.windows.counts[0], -1)
        width = self.windows.counts[2]

        def task(index: int) -> None:
            n, (g0, g1), z, rows, (x0, x1) = self.tasks[index]
            pixels = (rows[1] - rows[0]) * (x1 - x0)
            columns = scratch("columns", ((g1 - g0), self.depth, pixels), self.dtype)
            self._fill(x[n, g0 * self.inputs : g1 * self.inputs], columns, z, rows, (x0, x1))
            if x1 - x0 == width:
                start = rows[0] * width
                np.matmul(self.matrix[g0:g1], columns, out=y[n, g0:g1, :, z, start : start + pixels])
            else:
                block = np.matmul(self.matrix[g0:g1], columns)
                whole = out.reshape(self.batch, self.groups, self.outputs, *self.windows.counts)
                whole[n, g0:g1, :, z, rows[0] : rows[1], x0:x1] = block.reshape(*block.shape[:2], -1, x1 - x0)

        parallel_for(len(self.tasks), task)
        return out

    def divided_by_channels(self, data: Array, out: Array) -> Array:
        """Few pixels: all columns at once, then each thread multiplies some rows of the weights with them."""
        x = data.reshape(self.batch, self.groups * self.inputs, *self.windows.extents)
        z, rows, width = self.windows.counts
        y = out.reshape(self.batch, self.groups, self.outputs, z, rows * width)
        columns = scratch("columns", (self.groups * self.inputs, self.depth // self.inputs, rows * width), self.dtype)
        channel_parts = split(self.groups * self.inputs, self.threads)
        output_parts = split(self.outputs, self.threads, 16)
        for n, plane in product(range(self.batch), range(z)):

            def fill(index: int, n: int = n, plane: int = plane) -> None:
                c0, c1 = channel_parts[index]
                self._fill(x[n, c0:c1], columns[c0:c1], plane, (0, rows), (0, width))

            def multiply(index: int, n: int = n, plane: int = plane) -> None:
                o0, o1 = output_parts[index]
                grouped = columns.reshape(self.groups, self.depth, rows * width)
                np.matmul(self.matrix[:, o0:o1], grouped, out=y[n, :, o0:o1, plane])

            parallel_for(len(channel_parts), fill)
            parallel_for(len(output_parts), multiply)
        return out

    def _fill(self, image: Array, columns: Array, z: int, rows: Range, span: Range) -> None:
        """Write the kernel taps of a block of one output plane: `[channels, taps, pixels]` in `columns`."""
        w = self.windows
        channels, (kz, ky, kx) = image.shape[0], w.kernel
        (_, sy, sx), (_, dy, dx) = w.strides, w.dilations
        height, width = rows[1] - rows[0], span[1] - span[0]
        slab, phase_width = self._slab(image, z, rows, span)
        taps = columns.reshape(channels, kz, ky, kx, height, width)
        item = slab.itemsize
        line = phase_width * item
        plane = slab.shape[2] * line * sx
        for tap in range(kx):
            phase, offset = (tap * dx) % sx, (tap * dx) // sx
            source = np.ndarray(
                (channels, kz, ky, height, width),
                slab.dtype,
                slab,
                phase * slab.shape[2] * line + offset * item,
                (kz * plane, plane, dy * line, sy * line, item),
            )
            np.copyto(taps[:, :, :, tap], source)

    def _slab(self, image: Array, z: int, rows: Range, span: Range) -> tuple[Array, int]:
        """The padded input under a block, as `[channels * kz, phase, row, column]`.

        Columns are sorted by their remainder (phase) under the stride, so that each tap reads neighbours.
        """
        w = self.windows
        channels, (kz, ky, kx) = image.shape[0], w.kernel
        (sz, sy, sx), (dz, dy, dx) = w.strides, w.dilations
        height = (rows[1] - rows[0] - 1) * sy + dilated(ky, dy)
        width = -(-((span[1] - span[0] - 1) * sx + dilated(kx, dx)) // sx)
        slab = scratch("slab", (channels, kz, sx, height, width), self.dtype)
        top, left = rows[0] * sy - w.begins[1], span[0] * sx - w.begins[2]
        y0, y1 = _inside(top, height, w.extents[1])
        for tap in range(kz):
            depth = z * sz - w.begins[0] + tap * dz
            if not 0 <= depth < w.extents[0]:
                slab[:, tap] = 0
                continue
            slab[:, tap, :, :y0] = 0
            slab[:, tap, :, y1:] = 0
            for phase in range(sx):
                # Column j of this phase is the input's column left + phase + j * sx.
                first = max(0, -((left + phase) // sx))
                last = max(first, min(width, -(-(w.extents[2] - left - phase) // sx)))
                target = slab[:, tap, phase, y0:y1]
                target[..., :first] = 0
                target[..., last:] = 0
                if last > first:
                    start = left + phase + first * sx
                    pixels = image[:, depth, top + y0 : top + y1, start : start + (last - first - 1) * sx + 1 : sx]
                    np.copyto(target[..., first:last], pixels)
        return slab.reshape(channels * kz, sx, height, width), width


def _inside(start: int, length: int, extent: int) -> Range:
    """Which part of `length` positions from `start` on lies within [0, extent)."""
    first = min(length, max(0, -start))
    return first, max(first, min(length, extent - start))
