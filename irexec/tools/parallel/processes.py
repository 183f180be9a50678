"""An executor of processes: each starts with a new interpreter, uses one thread, and can die without affecting other
processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from irexec.runtime.processes.child import Child
from irexec.runtime.processes.serve import GRACE
from irexec.runtime.processes.worker import Ended

P = ParamSpec("P")
T = TypeVar("T")


class _Work(NamedTuple):
    future: Future[Any]
    call: Callable[[], Any]


class Processes(Executor):
    """An executor of `count` processes. If a process dies, only its call fails, with BrokenExecutor, and another
    process replaces it.

    (In the standard library's pool all pending calls fail, without an indication of the cause.) A process is started
    when the first call needs it, and imports the program's own file if a call needs a class of the program: a program
    that uses Processes must guard its own work by `if __name__ == "__main__"`. Each has one thread for kernels and
    BLAS; its output goes to standard error. An exception that leaves the `with` block, such as KeyboardInterrupt,
    terminates running calls; files that they were writing are complete or absent. The processes exit when the program
    exits, even if it is killed.
    """

    def __init__(self, count: int) -> None:
        self._waiting: SimpleQueue[_Work | None] = SimpleQueue()
        self._children: set[Child] = set()
        self._starting = threading.Lock()
        self._closed = self._stopped = False
        # Ctrl-C may interrupt the calling thread while it holds the lock of a future, for which one of these threads
        # then waits without limit. As daemon threads they do not keep the program from exiting.
        self._threads = [
            threading.Thread(target=self._work, name=f"irexec-farm-{number}", daemon=True) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Execute `call` in the next free process. Raises RuntimeError after `shutdown`."""
        if self._closed:
            raise RuntimeError("the executor has been shut down")
        future: Future[T] = Future()
        self._waiting.put(_Work(future, partial(call, *args, **kwargs)))
        return future

    def _work(self) -> None:
        """Run the loop of a thread that serves one process: send a call, and wait for its result before the next."""
        child: Child | None = None
        while (work := self._waiting.get()) is not None:
            if work.future.set_running_or_notify_cancel():
                child = self._do(work, child)
            del work
        if child is not None:
            self._leave(child)

    def _do(self, work: _Work, child: Child | None) -> Child | None:
        """Execute a call in the given process, or in a new process; return the process unless it died."""
        try:
            if child is None:
                child = self._started()
                child.call(_use_one_thread)
            work.future.set_result(child.call(work.call))
        except Ended:
            if child is not None:
                self._leave(child)
            child = None
            work.future.set_exception(BrokenExecutor("the process terminated unexpectedly"))
        except BaseException as error:
            work.future.set_exception(error)
        return child

    def _started(self) -> Child:
        """Return a new process. Raises CancelledError after `stop`."""
        with self._starting:
            if self._stopped:
                raise CancelledError
            child = Child()
            self._children.add(child)
            return child

    def _leave(self, child: Child) -> None:
        child.worker.close()
        self._children.discard(child)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls; end the processes after the last call."""
        self._take_no_more(cancel_futures)
        if wait:
            for thread in self._threads:
                thread.join()
        else:
            # The thread keeps the program alive until the last call has ended.
            threading.Thread(target=self.shutdown, name="irexec-end").start()

    def stop(self) -> None:
        """Terminate running calls, and start no others. The processes have ended when this method returns."""
        with self._starting:
            self._stopped = True
        self._take_no_more(cancel=True)
        children = list(self._children)
        for child in children:
            child.worker.stop()
        moment = time.monotonic() + GRACE
        for child in children:
            child.worker.end_by(moment)

    def _take_no_more(self, cancel: bool) -> None:
        self._closed = True
        while cancel:
            try:
                work = self._waiting.get_nowait()
            except Empty:
                break
            if work is not None:
                work.future.cancel()
        for _ in self._threads:
            self._waiting.put(None)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.shutdown()
        except BaseException:
            self.stop()
            raise
        if error is not None:
            self.stop()


def _use_one_thread() -> None:
    import threadpoolctl

    from irexec.core.threads.parallel import set_num_threads

    set_num_threads(1)
    threadpoolctl.threadpool_limits(1)
