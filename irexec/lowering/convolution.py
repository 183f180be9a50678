"""Convolution and GroupConvolution lowered, with a constant kernel in f32 or, for quantized data, in bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irexec.ir.weights.file import release_pages
from irexec.lowering.capture import captured_all
from irexec.lowering.contiguous import all_contiguous
from irexec.lowering.convolver import CompiledConvolver, WholeConvolver
from irexec.lowering.follow import Lead, Link, Operands, after_sums
from irexec.lowering.llvm.after import After
from irexec.lowering.quantized import quantized
from irexec.lowering.sliding import Sliding
from irexec.lowering.table import Lowered, Site, lowers
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.convolution.convolution import convolution_1, group_convolution_1, without_idle_taps
from irexec.ops.declare.prepared import Prepared
from irexec.ops.rules.windows import Windowing, Windows
from irexec.types import Array, TensorType

F32 = np.dtype(np.float32)
Convolve = Callable[..., Array]


@lowers(convolution_1)
def _(site: Site, *, windows: Windowing) -> Lowered | None:
    kernel = site.types.constants[1]
    return None if kernel is None else _convolution(site, kernel[None], windows)


@lowers(group_convolution_1)
def _(site: Site, *, windows: Windowing) -> Lowered | None:
    kernel = site.types.constants[1]
    return None if kernel is None else _convolution(site, kernel, windows)


def _convolution(site: Site, weights: Array, windows: Windowing) -> Lowered | None:
    if sum_dtype(weights.dtype, weights[0, 0].size) != F32:
        return None
    found = quantized(site, weights, windows) if weights.dtype == F32 else None
    if found is not None:
        return Convolution(site, weights, windows, found.numbers, found.convolver, found.scales)

    def make(batch: int, weights: Array, windows: Windows) -> Convolve:
        return convolver(batch, weights, windows, site.prepared)

    return Convolution(site, weights, windows, weights, make)


class Convolution(Lowered):
    """A convolution with a constant kernel `[G, O, I, *K]`, summed in f32.

    `make` returns the compiled code for `weights`, which represent the kernel. If there are `scales`, each sum is then
    multiplied by the scale of its output channel.
    """

    KEPT = 8

    def __init__(
        self,
        site: Site,
        constant: Array,
        windows: Windowing,
        weights: Array,
        make: Callable[[int, Array, Windows], Convolve],
        scales: Array | None = None,
    ) -> None:
        self._kernel, self._windows, self._make = site.kernel, windows, make
        self._constant, self._weights, self._scales = constant, weights, scales
        self._declared = constant.dtype
        self._alone = self._behind_sums((), Operands([]))
        # The result's shape and the compiled code, by the data's shape; no code where the kernel has nothing to sum.
        self._known: dict[tuple[int, ...], tuple[tuple[int, ...], Convolve | None]] = {}

    def __call__(self, data: Array, kernel: Array, /, *, out: Array | None = None) -> Array:
        result, compiled = self._compiled_for(data.shape)
        if compiled is None:
            plain: Array = self._kernel(data, kernel, out=out)
            return plain
        target = summing_buffer(result, F32, out)
        after, operands = self._alone
        compiled(data.astype(np.float32, copy=False), target, after, operands.records(()))
        captured_all()
        return settle(target, self._declared, out)

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lead] | None:
        found = after_sums(links, result.shape.to_shape(), self._declared, "channel")
        after, operands = self._behind_sums(*found)

        def call(data: Array, kernel: Array, *coming: Array, out: Array) -> bool:
            _, compiled = self._compiled_for(data.shape)
            if compiled is None:
                settle(self._kernel(data, kernel, out=out), F32, out)
                return False
            arrays = all_contiguous(coming)
            compiled(data, out, after, operands.records(arrays))
            return True

        return (len(found[0]), call) if found[0] else None

    def _behind_sums(self, after: tuple[After, ...], operands: Operands) -> tuple[tuple[After, ...], Operands]:
        """Return all steps after the sums."""
        if self._scales is None:
            return after, operands
        return (After("multiply", "channel"), *after), operands.behind(self._scales)

    def _compiled_for(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], Convolve | None]:
        """Return the shape of the result for data of a shape, and the compiled code, if there is anything to sum."""
        # Other threads may execute this concurrently and clear the cache.
        if (found := self._known.get(shape)) is None:
            if len(self._known) >= self.KEPT:
                self._known.clear()
            found = self._known[shape] = self._compile(shape)
        return found

    def _compile(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], Convolve | None]:
        weights, windows = without_idle_taps(self._weights, shape, self._windows)
        result = (shape[0], weights.shape[0] * weights.shape[1], *windows.counts)
        if 0 in result or 0 in weights.shape:
            return result, None
        compiled = self._make(shape[0], weights, windows)
        # Compiled code uses the weights in another layout.
        release_pages(self._constant)
        return result, compiled


def convolver(batch: int, weights: Array, windows: Windows, prepared: Prepared) -> Convolve:
    """Return the compiled code for weights `[G, O, I, *K]`: a function (data, out, after, operands)."""
    weights = weights.astype(np.float32, copy=False)
    if weights.shape[1:3] == (1, 1):
        return Sliding(batch, len(weights), weights, windows)
    if windows.is_whole and len(weights) == 1:
        return WholeConvolver(batch, weights)
    return CompiledConvolver(batch, weights, windows, prepared)
