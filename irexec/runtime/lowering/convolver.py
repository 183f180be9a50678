"""Convolution by compiled code: the parameters of llvm/convolution.py, computed once per shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from irexec.core.threads.parallel import num_threads, split
from irexec.core.types import Array
from irexec.ops.convolution.columns import Range
from irexec.ops.rules.windows import Windows
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import Arithmetic
from irexec.runtime.lowering.llvm.convolution import LAYER, LINE, LINE_SIZE, TASK, write_convolve, write_pad
from irexec.runtime.lowering.llvm.host import Native
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.packed import CompiledPacked, PackedKernel, Panels, in_panels
from irexec.runtime.lowering.products import CompiledProduct
from irexec.runtime.lowering.shifted import Shifted
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work

# The padded input of one task stays in the second-level cache.
TASK_BYTES = 1 << 19
# The number of products in a partial sum, by the number of registers: their weights, or the panel of their pixels, stay
# in the first-level cache, and the total is more accurate.
DEPTH_STEP = {32: 512, 16: 256}
# With fewer pixels per task than this, the output channels are divided instead, unless there are panels.
FEW_PIXELS = 192
F32 = np.dtype(np.float32)


class Bytes(NamedTuple):
    """Parameters of a convolution of bytes: the start value of each output channel's sums, and the padding byte."""

    starts: Array
    padding: int


