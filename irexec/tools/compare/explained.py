"""The errors of a model's results that rounding explains: the errors of its layers, propagated to the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import RESULT
from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import Typical, squeezed, unit, widened
from irexec.model.graph.model import Node, Value
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.errors import Error, measure
from irexec.tools.compare.tolerances import FUSED
from irexec.tools.run.record import Reference

_RUNS = 3
MARGIN = 8.0
"""An error of up to this multiple of the largest error in the disturbed runs counts as explained: there are few runs,
and the errors of layers may be biased.
"""


def explained(
    reference: Reference,
    units: Mapping[Node, float],
    errors: Sequence[Sequence[Error]],
    plain: Sequence[Sequence[Array]],
    margin: float = MARGIN,
) -> list[list[float]]:
    """Return the error in units in the last place that rounding explains, for each step and result.

    `units`: the own errors of layers. irexec runs the model with random errors of this size in the results of these
    layers; the largest error of the model's results, times the margin, counts as explained. A result of integers is
    explained (infinity) only if each of its elements that differ, differs in one of these runs, too; further runs have
    errors of this size times the margin. `errors`: the errors of the results; there are no further runs as soon as all
    of them are explained. `plain`: the other side's results.
    """
    right = reference.results()
    wrong = {node: error for node, error in units.items() if error > 0}
    found = [[0.0 if error.whole or not wrong else FUSED for error in step] for step in errors]
    left = {
        (step, index): _different(right[step][index], plain[step][index])
        for step, some in enumerate(errors)
        for index, error in enumerate(some)
        if error and error.whole
    }
    for seed, times in enumerate([1.0] * _RUNS + [margin] * (_RUNS if left else 0)):
        if not wrong or not unexplained(errors, found):
            break
        larger = {node: times * error for node, error in wrong.items()}
        try:
            off = reference.changed(disturbances(larger, np.random.default_rng(seed)))
        except IRError:  # A value that depends on rounding was close to the limit of a shape or an index.
            continue
        for step, (ours, theirs) in enumerate(zip(right, off, strict=True)):
            for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                if (step, index) in left:
                    same = ~_different(a, b) if a.shape == b.shape else np.asarray(False)
                    left[step, index] = left[step, index] & same
                    found[step][index] = 0.0 if np.any(left[step, index]) else math.inf
                elif times == 1.0 and not errors[step][index].whole:
                    found[step][index] = max(found[step][index], margin * measure(a, b).ulp + FUSED)
    return found


def _different(ours: Array, theirs: Array) -> Array:
    """Return which elements differ; a single True for arrays of different shapes."""
    return np.asarray(ours != theirs if ours.shape == theirs.shape else True)


def unexplained(errors: Sequence[Sequence[Error]], bounds: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the steps and results whose errors are larger than rounding explains, as given by `bounds`."""
    return [
        (step, index)
        for step, (some, most) in enumerate(zip(errors, bounds, strict=True))
        for index, (error, bound) in enumerate(zip(some, most, strict=True))
        if error and not error.ulp <= bound
    ]


def disturbances(units: Mapping[Node, float], rng: np.random.Generator) -> Moves:
    """Return random changes of up to this number of units in the last place in the results of layers."""
    made: dict[Value, Callable[[Array], Array]] = {}
    for node, error in units.items():
        inner = [n for body in node.bodies for n in body.model.walk() if n.inputs and not n.bodies]
        for value in (value for n in inner or [node] if n.type != RESULT for value in n.outputs):
            made[value] = partial(_moved, units=error, rng=rng)
    return made


def _moved(array: Array, units: float, rng: np.random.Generator) -> Array:
    kind = ElementType.of(array.dtype)
    if not kind.is_real or not array.size:
        return array
    flat = squeezed(array)
    wide = widened(flat)
    scale = np.maximum(np.abs(wide), Typical(flat)[:])
    with np.errstate(all="ignore"):
        step = units * unit(scale, kind) * rng.uniform(-1, 1, wide.shape)
        # Exact zeros and infinities, such as masks and padding, are intended.
        moved = np.where((wide == 0) | ~np.isfinite(wide), wide, wide + step)
        made: Array = moved.astype(array.dtype).reshape(array.shape)
    return made
