"""Tasks of compiled code on all threads: a team that spins while it waits, so that even some 20 µs of work are shared.

See `irexec.native.team` for how its members share the tasks of a job.
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import suppress
from functools import cache
from typing import NamedTuple

import numpy as np

from irexec.native import compiler
from irexec.native.llvm import Native
from irexec.native.memory import address
from irexec.native.team import (
    AWAKE,
    PATIENCE,
    REST,
    REST_FOR,
    SCRATCH,
    SCRATCH_STRIDE,
    SIZE,
    write_lead,
    write_serve,
)
from irexec.ops.compute.parallel import all_cores_have_callers, num_threads
from irexec.types import Array

# A member that found nothing to do for so many spins, some 100 µs, sleeps until it is woken.
SPINS = 4000
# Microseconds for which the caller leaves its core to a member that was interrupted.
BREAK = 20
# So many multiply-adds are worth a second thread.
WORTH_PRODUCTS = 1 << 20


class Tasks:
    """A table with a record of 64-bit numbers for each task, where compiled code finds it."""

    def __init__(self, records: Array) -> None:
        self._records = np.ascontiguousarray(records, np.int64)
        self.address, self.stride = address(self._records), self._records.strides[0]
        self.count = len(self._records)

    def __len__(self) -> int:
        return self.count


class Job(NamedTuple):
    """Call function(shared, task, scratch, round) for each of the tasks, and that in so many rounds."""

    function: Native
    shared: int
    tasks: Tasks
    rounds: int


class State:
    """What compiled code knows of a team, or of a thread alone, and the scratch memory of its members."""

    def __init__(self, members: int = 0) -> None:
        made = compiler()
        self._lead = made.made("lead", 7, lambda module, name: write_lead(module, name, made.lanes)).call
        self._members = 1 + members
        self.numbers = np.zeros(SIZE, np.int64)
        self.numbers[PATIENCE] = SPINS
        self.numbers[REST], self.numbers[REST_FOR] = _rest()
        self.address = address(self.numbers)
        self._scratch, self._size = np.empty(0, np.uint8), 0

    def lead(self, job: Job, scratch_bytes: int) -> None:
        """Do a job, with whoever serves this state."""
        if self._size < scratch_bytes:
            self._scratch, self._size = np.empty(scratch_bytes * self._members, np.uint8), scratch_bytes
            self.numbers[SCRATCH], self.numbers[SCRATCH_STRIDE] = address(self._scratch), scratch_bytes
        function, shared, tasks, rounds = job
        self._lead(self.address, rounds, tasks.count, function.address, shared, tasks.address, tasks.stride)


@cache
def _rest() -> tuple[int, int]:
    """A function of the system that leaves the core to others, and for how long it should."""
    found = getattr(ctypes.CDLL(None), "usleep", None) if os.name == "posix" else None
    return (0, 0) if found is None else (ctypes.cast(found, ctypes.c_void_p).value or 0, BREAK)


class Team:
    """The calling thread and `members` others."""

    def __init__(self, members: int) -> None:
        made = compiler()
        self._serve = made.made("serve", 2, lambda module, name: write_serve(module, name, made.lanes)).call
        self._state = State(members)
        self._turn = threading.Lock()
        self._wakers = [threading.Lock() for _ in range(members)]
        self._ended = False
        for number, waker in enumerate(self._wakers, 1):
            waker.acquire()
            arguments = (number, waker)
            threading.Thread(target=self._member, args=arguments, name=f"irexec-team-{number}", daemon=True).start()

    def __len__(self) -> int:
        return len(self._wakers)

    def _member(self, number: int, waker: threading.Lock) -> None:
        while waker.acquire() and not self._ended:
            self._serve(self._state.address, number)

    def run(self, job: Job, scratch_bytes: int) -> bool:
        """Do the job; False when another thread has the team."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._state.numbers[AWAKE] < len(self._wakers):
                self._wake()
            self._state.lead(job, scratch_bytes)
        finally:
            self._turn.release()
        return True

    def _wake(self) -> None:
        for waker in self._wakers:
            # Who ends the team may have released it already.
            with suppress(RuntimeError):
                waker.release()

    def close(self) -> None:
        """Let the members end."""
        self._ended = True
        self._wake()


_local = threading.local()
_team: Team | None = None
_lock = threading.Lock()


def threads_for(products: int) -> int:
    """How many threads so many multiply-adds of compiled code are worth."""
    return num_threads() if products >= WORTH_PRODUCTS else 1


def run_tasks(function: Native, shared: Array, tasks: Tasks, scratch_size: int, rounds: int = 1) -> None:
    """Call function(shared, task, scratch, round) for each task, with `scratch_size` elements of f32 each.

    No round begins before the one before is done. All threads take part, unless others have work for them: then the
    calling thread does it all.
    """
    job = Job(function, address(shared), tasks, rounds)
    members = num_threads() - 1 if tasks.count > 1 and not all_cores_have_callers() else 0
    if members and _the_team(members).run(job, 4 * scratch_size):
        return
    if (alone := getattr(_local, "alone", None)) is None:
        alone = _local.alone = State()
    alone.lead(job, 4 * scratch_size)


def _the_team(members: int) -> Team:
    """The team of this process, with so many members."""
    global _team
    team = _team
    if team is not None and len(team) == members:
        return team
    with _lock:
        if _team is None or len(_team) != members:
            if _team is not None:
                _team.close()
            _team = Team(members)
        return _team


def _forget_team() -> None:
    """A forked process has no threads but the one that forked."""
    global _team, _lock
    _team, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_team)
