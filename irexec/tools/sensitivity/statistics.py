"""Statistics of a quantizer: the noise that it adds to its input, and how it uses its range."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.tools.sensitivity.metrics import decibels, powers, ratio, squares

_MOST_LEVELS = 1 << 16


@dataclass(slots=True)
class Range:
    """The range of a quantizer, broadcast to its input: from `low` to `high` in `levels` levels; or, for weights,
    the stored `codes` and their `step`, which is broadcast to them. `axis`: the axis of the weights' channels."""

    levels: int
    low: Array | None = None
    high: Array | None = None
    codes: Array | None = None
    step: Array | None = None
    axis: int | None = None


@dataclass(slots=True)
class Statistics:
    """The effect of a quantizer in all runs so far. `axis`: the axis of the channels; None without channels."""

    range: Range | None = None
    axis: int | None = None
    signal: float = 0.0
    noise: float = 0.0
    count: int = 0
    clipped: int = 0
    used: set[int] = field(default_factory=set)
    channels: list[Any] = field(default_factory=list)

    def add(self, fine: Array, coarse: Array) -> None:
        """Add the values of one run."""
        signal, noise = powers(fine, coarse)
        self.signal, self.noise, self.count = self.signal + signal, self.noise + noise, self.count + fine.size
        if self.axis is not None and fine.ndim > self.axis and fine.shape == coarse.shape:
            self._add_channels(fine, coarse, self.axis)
        if self.range is None:
            self.clipped += int(np.count_nonzero(np.isfinite(fine) & ~np.isfinite(coarse)))
        else:
            self._add_range(fine, coarse, self.range)

    def _add_channels(self, fine: Array, coarse: Array, axis: int) -> None:
        with np.errstate(all="ignore"):
            signal, noise = squares(fine, axis), squares(fine - coarse, axis)
        if not self.channels or self.channels[0].shape != signal.shape:
            self.channels = [signal, noise]
        else:
            self.channels = [self.channels[0] + signal, self.channels[1] + noise]

    def _add_range(self, fine: Array, coarse: Array, known: Range) -> None:
        if known.codes is not None:
            self._add_codes(fine.reshape(-1), coarse.reshape(-1), known.codes.reshape(-1), known.step)
            return
        assert known.low is not None and known.high is not None
        half = (known.high - known.low) / (2 * max(1, known.levels - 1))
        with np.errstate(all="ignore"):
            self.clipped += int(np.count_nonzero((fine < known.low - half) | (fine > known.high + half)))
            if known.levels <= _MOST_LEVELS:
                levels = np.rint((np.clip(fine, known.low, known.high) - known.low) / np.maximum(2 * half, 1e-45))
                places = np.clip(np.nan_to_num(levels), 0, known.levels - 1).astype(np.int32)
                self.used.update(np.flatnonzero(np.bincount(places.reshape(-1))).tolist())

    def _add_codes(self, fine: Array, coarse: Array, codes: Array, step: Array | None) -> None:
        """Record the codes used. Weights that exceed the first or last code by over half a step count as clipped."""
        if codes.size != fine.size:
            return
        wide = codes.astype(np.int16)
        low = int(wide.min())
        self.used.update((np.flatnonzero(np.bincount(wide - low)) + low).tolist())
        ends = np.flatnonzero((wide == low) | (wide == wide.max()))
        half = 0.0 if step is None else 0.51 * np.abs(step.flat[ends])
        ours, theirs = fine[ends], coarse[ends]
        self.clipped += int(np.count_nonzero((np.abs(ours - theirs) > half) & (np.abs(ours) > np.abs(theirs))))

    @property
    def snr(self) -> float:
        """The signal-to-noise ratio in dB."""
        return decibels(ratio(self.signal, self.noise))

    @property
    def clipped_share(self) -> float:
        """The share of values that are outside the range or overflow."""
        return self.clipped / max(1, self.count)

    @property
    def unused_share(self) -> float | None:
        """The share of the levels that no value uses; None if there are no levels to count."""
        if self.range is None or self.range.levels > _MOST_LEVELS or not self.used:
            return None
        return max(0.0, 1 - len(self.used) / self.range.levels)

    @property
    def worst_channel(self) -> tuple[int, float] | None:
        """The channel with the smallest signal-to-noise ratio, and that ratio."""
        if not self.channels or self.channels[0].size < 2:
            return None
        signal, noise = self.channels
        with np.errstate(all="ignore"):
            parts = np.where(noise == 0, 0.0, np.where(signal > 0, noise / signal, 0.0))
        worst = int(np.argmax(np.nan_to_num(parts, nan=np.inf)))
        return worst, decibels(float(np.nan_to_num(parts[worst], nan=np.inf, posinf=np.inf)))
