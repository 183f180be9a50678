"""Tasks of compiled code on all threads: a pool that spins while it waits, so that even some 20 µs of work are shared.

See `irexec.runtime.lowering.llvm.pool` for how its members share the tasks of a job.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np

from irexec.core.threads.parallel import all_cores_have_callers, num_threads, parts_for, split
from irexec.ops.convolution.columns import Range
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.host import Native
from irexec.runtime.lowering.llvm.memory import Records, begin
from irexec.runtime.lowering.llvm.pool import (
    AT,
    AWAKE,
    CORE,
    CORE_OF,
    MEMBERS,
    PART_SIZE,
    PARTS,
    PATIENCE,
    REST,
    REST_FOR,
    SCRATCH,
    SCRATCH_STRIDE,
    size,
    write_lead,
    write_sequence,
    write_serve,
)

# The number of spins without work, about 100 µs, after which a member sleeps until it is woken.
SPINS = 4000
# The time in microseconds for which a waiting caller yields its core to an interrupted member.
BREAK = 20
# The number of multiply-adds from which a second thread is worth its cost.
WORTH_PRODUCTS = 1 << 20
# The number of 64-bit numbers in a cache line.
_LINE = 8
_LINE_BYTES = 64
# The number of tasks per part. Starting a task costs almost nothing, and with several tasks per part, threads finish at
# the same time.
TASKS = 4


class Job(NamedTuple):
    """Calls of function(shared, task, scratch, round) for each of the tasks, in this number of rounds.

    Each task has scratch memory of the given size in bytes.
    """

    function: Native
    shared: Records
    tasks: Records
    rounds: int
    scratch_bytes: int


class Arranged(NamedTuple):
    """A job for arrays of given shapes and strides; the first fields of `layer` are the addresses of the arrays."""

    function: Native
    layer: Records
    tasks: Records
    scratch: int = 0


class Sequence:
    """Jobs that a single call of compiled code executes one after the other."""

    def __init__(self, jobs: list[Job]) -> None:
        self.scratch_bytes = max(job.scratch_bytes for job in jobs)
        self.is_shared = [job.tasks.count > 1 for job in jobs]
        self._has_shared = any(self.is_shared)
        self.jobs = Records.of(
            [
                [job.rounds, job.tasks.count, job.function.address, job.shared, job.tasks, job.tasks.stride]
                for job in jobs
            ]
        )

    def __call__(self) -> None:
        members = num_threads() - 1 if self._has_shared and not all_cores_have_callers() else 0
        if not (members and _the_pool(members).run(self)):
            _alone().go_on(self)

    def __len__(self) -> int:
        return self.jobs.count


class State:
    """The state of a thread pool, or of a single thread, in the form of compiled code; with its scratch memory."""

    def __init__(self, members: int = 0) -> None:
        self._lead = compiler().written(write_lead).call
        self._members = 1 + members
        memory = np.zeros(size(members) + _LINE, np.int64)
        self.numbers = memory[-begin(memory) // memory.itemsize % _LINE :]
        self.numbers[PATIENCE] = SPINS
        self.numbers[REST], self.numbers[REST_FOR] = _system("usleep"), BREAK
        self.numbers[CORE_OF] = _system("sched_getcpu")
        self.numbers[MEMBERS] = members
        self.address = begin(self.numbers)
        self._scratch, self._size = np.empty(0, np.uint8), 0

    def lead(self, job: Job) -> None:
        """Run a job, together with all threads that use this state."""
        function, shared, tasks, rounds, scratch_bytes = job
        if self._size < scratch_bytes:
            self._grow(scratch_bytes)
        self._lead(self.address, rounds, tasks.count, function.address, shared.address, tasks.address, tasks.stride)

    def go_on(self, sequence: Sequence, at: int = 0) -> int:
        """Run the jobs of a sequence from number `at` on. Return the number of the job to continue with after sleeping
        members are woken; if the sequence is complete, the number of its jobs.
        """
        if self._size < sequence.scratch_bytes:
            self._grow(sequence.scratch_bytes)
        _run_sequence()(self.address, sequence.jobs.address, at, len(sequence))
        return int(self.numbers[AT])

    def _grow(self, scratch_bytes: int) -> None:
        self._size = -(-scratch_bytes // _LINE_BYTES) * _LINE_BYTES
        memory = np.empty(self._size * self._members + _LINE_BYTES, np.uint8)
        self._scratch = memory[-begin(memory) % _LINE_BYTES :]
        self.numbers[SCRATCH], self.numbers[SCRATCH_STRIDE] = begin(self._scratch), self._size


@cache
def _run_sequence() -> Callable[..., None]:
    return compiler().written(write_sequence).call


@cache
def _system(name: str) -> int:
    """Return the address of a function of the system; 0 if the system does not have it."""
    found = getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
    return 0 if found is None else ctypes.cast(found, ctypes.c_void_p).value or 0


@cache
def _core_of_caller() -> Callable[[], int]:
    """Return a function that returns the number of the calling thread's core; if threads cannot be moved, the number is
    negative and thus differs from the core of every member.
    """
    can_move = hasattr(os, "sched_setaffinity") and _system("sched_getcpu")
    return ctypes.CDLL(None).sched_getcpu if can_move else lambda: -2


class ThreadPool:
    """The calling thread and `members` other threads."""

    def __init__(self, members: int) -> None:
        self._serve = compiler().written(write_serve).call
        self._state = State(members)
        # The cores on which members were last seen.
        self._cores = self._state.numbers[PARTS + PART_SIZE + CORE :: PART_SIZE]
        self._cores[:] = -1
        self._turn = threading.Lock()
        self._wakers = [threading.Lock() for _ in range(members)]
        self._ended = False
        self._threads = []
        for number, waker in enumerate(self._wakers, 1):
            waker.acquire()
            arguments = (number, waker)
            thread = threading.Thread(target=self._member, args=arguments, name=f"irexec-pool-{number}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def __len__(self) -> int:
        return len(self._wakers)

    def _member(self, number: int, waker: threading.Lock) -> None:
        while waker.acquire() and not self._ended:
            self._serve(self._state.address, number)

    def run(self, work: Job | Sequence) -> bool:
        """Run a job or a sequence; return False, without running it, if another thread uses the pool."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if (core := _core_of_caller()()) in self._cores.tolist():
                self._move_off(core)
            if isinstance(work, Job):
                self._wake_all()
                self._state.lead(work)
                return True
            at = 0
            while at < len(work):
                if work.is_shared[at]:
                    self._wake_all()
                at = self._state.go_on(work, at)
        finally:
            self._turn.release()
        return True

    def _move_off(self, core: int) -> None:
        """Move members off the caller's core. The system may leave a spinning member on this core, which two threads
        then share.
        """
        for place, thread in enumerate(self._threads):
            if self._cores[place] != core or thread.native_id is None:
                continue
            self._cores[place] = -1
            with suppress(OSError):
                cores = os.sched_getaffinity(thread.native_id)
                if len(cores) > len(self._threads):
                    os.sched_setaffinity(thread.native_id, cores - {core})
                    os.sched_setaffinity(thread.native_id, cores)

    def _wake_all(self) -> None:
        """Wake sleeping threads."""
        if self._state.numbers[AWAKE] < len(self._wakers):
            self._wake()

    def _wake(self) -> None:
        for waker in self._wakers:
            # The caller of `close` may have released it already.
            with suppress(RuntimeError):
                waker.release()

    def close(self) -> None:
        """Make the threads exit."""
        self._ended = True
        self._wake()


