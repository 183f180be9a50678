"""Convolution by compiled code: what `irexec.native.convolution` needs to know, worked out once per shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from math import prod

import numpy as np

from irexec.native import compiler
from irexec.native.after import After
from irexec.native.convolution import LAYER, LINE, PADDING, TASK, write_convolve, write_pad, write_padding
from irexec.native.llvm import Native
from irexec.native.memory import address
from irexec.ops.compute.parallel import scratch, split
from irexec.ops.compute.team import Tasks, run_tasks, threads_for
from irexec.ops.convolution.columns import Block, Range
from irexec.ops.rules.windows import Windows
from irexec.types import Array

# The padded input of one task stays in the second-level cache.
TASK_BYTES = 1 << 19
# Sums of more products than this are added up from sums of so many: their weights stay in the first-level cache, and
# the sum is the more exact.
DEPTH_STEP = 512
# Fewer pixels per task than this, and the output channels are divided instead.
FEW_PIXELS = 192
F32 = np.dtype(np.float32)
NO_OPERANDS = np.zeros(1, np.int64)


class CompiledConvolver:
    """As `blocks.convolver`, for f32: a function (data, out)."""

    def __init__(self, batch: int, weights: Array, windows: Windows) -> None:
        self.windows = windows = windows.lifted(3)
        self.batch, (self.groups, self.outputs, self.inputs) = batch, weights.shape[:3]
        self.image, self.plane = prod(windows.extents), prod(windows.counts)
        pointwise = windows.is_pointwise and set(windows.strides) == {1}
        self.pixels = self.plane if pointwise else Block(windows, *self._all_rows, 0).pixels
        made = compiler()
        lanes = made.lanes
        # A tile reads whole vectors, and there is nothing to be read behind the last pixel of the input.
        height, width = made.tile(self.outputs, -(-self.pixels // lanes), self.pixels // lanes if pointwise else None)
        self.step = width * lanes
        self.is_direct = pointwise and self.pixels >= self.step
        self.blocks = -(-self.outputs // height)
        self.tile = height, width
        self.weights = _packed(weights.reshape(self.groups, self.outputs, -1), height)
        # An element of the padded input and of the sums costs about as much as so many multiply-adds.
        self.threads = threads_for(batch * self.pixels * weights.size * (self.outputs + 16) // self.outputs)
        self._kept: list[Array] = []
        self._functions: dict[tuple[After, ...], Native] = {}
        self.padding: _Padding | None = None
        tasks = list(self._tasks())
        self.tasks = Tasks(np.array([_record(TASK, task) for task in tasks]))
        row_length = -(-max(task["pixels"] for task in tasks) // self.step) * self.step
        padded = max(task["channel_padded"] for task in tasks) * self.inputs + self.step
        self.scratch = padded + height * row_length
        self.layer = self._layer(row_length, padded)

    @property
    def _all_rows(self) -> tuple[Range, Range]:
        return (0, self.windows.counts[1]), (0, self.windows.counts[2])

    def __call__(self, data: Array, out: Array, after: tuple[After, ...] = (), operands: Array = NO_OPERANDS) -> Array:
        """Convolve, with what comes `after`: the addresses of an operand for each, see `native.epilogue`."""
        data = np.ascontiguousarray(data)
        if self.padding is not None:
            data = self.padding(data)
        layer = self.layer.copy()
        layer[:3] = address(data), address(out), address(operands)
        run_tasks(self._function(after), layer, self.tasks, self.scratch)
        return out

    def _function(self, after: tuple[After, ...]) -> Native:
        if (found := self._functions.get(after)) is None:
            made, (height, width) = compiler(), self.tile
            name = "_".join(("convolve", f"{height}x{width}", *(step.name for step in after)))
            found = self._functions[after] = made.made(
                name, 4, lambda module, name: write_convolve(module, name, made.lanes, height, width, after)
            )
        return found

    def _layer(self, row_length: int, padded: int) -> Array:
        return _record(
            LAYER,
            {
                "input": 0,
                "result": 0,
                "operands": 0,
                "weights": self.weights.ctypes.data,
                "pad": _pad().address,
                "depth": self.weights.shape[2],
                "depth_step": DEPTH_STEP,
                "group_input": self.inputs * (self.padding.channel if self.padding else self.image),
                "channel_input": self.image,
                "inputs": self.inputs,
                "group_result": self.outputs * self.plane,
                "channel_result": self.plane,
                "outputs": self.outputs,
                "blocks": self.blocks,
                "stride": self.windows.strides[2],
                "row_length": row_length,
                "padded": padded,
            },
        )

    def _tasks(self) -> Iterator[dict[str, int]]:
        """Enough for all threads; each with an input that stays in the cache."""
        wanted = 1 if self.threads == 1 else 4 * self.threads
        group_parts = split(self.groups, wanted)
        wanted = -(-wanted // (self.batch * len(group_parts)))
        nbytes = self.inputs * self.pixels * prod(self.windows.strides) * F32.itemsize
        parts = max(-(-nbytes // TASK_BYTES), min(wanted, self.pixels // FEW_PIXELS), 1)
        chunks = list(self._chunks(parts))
        block_parts = split(self.blocks, -(-wanted // len(chunks)))
        image = self.image
        if len(chunks) == 1 and len(block_parts) > 1 and not self.is_direct:
            # All tasks read the same input, so it is padded once.
            (chunk,) = chunks
            self.padding = _Padding(self, chunk)
            image = self.padding.channel
            chunks = [chunk | {"line_count": 0, "channel_padded": 0}]
        for chunk, n, (g0, g1), (b0, b1) in product(chunks, range(self.batch), group_parts, block_parts):
            yield chunk | {
                "first_group": g0,
                "last_group": g1,
                "first_block": b0,
                "last_block": b1,
                "input": chunk["input"] + n * self.groups * self.inputs * image,
                "result": chunk["result"] + n * self.groups * self.outputs * self.plane,
            }

    def _chunks(self, parts: int) -> Iterator[dict[str, int]]:
        """The output pixels of one channel in about so many parts."""
        if self.is_direct:
            offsets = self._keep(np.arange(self.inputs) * self.image)
            for start, stop in split(self.pixels, parts, self.step):
                yield self._run_of_pixels(min(start, stop - self.step), stop, offsets)
            return
        planes, y, _ = self.windows.counts
        for z, rows in product(range(planes), split(y, -(-parts // planes))):
            yield self._rows_of_pixels(z, rows)

    def _run_of_pixels(self, start: int, stop: int, offsets: int) -> dict[str, int]:
        """Pixels of an input that is read where it is."""
        size = stop - start
        padding = {"lines": 0, "line_count": 0, "channel_padded": 0}
        sums = {"pixels": size, "last_tile": size - self.step, "rows": 1, "pitch": size, "width": size}
        return {"input": start, "result": start, "offsets": offsets} | padding | sums

    def _rows_of_pixels(self, z: int, rows: Range) -> dict[str, int]:
        """Rows of one plane; the input under them is copied with its padding."""
        block = Block(self.windows, rows, self._all_rows[1], 0)
        lines, offsets = block.lines_of(z), block.offsets()
        channel = block.channel_size
        places = np.add.outer(np.arange(self.inputs) * channel, offsets).reshape(-1)
        return {
            "input": 0,
            "result": (z * self.windows.counts[1] + rows[0]) * self.windows.counts[2],
            "offsets": self._keep(places),
            "lines": self._keep(np.array([_record(LINE, line) for line in lines])),
            "line_count": len(lines),
            "channel_padded": channel,
            "pixels": block.pixels,
            "last_tile": block.pixels,
            "rows": block.height,
            "pitch": block.pitch,
            "width": block.width,
        }

    def _keep(self, numbers: Array) -> int:
        """The address of an array, which lives as long as this object."""
        self._kept.append(np.ascontiguousarray(numbers, np.int64))
        return int(self._kept[-1].ctypes.data)


class _Padding:
    """The input of a convolution with its padding, in memory of the calling thread."""

    def __init__(self, convolver: CompiledConvolver, chunk: dict[str, int]) -> None:
        channels = convolver.batch * convolver.groups * convolver.inputs
        self.channel = chunk["channel_padded"]
        self.size = channels * self.channel + convolver.step
        self.tasks = Tasks(np.array(split(channels, 2 * convolver.threads)))
        fields = {
            "input": 0,
            "padded": 0,
            "pad": _pad().address,
            "channel_input": convolver.image,
            "stride": convolver.windows.strides[2],
        }
        self.record = _record(PADDING, chunk | fields)
        made = compiler()
        self.function = made.made("pad_channels", 4, lambda module, name: write_padding(module, name, made.lanes))

    def __call__(self, data: Array) -> Array:
        padded = scratch("padded input", (self.size,), F32)
        record = self.record.copy()
        record[:2] = address(data), address(padded)
        run_tasks(self.function, record, self.tasks, 0)
        return padded


def _pad() -> Native:
    made = compiler()
    return made.made("pad", 5, lambda module, name: write_pad(module, name, made.lanes))


def _packed(weights: Array, height: int) -> Array:
    """`[G, O, depth]` as `[G, blocks, depth, height]`: side by side what a tile multiplies with the same pixels."""
    groups, outputs, depth = weights.shape
    blocks = -(-outputs // height)
    padded = np.zeros((groups, blocks * height, depth), F32)
    padded[:, :outputs] = weights
    return np.ascontiguousarray(padded.reshape(groups, blocks, height, depth).swapaxes(2, 3))


def _record(names: tuple[str, ...], fields: Mapping[str, int]) -> Array:
    return np.array([fields[name] for name in names], np.int64)
