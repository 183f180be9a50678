"""Tasks of compiled code on all threads: a team that waits by spinning for a moment, so that a few µs of work divide.

See `irexec.native.team` for how its members share the tasks of a job.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.native import compiler
from irexec.native.llvm import Native
from irexec.native.memory import address
from irexec.native.team import AWAKE, DONE, FIELDS, SIZE, write_lead, write_serve, write_wait
from irexec.ops.compute.parallel import all_cores_have_callers, num_threads, scratch
from irexec.types import Array

# A member that found nothing to do for so many rounds, some 100 µs, sleeps until it is woken.
PATIENCE = 4000
# Seconds for which the caller leaves its core to a member that was interrupted.
BREAK = 20e-6
# So many multiply-adds are worth a second thread.
WORTH_PRODUCTS = 1 << 20
_F32 = np.dtype(np.float32)


class Tasks:
    """A table with a record of 64-bit numbers for each task, where compiled code finds it."""

    def __init__(self, records: Array) -> None:
        self._records = np.ascontiguousarray(records, np.int64)
        self.address, self.stride = address(self._records), self._records.strides[0]
        self.count = len(self._records)

    def __len__(self) -> int:
        return self.count


class Team:
    """The calling thread and `members` others."""

    def __init__(self, members: int) -> None:
        made = compiler()

        def function(name: str, write: Callable[[Any, str, int], None], parameters: int) -> Callable[..., None]:
            return made.made(name, parameters, lambda module, name: write(module, name, made.lanes)).call

        self._lead = function("lead", write_lead, 3 + FIELDS)
        self._wait, self._serve = function("wait", write_wait, 3), function("serve", write_serve, 3)
        self._state = np.zeros(SIZE, np.int64)
        self._address = self._state.ctypes.data
        self._scratch, self._scratch_address = np.empty(0, np.uint8), 0
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
            self._serve(self._address, PATIENCE, number)

    def run(self, function: Native, shared: int, tasks: Tasks, scratch_bytes: int) -> bool:
        """Call function(shared, task, scratch) for each of the tasks; False when another thread has the team."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._scratch.size < scratch_bytes * (len(self._wakers) + 1):
                self._scratch = np.empty(scratch_bytes * (len(self._wakers) + 1), np.uint8)
                self._scratch_address = address(self._scratch)
            places = (shared, tasks.address, tasks.stride, self._scratch_address, scratch_bytes)
            if self._state[AWAKE] < len(self._wakers):
                self._wake()
            self._state[DONE] = tasks.count  # until there is a job
            try:
                self._lead(self._address, PATIENCE, tasks.count, function.address, *places)
            finally:
                # Not before all is done, after Ctrl-C neither: the members write into the caller's memory.
                while self._state[DONE] < tasks.count:
                    # A member was interrupted in the middle of a task: it may need this core.
                    time.sleep(BREAK)
                    self._wait(self._address, PATIENCE, tasks.count)
        finally:
            self._turn.release()
        return True

    def _wake(self) -> None:
        for waker in self._wakers:
            if waker.locked():
                waker.release()

    def close(self) -> None:
        """Let the members end."""
        self._ended = True
        self._wake()


_team: Team | None = None
_lock = threading.Lock()


def threads_for(products: int) -> int:
    """How many threads so many multiply-adds of compiled code are worth."""
    return num_threads() if products >= WORTH_PRODUCTS else 1


def run_tasks(function: Native, shared: Array, tasks: Tasks, scratch_size: int) -> None:
    """Call function(shared, task, scratch) for each of the tasks, with `scratch_size` elements of f32 each.

    All threads take part, unless others have work for them: then the calling thread does it all.
    """
    members = 0 if all_cores_have_callers() else num_threads() - 1
    record = address(shared)
    if members and tasks.count > 1 and _the_team(members).run(function, record, tasks, 4 * scratch_size):
        return
    memory = address(scratch("compiled", (scratch_size,), _F32))
    for number in range(tasks.count):
        function.call(record, tasks.address + number * tasks.stride, memory)


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
