"""InferRequest: tensors in and out by name, position or port, and inference in the background."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from irexec import engine
from irexec.engine.arguments import arrange, fitting
from irexec.engine.state import VariableState as EngineState
from irexec.graph.model import Model, Value
from irexec.openvino.profiling import Profile, ProfilingInfo
from irexec.openvino.tensor import Tensor, as_tensor
from irexec.types import DYNAMIC

if TYPE_CHECKING:
    from irexec.engine.results import Results

_BUSY = "Infer Request is busy"


@cache
def _workers() -> ThreadPoolExecutor:
    """The threads of all requests that run in the background."""
    return ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="irexec")


class Compiled(Protocol):
    """A compiled model, as far as its requests ask it."""

    model: Model

    @property
    def inputs(self) -> list[Value]: ...

    @property
    def outputs(self) -> list[Value]: ...

    @property
    def profiles(self) -> bool: ...


class VariableState:
    """A variable of a request. Its `state` is a Tensor; it may be set to a tensor or an array."""

    def __init__(self, state: EngineState, kind: Any) -> None:
        self._state, self._kind = state, kind

    @property
    def name(self) -> str:
        return self._state.name

    @property
    def state(self) -> Tensor:
        return Tensor.of_values(self._state.state, self._kind)

    @state.setter
    def state(self, value: Any) -> None:
        self._state.state = value.values() if isinstance(value, Tensor) else value

    def reset(self) -> None:
        """Back to the value before the first Assign."""
        self._state.reset()

    def __repr__(self) -> str:
        return f"<VariableState: {self.name!r} {self.state!r}>"


class InferRequest:
    """One line of inferences: it keeps tensors and variables from one to the next. One caller at a time."""

    def __init__(self, compiled: Compiled, runner: engine.InferRequest) -> None:
        self._compiled, self._runner = compiled, runner
        self._given: dict[int, Tensor] = {}
        self._wanted: dict[int, Tensor] = {}
        self._results: Results | None = None
        self._callback: Callable[[Any], Any] | None = None
        self.userdata: Any = None
        self._future: Future[None] | None = None
        self._running = False
        self._cancelled = False
        self._latency = 0.0
        self._lock = threading.Lock()
        self._profile = Profile() if compiled.profiles else None
        if self._profile is not None:
            runner.listeners.append(self._profile)

    # Running

    def infer(
        self,
        inputs: Any = None,
        share_inputs: bool = False,
        share_outputs: bool = False,
        *,
        decode_strings: bool = True,
    ) -> Results:
        """Run once, on what is given and what was set before. Raises RuntimeError (IRError where a layer is at fault).

        `inputs`: arrays or tensors by position, `{name | position | port: array}`, or one array. The options are
        OpenVINO's: irexec never copies inputs that fit, and the results are the caller's own.
        """
        return self._infer(inputs, self._give)

    __call__ = infer

    def infer_whole(self, inputs: Any) -> Results:
        """As `infer`, of inputs that are all given. Raises IRError when one is missing."""
        return self._infer(inputs, self._give_all)

    def _infer(self, inputs: Any, give: Callable[[Any], None]) -> Results:
        self._begin()
        try:
            give(inputs)
            self._run()
            return self.results
        finally:
            self._running = False

    def start_async(self, inputs: Any = None, userdata: Any = None, share_inputs: bool = False) -> None:
        """Run once in the background. Until `wait` returns, the request is busy."""
        self._begin()
        try:
            self._give(inputs)
        except BaseException:
            self._running = False
            raise
        if userdata is not None:
            self.userdata = userdata
        self._cancelled = False
        self._submit(self._in_background)

    def wait(self) -> None:
        """Wait for what was started. Raises what went wrong in it, or RuntimeError when it was cancelled."""
        if self._future is not None:
            self._future.result()
            self._check_cancelled()

    def wait_for(self, timeout: int) -> bool:
        """Wait some milliseconds; True when the request is done."""
        if self._future is None:
            return True
        try:
            self._future.result(timeout / 1000)
        except NotYet:
            return False
        self._check_cancelled()
        return True

    def cancel(self) -> None:
        """Give up what was started: its results are thrown away, and `wait` says so."""
        if self._future is not None and not self._future.done():
            self._cancelled = True

    def set_callback(self, callback: Callable[[Any], Any], userdata: Any = None) -> None:
        """Call `callback(userdata)` whenever an inference that was started is done, in its thread."""
        self._check_idle()
        self._callback, self.userdata = callback, userdata

    @property
    def latency(self) -> float:
        """The milliseconds that the last inference took."""
        self._check_idle()
        return self._latency

    @property
    def results(self) -> Results:
        """The outputs of the last inference. Raises RuntimeError when there was none."""
        if self._results is None:
            raise RuntimeError("nothing was inferred yet")
        return self._results

    @property
    def is_busy(self) -> bool:
        """True while an inference is running."""
        return self._running

    def get_profiling_info(self) -> list[ProfilingInfo]:
        """What each layer took in the last inference; layers of a model compiled without PERF_COUNT are NOT_RUN."""
        self._check_idle()
        return (self._profile or Profile()).infos(self._compiled.model)

    profiling_info = property(get_profiling_info)

    def _begin(self) -> None:
        with self._lock:
            self._check_idle()
            self._running = True

    def _submit(self, work: Callable[[], None]) -> None:
        self._future = _workers().submit(work)

    def _in_background(self) -> None:
        try:
            self._run()
        finally:
            self._running = False
        if self._callback is not None and not self._cancelled:
            self._callback(self.userdata)

    def _run(self) -> None:
        begin = time.perf_counter()
        arrays = [self._input(index).values() for index in range(len(self.model_inputs))]
        results = self._runner.infer(arrays)
        self._latency = (time.perf_counter() - begin) * 1e3
        for index, tensor in self._wanted.items():
            tensor.copy_from(Tensor.of_values(results[index], self.model_outputs[index].element_type))
        self._results = results

    def _check_idle(self) -> None:
        if self._running:
            raise RuntimeError(_BUSY)

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise RuntimeError("[ INFER_CANCELLED ] the inference was cancelled")

    # Tensors

    @property
    def model_inputs(self) -> list[Value]:
        return self._compiled.inputs

    @property
    def model_outputs(self) -> list[Value]:
        return self._compiled.outputs

    @property
    def input_tensors(self) -> list[Tensor]:
        self._check_idle()
        return [self._input(index) for index in range(len(self.model_inputs))]

    @property
    def output_tensors(self) -> list[Tensor]:
        self._check_idle()
        return [self._output(index) for index in range(len(self.model_outputs))]

    def get_input_tensor(self, index: int | None = None) -> Tensor:
        self._check_idle()
        return self._input(_only(self.model_inputs, index))

    def get_output_tensor(self, index: int | None = None) -> Tensor:
        self._check_idle()
        return self._output(_only(self.model_outputs, index))

    def get_tensor(self, name: Any = None, *, port: Any = None) -> Tensor:
        """The tensor of an input or output, by name or port. Raises RuntimeError when there is none."""
        self._check_idle()
        kind, index = self._place(name if port is None else port)
        return self._input(index) if kind == "input" else self._output(index)

    def set_tensor(self, name: Any = None, tensor: Any = None, *, port: Any = None) -> None:
        """Take a tensor as the input, or fill it as the output, that has this name or port."""
        self._check_idle()
        kind, index = self._place(name if port is None else port)
        (self._set_input if kind == "input" else self._set_output)(index, tensor)

    def set_tensors(self, inputs: Mapping[Any, Any]) -> None:
        for key, tensor in inputs.items():
            self.set_tensor(key, tensor)

    def set_input_tensor(self, index: Any = None, tensor: Any = None) -> None:
        self._check_idle()
        index, tensor = (None, index) if isinstance(index, Tensor) else (index, tensor)
        self._set_input(_only(self.model_inputs, index), tensor)

    def set_output_tensor(self, index: Any = None, tensor: Any = None) -> None:
        self._check_idle()
        index, tensor = (None, index) if isinstance(index, Tensor) else (index, tensor)
        self._set_output(_only(self.model_outputs, index), tensor)

    def set_input_tensors(self, inputs: Any) -> None:
        for key, tensor in _items(inputs):
            self._set_input(_position(self.model_inputs, key), tensor)

    def set_output_tensors(self, outputs: Any) -> None:
        for key, tensor in _items(outputs):
            self._set_output(_position(self.model_outputs, key), tensor)

    def query_state(self) -> list[VariableState]:
        """The model's variables."""
        self._check_idle()
        kinds = {n.attributes["variable_id"]: n.outputs[0].element_type for n in self._compiled.model.walk()
                 if n.type == "ReadValue"}  # fmt: skip
        return [VariableState(state, kinds[state.name]) for state in self._runner.query_state()]

    def reset_state(self) -> None:
        """Put every variable back to the value it has before the first Assign."""
        self._check_idle()
        self._runner.reset_state()

    def get_compiled_model(self) -> Any:
        return self._compiled

    def _give(self, inputs: Any) -> None:
        """Keep what a call gives as the inputs of this inference and of later ones."""
        ports = self.model_inputs
        if inputs is None:
            return
        if isinstance(inputs, (Tensor, np.ndarray, np.generic, int, float)) or _is_one_array(inputs, ports):
            items: Any = [(0, inputs)] if len(ports) == 1 else _one_for_many(ports)
        elif isinstance(inputs, (Mapping, list, tuple)):
            items = _items(inputs)
        else:
            raise TypeError(f"Incompatible inputs of type: {type(inputs)}")
        for key, given in items:
            self._set_input(_position(ports, key), given)

    def _give_all(self, inputs: Any) -> None:
        """Keep what a call gives, for every input. Raises IRError when one is missing."""
        ports = self.model_inputs
        for index, array in enumerate(arrange(_as_arrays(inputs), ports)):
            self._given[index] = _shared(array, ports[index])

    def _set_input(self, index: int, given: Any) -> None:
        port = self.model_inputs[index]
        self._given[index] = _fitting(given, port)

    def _set_output(self, index: int, tensor: Any) -> None:
        port = self.model_outputs[index]
        if tensor.element_type is not port.element_type:
            raise RuntimeError(f"output {index} is {port.element_type}; the tensor is {tensor.element_type}")
        self._wanted[index] = tensor

    def _input(self, index: int) -> Tensor:
        if index not in self._given:
            self._given[index] = _blank(self.model_inputs[index])
        return self._given[index]

    def _output(self, index: int) -> Tensor:
        if index in self._wanted:
            return self._wanted[index]
        port = self.model_outputs[index]
        if self._results is None:
            self._wanted[index] = _blank(port)
            return self._wanted[index]
        return _shared(self._results[index], port)

    def _place(self, key: Any) -> tuple[str, int]:
        for kind, ports in (("input", self.model_inputs), ("output", self.model_outputs)):
            index = _found(ports, key)
            if index is not None:
                return kind, index
        name = key if isinstance(key, str) else repr(key)
        raise RuntimeError(f"Port for tensor name {name} was not found.")

    def __repr__(self) -> str:
        inputs, outputs = (",\n".join(map(repr, ports)) for ports in (self.model_inputs, self.model_outputs))
        return f"<InferRequest:\ninputs[\n{inputs}\n]\noutputs[\n{outputs}\n]>"


