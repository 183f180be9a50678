"""Constants whose values differ between two models: how they are arranged, and their largest errors."""

from __future__ import annotations

import math

import numpy as np

from irexec.core.types import Array
from irexec.model.arrays.brief import shown, shown_number
from irexec.model.graph.model import Node
from irexec.tools.compare.errors import measure
from irexec.tools.diff.change import decibels
from irexec.tools.run.record import same

# Integer constants with at most this many elements are shown by their values.
_BRIEF = 8
_ROUNDED = 120.0
"""Decibels above which two constants differ by the rounding of f32 alone."""
_ALIKE = 10.0
"""Decibels above which two constants are the same weights, one of them in fewer bits."""
_CLEAR = 40.0
"""Decibels above which constants of the same shape have the same arrangement: no other one is tried."""


class ChangedConstant:
    """A constant whose values differ in the second model, and the first model's layer that reads it."""

    def __init__(self, one: Node, two: Node, reader: Node, left: Array, right: Array) -> None:
        self.one, self.two, self.reader = one, two, reader.friendly_name
        self.arranged = _arranged(left, right)
        self.apart, self.whole = distance(left, right), left.dtype.kind in "iub" and right.dtype.kind in "iub"
        self.text = self.arranged or _difference(left, right)
        self._reads = reader.type

    def group(self, port: int, brief: bool) -> str:
        """Return a description of the change, by which constants are combined into one line."""
        if brief and self.is_usual:
            return "integers" if self.whole else "the same values, stored or rounded differently"
        if self.arranged:
            return self.arranged.partition(":")[0]
        return "rounded differently" if self.rounded else f"different values of input {port} of {self._reads}"

    @property
    def rounded(self) -> bool:
        return self.apart[1] > _ROUNDED

    @property
    def is_usual(self) -> bool:
        """Whether exporters often write such a constant differently: as integers (shapes, axes), in another order, or
        rounded differently.
        """
        return self.whole or bool(self.arranged) or self.rounded


def distance(a: Array, b: Array) -> tuple[float, float]:
    """Return the largest error and the signal-to-noise ratio in dB; both are infinite for strings or unequal sizes."""
    if a.size != b.size or a.dtype.kind in "TUO" or b.dtype.kind in "TUO":
        return math.inf, -math.inf
    one, two = a.reshape(-1).astype(np.float64), b.reshape(-1).astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
        noise, signal = float(np.sum(apart**2)), float(np.sum(one**2, where=np.isfinite(one)))
    largest = float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0.0))
    if noise == 0:
        return largest, math.inf
    return largest, 10 * math.log10(signal / noise) if signal > 0 and math.isfinite(noise) else -math.inf


def nearest(a: Array, b: Array) -> tuple[Array, tuple[float, float]]:
    """Return `a`, transposed or reshaped if `b` then has nearly the same values (as when `b` is stored in fewer bits),
    and its distance from `b`.
    """
    straight = distance(a, b)
    if a.size != b.size or (a.shape == b.shape and straight[1] > _CLEAR):
        return a, straight
    found = [(a.reshape(b.shape), straight)]
    if a.ndim == b.ndim >= 2 and np.swapaxes(a, -1, -2).shape == b.shape:
        transposed = np.swapaxes(a, -1, -2)
        found.append((transposed, distance(transposed, b)))
    alike, apart = max(found, key=lambda each: each[1][1])
    return (alike, apart) if apart[1] > _ALIKE else (a, straight)


def _arranged(a: Array, b: Array) -> str:
    """Return how the same values are stored differently (transposed, reshaped); empty if the values differ."""
    if a.ndim == b.ndim >= 2 and same(np.swapaxes(a, -1, -2), b):
        return f"transposed: {list(a.shape)} became {list(b.shape)}"
    if a.shape != b.shape and a.size == b.size and same(a.reshape(-1), b.reshape(-1)):
        return f"reshaped: {list(a.shape)} became {list(b.shape)}"
    return ""


def _difference(a: Array, b: Array) -> str:
    if _is_brief(a) and _is_brief(b):
        return f"{shown(a)} became {shown(b)}"
    if a.shape != b.shape:
        return f"shape {list(a.shape)} became {list(b.shape)}"
    if a.dtype.kind in "TUO":
        return "different strings"
    largest, ratio = distance(a, b)
    changed = measure(a, b).at
    text = f"largest error {shown_number(largest)} at {list(changed or ())}"
    return f"{text}, {decibels(ratio)}" if math.isfinite(largest) else text


def _is_brief(array: Array) -> bool:
    """Return whether a constant is shown by its values: axes, orders, shapes and bounds."""
    return array.size <= (_BRIEF if array.dtype.kind in "iub" else 1) and array.ndim <= 1
