"""AsyncInferQueue: a pool of requests, each of which gets the next inputs when it is idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from irexec.api.openvino.checks import not_negative
from irexec.api.openvino.compiled import CompiledModel
from irexec.api.openvino.infer_request import InferRequest
from irexec.core.arguments import expected
from irexec.model.graph.one_process import OfOneProcess

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import Inputs


class AsyncInferQueue(OfOneProcess):
    """Requests of one compiled model that run in the background; `jobs` 0 selects a number that suits the machine.

    An exception in an inference or a callback is raised by the next `start_async` or `wait_all`.
    """

    instead = "save the model (irexec.save_model) and compile it in the other process"

    def __init__(self, model: CompiledModel, jobs: int = 0) -> None:
        expected(model, CompiledModel, "AsyncInferQueue()")
        if jobs < 0:
            raise TypeError(
                f"AsyncInferQueue(): incompatible constructor arguments: {jobs} is not a number of requests"
            )
        count = jobs or int(model.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS"))
        self._requests = [model.create_infer_request() for _ in range(count)]
        self._idle = list(range(count))
        self._changed = threading.Condition()
        self._callback: Callable[[InferRequest, Any], object] | None = None
        self._error: BaseException | None = None
        self.userdata: list[Any] = [None] * count

    def start_async(self, inputs: Inputs | None = None, userdata: object = None, share_inputs: bool = False) -> None:
        """Wait for an idle request, and run it in the background. Arrays are copied unless shared.

        Raises the exception of an earlier inference.
        """
        number = self._take()
        request = self._requests[number]
        self.userdata[number] = request.userdata = userdata
        try:
            request._start(lambda: self._finish(number), inputs, share_inputs)
        except BaseException:
            self._give_back(number)
            raise

    def wait_all(self) -> None:
        """Wait for all requests. Raises the exception of an inference or callback that failed."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._idle) == len(self._requests))
            self._raise()

    def is_ready(self) -> bool:
        """Return True if a request is idle."""
        with self._changed:
            self._raise()
            return bool(self._idle)

    def get_idle_request_id(self) -> int:
        """Wait for an idle request, and return its number."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._idle))
            self._raise()
            return self._idle[0]

    def set_callback(self, callback: Callable[[InferRequest, Any], object]) -> None:
        """Call `callback(request, userdata)` after every inference."""
        if not callable(callback):
            raise TypeError(f"a callback is a function of a request and its userdata, not {callback!r}")
        self._callback = callback

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[InferRequest]:
        return iter(self._requests)

    def __getitem__(self, index: int) -> InferRequest:
        return self._requests[not_negative(index)]

    def _take(self) -> int:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._idle))
            self._raise()
            return self._idle.pop(0)

    def _give_back(self, number: int, error: BaseException | None = None) -> None:
        with self._changed:
            self._error = self._error or error
            self._idle.append(number)
            self._changed.notify_all()

    def _finish(self, number: int) -> None:
        """Run a request and its callback, in a thread of the pool."""
        request, failed = self._requests[number], None
        try:
            try:
                request._run()
            finally:
                request._running = False
            if self._callback is not None:
                self._callback(request, self.userdata[number])
        except BaseException as error:
            failed = error
        self._give_back(number, failed)

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def __repr__(self) -> str:
        return f"<AsyncInferQueue: {len(self._requests)} jobs>"
