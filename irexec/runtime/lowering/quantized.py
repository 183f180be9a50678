"""Convolutions of quantized data and weights in bytes, or in pairs of bf16, on machines with suitable instructions.

Either the data are on the grid of a FakeQuantize, and the weights are integers times a step for each output
channel: each sum, which is exact, is then multiplied by the product of both steps in f32. Or data and weights are whole
numbers stored as f64, as in ONNX's ConvInteger and QLinearConv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from irexec.core.types import BF16, Array
from irexec.ops.rules.windows import Windowing, Windows
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.lowering.convolver import Bytes, CompiledConvolver
from irexec.runtime.lowering.grids import MOST_PRODUCTS, Grid, packed_rows, signed_bytes, whole_rows
from irexec.runtime.lowering.levels import Levels, fits_32_bits, folded
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import Arithmetic, Source
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.packed import PackedKernel
from irexec.runtime.lowering.table import Site
from irexec.runtime.lowering.work import Work

# A tile reads the start values of all its channels, including those beyond the last channel.
MOST_HEIGHT = 16


class Quantized:
    """A convolution in bytes: the weights `[G, O, I, *K]` as integers, and the scale of each output's sums;
    without `steps` the results are integers.
    """

    def __init__(self, grid: Grid, numbers: Array, prepared: Prepared, steps: Array | None = None) -> None:
        self._grid, self._prepared = grid, prepared
        self.numbers = numbers
        self.scales = None if steps is None else (steps.astype(np.float64) * grid.step).astype(np.float32)

    def convolver(self, batch: int, numbers: Array, windows: Windows) -> FoldedConvolver:
        """Return the compiled code; `numbers` are the weights, without kernel taps that always read padding."""
        return byte_convolver(batch, self._grid, numbers, windows, self._prepared, self.scales is None)

    def of_bytes(self, source: Source, bias: Array | None, is_whole: bool) -> Callable[..., FoldedConvolver]:
        """Return the function that makes the compiled code for data in bytes."""
        return lambda batch, numbers, windows: byte_convolver(
            batch, self._grid, numbers, windows, self._prepared, is_whole, source, bias
        )

    def can_add(self, bias: Array) -> bool:
        """Return whether `bias` consists of integers, and every sum of products plus its bias fits into 32
        bits.
        """
        return fits_32_bits(self.numbers.reshape(len(bias), -1), bias)


def quantized(site: Site, weights: Array | PackedKernel, windows: Windowing) -> Quantized | None:
    """Return the convolution with weights `[G, O, I, *K]` in bytes; None if data or weights are not quantized."""
    grid, value = site.grids[0], site.node.inputs[1]
    if grid is None or value is None or not compiler().has_bytes or not _fits(grid, weights.shape, windows):
        return None
    if weights.dtype == np.float64:
        numbers = signed_bytes(weights.matrix.all_rows() if isinstance(weights, PackedKernel) else weights)
        return None if numbers is None else Quantized(grid, numbers.reshape(weights.shape), site.prepared)
    if isinstance(weights, PackedKernel):
        rows = packed_rows(weights.matrix)
    else:
        of_outputs = weights.reshape(weights.shape[0] * weights.shape[1], -1)
        rows = site.prepared.of((weights,), "whole rows", lambda: whole_rows(of_outputs, value))
    if rows is None or rows.numbers is None:
        return None
    return Quantized(grid, rows.numbers.reshape(weights.shape), site.prepared, rows.steps)


def _fits(grid: Grid, shape: Sequence[int], windows: Windowing) -> bool:
    """Return whether a byte represents the padding, 32 bits hold the sums, and the convolution is not depthwise.

    Depthwise convolutions would not be faster.
    """
    has_padding = any((*windows.pads_begin, *windows.pads_end)) or windows.auto_pad.startswith("same")
    return prod(shape[2:]) <= MOST_PRODUCTS and tuple(shape[1:3]) != (1, 1) and (grid.has_zero or not has_padding)


class FoldedConvolver:
    """A convolution of elements that contain several numbers, which `levels` makes from the data."""

    def __init__(self, levels: Levels, convolver: CompiledConvolver) -> None:
        self._levels, self._convolve = levels, convolver

    def tasks(
        self, work: Work, data: Array, out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        self._convolve.tasks(work, self._levels.of(work, data), out, after, operands)


def byte_convolver(
    batch: int,
    grid: Grid,
    numbers: Array,
    windows: Windows,
    prepared: Prepared,
    is_whole: bool = False,
    source: Source = "floats",
    bias: Array | None = None,
) -> FoldedConvolver:
    """Return the convolution of f32 or bytes with signed bytes; `bias` is added to each output.

    Sums are stored as 32-bit integers if `is_whole`; otherwise as f32, which the first step in `after` scales.
    """
    groups, outputs, inputs = numbers.shape[:3]
    levels = Levels(grid, batch * groups, inputs, prod(windows.extents), source)
    starts = numbers.reshape(groups * outputs, -1).sum(1, dtype=np.int64) * grid.zero
    if bias is not None:
        starts += bias.astype(np.int64)
    starts = np.concatenate([starts, np.zeros(MOST_HEIGHT, np.int64)]).astype(np.int32)
    elements = prepared.of((numbers,), "folded", lambda: folded(numbers))
    what = Bytes(starts, -grid.zero if grid.has_zero else 0)
    kind: Arithmetic = "whole_bytes" if is_whole else "bytes"
    return FoldedConvolver(levels, CompiledConvolver(batch, elements, windows, prepared, kind, what))


def multiplies_pairs(weights: Array) -> bool:
    """Return whether products of pairs of bf16 are available on this machine, and faster for weights `[G, O, I,
    *K]`.
    """
    return weights.dtype == BF16.dtype and weights.shape[1:3] != (1, 1) and compiler().has_pairs


def pair_convolver(batch: int, weights: Array, windows: Windows, prepared: Prepared) -> FoldedConvolver:
    """Return a convolution whose data and weights are f32 with bf16 values: products are exact, and sums are in f32."""
    levels = Levels(None, batch * len(weights), weights.shape[2], prod(windows.extents))
    elements = prepared.of((weights,), "folded", lambda: folded(weights))
    return FoldedConvolver(levels, CompiledConvolver(batch, elements, windows, prepared, "pairs"))
