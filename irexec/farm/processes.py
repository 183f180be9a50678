"""Processes that do tasks: each starts anew, uses one thread, and takes nothing with it when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.resource_tracker import ensure_running
from traceback import format_exception
from types import FrameType, TracebackType
from typing import Any, NoReturn, ParamSpec, TypeVar

from irexec.records import NamedTuple

P = ParamSpec("P")
T = TypeVar("T")

_SIGNALS = {signal.SIGINT, signal.SIGTERM}
# How long, in seconds, a process whose parent was killed may take to remove its temporary files.
_GRACE = 5


class _Worker:
    """A process that does one call after the other."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._calls, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), name="irexec", daemon=True)
        with _signals_held_back():
            self._process.start()
        theirs.close()  # When the process dies, nobody holds that end, which is how `call` learns of it.

    def call(self, call: Callable[[], T]) -> T:
        """What the call returns, or raises there. Raises BrokenProcessPool when the process dies."""
        try:
            self._calls.send(call)
            answer: _Answer = self._calls.recv()
        except (EOFError, ConnectionError):
            raise BrokenProcessPool("the process died") from None
        if answer.error is not None:
            raise answer.error from _Elsewhere(answer.trace)
        return answer.result  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Tell it to leave, whatever it does."""
        self._process.terminate()

    def join(self) -> None:
        """Wait until it has left; it leaves when there are no more calls."""
        self._calls.close()
        self._process.join()


class _Answer(NamedTuple):
    """What a process sends back: the result of a call, or what it raised, and the text of the traceback."""

    result: Any
    error: BaseException | None = None
    trace: str = ""


class _Elsewhere(Exception):
    """The text of a traceback in a process: the cause of the exception here."""


class Processes(Executor):
    """An executor of `count` processes. One that dies fails its own call with BrokenProcessPool; another replaces it.

    (The standard library's pool gives up all its calls then, and does not say which of them it was.)
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
            return worker.call(call)
        except BrokenProcessPool:
            self._own.worker = None
            self._workers.remove(worker)
            worker.join()
            raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; end the processes after the last."""
        if not wait:
            self._threads.shutdown(False, cancel_futures=cancel_futures)
            threading.Thread(target=self.shutdown, name="irexec-end", daemon=True).start()
            return
        self._threads.shutdown(cancel_futures=cancel_futures)
        for worker in self._workers:
            worker.join()

    def stop(self) -> None:
        """End the calls that have begun, and begin no other."""
        self._stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in list(self._workers):
            worker.stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.stop()
        self.shutdown()


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """A process that is started inside begins with signals blocked: before `_serve` they would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    ensure_running()  # When `multiprocessing` starts this process of its own, it unblocks them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(calls: Connection) -> None:
    """In a new process: do calls until there are no more, with one thread for kernels.

    Ctrl-C is ignored, as the parent handles it and sends SIGTERM.
    """
    import threadpoolctl

    from irexec.ops.compute.parallel import set_num_threads

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_leave_with_parent, name="irexec-parent", daemon=True).start()
    set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    while (answer := _answer(calls)) is not None:
        try:
            calls.send(answer)
        except ConnectionError:
            return
        except Exception as error:  # The answer cannot be pickled.
            calls.send(_failure(error))


def _answer(calls: Connection) -> _Answer | None:
    """What the next call comes to; None when there are no more."""
    try:
        try:
            call = calls.recv()
        except (EOFError, ConnectionError):
            return None
        return _Answer(call())
    except _ToldToLeave:
        raise
    except BaseException as error:
        return _failure(error)


def _failure(error: BaseException) -> _Answer:
    return _Answer(None, error, "".join(format_exception(error)))


def _leave_with_parent() -> None:
    """In a thread: leave when the parent has been killed, also in the middle of a call."""
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(1)


class _ToldToLeave(SystemExit):
    """Leaves as an exception does, so that temporary files are removed."""


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """Leave, once: a second signal would come while temporary files are being removed."""
    signal.signal(number, signal.SIG_IGN)
    raise _ToldToLeave(128 + number)
