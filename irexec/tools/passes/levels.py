"""Levels of quantized values that a pass moved: bytes have 256 levels, and their zero point is an integer.

A grid of levels that is moved by a part of a step, at most a half, changes each value by this part or its complement:
half a step in the mean square. Errors of half a step, in one direction or at random, are the most that passes make.
Levels that bytes hold as they are, because one of them is zero, need no move: one is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import apart, unit, widened
from irexec.model.graph.model import Model, Value
from irexec.ops.spec.traits import Quantization
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.numbers import FUSED
from irexec.tools.compare.rounding import Results, pairs
from irexec.tools.run.record import Reference

_RANDOM = 4
_ALL, _SLICE, _ELEMENT = 1.5, 1.75, 4.0
"""The multiples of the largest change in the draws up to which an error is explained: in the mean square of all
elements and of a slice along an axis, and in one element.
"""
_BYTES = 256
_EXACT = 1e-3
"""The part of a step by which zero may differ from a level because bounds are rounded."""
_LEAST = 16
"""The least number of elements of a slice."""


def are_moved(before: Reference, found: Results) -> bool:
    """Return whether moved levels explain the difference to the results of a graph."""
    steps, draws = [*_steps(before.model)], list[Results]()
    for moves in _draws(steps):
        with suppress(IRError):  # A value that depends on rounding was close to the limit of a shape or an index.
            draws.append(before.changed(moves))
    if not steps or not draws:
        return False
    drawn = zip(*(pairs(before.results(), draw) for draw in draws), strict=True)
    return all(
        _explains(right, other, [draw for _, draw in several])
        for (right, other), several in zip(pairs(before.results(), found), drawn, strict=True)
    )


def _steps(model: Model) -> Iterator[tuple[Value, Array]]:
    """Yield the results of layers that quantize to levels that bytes do not hold, with half the distance of levels."""
    for node in model.nodes:
        if Quantization in node.traits:
            low, high = (value.node.constant if value is not None else None for value in node.inputs[3:])
            levels = int(node.attributes["levels"])
            if low is not None and high is not None and not _is_held(widened(low), widened(high), levels):
                yield node.outputs[0], (widened(high) - widened(low)) / (levels - 1) / 2


def _is_held(low: Array, high: Array, levels: int) -> bool:
    """Return whether bytes hold levels as they are: zero is one of them."""
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -low / ((high - low) / (levels - 1))
    inside = (zero > -_EXACT) & (zero < levels - 1 + _EXACT)
    return levels <= _BYTES and bool(np.all(inside & (np.abs(zero - np.round(zero)) < _EXACT)))


def _draws(steps: Sequence[tuple[Value, Array]]) -> Iterator[Moves]:
    """Yield changes of all values: in one direction, and at random."""
    for sign in (1.0, -1.0):
        yield {value: partial(_moved, step=sign * step) for value, step in steps}
    for seed in range(_RANDOM):
        rng = np.random.default_rng(seed)
        yield {value: partial(_moved, step=step, rng=rng) for value, step in steps}


def _moved(array: Array, step: Array, rng: np.random.Generator | None = None) -> Array:
    signs = 1.0 if rng is None else rng.choice((-1.0, 1.0), array.shape)
    moved: Array = (widened(array) + step * signs).astype(array.dtype)
    return moved


def _explains(right: Array, found: Array, draws: list[Array]) -> bool:
    if right.shape != found.shape:
        return False
    error = apart(right, found)
    if not ElementType.of(right.dtype).is_real or not error.any():
        return not np.all([error, *(apart(found, draw) for draw in draws)], axis=0).any()
    changes = [apart(right, draw) for draw in draws]
    rounding = FUSED * unit(np.abs(widened(right)), ElementType.of(right.dtype))

    def most(multiple: float, axes: tuple[int, ...] | None = None) -> Array:
        return np.asarray(multiple * np.max([_root(each, axes) for each in changes], axis=0) + _root(rounding, axes))

    for axis, extent in enumerate(right.shape):
        others = tuple(k for k in range(right.ndim) if k != axis)
        if right.size >= _LEAST * extent and np.any(_root(error, others) > most(_SLICE, others)):
            return False
    level = np.maximum(np.max(changes, axis=0), most(1.0))
    return bool(_root(error) <= most(_ALL) and np.all(error <= _ELEMENT * level + rounding))


def _root(array: Array, axes: tuple[int, ...] | None = None) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(array), axis=axes)))
