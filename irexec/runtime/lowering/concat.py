"""Concat of f32 lowered, on all threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from irexec.core.threads.parallel import split
from irexec.core.types import Array
from irexec.ops.movement.concat import concat_1
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.joining import TASK, write_join
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.narrow import computes_in_f32
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import Work

# Fewer elements are left to NumPy, which has less overhead.
LEAST_SIZE = 1 << 7
# The approximate number of elements that one task copies.
PIECE = 1 << 13


@lowers(concat_1)
def _(site: Site, *, axis: int) -> Lowered | None:
    result = site.types.outputs[0]
    shapes = [type.shape.to_shape() for type in site.types.inputs if type is not None and type.shape.is_static]
    if not computes_in_f32(result.element_type) or len(shapes) < len(site.types.inputs):
        return None
    shape = result.shape.to_shape()
    return Concat(site, shapes, shape, axis % len(shape)) if prod(shape) >= LEAST_SIZE else None


class Concat(Lowered):
    """The concatenation of f32 arrays of these shapes, which differ along `axis` only."""

    selects = True

    def __init__(self, site: Site, shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...], axis: int) -> None:
        super().__init__(site)
        self._shape, self._function = shape, compiler().written(write_join)
        rows, lengths = prod(shapes[0][:axis]), [prod(each[axis:]) for each in shapes]
        self._tasks = Records.of(list(_tasks(rows, lengths)))

    def shape(self, *tensors: Array) -> tuple[int, ...] | None:
        return self._shape

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        sources = Records.of([work.all_contiguous(inputs)])
        work.add(self._function, Records.of([[sources, out]]), self._tasks)


def _tasks(rows: int, lengths: Sequence[int]) -> Iterator[list[int]]:
    """Return tasks, each of some rows of a source, or of a part of a single row."""
    total, place = sum(lengths), 0
    for source, length in enumerate(lengths):
        pieces = -(-rows * length // PIECE)
        for first, last in split(rows, pieces):
            for start, stop in split(length, pieces if rows == 1 else 1, 16):
                record = [source, first, last, stop - start, start, place + start, length, total]
                assert len(record) == len(TASK)
                yield record
        place += length
