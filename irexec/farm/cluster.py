"""The workers of a Dask scheduler as an executor (extra `irexec[cluster]`)."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Seconds to wait for an answer, and between looks at whether the scheduler is still there.
_PATIENCE = 10
_INTERVAL = 0.2


class Cluster(Executor):
    """An executor of the workers that a Dask scheduler has.

    When a worker dies, Dask gives its calls to another one; a call that ends four workers fails with Dask's
    KilledWorker. When the scheduler is gone, and does not come back within ten seconds, all calls are cancelled.
    """

    def __init__(self, address: str) -> None:
        """Raises ImportError without Dask, OSError or ValueError when no scheduler answers at the address."""
        from distributed import Client

        # What Dask logs, with its tracebacks, is what the calls fail with.
        for name in ("distributed", "distributed.client", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
        self._executor: Any = self._client.get_executor(pure=False)  # type: ignore[no-untyped-call]
        self._waiting: set[Future[Any]] = set()
        self._left = threading.Event()
        threading.Thread(target=self._watch, name="irexec-cluster", daemon=True).start()

    @property
    def worker_count(self) -> int:
        """How many workers the scheduler has now."""
        return len(self._client.scheduler_info()["workers"])

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have `call` done by a worker that is free."""
        future: Future[T] = self._executor.submit(call, *args, **kwargs)
        self._waiting.add(future)
        future.add_done_callback(self._waiting.discard)
        return future

    def _watch(self) -> None:
        """Fail the calls that wait once the client has given up: Dask cancels most of them, not all."""
        while not self._left.wait(_INTERVAL):
            if self._client.status == "closed":
                for future in list(self._waiting):
                    # Not `cancel`, which would ask the scheduler.
                    with contextlib.suppress(InvalidStateError):
                        future.set_exception(CancelledError())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and leave the scheduler after the last, or at once without `wait`."""
        # A client that has lost its scheduler would wait for ever.
        if self._client.status == "running":
            self._executor.shutdown(wait and not cancel_futures)
        self._left.set()
        self._client.close(timeout=_PATIENCE)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave; an exception that leaves the block, as Ctrl-C does, gives up what is not done."""
        self.shutdown(cancel_futures=error is not None)
