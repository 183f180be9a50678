"""Concat of f32 by compiled code, on all threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from irexec.lowering.llvm import compiler
from irexec.lowering.llvm.joining import TASK, write_join
from irexec.lowering.llvm.memory import Records
from irexec.lowering.work import Work
from irexec.threads.parallel import split
from irexec.types import Array

# The approximate number of elements that one task copies.
PIECE = 1 << 13


class CompiledConcat:
    """The concatenation of arrays of these shapes, which differ along `axis` only."""

    def __init__(self, shapes: Sequence[tuple[int, ...]], axis: int) -> None:
        self._function = compiler().written(write_join)
        rows, lengths = prod(shapes[0][:axis]), [prod(shape[axis:]) for shape in shapes]
        self._records = Records.of(list(_tasks(rows, lengths)))

    def tasks(self, work: Work, tensors: Sequence[Array], out: Array) -> None:
        """Concatenate into `out`, which is contiguous."""
        sources = Records.of([work.all_contiguous(tensors)])
        work.add(self._function, Records.of([[sources, out]]), self._records)


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