class CompiledConvolver:
    """A convolution of f32 data of one shape with constant weights, as `blocks.convolver` computes it with BLAS.

    If elements pack several numbers (see `kind`), one input channel of the arrays contains that number of channels;
    `bytes` describes packed bytes. Panels of a packed kernel are unpacked a few at a time, before the tasks that read
    them.
    """

    def __init__(
        self,
        batch: int,
        weights: Array | PackedKernel,
        windows: Windows,
        prepared: Prepared,
        kind: Arithmetic = "floats",
        bytes: Bytes | None = None,
    ) -> None:
        self.windows = windows = windows.lifted(3)
        self.kind, self.bytes = kind, bytes
        shape: tuple[int, ...] = weights.shape
        self.batch, self.depth, (self.groups, self.outputs, self.inputs) = batch, prod(shape[2:]), shape[:3]
        self.image, self.plane = prod(windows.extents), prod(windows.counts)
        pointwise = windows.is_pointwise and set(windows.strides) == {1}
        # The maximum number of pixels in one run of memory.
        self.pixels = self.plane if pointwise else prod(windows.counts[1:])
        made = compiler()
        self.tile = made.tile(self.outputs, self.pixels)
        self.step = self.tile.width * made.lanes
        self.is_short = self.pixels < self.step
        # In few registers a tile is so small that it would read its pixels from the second-level cache too often.
        self.has_panels = made.registers < 32
        # An input that is read without padding must have as many pixels as a tile reads.
        self.is_direct = pointwise
        self.blocks = -(-self.outputs // self.tile.height)
        height = self.tile.height
        if isinstance(weights, PackedKernel):
            panels = Panels(weights, height, prepared)
            parts, weights_of = panels.parts(), panels.unpacking
        else:
            rows = weights.reshape(*weights.shape[:2], -1)
            laid_out = prepared.of((weights,), ("convolution", height), lambda: in_panels(rows, height))
            parts, weights_of = [((0, self.groups), (0, self.blocks))], lambda *_: lambda _: laid_out
        # Partial sums of bytes start at zero.
        self.depth_step = DEPTH_STEP[made.registers] if bytes is None else self.depth
        divided = [list(self._divided(*part)) for part in parts]
        tasks = [task for part in divided for task in part]
        self.tile = self.tile._replace(narrow=self._narrow({task["pixels"] for task in tasks}))
        for task in tasks:
            task |= self._tiles(task["pixels"])
        self.is_last = not any(task["tiles"] for task in tasks)
        self._parts = [
            _Part(Records.named(TASK, these), weights_of(groups, blocks), groups[0] * self.blocks + blocks[0])
            for (groups, blocks), these in zip(parts, divided, strict=True)
        ]
        padded = max(task["channel_padded"] for task in tasks) * self.inputs + self.step
        padded = -(-padded // LINE_SIZE) * LINE_SIZE
        row = self.tile.across * made.lanes
        panel = min(self.depth, self.depth_step) * row if self.has_panels else 0
        blocks = max(task["last_block"] - task["first_block"] for task in tasks) if self.has_panels else 1
        self.scratch = padded + panel + blocks * self.tile.height * row
        self.layer = self._layer(padded, panel, np.zeros(self.tile.height * row, F32))

    def tasks(
        self, work: Work, data: Array, out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        """Convolve and apply the layers in `after`, given as operand records, see `llvm.epilogue`."""
        data = work.contiguous(data)
        form = self.tile, after, self.is_short, self.is_last, self.kind, self.has_panels
        function = compiler().written(write_convolve, *form)
        for part in self._parts:
            layer = self.layer.filled(data, out, operands, part.weights(work), part.absent)
            work.add(function, layer, part.tasks, self.scratch)

    def pad_function(self) -> Native:
        return pad_function() if self.bytes is None else pad_function(bytes([self.bytes.padding] * 4))

    def _layer(self, padded: int, panel: int, zeros: Array) -> Records:
        return Records.named(
            LAYER,
            [
                {
                    "input": 0,
                    "result": 0,
                    "operands": 0,
                    "weights": 0,
                    "absent": 0,
                    "starts": 0 if self.bytes is None else self.bytes.starts,
                    "zeros": zeros,
                    "pad": self.pad_function().address,
                    "depth": self.depth,
                    "depth_step": self.depth_step,
                    "group_input": self.inputs * self.image,
                    "channel_input": self.image,
                    "inputs": self.inputs,
                    "group_result": self.outputs * self.plane,
                    "channel_result": self.plane,
                    "outputs": self.outputs,
                    "blocks": self.blocks,
                    "stride": self.windows.strides[2],
                    "padded": padded,
                    "panel": panel,
                }
            ],
        )

    def _divided(self, groups: Range, blocks: Range) -> Iterator[dict[str, Any]]:
        """Return tasks for ranges of groups and of blocks (tiles of output channels); each task's input stays in the
        cache.

        If the input needs padding, each task copies and pads its own part of the input. Lines that two parts share are
        copied twice; therefore there are only as many parts as threads, if these fit into the caches. The division
        does not change any sum.
        """
        outputs = min(blocks[1] * self.tile.height, self.outputs) - blocks[0] * self.tile.height
        # An element of the padded input or of the sums costs about as much as 16 multiply-adds.
        products = (groups[1] - groups[0]) * (outputs + 16) * self.depth
        wanted = tasks_for(self.batch * self.plane * products)
        group_parts = split(groups[1] - groups[0], wanted)
        wanted = -(-wanted // (self.batch * len(group_parts)))
        if self.is_direct:
            offsets = Records(np.arange(self.inputs) * self.image)
            parts = max(-(-self.inputs * self.pixels * F32.itemsize // TASK_BYTES), wanted)
            chunks = [self._run_of_pixels(*run, offsets) for run in self._runs(min(parts, self._most_runs))]
        else:
            whole = Shifted(self.windows, (0, self.windows.counts[1]), (0, self.windows.counts[2]))
            nbytes = self.inputs * whole.channel_size * F32.itemsize
            wanted = min(wanted, -(-num_threads() // (self.batch * len(group_parts))))
            parts = max(-(-nbytes // TASK_BYTES), -(-wanted // self.windows.counts[0]))
            chunks = [
                self._padded(z, *part) for z, part in product(range(self.windows.counts[0]), self._rectangles(parts))
            ]
        block_parts = split(blocks[1] - blocks[0], -(-wanted // len(chunks)))
        for chunk, n, (g0, g1), (b0, b1) in product(chunks, range(self.batch), group_parts, block_parts):
            yield chunk | {
                "first_group": groups[0] + g0,
                "last_group": groups[0] + g1,
                "first_block": blocks[0] + b0,
                "last_block": blocks[0] + b1,
                "input": chunk["input"] + n * self.groups * self.inputs * self.image,
                "result": chunk["result"] + n * self.groups * self.outputs * self.plane,
            }

    @property
    def _most_runs(self) -> int:
        """The maximum number of runs of pixels; if there are only a few pixels, the output channels are divided."""
        return max(self.pixels // (self.step if self.has_panels else FEW_PIXELS), 1)

    def _runs(self, parts: int, pixels: int | None = None) -> list[Range]:
        """Return about `parts` ranges of pixels, each of complete tiles; the last range includes the remainder."""
        pixels = self.pixels if pixels is None else pixels
        runs = split(max(pixels // self.step, 1) * self.step, parts, self.step)
        return [*runs[:-1], (runs[-1][0], pixels)]

    def _rectangles(self, parts: int) -> Iterator[tuple[Range, Range]]:
        """Return about `parts` rectangles (range of rows, range of columns) of a result plane; none is smaller than a
        tile.
        """
        _, height, width = self.windows.counts
        if height == 1 and width >= self.step:
            return product([(0, 1)], self._runs(parts, width))
        most = max(height // -(-self.step // width), 1)

        def vectors(parts: int) -> int:
            """Return the total number of vectors in all tiles."""
            pixels = [(stop - start) * width for start, stop in split(height, parts)]
            last = self._narrow({*pixels}) or self.tile.width
            divided = [divmod(n, self.step) for n in pixels]
            # Single sums take less time than a vector.
            rests = [min(rest, 1) if rest <= self.tile.extra else last for _, rest in divided]
            return sum(whole * self.tile.width for whole, _ in divided) + sum(rests)

        # A slightly different number of parts may fill tiles better; a small number must be one of num_threads().
        candidates = range(min(max(parts * 3 // 4, 1), most), min(parts * 3 // 2, most) + 1)
        threads = num_threads()
        even = [number for number in candidates if number % threads == 0 or number > 4 * threads]
        return product(split(height, min(even or candidates, key=vectors)), [(0, width)])

    def _run_of_pixels(self, start: int, stop: int, offsets: Records) -> dict[str, Any]:
        """Return a task for pixels of an input that is read in place."""
        padding = {"lines": 0, "line_count": 0, "channel_padded": 0}
        return {"input": start, "result": start, "offsets": offsets, "pixels": stop - start} | padding

    def _padded(self, z: int, rows: Range, span: Range) -> dict[str, Any]:
        """Return a task for pixels of one plane; the input under them is copied with its padding."""
        block = Shifted(self.windows, rows, span)
        lines = block.lines_of(z)
        return {
            "input": 0,
            "result": (z * self.windows.counts[1] + rows[0]) * self.windows.counts[2] + span[0],
            "offsets": self._places(block),
            "lines": Records.named(LINE, lines),
            "line_count": len(lines),
            "channel_padded": block.channel_size,
            "pixels": block.pixels,
        }

    def _narrow(self, runs: Iterable[int]) -> int:
        """Return the width in vectors of the last tile of each of these runs of pixels, or 0 if it is as wide as the
        other tiles.
        """
        rests = [pixels % self.step for pixels in runs if pixels >= self.step]
        last = max((-(-rest // compiler().lanes) for rest in rests if rest > self.tile.extra), default=0)
        return last if last < self.tile.width else 0

    def _tiles(self, pixels: int) -> dict[str, int]:
        """Return the tiles of a run of pixels."""
        whole, rest = divmod(pixels, self.step)
        singles = rest if whole and rest <= self.tile.extra else 0
        has_narrow = whole > 0 and rest > singles and self.tile.narrow > 0
        tiles = whole - 1 if singles else whole + (rest > 0 and not has_narrow)
        last = pixels - self.step if not singles else (whole - 1) * self.step
        narrow = pixels - self.tile.narrow * compiler().lanes if has_narrow else -1
        return {"tiles": tiles, "last_tile": max(last, 0), "singles": singles, "narrow": narrow}

    def _places(self, block: Shifted) -> Records:
        """Return the offset, in a part of the padded input, of the first pixel that each kernel tap reads."""
        return Records(np.add.outer(np.arange(self.inputs) * block.channel_size, block.offsets()).reshape(-1))


class _Part(NamedTuple):
    """The tasks for some tiles of channels, the weights of these tiles, and the number of tiles before them."""

    tasks: Records
    weights: Callable[[Work], Array]
    absent: int


class WholeConvolver:
    """A convolution with one window that covers all pixels: a product with the kernel as a matrix."""

    def __init__(self, batch: int, weights: Array | PackedKernel) -> None:
        self._multiply = (
            CompiledPacked(weights.matrix)
            if isinstance(weights, PackedKernel)
            else CompiledProduct(weights.reshape(weights.shape[1], -1).T, batch)
        )

    def tasks(
        self, work: Work, data: Array, out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        """Convolve and apply the layers in `after`; operands per channel apply to the columns of the product."""
        self._multiply.tasks(work, data, out, _by_columns(after), operands)


@cache
def _by_columns(after: tuple[After, ...]) -> tuple[After, ...]:
    return tuple(step._replace(takes="column") if step.takes == "channel" else step for step in after)


def pad_function(padding: float | bytes = 0.0) -> Native:
    return compiler().written(write_pad, padding)
