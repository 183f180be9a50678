"""The workers of a Dask scheduler as an executor (extra `irexec[cluster]`)."""

from __future__ import annotations

import contextlib
import logging
import pickle
import threading
from asyncio import CancelledError as AsyncCancelledError
from asyncio import wait_for
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from concurrent.futures import wait as wait_for_all
from functools import partial
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Seconds to wait for an answer, and between checks of the scheduler and its workers.
_PATIENCE = 10
_INTERVAL = 0.2


class Cluster(Executor):
    """An executor that uses the workers of a Dask scheduler.

    If a worker dies, Dask gives its calls to another worker; a call that has killed four workers fails with Dask's
    KilledWorker. If the scheduler stops responding for ten seconds, all calls are cancelled.
    """

    def __init__(self, address: str, *, alone: Callable[[], object] = lambda: None) -> None:
        """`alone` is called, in a thread, if the scheduler has no worker, and whenever its last worker leaves.

        Raises ImportError without Dask, OSError or ValueError if no scheduler answers at the address.
        """
        from distributed import Client

        # Dask would log the exceptions of failed calls, which the calls raise anyway.
        for name in ("distributed", "distributed.client", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        _find_scheduler(address)
        self._client: Any = Client(address, timeout=_PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
        # The pending calls: this executor's future → Dask's future.
        self._waiting: dict[Future[Any], Any] = {}
        self._left = threading.Event()
        self._alone = alone
        threading.Thread(target=self._watch, name="irexec-cluster", daemon=True).start()

    @property
    def worker_count(self) -> int:
        """The number of workers that the scheduler has now."""
        return len(self._client.nthreads())

    def submit(self, call: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Execute `call` on a free worker."""
        import cloudpickle

        # A worker that fails to unpickle a call exits, as it does without irexec. Bytes can always be unpickled.
        packed = cloudpickle.dumps(_Result(partial(call, *args, **kwargs)))
        asked: Any = self._client.submit(pickle.loads, packed, pure=False)
        future: Future[T] = Future()
        self._waiting[future] = asked
        future.add_done_callback(self._settled)
        self._client.loop.add_callback(_settle, asked, future)
        return future

    def _settled(self, future: Future[Any]) -> None:
        asked = self._waiting.pop(future, None)
        if future.cancelled() and asked is not None and self._client.status == "running":
            asked.cancel()

    def _watch(self) -> None:
        """Fail the pending calls when the client has stopped: Dask cancels most of them, but not all."""
        was_alone = False
        while not self._left.wait(_INTERVAL):
            if self._client.status == "running":
                with contextlib.suppress(OSError):
                    is_alone = not self.worker_count
                    if is_alone and not was_alone:
                        self._alone()
                    was_alone = is_alone
            elif self._client.status == "closed":
                for future in list(self._waiting):
                    # `cancel` would send a request to the scheduler.
                    with contextlib.suppress(InvalidStateError):
                        future.set_exception(CancelledError())

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no further calls, and disconnect after the last call, or immediately without `wait`."""
        # A client that has lost its scheduler would wait without limit.
        if self._client.status == "running":
            if wait and not cancel_futures:
                wait_for_all(list(self._waiting))
            else:
                self._client.cancel(list(self._waiting.values()))
        self._left.set()
        self._client.close(timeout=_PATIENCE)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Shut down when the block ends; if an exception ends it, such as KeyboardInterrupt, cancel open calls."""
        self.shutdown(cancel_futures=error is not None)


async def _settle(asked: Any, future: Future[Any]) -> None:
    """Give `future` the outcome of `asked`, Dask's future.

    Dask's own executor requests the state of a call after its result; if the worker dies in between, it treats the
    result as an exception.
    """
    with contextlib.suppress(InvalidStateError):
        try:
            result = await asked._result()
        except BaseException as error:
            # An asyncio.CancelledError counts as one of concurrent.futures, which is the class that callers know.
            future.set_exception(CancelledError() if isinstance(error, AsyncCancelledError) else error)
        else:
            future.set_result(result)


class _Result:
    """A call that is executed by unpickling: the unpickled value is its result."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return self._call, ()


def _find_scheduler(address: str) -> None:
    """Raise OSError or ValueError if no scheduler answers: Dask's client would wait without limit."""
    from distributed import Security
    from distributed.core import rpc
    from distributed.utils import LoopRunner

    async def kind_of_server() -> str:
        secured = Security().get_connection_args("client")  # type: ignore[no-untyped-call]
        async with rpc(address, timeout=_PATIENCE, connection_args=secured) as server:  # type: ignore[no-untyped-call]
            return str((await server.identity())["type"])

    runner: Any = LoopRunner()
    try:
        kind = runner.run_sync(wait_for, kind_of_server(), _PATIENCE)
    except TimeoutError:
        raise OSError(f"no response within {_PATIENCE} s") from None
    if kind != "Scheduler":
        raise OSError(f"this is the address of a {kind.lower()}")
