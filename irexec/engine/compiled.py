"""The compiled model: plans that any number of threads may run, each on a request of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from irexec.engine.plans import Plans
from irexec.engine.request import InferRequest
from irexec.engine.results import Results
from irexec.engine.runner import Listener
from irexec.graph.model import Model, Value


class CompiledModel:
    """A model ready to run; it may be called from any number of threads.

    Sequential calls share a request, which keeps the variables from call to call. Concurrent calls run in parallel on
    requests of their own; if the model has variables, they run one after the other.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._plans = Plans(model)
        self._has_state = self._plans.has_state
        self._idle: list[InferRequest] = []
        self._turn = threading.Lock()

    @property
    def inputs(self) -> list[Value]:
        return self.model.inputs

    @property
    def outputs(self) -> list[Value]:
        return self.model.outputs

    def input(self, key: int | str = 0) -> Value:
        return self.model.input(key)

    def output(self, key: int | str = 0) -> Value:
        return self.model.output(key)

    @property
    def layer_count(self) -> int:
        """The number of layers that run at each inference: those that do not depend on constants alone."""
        return len(self._plans.general.steps)

    def create_infer_request(self, listeners: Sequence[Listener] = ()) -> InferRequest:
        """A request with its own buffers and variables. `listeners` are told of every layer."""
        return InferRequest(self._plans, listeners)

    def __call__(self, inputs: Any = None, **options: Any) -> Results:
        """Run on arrays by position, `{name | position | port: array}`, or one array. Raises IRError."""
        with self._borrowed() as request:
            return request.infer(inputs)

    def _own_request(self) -> InferRequest:
        """A request that the model keeps for its calls. It does not keep the model: dropping that frees both."""
        return self.create_infer_request()

    @contextmanager
    def _borrowed(self) -> Iterator[InferRequest]:
        """A request for the exclusive use of the caller, until the block ends."""
        if self._has_state:
            with self._turn:
                if not self._idle:
                    self._idle.append(self._own_request())
                yield self._idle[0]
            return
        try:
            request = self._idle.pop()
        except IndexError:
            request = self._own_request()
        try:
            yield request
        finally:
            self._idle.append(request)

    def infer_new_request(self, inputs: Any = None) -> Results:
        """Run on a request of its own: no variable is carried over."""
        return self.create_infer_request().infer(inputs)

    def __repr__(self) -> str:
        return f"<CompiledModel: {self.model.name!r}>"
