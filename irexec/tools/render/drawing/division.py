"""Division of a model's layers into boxes: by the scopes of their names if there are any, else by repeated blocks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from itertools import pairwise
from math import ceil, sqrt
from typing import NamedTuple

import numpy as np

from irexec.core.diagnostics.nearest import common_start
from irexec.core.structure import CONST, ENDS
from irexec.tools.inspect.facts import Layer
from irexec.tools.render.drawing.scopes import NameScope, path_of, scopes

# The smallest and largest number of layers in a block: shorter blocks need no box, longer blocks are not searched for.
SHORTEST, LONGEST = 4, 4000


class Run(NamedTuple):
    """`times` consecutive blocks of `period` layers each, beginning at `start`."""

    start: int
    period: int
    times: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.times


def repeats(signatures: Sequence[Hashable], joined: Sequence[float]) -> list[Run]:
    """Return the runs of equal blocks in a sequence, in order and without overlap; runs that cover most are chosen
    first.

    `joined[i]` is the number of connections across position i; blocks start at positions with few connections.
    """
    numbers: dict[Hashable, int] = {}
    sequence = np.array([numbers.setdefault(s, len(numbers)) for s in signatures], np.int32)
    found = sorted(_candidates(sequence), key=lambda c: (-(c[1] - c[0]), c[2], c[0]))
    chosen: list[Run] = []
    taken = np.zeros(len(sequence), bool)
    for start, end, period in found:
        if taken[start:end].any():
            continue
        run = _turned(start, end, period, joined)
        if run is not None:
            chosen.append(run)
            taken[run.start : run.end] = True
    return sorted(chosen)


def _candidates(sequence: np.ndarray[tuple[int], np.dtype[np.int32]]) -> list[tuple[int, int, int]]:
    """Return ranges of layers (start, end, period) with two or more periods: each layer equals the layer one period
    before.
    """
    found = []
    for period in range(SHORTEST, min(len(sequence) // 2, LONGEST) + 1):
        same = np.zeros(len(sequence) - period + 2, np.int8)
        same[1:-1] = sequence[:-period] == sequence[period:]
        edges = np.flatnonzero(np.diff(same))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - start >= period and end - start + period >= 3 * SHORTEST:
                found.append((start, end + period, period))
    return found


def _turned(start: int, end: int, period: int, joined: Sequence[float]) -> Run | None:
    """Return the run of blocks within a stretch whose boundaries cut the fewest connections."""
    best: tuple[float, int] | None = None
    for first in range(start, start + period):
        count = (end - first) // period
        if count < 2:
            break
        cost = sum(joined[first + k * period] for k in range(count + 1)) / (count + 1)
        if best is None or cost < best[0]:
            best = cost, first
    return None if best is None else Run(best[1], period, (end - best[1]) // period)


SMALL_ENOUGH = 40
"""The number of layers up to which a graph is drawn without blocks; in larger graphs, repeated blocks and name scopes
are one box each. If there are more consecutive blocks than this, they are grouped into boxes of blocks.
"""
_MOST = 0.6
"""The share of layers that must be in scopes, so that scopes decide where blocks begin."""


class Stretch(NamedTuple):
    """The layers `start` to `end - 1`: one layer, or a block, which has a title.

    `parts`: how the block is divided; None if its layers are to be divided separately.
    """

    start: int
    end: int
    title: str = ""
    parts: list[Stretch] | None = None


def interrupted(layers: Sequence[Layer], other: Sequence[Layer]) -> set[tuple[str, str]]:
    """Return the pairs of connected layers between which another model has additional layers, and pairs of twice the
    same layer for layers that the other model does not have.

    Layers are identified by their names. Constants are not considered.
    """
    own, theirs = ({layer.name for layer in some if layer.type != CONST} for some in (layers, other))
    found = {(name, name) for name in own - theirs}
    names = {layer.index: layer.name for layer in other}
    before: dict[int, set[str]] = {}
    for layer in other:
        added = [before[entry.layer] for entry in layer.inputs if entry.layer in before]
        if layer.name in own:
            found |= {(source, layer.name) for sources in added for source in sources}
        elif layer.type != CONST:
            read = {names[entry.layer] for entry in layer.inputs if entry.layer is not None}
            before[layer.index] = {source for sources in added for source in sources} | (read & own)
    return found


def divided(layers: Sequence[Layer], crossing: Sequence[int], apart: Collection[tuple[str, str]] = ()) -> list[Stretch]:
    """Return the stretches of these layers, in order. `crossing[i]` is the number of values that cross position i.

    `apart`: pairs of layers at which another model differs; blocks with and without such pairs are grouped separately.
    """
    if len(layers) <= SMALL_ENOUGH:
        return [Stretch(n, n + 1) for n in range(len(layers))]
    found = list(scopes([None if layer.type in ENDS else layer.name for layer in layers]))
    runs = repeats([_signature(layer) for layer in layers], _joined(layers, crossing))
    if _names_suffice(found, len(layers)):
        edges = {edge for scope in found for edge in (scope.start, scope.end)}
        runs = [run for run in runs if all(start in edges for start in range(run.start, run.end + 1, run.period))]
    stretches: list[Stretch] = []
    position = 0
    for run in runs:
        stretches += _between(found, layers, position, run.start)
        stretches += _blocks(run, found, layers, apart)
        position = run.end
    return [*stretches, *_between(found, layers, position, len(layers))]


def _names_suffice(found: Sequence[NameScope], layers: int) -> bool:
    """Return whether names alone divide the layers: scopes contain most of them, and each scope is contiguous."""
    return len({s.path for s in found}) == len(found) and sum(s.end - s.start for s in found) > _MOST * layers


def _between(found: Sequence[NameScope], layers: Sequence[Layer], start: int, end: int) -> Iterator[Stretch]:
    """Return the parts between runs: scopes and single layers. If a run cuts a scope, the remainder is searched for
    scopes."""
    inside = [s for s in found if start <= s.start and s.end <= end]
    cut = any(s.start < edge < s.end for s in found for edge in (start, end))
    if cut:
        names = [None if layer.type in ENDS else layer.name for layer in layers[start:end]]
        inside = [NameScope(start + s.start, start + s.end, s.path) for s in scopes(names)]
    position = start
    for scope in inside:
        yield from (Stretch(n, n + 1) for n in range(position, scope.start))
        yield Stretch(scope.start, scope.end, scope.title)
        position = scope.end
    yield from (Stretch(n, n + 1) for n in range(position, end))


def _blocks(
    run: Run, found: Sequence[NameScope], layers: Sequence[Layer], apart: Collection[tuple[str, str]]
) -> Iterator[Stretch]:
    """Return the blocks of a run. Many consecutive blocks are inside outer blocks, about as many as each contains.

    A block that differs in another model, where it is not part of a run, is divided as if it were not repeated.
    """
    starts = range(run.start, run.end, run.period)
    blocks = [Stretch(s, s + run.period, f"block {n} of {run.times}") for n, s in enumerate(starts, 1)]
    block_of = {layers[n].name: (n - run.start) // run.period for n in range(run.start, run.end)} if apart else {}
    pairs = [(block_of[a], block_of[b]) for a, b in apart if a in block_of and b in block_of]
    changed = {a for a, b in pairs if a == b}
    ends = {b for a, b in pairs if a < b}
    if len(ends) >= run.times - 1:
        ends.clear()  # A difference before each block distinguishes no blocks.
    edges = [n for n in range(1, run.times) if n in ends or (n in changed) != (n - 1 in changed)]
    for first, end in pairwise([0, *edges, run.times]):
        if end - first == 1 and first in changed:
            yield from _between(found, layers, blocks[first].start, blocks[first].end)
            continue
        size = ceil(sqrt(end - first)) if end - first > SMALL_ENOUGH else 1
        for number in range(first, end, size):
            held = blocks[number : min(number + size, end)]
            if size == 1:
                yield held[0]
                continue
            title = f"blocks {number + 1} to {number + len(held)} of {run.times}"
            yield Stretch(held[0].start, held[-1].end, title, held)


def _signature(layer: Layer) -> tuple[str, int, int]:
    return layer.type, len(layer.inputs), len(layer.outputs)


def _joined(layers: Sequence[Layer], crossing: Sequence[int]) -> list[float]:
    """Return for every position the number of values that cross it, plus a little for names with a common path."""
    paths = [path_of(layer.name) for layer in layers]
    shared = [0, *(common_start(*pair) for pair in pairwise(paths)), 0]
    return [values + 0.2 * parts for values, parts in zip(crossing, shared, strict=True)]
