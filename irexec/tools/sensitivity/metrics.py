"""Metrics: the agreement of the results of a coarse model on many inputs with the results of the fine model."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from irexec.core.arguments import expected
from irexec.core.diagnostics import WrongArgument
from irexec.core.diagnostics.nearest import likely_names
from irexec.core.types import Array
from irexec.model.arrays.units import widened

Results = Sequence[Mapping[str, Array]]
"""The results of each input, by name."""
Function = Callable[[Results, Results], float]


ROUNDING = 120.0
"""A signal-to-noise ratio in dB beyond which noise is rounding of f32: sums are computed in another order."""

NEGLIGIBLE = 60.0
"""A signal-to-noise ratio in dB from which a loss is negligible: the noise is at most a thousandth of the signal."""


class BadMetric(WrongArgument):
    """A metric that does not exist, or that does not return a number."""


@dataclass(frozen=True, slots=True)
class Score:
    """`noise`: the power of the difference relative to the power of the results; `metric`: larger is better."""

    noise: float
    metric: float

    @property
    def snr(self) -> float:
        """The noise as signal-to-noise ratio in dB."""
        return decibels(self.noise)


@dataclass(frozen=True, slots=True)
class Metric:
    """A function of the expected and the found results.

    `is_noise`: the metric depends on the noise alone, whose parts add up.
    """

    name: str
    function: Function
    is_noise: bool = False

    def score(self, expected: Results, found: Results) -> Score:
        """Return the score of the found results. Raises BadMetric."""
        noise = noise_of(expected, found)
        if self.is_noise:
            return Score(noise, decibels(noise))
        try:
            value = float(self.function(expected, found))
        except Exception as error:
            raise BadMetric(f"{self.name} raises {type(error).__name__}: {error}") from error
        if math.isnan(value):
            raise BadMetric(f"{self.name} returns NaN")
        return Score(noise, value)

    def shown(self, value: float) -> str:
        """Return the text of a value."""
        return shown_decibels(value) if self.is_noise else f"{value:.4g}"


def metric_named(name: str) -> Metric:
    """Return the metric named `snr`, `top1`, `cosine` or `FILE.py:function`. Raises BadMetric."""
    if expected(name, str, "metric") in _NAMED:
        return Metric(name, _NAMED[name], is_noise=name == "snr")
    path, _, function = name.rpartition(":")
    if not path.endswith(".py"):
        advice = likely_names(name, _NAMED)
        raise BadMetric(
            f"{name!r} is neither snr, top1 or cosine nor FILE.py:function{f': {advice}' if advice else ''}"
        )
    return Metric(name, _loaded(path, function))


def _loaded(path: str, name: str) -> Function:
    file = Path(path)
    spec = importlib.util.spec_from_file_location(file.stem, file) if file.is_file() else None
    if spec is None or spec.loader is None:
        raise BadMetric(f"{path}: there is no such file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadMetric(f"{path} raises {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise BadMetric(f"{path} has no function {name!r}")
    found: Function = function
    return found


def decibels(noise: float) -> float:
    """Return a relative noise power as a signal-to-noise ratio in dB."""
    if noise == 0:
        return math.inf
    return -math.inf if math.isinf(noise) else -10 * math.log10(noise)


def shown_decibels(value: float) -> str:
    """Return the text of a signal-to-noise ratio."""
    if math.isinf(value):
        return "no noise" if value > 0 else "NaN or infinity"
    return "no noise" if value > ROUNDING else f"{value:.1f} dB"


def powers(expected: Array, found: Array) -> tuple[float, float]:
    """Return the sums of the squares of `expected` and of the difference; infinite where only `found` is not finite."""
    if expected.dtype.kind in "TUO" or expected.shape != found.shape:
        return 1.0, 0.0 if expected.shape == found.shape and np.array_equal(expected, found) else math.inf
    if expected.dtype == found.dtype == np.float32:
        with np.errstate(all="ignore"):
            signal, noise = float(squares(expected)), float(squares(expected - found))
        if math.isfinite(signal) and math.isfinite(noise):
            return signal, noise
    ours, theirs = widened(expected).astype(np.float64), widened(found).astype(np.float64)
    with np.errstate(all="ignore"):
        same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
        difference = np.where(same, 0.0, ours - theirs)
        finite = np.isfinite(ours)
        signal = float(np.sum(np.square(ours), where=finite))
        noise = float(np.sum(np.square(difference)))
    return signal, math.inf if math.isnan(noise) else noise


def squares(array: Array, axis: int | None = None) -> Array:
    """Return the sum of the squares in f64, without a copy of the array; with `axis`, one sum for each position along
    the axis.
    """
    axes = [*range(array.ndim)]
    kept = [] if axis is None else [axis]
    with np.errstate(all="ignore"):
        found: Array = np.einsum(array, axes, array, axes, kept, dtype=np.float64)
    return found


def ratio(signal: float, noise: float) -> float:
    """Return the noise relative to the signal."""
    if noise == 0:
        return 0.0
    return noise / signal if signal > 0 else math.inf


def noise_of(expected: Results, found: Results) -> float:
    """Return the noise relative to the signal, each summed over all inputs, as the mean over the results."""
    parts = []
    for name in expected[0]:
        pairs = [powers(ours[name], theirs[name]) for ours, theirs in zip(expected, found, strict=True)]
        parts.append(ratio(sum(s for s, _ in pairs), sum(n for _, n in pairs)))
    return sum(parts) / len(parts) if parts else 0.0


def _cosine(expected: Results, found: Results) -> float:
    """Return the mean cosine of the angle between the expected and the found results."""
    angles = []
    for ours, theirs in zip(expected, found, strict=True):
        for name in ours:
            a, b = (widened(array).astype(np.float64).ravel() for array in (ours[name], theirs[name]))
            with np.errstate(all="ignore"):
                size = float(np.linalg.norm(a) * np.linalg.norm(b))
                angle = float(a @ b) / size if size else float(np.array_equal(a, b))
            angles.append(angle if math.isfinite(angle) else 0.0)
    return float(np.mean(angles))


def _top1(expected: Results, found: Results) -> float:
    """Return the share of positions of the first result whose largest class is the expected class; classes are on the
    last axis, or on axis 1 of a result of rank 4.
    """
    right = total = 0
    for ours, theirs in zip(expected, found, strict=True):
        a, b = (widened(results[next(iter(ours))]) for results in (ours, theirs))
        axis = 1 if a.ndim == 4 else -1
        if a.ndim == 0 or a.shape != b.shape:
            raise BadMetric("the first result has no classes")
        same = np.argmax(a, axis) == np.argmax(np.where(np.isnan(b), -np.inf, b), axis)
        right, total = right + int(np.count_nonzero(same)), total + same.size
    return right / total if total else 1.0


def _snr(expected: Results, found: Results) -> float:
    return decibels(noise_of(expected, found))


_NAMED: dict[str, Function] = {"snr": _snr, "top1": _top1, "cosine": _cosine}
