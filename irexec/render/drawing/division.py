"""Division of a model's layers into boxes: by the scopes of their names if there are any, else by repetition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import NamedTuple

from irexec.diagnostics.nearest import common_start
from irexec.inspect.facts import Layer
from irexec.render.drawing.repeats import Run, repeats
from irexec.render.drawing.scopes import NameScope, path_of, scopes

SMALL_ENOUGH = 40
"""The number of layers up to which all are drawn; in larger graphs repeated blocks, and scopes of names, are one box
each. More consecutive blocks than this are boxes of blocks.
"""
_MOST = 0.6
"""The share of layers that must be in scopes, so that scopes decide where blocks begin."""
_ENDS = ("Parameter", "Result")


class Stretch(NamedTuple):
    """The layers from `start` to before `end`: one layer, or a block, which has a title.

    `parts`: how the block is divided; None if its layers are to be divided separately.
    """

    start: int
    end: int
    title: str = ""
    parts: list[Stretch] | None = None


def divided(layers: Sequence[Layer], crossing: Sequence[int]) -> list[Stretch]:
    """Return the stretches of these layers, in order. `crossing[i]` is the number of values that cross position i."""
    if len(layers) <= SMALL_ENOUGH:
        return [Stretch(n, n + 1) for n in range(len(layers))]
    found = list(scopes([None if layer.type in _ENDS else layer.name for layer in layers]))
    runs = repeats([_signature(layer) for layer in layers], _joined(layers, crossing))
    if _names_suffice(found, len(layers)):
        edges = {edge for scope in found for edge in (scope.start, scope.end)}
        runs = [run for run in runs if all(start in edges for start in range(run.start, run.end + 1, run.period))]
    stretches: list[Stretch] = []
    position = 0
    for run in runs:
        stretches += _between(found, layers, position, run.start)
        stretches += _blocks(run)
        position = run.end
    return [*stretches, *_between(found, layers, position, len(layers))]


def _names_suffice(found: Sequence[NameScope], layers: int) -> bool:
    """Return whether names alone divide the layers: scopes contain most of them, and each scope is contiguous."""
    return len({s.path for s in found}) == len(found) and sum(s.end - s.start for s in found) > _MOST * layers


def _between(found: Sequence[NameScope], layers: Sequence[Layer], start: int, end: int) -> Iterator[Stretch]:
    """Return the parts that do not repeat: scopes and single layers. If a run cuts a scope, its rest is searched."""
    inside = [s for s in found if start <= s.start and s.end <= end]
    cut = any(s.start < edge < s.end for s in found for edge in (start, end))
    if cut:
        names = [None if layer.type in _ENDS else layer.name for layer in layers[start:end]]
        inside = [NameScope(start + s.start, start + s.end, s.path) for s in scopes(names)]
    position = start
    for scope in inside:
        yield from (Stretch(n, n + 1) for n in range(position, scope.start))
        yield Stretch(scope.start, scope.end, scope.title)
        position = scope.end
    yield from (Stretch(n, n + 1) for n in range(position, end))


def _blocks(run: Run) -> Iterator[Stretch]:
    """Return the blocks of a run. In a long run the blocks are inside about sqrt(times) outer blocks."""
    starts = range(run.start, run.end, run.period)
    blocks = [Stretch(s, s + run.period, f"block {n} of {run.times}") for n, s in enumerate(starts, 1)]
    if run.times <= SMALL_ENOUGH:
        yield from blocks
        return
    size = ceil(sqrt(run.times))
    for first in range(0, run.times, size):
        held = blocks[first : first + size]
        title = f"blocks {first + 1} to {first + len(held)} of {run.times}"
        yield Stretch(held[0].start, held[-1].end, title, held)


def _signature(layer: Layer) -> tuple[str, int, int]:
    return layer.type, len(layer.inputs), len(layer.outputs)


def _joined(layers: Sequence[Layer], crossing: Sequence[int]) -> list[float]:
    """Return for every position the number of values that cross it, plus a little for names with a common path."""
    paths = [path_of(layer.name) for layer in layers]
    shared = [0, *(common_start(*pair) for pair in pairwise(paths)), 0]
    return [values + 0.2 * parts for values, parts in zip(crossing, shared, strict=True)]
