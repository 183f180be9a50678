"""MaxPool and AvgPool of f32 lowered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.ops.pooling.avg_pool import avg_pool_1, avg_pool_14, avg_pool_16, counts
from irexec.ops.pooling.max_pool import max_pool_1, max_pool_8, max_pool_14
from irexec.ops.pooling.rule import PoolWindowing
from irexec.ops.pooling.slide import MANY_TAPS
from irexec.ops.rules.windows import Windows
from irexec.runtime.lowering.narrow import computes_in_f32
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.sliding import Sliding, SlidingMean
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import Work

Slide = Sliding | SlidingMean
Compile: TypeAlias = Callable[[tuple[int, ...], Windows], Slide]
"""Returns the compiled code for the shape of the data and the windows over it."""


class Pooling(Lowered):
    """Pooling of f32 by the function that `compile` returns for the data's shape."""

    def __init__(self, site: Site, windows: PoolWindowing, compile: Compile) -> None:
        super().__init__(site)
        self._windowing, self._compile = windows, compile
        self.selects = compile is _largest
        self._known = Recent[tuple[int, ...], tuple[Windows, Slide | None]]()

    def shape(self, data: Array) -> tuple[int, ...] | None:
        windows, compiled = self._compiled_for(data.shape)
        return None if compiled is None else (*data.shape[:2], *windows.counts)

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        (data,) = inputs
        compiled = self._compiled_for(data.shape)[1]
        assert compiled is not None
        compiled.tasks(work, data, out)

    def _compiled_for(self, shape: tuple[int, ...]) -> tuple[Windows, Slide | None]:
        """Return the windows over data of a shape, and the compiled code, unless NumPy is faster."""
        return self._known.of(shape, lambda: self._made_for(shape))

    def _made_for(self, shape: tuple[int, ...]) -> tuple[Windows, Slide | None]:
        windows = self._windowing.over(shape[2:])
        taps = math.prod(windows.trimmed().kernel)
        has_work = 0 < taps <= MANY_TAPS and 0 not in shape and 0 not in windows.counts
        return windows, self._compile(shape, windows) if has_work else None


@lowers(max_pool_1)
def _(site: Site, *, windows: PoolWindowing) -> Lowered | None:
    return Pooling(site, windows, _largest) if computes_in_f32(site.types.outputs[0].element_type) else None


class _WithoutIndices(Pooling):
    """MaxPool whose second output is not read."""

    def __init__(self, site: Site, windows: PoolWindowing, index_type: ElementType) -> None:
        super().__init__(site, windows, _largest)
        self.kernel, self._unused = lambda data: site.kernel(data)[0], np.zeros((), index_type.dtype)

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        values = super().__call__(*inputs)
        return values, *self.unread(values.shape)

    def unread(self, shape: tuple[int, ...]) -> Sequence[Array]:
        return (np.broadcast_to(self._unused, shape),)


@lowers(max_pool_8, max_pool_14)
def _(site: Site, *, windows: PoolWindowing, index_element_type: ElementType) -> Lowered | None:
    if not computes_in_f32(site.types.outputs[0].element_type) or site.types.used is None or site.types.used[1]:
        return None
    return _WithoutIndices(site, windows, index_element_type)


def _largest(shape: tuple[int, ...], windows: Windows) -> Sliding:
    return Sliding(shape[0], shape[1], None, windows.trimmed())


@lowers(avg_pool_1, avg_pool_14, avg_pool_16)
def _(site: Site, *, windows: PoolWindowing, exclude_pad: bool) -> Lowered | None:
    def compile(shape: tuple[int, ...], placed: Windows) -> SlidingMean:
        return SlidingMean(shape[0], shape[1], placed.trimmed(), counts(placed, exclude_pad))

    return Pooling(site, windows, compile) if computes_in_f32(site.types.outputs[0].element_type) else None
