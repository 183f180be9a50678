"""The work of layers on given arrays: jobs of compiled code, run immediately or kept for every run of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irexec.core.threads import parallel
from irexec.core.types import Array
from irexec.runtime.lowering.contiguous import copying
from irexec.runtime.lowering.llvm.host import Native
from irexec.runtime.lowering.llvm.memory import Field, Records
from irexec.runtime.lowering.tasks import Arranged, Job, run_job

F32 = np.dtype(np.float32)
# Smaller arrays are left to NumPy, which has less overhead, if the work is run immediately.
LEAST_SIZE = 1 << 12


class Unsuited(Exception):
    """Raised while jobs for a program are made: NumPy would have to do a part of the work in every run."""


class Work:
    """The jobs for some layers, in the order in which they run.

    Without `memory`, the jobs run once, immediately: all given arrays already contain their values. With `memory`, the
    jobs belong to a program, which runs them often: arrays that other layers compute do not contain their values yet,
    and scratch memory is in `memory`, by slot.
    """

    def __init__(self, memory: dict[str, Array] | None = None) -> None:
        self._memory = memory
        self.jobs: list[Job] = []

    def add(self, function: Native, shared: Records, tasks: Records, scratch_size: int = 0, rounds: int = 1) -> None:
        """Add calls of function(shared, task, scratch, round) for each task, with `scratch_size` elements of f32.

        A round starts when the previous one is complete.
        """
        self.jobs.append(Job(function, shared, tasks, rounds, 4 * scratch_size))

    def arranged(self, made: Arranged, *arrays: Field) -> None:
        """Add a job for these arrays."""
        self.add(made.function, made.layer.filled(*arrays), made.tasks, made.scratch)

    def run(self) -> None:
        for job in self.jobs:
            run_job(job)

    def scratch(self, slot: str, shape: Sequence[int]) -> Array:
        """Return f32 memory, which the next layer that requests this slot may reuse."""
        return parallel.scratch(slot, shape, F32, self._memory)

    def needs_values(self, is_constant: bool) -> None:
        """Declare that NumPy reads an array immediately. Raises Unsuited if a program's array is not constant."""
        if self._memory is not None and not is_constant:
            raise Unsuited

    def contiguous(self, array: Array, slot: str = "contiguous") -> Array:
        """Return the elements of an f32 array in contiguous memory: the array, or a copy made by the jobs."""
        if array.flags.c_contiguous and array.dtype == F32:
            return array
        if self._copying(array) is not None and (array.size >= LEAST_SIZE or self._memory is not None):
            copy = self.scratch(slot, array.shape)
            self.copied(array, copy)
            return copy
        self.needs_values(False)
        return np.ascontiguousarray(array, F32)

    def all_contiguous(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the operands of one layer, besides its data, as contiguous arrays."""
        return [self.contiguous(array, f"contiguous {number}") for number, array in enumerate(arrays)]

    def copied(self, array: Array, out: Array) -> bool:
        """Add a copy of f32 elements to `out`, which is contiguous; return False if compiled code cannot copy them."""
        if (found := self._copying(array)) is not None:
            self.arranged(found, array, out)
        return found is not None

    def _copying(self, array: Array) -> Arranged | None:
        fits = array.dtype == F32 and array.flags.aligned and array.size
        return copying(array.shape, array.strides) if fits else None

    def by_rows(self, array: Array, slot: str) -> Array:
        """Return the elements of an f32 array with contiguous rows."""
        return array if array.strides[-1] == F32.itemsize and array.flags.aligned else self.contiguous(array, slot)


def by_numbers(
    data: Array, shape: tuple[int, ...], out: Array | None, add: Callable[[Work, Array, Array], None]
) -> Array:
    """Return the f64 result of jobs on integers, in `out` if it is given.

    `add(work, data, sums)` adds the jobs, for the data in f32 and an f32 array that receives 32-bit integers.
    """
    work = Work()
    numbers, sums = work.scratch("numbers", data.shape), work.scratch("number sums", shape)
    np.copyto(numbers, data, casting="same_kind")
    add(work, numbers, sums)
    work.run()
    result = np.empty(shape) if out is None else out
    np.copyto(result, sums.view(np.int32))
    return result
