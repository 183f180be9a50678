"""The difference of results that rounding explains: what the measured errors of layers, at random, can produce."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import RESULT
from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import Typical, apart, squeezed, unit, widened
from irexec.model.graph.model import Node, Value
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.errors import Bounds, Error, measure, within, worst
from irexec.tools.compare.numbers import DRAWS, ENOUGH, FUSED, MARGIN
from irexec.tools.run.record import Reference

Results = Sequence[Sequence[Array]]
"""The results of a model, per step."""


def pairs(ours: Results, theirs: Results) -> Iterator[tuple[Array, Array]]:
    """Yield the pairs of results, of all steps."""
    for one, two in zip(ours, theirs, strict=True):
        yield from zip(one, two, strict=True)


class Allowance(Protocol):
    """A judge of results: of the other side, or of an experiment."""

    def explains(self, found: Results) -> bool:
        """Return whether these results may stand for irexec's."""


class Within:
    """Results within bounds that the user gave."""

    def __init__(self, right: Results, bounds: Bounds) -> None:
        self._right, self._bounds = right, bounds

    def explains(self, found: Results) -> bool:
        return all(within(a, b, self._bounds) for a, b in pairs(self._right, found))


class Rounding:
    """Results that random errors in the layers explain, element by element.

    irexec runs the model several times with random errors of the measured size in the results of layers. An element of
    integers is explained only if one of these runs has it, too, or one with `margin` times as large errors.
    """

    def __init__(self, reference: Reference, units: Mapping[Node, float], margin: float = MARGIN) -> None:
        """`units`: the errors of layers in units in the last place."""
        self._reference, self._margin = reference, margin
        self._units = {node: error for node, error in units.items() if error > 0}
        self._draws: dict[tuple[float, int], Results | None] = {}

    def explains(self, found: Results, right: Results | None = None) -> bool:
        """Return whether rounding explains each element of these results. `right`: the results that they are compared
        with, if not irexec's own.
        """
        steps = zip(right or self._reference.results(), found, strict=True)
        return all(
            self._explains((step, index), a, b)
            for step, (some, others) in enumerate(steps)
            for index, (a, b) in enumerate(zip(some, others, strict=True))
        )

    def _chooses(self, place: tuple[int, int], right: Array, found: Array) -> bool:
        """Return whether draws have each integer of a result, and about as many that are not irexec's: if all ties are
        rounded in the other direction, it is another rule. More is drawn as long as this explains more integers.
        """
        step, index = place
        ours, error = self._reference.results()[step][index], apart(right, found)
        count, most = int(np.count_nonzero(error)), 0
        for times in (1.0, self._margin):
            for seed in itertools.count():
                left, drawn = np.count_nonzero(error), self._draw(times, seed)
                if drawn is not None and (draw := drawn[step][index]).shape == found.shape:
                    error = np.where(apart(found, draw) == 0, 0.0, error)
                    most = max(most, int(np.count_nonzero(apart(ours, draw))))
                if seed + 1 >= DRAWS and np.count_nonzero(error) in (0, left):
                    break
            if not error.any() and count <= most + math.sqrt(most):
                return True
        return False

    @property
    def largest(self) -> Error:
        """The largest change of a result in the draws."""
        right = self._reference.results()
        return worst(measure(a, b) for draw in self._drawn() for a, b in pairs(right, draw))

    def _explains(self, place: tuple[int, int], right: Array, found: Array) -> bool:
        if right.shape != found.shape:
            return False
        error = apart(right, found)
        if not self._units or not error.any():
            return not error.any()
        step, index = place
        if not ElementType.of(right.dtype).is_real:
            return self._chooses(place, right, found)
        ours = self._reference.results()[step][index]
        draws = [draw[step][index] for draw in self._drawn()]
        return bool(np.all(error <= _bound(ours, [draw for draw in draws if draw.shape == ours.shape], self._margin)))

    def _drawn(self) -> list[Results]:
        """Return the results of the runs with random errors of the measured size."""
        return [draw for seed in range(DRAWS) if (draw := self._draw(1.0, seed)) is not None]

    def _draw(self, times: float, seed: int) -> Results | None:
        """Return the results of a run with random errors of this multiple of the measured size; None if it fails."""
        if (times, seed) not in self._draws:
            rng = np.random.default_rng((seed, int(times)))
            try:
                self._draws[times, seed] = self._reference.changed(_disturbances(self._units, times, rng))
            except IRError:  # A value that depends on rounding was close to the limit of a shape or an index.
                self._draws[times, seed] = None
        return self._draws[times, seed]


def _bound(ours: Array, draws: Sequence[Array], margin: float) -> Array:
    """Return the largest explained error of each element of real numbers: `margin` times its largest change, or that in
    the slices along an axis which change least; few draws say little about one element.
    """
    flat = squeezed(ours)
    scale = np.maximum(np.abs(widened(flat)), Typical(flat)[:])
    changes = np.max([apart(flat, squeezed(draw)) for draw in draws], axis=0, initial=0.0) + np.zeros(flat.shape)
    finite = np.where(np.isfinite(changes), changes, 0.0)
    level = np.full(flat.shape, finite.max())
    for axis, extent in enumerate(flat.shape):
        if flat.size >= ENOUGH * extent:
            level = np.minimum(level, finite.max(tuple(k for k in range(flat.ndim) if k != axis), keepdims=True))
    bound = FUSED * unit(scale, ElementType.of(ours.dtype)) + margin * np.maximum(changes, level)
    return np.asarray(bound.reshape(ours.shape))


def _disturbances(units: Mapping[Node, float], times: float, rng: np.random.Generator) -> Moves:
    """Return random changes of the results of layers, of up to `times` their number of units in the last place."""
    made: dict[Value, Callable[[Array], Array]] = {}
    for node, error in units.items():
        inner = [n for body in node.bodies for n in body.model.walk() if n.inputs and not n.bodies]
        for value in (value for n in inner or [node] if n.type != RESULT for value in n.outputs):
            made[value] = partial(_disturbed, units=error, times=times, rng=rng)
    return made


def _disturbed(array: Array, units: float, times: float, rng: np.random.Generator) -> Array:
    kind = ElementType.of(array.dtype)
    if not kind.is_real or not array.size:
        return array
    flat = squeezed(array)
    wide = widened(flat)
    # Masks, counts and positions are intended, unless the layer was seen to be wrong by more than a fused one.
    if units <= FUSED and np.array_equal(wide, np.rint(wide)):
        return array
    scale = np.maximum(np.abs(wide), Typical(flat)[:])
    with np.errstate(all="ignore"):
        step = times * units * unit(scale, kind) * rng.uniform(-1, 1, wide.shape)
        # Exact zeros and infinities, such as masks and padding, are intended.
        moved = np.where((wide == 0) | ~np.isfinite(wide), wide, wide + step)
        made: Array = moved.astype(array.dtype).reshape(array.shape)
    return made
