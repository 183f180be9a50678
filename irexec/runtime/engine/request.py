"""A request: a sequence of inferences that share buffers and variables."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from irexec.core.threads.parallel import computing
from irexec.model.graph.model import Value
from irexec.model.graph.one_process import OfOneProcess
from irexec.model.graph.ports import find
from irexec.runtime.engine.arguments import arrange
from irexec.runtime.engine.checking import Rules
from irexec.runtime.engine.lowered import Backend
from irexec.runtime.engine.plan import Plan
from irexec.runtime.engine.plans import MAX_PLANS, Plans, Shapes
from irexec.runtime.engine.results import Results
from irexec.runtime.engine.runner import Listener, Runner
from irexec.runtime.engine.state import Variables, VariableState


class InferRequest(OfOneProcess):
    """A sequence of inferences that share buffers and variables. It serves one caller at a time.

    While another thread uses it, a call raises RuntimeError: "Infer Request is busy".
    """

    instead = "save the model (irexec.save_model) and compile it in the other process"

    def __init__(self, plans: Plans, listeners: Sequence[Listener] = (), backend: Backend | None = None) -> None:
        self._plans, self._backend = plans, backend
        self._variables, self._rules = Variables(plans.model), Rules()
        self._runners: OrderedDict[Plan, Runner] = OrderedDict()
        # The shapes of the inputs of the last inference.
        self._last: Shapes = ()
        self._busy = threading.Lock()
        self.listeners: list[Listener] = list(listeners)
        self.results: Results | None = None

    @property
    def model_inputs(self) -> list[Value]:
        return self._plans.model.inputs

    @property
    def model_outputs(self) -> list[Value]:
        return self._plans.model.outputs

    @property
    def is_busy(self) -> bool:
        """True while a thread is running the request."""
        return self._busy.locked()

    def infer(self, inputs: Any = None) -> Results:
        """Run the model once. The results belong to the caller. If it raises IRError, all variables are unchanged."""
        with self._alone():
            plans = self._plans.opened(self.split(inputs)[1])
            arrays = arrange(inputs, plans.model.inputs)
            shapes = tuple([array.shape for array in arrays])
            plan = plans.of(shapes, self._last, observed=bool(self.listeners))
            self._last = shapes
            runner = self._runner(plan)
            before = dict(self._variables.values)
            try:
                # Idle BLAS threads spin on the cores that the kernels' own threads need.
                with computing():
                    lowered = self._backend is not None and not self.listeners and self._backend.begin(plan)
                    results = runner.run(arrays, lowered=lowered)
                self._variables.commit()
            except BaseException:
                self._variables.restore(before)
                raise
            self.results = found = Results(self.model_outputs, results)
        return found

    __call__ = infer

    def split(self, inputs: Any) -> tuple[Any, dict[Value, Any]]:
        """Return the arguments of a call for ordinary inputs, and those for optional inputs."""
        ports = self._plans.optional_inputs
        if not ports or not isinstance(inputs, Mapping):
            return inputs, {}
        places = {key: find(ports, key) for key in inputs}
        more = {ports[place]: inputs[key] for key, place in places.items() if place is not None}
        return {key: inputs[key] for key, place in places.items() if place is None}, more

    def _runner(self, plan: Plan) -> Runner:
        runner = self._runners.get(plan)
        if runner is None:
            runner = Runner(plan, self._variables, self.listeners, self._backend, rules=self._rules)
            self._runners[plan] = runner
            while len(self._runners) > MAX_PLANS:
                self._runners.popitem(last=False)
        return runner

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("Infer Request is busy")
        try:
            yield
        finally:
            self._busy.release()

    def get_output_tensor(self, index: int = 0) -> Any:
        """Return an output of the last inference. Raises RuntimeError if there was no inference."""
        if self.results is None:
            raise RuntimeError("no inference has been run yet")
        return self.results[index]

    def query_state(self) -> list[VariableState]:
        """Return the model's variables."""
        return [VariableState(self._variables, name) for name in self._variables.readers]

    def reset_state(self) -> None:
        """Reset every variable to its value before the first Assign."""
        with self._alone():
            self._variables.reset()
