"""The compiled model: plans that any number of threads may run, each with a separate request."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from irexec.model.graph.model import Model, Value
from irexec.model.graph.one_process import OfOneProcess
from irexec.model.graph.ports import port_of
from irexec.runtime.engine.arguments import Inputs
from irexec.runtime.engine.lowered import Backend
from irexec.runtime.engine.plans import Plans
from irexec.runtime.engine.request import InferRequest
from irexec.runtime.engine.results import Results
from irexec.runtime.engine.runner import Listener


class CompiledModel(OfOneProcess):
    """A model ready to run; it may be called from any number of threads.

    Sequential calls share a request, which keeps the variables between calls. Concurrent calls run in parallel on
    separate requests; if the model has variables, they run one after the other.
    """

    instead = "save the model (irexec.save_model) and compile it in the other process"

    def __init__(self, model: Model, backend: Backend | None = None) -> None:
        """Plan the model. `backend`: the back end that lowers it; without a back end, every call runs the kernels."""
        self.model, self.backend = model, backend
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
        return port_of(self.model.inputs, key)

    def output(self, key: int | str = 0) -> Value:
        return port_of(self.model.outputs, key)

    @property
    def layer_count(self) -> int:
        """The number of layers that run at each inference, that is, layers that do not depend on constants alone."""
        return len(self._plans.general.steps)

    def create_infer_request(self, listeners: Sequence[Listener] = ()) -> InferRequest:
        """Create a request with its own buffers and variables. `listeners` are notified of every layer."""
        return InferRequest(self._plans, listeners, self.backend)

    def __call__(self, inputs: Inputs | None = None, **options: bool) -> Results:
        """Run on arrays by position, `{name | position | port: array}`, or one array. Raises IRError."""
        with self._borrowed() as request:
            return request.infer(inputs)

    def _own_request(self) -> InferRequest:
        """Create a request for the model's own calls. It holds no reference to the model, so that dropping the model
        frees the request as well.
        """
        return self.create_infer_request()

    @contextmanager
    def _borrowed(self) -> Iterator[InferRequest]:
        """Provide a request for the exclusive use of the caller, until the block ends."""
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

    def infer_new_request(self, inputs: Inputs | None = None) -> Results:
        """Run on a new request, without variables of earlier runs."""
        return self.create_infer_request().infer(inputs)

    def __repr__(self) -> str:
        return f"<CompiledModel: {self.model.name!r}>"
