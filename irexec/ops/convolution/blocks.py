"""Grouped convolution of 1 to 3 spatial axes as matrix products over cache-sized blocks of columns, on all threads.

For each block of output pixels, the input pixels under the kernel taps become the rows of a column matrix, and one
matrix product computes the block. Nothing larger than a block is allocated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from irexec.core.threads.parallel import parallel_for, parts_along, parts_for, scratch, split
from irexec.core.types import Array
from irexec.ops.convolution.columns import Block, Range
from irexec.ops.rules.windows import Windows

# The size of a block's column matrix: large enough for BLAS, small enough for the caches.
BLOCK_BYTES = 1 << 21

Runner = Callable[[Array, Array], Array]


def convolver(batch: int, weights: Array, windows: Windows) -> Runner:
    """Return a function (data, out) that convolves `[N, G * I, *X]` with `weights` `[G, O, I, *K]` into `[N, G * O,
    *Y]`.

    All arrays have the same dtype, in which sums can be computed.
    """
    windows = windows.lifted(3)
    groups, outputs, inputs = weights.shape[:3]
    matrix = np.ascontiguousarray(weights.reshape(groups, outputs, -1))
    if windows.is_pointwise and all(s == 1 for s in windows.strides):
        return _pointwise(batch, matrix, windows)
    work = _Blocks(batch, groups, inputs, matrix, windows)
    return work.divided_by_channels if work.few_pixels else work.divided_by_pixels


def _pointwise(batch: int, matrix: Array, windows: Windows) -> Runner:
    """Return the runner of a 1×1 kernel: a plain matrix product per image and group."""
    groups, outputs, inputs = matrix.shape
    pixels = prod(windows.extents)
    images = batch * groups
    parts = parts_for(images * pixels * outputs * inputs)
    by_pixel = pixels >= outputs
    extent = pixels if by_pixel else outputs
    pieces = split(extent, parts_along(extent, -(-parts // max(images, 1))), 16)
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

        if parts == 1:
            parallel_for(1, lambda _: np.matmul(matrix, x, out=y))
        else:
            parallel_for(len(tasks), task)
        return out

    return run


class _Blocks:
    """A convolution in blocks, with two ways of dividing the work into parts."""

    def __init__(self, batch: int, groups: int, inputs: int, matrix: Array, windows: Windows) -> None:
        self.batch, self.groups, self.inputs, self.matrix, self.windows = batch, groups, inputs, matrix, windows
        self.outputs, self.depth = matrix.shape[1:]
        self.dtype = matrix.dtype
        z, y, x = windows.counts
        pixels = batch * groups * z * y * x
        # Writing one element of the column matrix costs about as much as 16 multiply-adds.
        self.parts = parts_for(pixels * self.depth * (self.outputs + 16))
        # The number of pixels whose columns fit into a block.
        self.limit = max(1, BLOCK_BYTES // (self.depth * self.dtype.itemsize))
        # A part of the pixels reads all weights; a part of the channels reads all columns.
        self.few_pixels = self.parts > max(1, batch * groups * z) and y * x <= min(self.outputs, self.limit)
        if self.few_pixels:
            self.plane = _block(windows, (0, y), (0, x), self.outputs)
        else:
            self.tasks = list(self._tasks())

    def _tasks(self) -> Iterator[tuple[int, Range, int, Block]]:
        """Return tasks (image, groups, z, block) of nearly equal size where possible."""
        z, y, x = self.windows.counts
        limit, wanted = self.limit, parts_along(y * x * self.groups, -(-self.parts // max(1, self.batch * z)))
        group_parts = max(-(-self.groups * x * y // limit), wanted) if self.groups > 1 else 1
        group_parts = min(self.groups, -(-group_parts // wanted) * wanted)
        row_parts = max(-(-y // max(1, limit // x)), -(-wanted // group_parts)) if group_parts == self.groups else 1
        row_parts = -(-row_parts // wanted) * wanted if row_parts > 1 else 1
        rectangles = product(split(y, row_parts), split(x, -(-x // limit)))
        blocks = [_block(self.windows, rows, span, self.outputs) for rows, span in rectangles]
        return product(range(self.batch), split(self.groups, group_parts), range(z), blocks)

    def divided_by_pixels(self, data: Array, out: Array) -> Array:
        """Convolve with the pixels divided: each part computes the columns of its own blocks."""
        x = data.reshape(self.batch, self.groups * self.inputs, *self.windows.extents)
        y = out.reshape(self.batch, self.groups, self.outputs, *self.windows.counts)

        def task(index: int) -> None:
            n, (g0, g1), z, block = self.tasks[index]
            columns = block.columns(x[n, g0 * self.inputs : g1 * self.inputs], z, self.dtype)
            target = y[n, g0:g1, :, z, slice(*block.rows), slice(*block.span)]
            block.multiply(self.matrix[g0:g1], columns.reshape(g1 - g0, self.depth, block.pixels), target)

        parallel_for(len(self.tasks), task)
        return out

    def divided_by_channels(self, data: Array, out: Array) -> Array:
        """Convolve few pixels: all columns first, then each part multiplies some rows of the weights by them."""
        x = data.reshape(self.batch, self.groups * self.inputs, *self.windows.extents)
        y = out.reshape(self.batch, self.groups, self.outputs, *self.windows.counts)
        columns = scratch("all columns", (x.shape[1], self.depth // self.inputs, self.plane.pixels), self.dtype)
        channel_parts = split(x.shape[1], self.parts)
        output_parts = split(self.outputs, parts_along(self.outputs, self.parts), 16)
        for n, z in product(range(self.batch), range(self.windows.counts[0])):

            def fill(index: int, n: int = n, z: int = z) -> None:
                c0, c1 = channel_parts[index]
                self.plane.columns(x[n, c0:c1], z, self.dtype, columns[c0:c1])

            def multiply(index: int, n: int = n, z: int = z) -> None:
                o0, o1 = output_parts[index]
                grouped = columns.reshape(self.groups, self.depth, self.plane.pixels)
                self.plane.multiply(self.matrix[:, o0:o1], grouped, y[n, :, o0:o1, z])

            parallel_for(len(channel_parts), fill)
            parallel_for(len(output_parts), multiply)
        return out


@lru_cache(maxsize=1024)
def _block(windows: Windows, rows: Range, span: Range, outputs: int) -> Block:
    """Return a block; layers with equal extents, as in repeated blocks of a model, share it."""
    return Block(windows, rows, span, outputs)
