"""ConvolutionBackpropData and GroupConvolutionBackpropData lowered: as convolutions whose results are interleaved.

With stride `s`, the taps `p`, `p + s`, `p + 2 * s`, ... of a kernel contribute to the same pixels of the result: every
`s`-th pixel. Each of these phases is a convolution of stride 1; phases with equal numbers of taps form one convolution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.ops.compute.products import sum_dtype
from irexec.ops.convolution.backprop_data import (
    Spreading,
    convolution_backprop_data_1,
    group_convolution_backprop_data_1,
    placement,
)
from irexec.ops.rules.windows import Windows
from irexec.runtime.lowering.convolution import Convolver, convolver
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.interleaving import LAYER, PLACE, write_interleave
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import F32, Work

# If the convolutions need this many times the products of the layer, most of them with padding, the kernel is used.
MOST_WASTE = 2
# The cost of an interleaved element, in multiply-adds.
WORK = 16

Axes = tuple[int, ...]


@lowers(convolution_backprop_data_1)
def _(site: Site, *, windows: Spreading) -> Lowered | None:
    kernel = site.types.constants[1]
    return None if kernel is None else _transposed(site, kernel[None], windows)


@lowers(group_convolution_backprop_data_1)
def _(site: Site, *, windows: Spreading) -> Lowered | None:
    kernel = site.types.constants[1]
    return None if kernel is None else _transposed(site, kernel, windows)


def _transposed(site: Site, kernel: Array, windows: Spreading) -> Lowered | None:
    rank, given = kernel.ndim - 3, site.types.constants[2:]
    strides, dilations, *_ = windows.for_rank(rank)
    is_known = all(extents is not None for extents in given)
    is_taken = is_known and kernel.size and sum_dtype(kernel.dtype, kernel[0, :, 0].size) == F32
    if not is_taken or set(dilations) != {1} or any(k < s for k, s in zip(kernel.shape[3:], strides, strict=True)):
        return None
    output_shape = [int(extent) for extent in given[0].reshape(-1)] if given and given[0] is not None else None
    return Transposed(site, kernel, windows, output_shape)


class _Phases(NamedTuple):
    """Phases with equal numbers of taps along each axis. `phases`: the first tap of each phase; `weights`: the weights
    of all these phases as one convolution, `[G, O * phases, I, *K]`.
    """

    phases: list[Axes]
    weights: Array


class Transposed(Lowered):
    """A transposed convolution with a constant kernel `[G, I, O, *K]`, summed in f32."""

    def __init__(self, site: Site, kernel: Array, windows: Spreading, output_shape: Sequence[int] | None) -> None:
        super().__init__(site)
        self._site, self._kernel, self._windows, self._output_shape = site, kernel, windows, output_shape
        self._weights: list[_Phases] = []
        self._known = Recent[tuple[int, ...], _Sized]()

    def reads(self, place: int) -> bool:
        return place != 1

    def shape(self, data: Array, *others: Any) -> tuple[int, ...] | None:
        return self._sized(data.shape).result

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        sized = self._sized(inputs[0].shape)
        # Other threads may execute this concurrently: the values are complete when they are assigned.
        if sized.compiled is None:
            self._weights = self._weights or list(_phases(self._kernel, sized.strides))
            sized.compiled = _Compiled(sized, self._weights, self._site)
        sized.compiled.tasks(work, inputs[0], out)

    def _sized(self, shape: tuple[int, ...]) -> _Sized:
        return self._known.of(shape, lambda: _Sized(shape, self._kernel.shape, self._windows, self._output_shape))


class _Sized:
    """A transposed convolution of data of one shape. `result`: the shape of the result; None if the NumPy kernel is
    faster. `compiled`: the compiled code, which is generated on first use.
    """

    def __init__(
        self, shape: tuple[int, ...], kernel: tuple[int, ...], windows: Spreading, output_shape: Sequence[int] | None
    ) -> None:
        self.batch, self.planes = shape[0], shape[0] * kernel[0] * kernel[2]
        self.extents, self.taps = shape[2:], kernel[3:]
        self.strides = windows.for_rank(len(self.taps))[0]
        self.counts, self.begins = placement(self.extents, self.taps, windows, output_shape)
        # Pixel y of the result is pixel (y + begin) // stride - first of its phase.
        self.first = [b // s for b, s in zip(self.begins, self.strides, strict=True)]
        last = [(y + b - 1) // s for y, b, s in zip(self.counts, self.begins, self.strides, strict=True)]
        self.pixels = [stop - start + 1 for start, stop in zip(self.first, last, strict=True)]
        self.ends = [stop - extent + 1 for stop, extent in zip(last, self.extents, strict=True)]
        self.compiled: _Compiled | None = None
        result = (shape[0], kernel[0] * kernel[2], *self.counts)
        self.result = result if min(*shape, *result) > 0 and self._is_suited() else None

    def _is_suited(self) -> bool:
        least = [taps // stride for taps, stride in zip(self.taps, self.strides, strict=True)]
        has_padding = all(taps - 1 - start >= 0 for taps, start in zip(least, self.first, strict=True))
        return (
            has_padding
            and min(self.ends) >= 0
            and prod(self.pixels) <= MOST_WASTE * prod(self.extents)
            and prod(self.pixels) * prod(self.strides) <= MOST_WASTE * prod(self.counts)
        )


class _Compiled:
    """Convolves the data for each group of phases, and interleaves the results."""

    def __init__(self, sized: _Sized, weights: Sequence[_Phases], site: Site) -> None:
        self._parts: list[tuple[Convolver, int]] = []
        # The only convolution of stride 1 computes the result as it is.
        self._is_direct = set(sized.strides) == {1}
        starts: dict[Axes, tuple[int, int]] = {}
        self._size, pixels = 0, prod(sized.pixels)
        for phases, numbers in weights:
            taps = numbers.shape[3:]
            ones, ends = (1,) * len(taps), tuple(sized.ends)
            begins = tuple([k - 1 - first for k, first in zip(taps, sized.first, strict=True)])
            windows = Windows(sized.extents, taps, ones, ones, begins, ends, tuple(sized.pixels))
            for number, phase in enumerate(phases):
                starts[phase] = self._size + number * pixels, len(phases) * pixels
            size = sized.planes * len(phases) * pixels
            self._parts.append((convolver(sized.batch, numbers, windows, site.prepared), size))
            self._size += size
        if not self._is_direct:
            self._interleave(sized, np.array(list(_places(sized, starts)), np.int64))

    def _interleave(self, sized: _Sized, places: Array) -> None:
        rows, columns, stride = prod(sized.counts[:-1]), sized.counts[-1], sized.strides[-1]
        assert places.shape == (rows * stride, len(PLACE))
        self._function = compiler().written(write_interleave)
        self._layer = Records.of([[0, 0, places, rows, columns, stride]])
        assert self._layer.numbers.shape == (1, len(LAYER))
        parts = tasks_for(sized.planes * rows * columns * WORK)
        some = split(sized.planes, parts)
        self._tasks = Records.of([[*p, *r] for p, r in product(some, split(rows, parts // len(some)))])

    def tasks(self, work: Work, data: Array, out: Array) -> None:
        if self._is_direct:
            self._parts[0][0].tasks(work, data, out)
            return
        data, sums, start = work.contiguous(data), work.scratch("phases", (self._size,)), 0
        for convolve, size in self._parts:
            convolve.tasks(work, data, sums[start : start + size])
            start += size
        work.add(self._function, self._layer.filled(sums, out), self._tasks)


def _places(sized: _Sized, starts: dict[Axes, tuple[int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """Return the PLACE of `llvm.interleaving` for each row of the result and each phase. `starts`: the offset of each
    phase in the first plane, and the distance between planes.
    """
    stride, begin = sized.strides[-1], sized.begins[-1]
    for row in np.ndindex(*sized.counts[:-1]):
        where = [divmod(y + b, s) for y, b, s in zip(row, sized.begins, sized.strides, strict=False)]
        pixels = [pixel - first for (pixel, _), first in zip(where, sized.first, strict=False)]
        for phase in range(stride):
            skipped = int(phase < begin % stride)
            column = phase - begin % stride + skipped * stride
            start, pitch = starts[(*(p for _, p in where), phase)]
            # A phase without an element in the row has no place.
            place = int(np.ravel_multi_index((*pixels, skipped), sized.pixels, mode="clip"))
            yield start + place, pitch, column, len(range(column, sized.counts[-1], stride))


def _phases(kernel: Array, strides: Axes) -> Iterator[_Phases]:
    """Return the weights of all phases of a kernel `[G, I, O, *K]`, the taps in the order of a convolution."""
    groups: dict[Axes, list[Axes]] = {}
    for phase in product(*(range(stride) for stride in strides)):
        taps = tuple([len(range(p, k, s)) for p, k, s in zip(phase, kernel.shape[3:], strides, strict=True)])
        groups.setdefault(taps, []).append(phase)
    # `[G, O, I, *K]`
    turned = np.moveaxis(kernel.astype(F32, copy=False), 1, 2)
    for taps, phases in groups.items():
        axes = tuple(range(3, 3 + len(taps)))
        of_phases = [[slice(p, None, s) for p, s in zip(phase, strides, strict=True)] for phase in phases]
        parts = [np.flip(turned[:, :, :, *places], axes) for places in of_phases]
        weights = np.stack(parts, axis=2)
        yield _Phases(phases, weights.reshape(weights.shape[0], -1, *weights.shape[3:]))