def _as_arrays(given: Any) -> Any:
    """What was given, with the arrays of tensors in their place."""
    if isinstance(given, Tensor):
        return given.values()
    if isinstance(given, Mapping):
        return {key: _as_arrays(value) if isinstance(value, Tensor) else value for key, value in given.items()}
    if isinstance(given, (list, tuple)):
        return [_as_arrays(value) if isinstance(value, Tensor) else value for value in given]
    return given


def _items(given: Any) -> list[tuple[Any, Any]]:
    return list(given.items()) if isinstance(given, Mapping) else list(enumerate(given))


def _is_one_array(given: Any, ports: Sequence[Value]) -> bool:
    """True for a plain list of numbers or texts, which is one array for the one input."""
    return (
        isinstance(given, list)
        and len(ports) == 1
        and bool(given)
        and all(isinstance(v, (int, float, bool, str)) for v in given)
    )


def _one_for_many(ports: Sequence[Value]) -> Any:
    raise RuntimeError(f"one array was given; the model has {len(ports)} inputs")


def _only(ports: Sequence[Value], index: int | None) -> int:
    if index is not None:
        return range(len(ports))[index]
    if len(ports) != 1:
        raise RuntimeError(f"there are {len(ports)} ports: name one by its position")
    return 0


def _found(ports: Sequence[Value], key: Any) -> int | None:
    for index, port in enumerate(ports):
        if isinstance(key, str):
            if key in port.names or key == port.node.friendly_name:
                return index
        elif port is key or (isinstance(key, Value) and port.node.type == "Result" and port.node.inputs[0] is key):
            return index
    return None


