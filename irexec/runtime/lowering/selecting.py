"""Layers of f32 whose results are elements of their data at constant positions, lowered: images resized to the nearest
element, and elements that are rearranged.

The kernel itself determines the positions: it is called with the numbers of the elements as data.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.ops.image.interpolate import interpolate_4, interpolate_11
from irexec.ops.movement.depth_to_space import depth_to_space_1, space_to_depth_1
from irexec.ops.movement.pad import pad_1, pad_12
from irexec.ops.movement.roll import roll_7
from irexec.ops.movement.shuffle_channels import shuffle_channels_1
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.llvm.selecting import LAYER, TASK, write_select
from irexec.runtime.lowering.narrow import computes_in_f32
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.tasks import tasks_for
from irexec.runtime.lowering.work import Work

# f32 can represent the positions of this number of elements.
MOST_ELEMENTS = 1 << 24
# The largest plane: its table takes 8 bytes for each element.
MOST_PLACES = 1 << 18
# The cost of an element, in multiply-adds.
WORK = 16
# Shorter runs are copied element by element.
SHORTEST = 4


class Selecting(Lowered):
    """A layer whose result consists of planes: the elements of the same plane of the data, in runs."""

    selects = True

    def __init__(self, site: Site, source: tuple[int, ...], result: tuple[int, ...], places: Array) -> None:
        """`places`: for each element in a plane of the result, its position in a plane of the data."""
        super().__init__(site)
        self._source, self._result = source, result
        runs, length = _runs(places)
        is_single = length == 1
        self._function = compiler().written(write_select, is_single)
        planes = prod(result) // places.size
        self._layer = Records.of([[0, 0, Records(runs), length, prod(source) // planes, len(runs)]])
        assert self._layer.numbers.shape == (1, len(LAYER))
        wanted = tasks_for(prod(result) * WORK)
        parts = split(planes, wanted)
        tasks = [[*pair[0], *pair[1]] for pair in product(parts, split(len(runs), wanted // len(parts)))]
        assert len(tasks[0]) == len(TASK)
        self._tasks = Records.of(tasks)

    def shape(self, data: Array, *others: Any) -> tuple[int, ...] | None:
        return self._result if data.shape == self._source else None

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        work.add(self._function, self._layer.filled(work.contiguous(inputs[0]), out), self._tasks)


def _runs(places: Array) -> tuple[Array, int]:
    """Return the first position of each run, and the common length of the runs: 1, or at least SHORTEST."""
    ends = np.flatnonzero(np.diff(places) != 1) + 1
    length = int(np.gcd.reduce(ends, initial=places.size))
    return (places, 1) if length < SHORTEST else (places[::length], length)


def _lowered(site: Site) -> Selecting | None:
    data, *others = site.types.inputs
    constants = site.types.constants[1:]
    if data is None or not data.shape.is_static or not computes_in_f32(data.element_type):
        return None
    source = data.shape.to_shape()
    is_known = all(known is not None for type, known in zip(others, constants, strict=True) if type is not None)
    if not is_known or not 0 < prod(source) < MOST_ELEMENTS:
        return None
    # Position 0 represents the zeros around the data.
    positions = np.arange(1, prod(source) + 1, dtype=np.float32).reshape(source)
    places = np.ascontiguousarray(site.kernel(positions, *constants)).astype(np.int64) - 1
    if not places.size or places.min() < 0:
        return None
    same = 0
    while same < len(source) - 1 and source[same] == places.shape[same]:
        same += 1
    for axis in range(same, -1, -1):
        planes = prod(source[:axis])
        found = places.reshape(planes, -1)
        begins = np.arange(planes)[:, None] * (prod(source) // planes)
        if np.array_equal(found, found[0] + begins):
            return Selecting(site, source, places.shape, found[0]) if found.shape[1] <= MOST_PLACES else None
    return None


@lowers(depth_to_space_1, space_to_depth_1, shuffle_channels_1, roll_7)
def _(site: Site) -> Lowered | None:
    return _lowered(site)


@lowers(interpolate_4, interpolate_11)
def _(site: Site, *, mode: str) -> Lowered | None:
    return _lowered(site) if mode == "nearest" else None


@lowers(pad_1, pad_12)
def _(site: Site, *, pad_mode: str) -> Lowered | None:
    return _lowered(site) if pad_mode in ("edge", "reflect", "symmetric") else None
