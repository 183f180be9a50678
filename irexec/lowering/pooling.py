"""MaxPool and AvgPool of f32 lowered."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from irexec.lowering.capture import captured_all
from irexec.lowering.sliding import Sliding, SlidingMean
from irexec.lowering.table import Lowered, Site, lowers
from irexec.ops.pooling.avg_pool import avg_pool_1, avg_pool_14, avg_pool_16, counts
from irexec.ops.pooling.max_pool import max_pool_1, max_pool_8, max_pool_14
from irexec.ops.pooling.rule import PoolWindowing
from irexec.ops.pooling.slide import MANY_TAPS
from irexec.ops.rules.windows import Windows
from irexec.types import F32, Array, ElementType

# Of (data's shape, windows): (data, out)
Compile: TypeAlias = Callable[[tuple[int, ...], Windows], Callable[[Array, Array], Array]]


class Pooling(Lowered):
    """Pooling of f32 by the result of `compile` for the data's shape."""

    KEPT = 8

    def __init__(self, kernel: Callable[..., Array], windows: PoolWindowing, compile: Compile) -> None:
        self._kernel, self._windows, self._compile = kernel, windows, compile
        self._known: dict[tuple[int, ...], tuple[Windows, Callable[[Array, Array], Array] | None]] = {}

    def __call__(self, data: Array, /, *, out: Array | None = None) -> Array:
        windows, compiled = self._compiled_for(data.shape)
        if compiled is None or not (out is None or out.flags.c_contiguous):
            return self._kernel(data) if out is None else self._kernel(data, out=out)
        target = np.empty((*data.shape[:2], *windows.counts), data.dtype) if out is None else out
        compiled(data, target)
        captured_all()
        return target

    def _compiled_for(self, shape: tuple[int, ...]) -> tuple[Windows, Callable[[Array, Array], Array] | None]:
        """Return the windows over data of a shape, and the compiled code, unless NumPy is faster or there is nothing
        to do.
        """
        # Other threads may execute this concurrently and clear the cache.
        if (found := self._known.get(shape)) is None:
            windows = self._windows.over(shape[2:])
            taps = math.prod(windows.trimmed().kernel)
            has_work = 0 < taps <= MANY_TAPS and 0 not in shape and 0 not in windows.counts
            if len(self._known) >= self.KEPT:
                self._known.clear()
            found = self._known[shape] = windows, self._compile(shape, windows) if has_work else None
        return found


@lowers(max_pool_1)
def _(site: Site, *, windows: PoolWindowing) -> Lowered | None:
    return Pooling(site.kernel, windows, _largest) if site.types.outputs[0].element_type is F32 else None


class _WithoutIndices(Lowered):
    """MaxPool whose second output is not read."""

    def __init__(self, pooling: Pooling, index_type: ElementType) -> None:
        self._pooling, self._unused = pooling, np.zeros((), index_type.dtype)

    def __call__(self, data: Array, /, *, out: Array | None = None) -> Any:
        values = self._pooling(data)
        return values, np.broadcast_to(self._unused, values.shape)


@lowers(max_pool_8, max_pool_14)
def _(site: Site, *, windows: PoolWindowing, index_element_type: ElementType) -> Lowered | None:
    if site.types.outputs[0].element_type is not F32 or site.types.used is None or site.types.used[1]:
        return None
    return _WithoutIndices(Pooling(lambda data: site.kernel(data)[0], windows, _largest), index_element_type)


def _largest(shape: tuple[int, ...], windows: Windows) -> Callable[[Array, Array], Array]:
    return Sliding(shape[0], shape[1], None, windows.trimmed())


@lowers(avg_pool_1, avg_pool_14, avg_pool_16)
def _(site: Site, *, windows: PoolWindowing, exclude_pad: bool) -> Lowered | None:
    def compile(shape: tuple[int, ...], placed: Windows) -> Callable[[Array, Array], Array]:
        return SlidingMean(shape[0], shape[1], placed.trimmed(), counts(placed, exclude_pad))

    return Pooling(site.kernel, windows, compile) if site.types.outputs[0].element_type is F32 else None
