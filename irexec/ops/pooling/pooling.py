"""Pooling of f32: by NumPy, and by compiled code once compiling pays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from irexec.native import pays
from irexec.ops.pooling.rule import PoolWindowing
from irexec.ops.pooling.slide import MANY_TAPS
from irexec.ops.rules.windows import Windows
from irexec.types import Array

# (data, windows, out)
Plain: TypeAlias = Callable[[Array, Windows, Array | None], Array]
# Of (data's shape, windows): (data, out)
Compile: TypeAlias = Callable[[tuple[int, ...], Windows], Callable[[Array, Array], Array]]


class Pooling:
    """The kernel `plain`, replaced for f32 by the result of `compile` for a shape once compiling pays."""

    KEPT = 8

    def __init__(self, windows: PoolWindowing, plain: Plain, compile: Compile) -> None:
        self._windows, self._plain, self._compile = windows, plain, compile
        self._compiled: dict[tuple[int, ...], Callable[[Array, Array], Array]] = {}
        self._calls = 0

    def __call__(self, data: Array, /, *, out: Array | None = None) -> Array:
        windows = self._windows.over(data.shape[2:])
        compiled = self._when_it_pays(data, windows)
        if compiled is None or not (out is None or out.flags.c_contiguous):
            return self._plain(data, windows, out)
        target = np.empty((*data.shape[:2], *windows.counts), data.dtype) if out is None else out
        return compiled(data, target)

    def _when_it_pays(self, data: Array, windows: Windows) -> Callable[[Array, Array], Array] | None:
        """Return the compiled kernel for data of this shape, if compiling pays."""
        # Other threads may execute this concurrently and clear the cache.
        if (found := self._compiled.get(data.shape)) is not None:
            return found
        taps, results = math.prod(windows.trimmed().kernel), math.prod((*data.shape[:2], *windows.counts))
        if data.dtype != np.float32 or not results or not data.size or not 0 < taps <= MANY_TAPS:
            return None
        self._calls += 1
        if not pays(self._calls, results * (taps + 16)):
            return None
        if len(self._compiled) >= self.KEPT:
            self._compiled.clear()
        made = self._compiled[data.shape] = self._compile(data.shape, windows)
        return made