_local = threading.local()
_team: ThreadPool | None = None
_lock = threading.Lock()


def tasks_for(products: int) -> int:
    """Return the number of tasks for this number of multiply-adds, independent of the number of threads."""
    parts = parts_for(products, WORTH_PRODUCTS)
    return 1 if parts == 1 else TASKS * parts


def pieces_of(rows: int, parts: int, height: int) -> list[Range]:
    """Divide rows into up to `parts` ranges of at least `height` rows; only the last may have a remainder."""
    pieces = [piece for piece in split(rows, parts, height) if piece[1] - piece[0] >= height]
    return [*pieces[:-1], (pieces[-1][0], rows)]


def run_job(job: Job) -> None:
    """Run a job, on all threads of the pool or, if another caller uses the pool, on the calling thread alone."""
    members = num_threads() - 1 if job.tasks.count > 1 and not all_cores_have_callers() else 0
    if not (members and _the_pool(members).run(job)):
        _alone().lead(job)


def _alone() -> State:
    """Return the state of this thread for compiled code."""
    if (alone := getattr(_local, "alone", None)) is None:
        alone = _local.alone = State()
    return alone


def _the_pool(members: int) -> ThreadPool:
    """Return the thread pool of this process, with this number of members."""
    global _team
    pool = _team
    if pool is not None and len(pool) == members:
        return pool
    with _lock:
        if _team is None or len(_team) != members:
            if _team is not None:
                _team.close()
            _team = ThreadPool(members)
        return _team


def _forget_pool() -> None:
    """Forget the threads after a fork: the new process has only the thread that forked."""
    global _team, _lock
    _team, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
