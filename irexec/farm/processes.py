"""Processes that do tasks: each starts anew, uses one thread, and takes nothing with it when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# In a process: SIGTERM has come.
_told_to_leave = False


class _Worker:
    """One process, in a pool of its own: when it dies, it is known which call it was working on."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin)
        with _ctrl_c_held_back():
            started = self.pool.submit(os.getpid)
        self.pid = started.result()


class Processes(Executor):
    """An executor of `count` processes. One that dies fails its own call with BrokenProcessPool; another replaces it.

    The processes are started by `spawn`, one when the first call needs it: a program that uses them keeps its own work
    below `if __name__ == "__main__"`. Each has one thread for kernels and BLAS. An exception that leaves the `with`
    block, as Ctrl-C does, ends what they are doing; files that they were writing are whole, or not there. They end
    with the program that uses them, however that ends.
    """

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, "irexec-farm")
        self._own = threading.local()
        self._workers: list[_Worker] = []
        self._stopped = False

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have `call` done by the next process that is free."""
        return self._threads.submit(self._call, partial(call, *args, **kwargs))

    def _call(self, call: Callable[[], T]) -> T:
        """In a thread for each process: hand over the call, and wait."""
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = _Worker()
            self._workers.append(worker)
        if self._stopped:
            raise CancelledError
        try:
            return worker.pool.submit(_unless_told_to_leave, call).result()
        except BrokenProcessPool:
            self._own.worker = None
            self._workers.remove(worker)
            raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; end the processes after the last."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.pool.shutdown(wait)

    def stop(self) -> None:
        """End the calls that have begun, and begin no other."""
        self._stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._workers):
            with contextlib.suppress(OSError):
                os.kill(worker.pid, signal.SIGTERM)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.stop()
        self.shutdown()


@contextlib.contextmanager
def _ctrl_c_held_back() -> Iterator[None]:
    """A process that is started inside begins with SIGINT blocked: before `_begin` it would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """In a new process: one thread for kernels; Ctrl-C is ignored, as the parent handles it and sends SIGTERM."""
    import threadpoolctl

    from irexec.ops.compute.parallel import set_num_threads

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_leave_with_parent, name="irexec-parent", daemon=True).start()
    set_num_threads(1)
    threadpoolctl.threadpool_limits(1)


def _leave_with_parent() -> None:
    """In a thread: leave when the parent has been killed. The pool would wait for its next call for ever."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    while True:  # Once more, should the pool's own code have dropped the exception.
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(1)


def _leave(number: int, frame: FrameType | None) -> None:
    """Leave as an exception does, so that temporary files are removed."""
    global _told_to_leave
    _told_to_leave = True
    sys.exit(128 + number)


def _unless_told_to_leave(call: Callable[[], T]) -> T:
    """In a process: the call. (The pool's own code drops an exception that comes while it sends a result.)"""
    if _told_to_leave:
        raise SystemExit
    return call()
