"""Threads for kernels: a shared pool, a loop over it, and scratch memory per thread.

NumPy releases the interpreter's lock inside its loops and BLAS calls, so a kernel that splits its work into blocks of
about a cache's size runs on all cores. BLAS's own threads would compete with these, hence `single_threaded_blas`.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np

from irexec.core.threads.blas import single_threaded_blas, users
from irexec.core.types import Array

# Work of at least this many multiply-adds, or of reading this many bytes a few times, is divided. One core takes about
# 300 µs for so much work; waking a second thread and sharing the caches with it costs some 100 µs.
WORTH_PRODUCTS = 1 << 24
WORTH_BYTES = 1 << 20
# Repacking a matrix for another part costs BLAS about as much as multiplying it by 6 rows or columns.
LEAST_EXTENT = 128
# Larger scratch arrays are not kept for the next call.
MAX_KEPT_BYTES = 1 << 26

_lock = threading.Lock()
_local = threading.local()
_threads: int | None = None
_pool: _Pool | None = None


def num_threads() -> int:
    """Return the number of threads for kernels: as set with set_num_threads or IREXEC_NUM_THREADS, by default the
    number of cores that this process may use.
    """
    global _threads
    if _threads is None:
        given = os.environ.get("IREXEC_NUM_THREADS", "")
        affinity = getattr(os, "sched_getaffinity", None)
        cores = len(affinity(0)) if affinity else os.cpu_count() or 1
        _threads = max(1, int(given)) if given.isdigit() else cores
    return _threads


def set_num_threads(count: int | None) -> None:
    """Set the number of threads that kernels use from now on; None restores the initial number."""
    global _threads, _pool
    if count is not None and count < 1:
        raise ValueError(f"{count} threads: expected at least 1")
    with _lock:
        _threads, old, _pool = count, _pool, None
    if old is not None:
        old.close()


class _Share:
    """One worker's share of some work, which raises no exceptions. The worker claims it, or the caller withdraws it."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work: Callable[[], None] | None = work
        self.claim, self.done = threading.Lock(), threading.Lock()
        self.done.acquire()

    def serve(self) -> None:
        """Execute the share in a worker, unless the caller has withdrawn it."""
        if self.claim.acquire(blocking=False):
            assert self.work is not None
            self.work()
            self.done.release()

    def finish(self) -> None:
        """Wait for a worker that has started the share, or withdraw it. Called in the calling thread when no work is
        left.
        """
        if self.claim.acquire(blocking=False):
            self.work = None
        else:
            self.done.acquire()


class _Pool:
    """The worker threads, besides the calling thread.

    A queue and a lock per share wake a worker sooner than concurrent.futures does. Where a worker runs is left to the
    scheduler: keeping it off the caller's core gained nothing (241 and 248 µs with, 237 and 263 without).
    """

    def __init__(self, workers: int) -> None:
        from queue import SimpleQueue

        self.jobs: SimpleQueue[_Share | None] = SimpleQueue()
        self.workers = workers
        for number in range(workers):
            threading.Thread(target=self._serve, name=f"irexec-{number}", daemon=True).start()

    def _serve(self) -> None:
        while (share := self.jobs.get()) is not None:
            share.serve()
            # Release the work, and the arrays it holds, before waiting for more.
            del share

    def submit(self, work: Callable[[], None], count: int) -> list[_Share]:
        """Queue `count` shares of the caller's work for the workers, and return the shares."""
        shares = [_Share(work) for _ in range(count)]
        for share in shares:
            self.jobs.put(share)
        return shares

    def close(self) -> None:
        """Tell the workers to exit after their current work."""
        for _ in range(self.workers):
            self.jobs.put(None)


def _forget_threads() -> None:
    """Forget the threads after a fork: the new process has only the thread that forked."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _get_pool() -> _Pool:
    global _pool
    with _lock:
        if _pool is None:
            _pool = _Pool(max(1, num_threads() - 1))
        return _pool


@contextmanager
def computing() -> Iterator[None]:
    """Run kernels in this context: NumPy gives no warnings. BLAS uses one thread: otherwise the number of threads would
    determine how BLAS divides its work.
    """
    with np.errstate(all="ignore"), single_threaded_blas():
        yield


def parallel_for(count: int, function: Callable[[int], object]) -> None:
    """Call function(0) … function(count - 1), distributed over the threads; returns when all calls are done.

    The calling thread does part of the work. Inside another parallel_for, or when many inferences run, the calls are
    made sequentially. NumPy gives no warnings. The first exception stops the work and is raised after the other threads
    have stopped.
    """
    workers = min(count, num_threads())
    if workers <= 1 or getattr(_local, "busy", False) or all_cores_have_callers():
        with computing():
            for index in range(count):
                function(index)
        return
    remaining: Iterator[int] = iter(range(count))
    failures: list[BaseException] = []

    def work() -> None:
        _local.busy = True
        try:
            # Each thread has error settings of its own.
            with np.errstate(all="ignore"):
                for index in remaining:
                    function(index)
        except BaseException as error:
            failures.append(error)
            for _ in remaining:
                pass
        finally:
            _local.busy = False

    with single_threaded_blas():
        pool = _get_pool()
        shares = pool.submit(work, workers - 1)
        work()
        for share in shares:
            share.finish()
    if failures:
        raise failures[0]


def parts_for(work: int, worth: int | None = None) -> int:
    """Return the number of parts into which some work is divided: 2 from `worth` (WORTH_PRODUCTS) on, twice as many for
    four times the work.

    The number depends on the work alone, which depends on shapes, so that results are the same bits for any number of
    threads: the order in which BLAS and NumPy add depends on the extents of each call. All kernels that divide work
    call this function. The number of threads only determines which thread computes which part.

    A power of two divides evenly among most numbers of threads. BLAS repacks one of the matrices for each part, which
    limits the number of parts.
    """
    return 1 << ((work // (WORTH_PRODUCTS if worth is None else worth)).bit_length() + 1) // 2


def parts_along(extent: int, parts: int, least: int = LEAST_EXTENT) -> int:
    """Return the number of parts into which an axis of a product is divided: at most `parts`, and more than two only if
    each part has at least `least` elements.
    """
    while parts > 2 and extent < parts * least:
        parts //= 2
    return parts


def split(extent: int, parts: int, multiple: int = 1) -> list[tuple[int, int]]:
    """Return up to `parts` ranges (start, stop) of about equal length that cover `extent`.

    Each start is a multiple of `multiple`.
    """
    units = -(-extent // multiple)
    parts = max(1, min(parts, units))
    bounds = [min(extent, units * i // parts * multiple) for i in range(parts + 1)]
    return list(pairwise(bounds))


def scratch(slot: str, shape: Sequence[int], dtype: np.dtype[Any], memory: dict[str, Array] | None = None) -> Array:
    """Return an uninitialized array that belongs to this thread; the next call with the same slot reuses its memory.

    `memory`: arrays by slot, to be used instead of the arrays of this thread.
    """
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > MAX_KEPT_BYTES:
        return np.empty(shape, dtype)
    buffers: dict[str, Array] = _local.__dict__.setdefault("buffers", {}) if memory is None else memory
    buffer = buffers.get(slot)
    if buffer is None or buffer.nbytes < nbytes:
        buffer = buffers[slot] = np.empty(nbytes + (nbytes >> 2), np.uint8)
    return np.ndarray(shape, dtype, buffer)


def all_cores_have_callers() -> bool:
    """Return True if as many inferences run as there are threads: each inference is then best run on one thread."""
    return 1 < num_threads() <= users()