def _position(ports: Sequence[Value], key: Any) -> int:
    if isinstance(key, (int, np.integer)):
        return range(len(ports))[int(key)]
    found = _found(ports, key)
    if found is None:
        raise RuntimeError(f"Port for tensor name {key} was not found.")
    return found


def _fitting(given: Any, port: Value) -> Tensor:
    """What was given for an input, as a tensor of the port's element type where the engine need not refuse it."""
    kind = port.element_type
    if isinstance(given, Tensor):
        if kind is not DYNAMIC and given.element_type is not kind:
            raise RuntimeError(
                f"ParameterMismatch: Failed to set tensor for input with precision: {given.element_type}, "
                f"since the model input tensor precision is: {kind}"
            )
        tensor = given
    else:
        array = fitting(given, port)
        tensor = _shared(array, port)
    if not port.type.shape.accepts(tuple(tensor.shape)):
        raise RuntimeError(
            f"The input tensor size is not equal to the model input type: got {tensor.shape} "
            f"expecting {port.type.shape}."
        )
    return tensor


def _shared(array: np.ndarray[Any, Any], port: Value) -> Tensor:
    if array.dtype.kind == "U":
        return Tensor(array)
    return Tensor.of_values(
        array, port.element_type if port.element_type is not DYNAMIC else as_tensor(array).element_type
    )


def _blank(port: Value) -> Tensor:
    """A tensor of zeros for a port; extents that are not known are 0."""
    shape = port.type.shape
    return Tensor(port.element_type, [] if shape.rank is None else [d.min for d in shape.dims])
