"""Convolution and GroupConvolution lowered, with a constant kernel in f32 or, for quantized data, in bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ir.weights.file import release_pages
from irexec.ops.compute.products import sum_dtype
from irexec.ops.convolution.convolution import convolution_1, group_convolution_1, without_idle_taps
from irexec.ops.rules.windows import Windowing, Windows
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.engine.packed.matrix import PackedMatrix
from irexec.runtime.lowering.convolver import CompiledConvolver, WholeConvolver
from irexec.runtime.lowering.follow import Operands
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.arithmetic import Source
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.packed import PackedKernel, can_multiply
from irexec.runtime.lowering.quantized import FoldedConvolver, Quantized, multiplies_pairs, pair_convolver, quantized
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.sliding import Sliding
from irexec.runtime.lowering.table import Lowered, OfWholeNumbers, Site, lowers
from irexec.runtime.lowering.work import F32, Work

Convolver = FoldedConvolver | CompiledConvolver | WholeConvolver | Sliding


@lowers(convolution_1)
def _(site: Site, *, windows: Windowing) -> Lowered | None:
    return _convolution(site, 1, windows)


@lowers(group_convolution_1)
def _(site: Site, *, windows: Windowing) -> Lowered | None:
    return _convolution(site, 0, windows)


def _convolution(site: Site, axes: int, windows: Windowing) -> Lowered | None:
    """Return the lowered form of a convolution; None if its kernel is not a supported constant.

    The constant has the axes of `[G, O, I, *K]` except for the first `axes`.
    """
    kernel = site.types.constants[1]
    if kernel is None:
        return None
    shape = (1,) * axes + kernel.shape
    weights = PackedKernel(kernel, shape) if isinstance(kernel, PackedMatrix) else kernel.reshape(shape)
    if weights.dtype == np.float64 and weights.size:
        whole = quantized(site, weights, windows)
        return None if whole is None else WholeConvolution(site, weights, windows, whole)
    if not weights.size or sum_dtype(weights.dtype, prod(shape[2:])) != F32:
        return None
    found = quantized(site, weights, windows) if weights.dtype == F32 else None
    if found is not None:
        return Convolution(site, weights, windows, found.numbers, found.convolver, found.scales)
    if isinstance(weights, PackedKernel) and not can_multiply(weights.matrix):
        return None

    def make(batch: int, weights: Array | PackedKernel, windows: Windows) -> Convolver:
        if not isinstance(weights, PackedKernel) and multiplies_pairs(weights):
            return pair_convolver(batch, weights, windows, site.prepared)
        return convolver(batch, weights, windows, site.prepared)

    return Convolution(site, weights, windows, weights, make)


class Convolution(Lowered):
    """A convolution with a constant kernel `[G, O, I, *K]`, summed in f32.

    `make` returns the compiled code for `weights`, a form of the kernel. With `scales`, each sum is multiplied by the
    scale of its output channel.
    """

    along = "channel"

    def __init__(
        self,
        site: Site,
        constant: Array | PackedKernel,
        windows: Windowing,
        weights: Array | PackedKernel,
        make: Callable[[int, Any, Windows], Convolver],
        scales: Array | None = None,
    ) -> None:
        super().__init__(site)
        self.dtype, self._windows, self._make = constant.dtype, windows, make
        self._constant, self._weights, self._scales = constant, weights, scales
        self._alone = self.behind((), Operands([]))
        self._known = Recent[tuple[int, ...], _Sized]()

    def reads(self, place: int) -> bool:
        return place != 1

    def shape(self, data: Array, kernel: Array) -> tuple[int, ...] | None:
        return self._sized(data.shape).result

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        data, _ = inputs
        sized = self._sized(data.shape)
        if sized.compiled is None:
            sized.compiled = self._make(data.shape[0], sized.weights, sized.windows)
            if isinstance(self._constant, np.ndarray):
                # Compiled code uses the weights in another layout.
                release_pages(self._constant)
        if not after:
            after, operands = self._alone[0], self._alone[1].records(())
        sized.compiled.tasks(work, data, out, after, operands)

    def behind(self, after: tuple[After, ...], operands: Operands) -> tuple[tuple[After, ...], Operands]:
        if self._scales is None:
            return after, operands
        return (After(np.multiply, "channel"), *after), operands.behind(self._scales)

    def _sized(self, shape: tuple[int, ...]) -> _Sized:
        return self._known.of(shape, lambda: _Sized(shape, *self._over(shape)))

    def _over(self, shape: tuple[int, ...]) -> tuple[Array | PackedKernel, Windows]:
        """Return the weights and their windows over data of this shape."""
        if isinstance(self._weights, PackedKernel):
            return self._weights, Windows.over(shape[2:], self._weights.shape[3:], self._windows)
        return without_idle_taps(self._weights, shape, self._windows)


class WholeConvolution(OfWholeNumbers, Convolution):
    """A convolution of integers stored as f64; its sums are computed in 32 bits."""

    def __init__(self, site: Site, constant: Array | PackedKernel, windows: Windowing, whole: Quantized) -> None:
        super().__init__(site, constant, windows, whole.numbers, whole.convolver)
        self._site, self._whole = site, whole

    def can_add(self, bias: Array) -> bool:
        """Return whether `bias` consists of integers, and every sum of products plus its bias fits into 32
        bits.
        """
        return self._whole.can_add(bias)

    def of_bytes(self, source: Source, bias: Array | None, *, is_whole: bool) -> Convolution:
        """Return the same convolution for data in bytes; its sums are stored as integers (`is_whole`) or scaled in
        f32.
        """
        make = self._whole.of_bytes(source, bias, is_whole)
        return Convolution(self._site, self._constant, self._windows, self._whole.numbers, make)


class _Sized:
    """A convolution of data of one shape: the shape of the result, and the compiled code, which is generated on first
    use (None if a sum has no products).
    """

    def __init__(self, shape: tuple[int, ...], weights: Array | PackedKernel, windows: Windows) -> None:
        result = (shape[0], weights.shape[0] * weights.shape[1], *windows.counts)
        self.result = None if 0 in result or 0 in weights.shape else result
        self.weights, self.windows = weights, windows
        self.compiled: Convolver | None = None


def convolver(batch: int, weights: Array | PackedKernel, windows: Windows, prepared: Prepared) -> Convolver:
    """Return the compiled code for weights `[G, O, I, *K]`."""
    if not isinstance(weights, PackedKernel):
        weights = weights.astype(F32, copy=False)
        if weights.shape[1:3] == (1, 1):
            return Sliding(batch, len(weights), weights, windows)
    if windows.is_whole and weights.shape[0] == 1:
        return WholeConvolver(batch, weights)
    return CompiledConvolver(batch, weights, windows, prepared)
