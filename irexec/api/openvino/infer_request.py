"""InferRequest: tensors in and out by name, position or port, and inference in the background."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from irexec.api.openvino.given import as_arrays, as_openvino, by_position, only
from irexec.api.openvino.request_tensors import RequestTensors
from irexec.api.openvino.tensor import Tensor
from irexec.core.arguments import expected
from irexec.core.structure import READ_VALUE
from irexec.core.types import STRING
from irexec.model.graph.model import Model, Value
from irexec.model.graph.one_process import OfOneProcess
from irexec.runtime import engine

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from irexec.api.openvino.arguments import Inputs, PortKey
    from irexec.api.openvino.profiling import Profile, ProfilingInfo
    from irexec.api.openvino.variable_state import VariableState
    from irexec.runtime.engine.results import Results

_BUSY = "Infer Request is busy"


@cache
def _workers() -> ThreadPoolExecutor:
    """Return the thread pool of all requests that run in the background."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="irexec")


def _profile() -> Profile:
    from irexec.api.openvino.profiling import Profile

    return Profile()


class Compiled(Protocol):
    """The part of a compiled model's interface that its requests use."""

    model: Model

    @property
    def inputs(self) -> list[Value]: ...

    @property
    def outputs(self) -> list[Value]: ...

    @property
    def profiles(self) -> bool: ...

    @property
    def as_openvino(self) -> bool: ...


class InferRequest(OfOneProcess):
    """A sequence of inferences: tensors and variables are kept between them. Only one caller may use it at a time."""

    instead = "save the model (irexec.save_model) and compile it in the other process"

    def __init__(self, compiled: Compiled, runner: engine.InferRequest) -> None:
        self._compiled, self._runner = compiled, expected(runner, engine.InferRequest, "InferRequest()")
        self._tensors = RequestTensors(compiled.inputs, compiled.outputs, as_openvino=compiled.as_openvino)
        # Values of optional inputs, for one inference.
        self._more: dict[Value, Any] = {}
        self._callback: Callable[[Any], object] | None = None
        self.userdata: object = None
        self._future: Future[None] | None = None
        self._running = False
        self._cancelled = False
        self._latency = 0.0
        self._lock = threading.Lock()
        self._profile = _profile() if compiled.profiles else None
        if self._profile is not None:
            runner.listeners.append(self._profile)

    # Running

    def infer(
        self,
        inputs: Inputs | None = None,
        share_inputs: bool = False,
        share_outputs: bool = False,
        *,
        decode_strings: bool = True,
    ) -> Results:
        """Run once, on the given inputs and those set before. Raises RuntimeError (IRError if a layer fails).

        `inputs`: arrays or tensors by position, `{name | position | port: array}`, or one array. Arrays are copied
        unless `share_inputs`; tensors never are. The results belong to the caller, or with `share_outputs` are views of
        the request's output tensors, which the next inference overwrites. `decode_strings=False`: strings are returned
        as bytes.
        """
        self._infer(inputs, lambda given: self._tensors.give(given, share_inputs))
        results = self._shared() if share_outputs else self._last().copied()
        return self._delivered(results, decode_strings)

    __call__ = infer

    def infer_whole(
        self, inputs: Inputs | None, share_outputs: bool = False, *, decode_strings: bool = True
    ) -> Results:
        """Run as `infer` does, with all inputs given, on a request whose results no other caller reads. Raises IRError
        if an input is missing."""
        self._infer(inputs, self._tensors.give_all)
        return self._delivered(self._shared() if share_outputs else self._last(), decode_strings)

    def _delivered(self, results: Results, decode_strings: bool = True) -> Results:
        """Return results in the form that callers of the compiled model expect."""
        if self._compiled.as_openvino:
            results = as_openvino(results, self.model_outputs)
        return results if decode_strings else results.encoded()

    def _shared(self) -> Results:
        """Return the results as views of the request's output tensors."""
        tensors = [self._tensors.output(index) for index in range(len(self.model_outputs))]
        pairs = zip(self._last().to_tuple(), tensors, strict=True)
        return self._last().with_arrays(
            [array if tensor.element_type is STRING else tensor.values()[...] for array, tensor in pairs]
        )

    def _last(self) -> Results:
        """Return the results of the last inference in the request's own memory. Raises RuntimeError if there was
        none."""
        if self._tensors.results is None:
            raise RuntimeError("nothing was inferred yet")
        return self._tensors.results

    def _infer(self, inputs: Any, give: Callable[[Any], None]) -> None:
        self._begin()
        try:
            give(self._split(inputs))
            self._run()
        finally:
            self._running = False

    def start_async(self, inputs: Inputs | None = None, userdata: object = None, share_inputs: bool = False) -> None:
        """Run once in the background. Until `wait` returns, the request is busy. Arrays are copied unless shared."""
        self._start(self._in_background, inputs, share_inputs, userdata)

    def wait(self) -> None:
        """Wait for the started inference. Raises its exception, or RuntimeError if it was cancelled."""
        if self._future is not None:
            self._future.result()
            self._check_cancelled()

    def wait_for(self, timeout: int) -> bool:
        """Wait up to `timeout` milliseconds for the started inference; return whether it has ended. If none was
        started, return whether there are results."""
        if self._future is None:
            return self._tensors.results is not None
        try:
            self._future.result(timeout / 1000)
        except TimeoutError:
            return False
        self._check_cancelled()
        return True

    def cancel(self) -> None:
        """Cancel the started inference: its results are discarded, and `wait` raises an error."""
        if self._future is not None and not self._future.done():
            self._cancelled = True

    def set_callback(self, callback: Callable[[Any], object], userdata: object = None) -> None:
        """Call `callback(userdata)` after every inference in the background, in the thread that ran it."""
        self._check_idle()
        if not callable(callback):
            raise TypeError(f"a callback is a function of userdata, not {callback!r}")
        self._callback, self.userdata = callback, userdata

    @property
    def latency(self) -> float:
        """The duration of the last inference in milliseconds."""
        self._check_idle()
        return self._latency

    @property
    def results(self) -> Results:
        """A copy of the outputs of the last inference. Raises RuntimeError if there was none."""
        return self._delivered(self._last().copied())

    @property
    def is_busy(self) -> bool:
        """Whether an inference is running."""
        return self._running

    def get_profiling_info(self) -> list[ProfilingInfo]:
        """Return the time of each layer in the last inference; layers of a model compiled without PERF_COUNT are
        NOT_RUN."""
        self._check_idle()
        return (self._profile or _profile()).infos(self._compiled.model)

    profiling_info = property(get_profiling_info)

    def _begin(self) -> None:
        with self._lock:
            self._check_idle()
            self._running = True

    def _start(self, work: Callable[[], None], inputs: Any, share_inputs: bool, userdata: object = None) -> None:
        """Keep the inputs, and run `work` in the background; the request is idle when it ends."""
        self._begin()
        try:
            self._tensors.give(self._split(inputs), share_inputs)
        except BaseException:
            self._running = False
            raise
        if userdata is not None and self._callback is not None:
            self.userdata = userdata
        elif userdata is not None:
            warnings.warn("There is no callback function to pass `userdata` into!", RuntimeWarning, stacklevel=3)
        self._cancelled = False
        self._future = _workers().submit(work)

    def _in_background(self) -> None:
        try:
            self._run()
        finally:
            self._running = False
        if self._callback is not None and not self._cancelled:
            try:
                self._callback(self.userdata)
            except Exception as error:
                raise RuntimeError(f"{type(error).__name__}: {error} (raised by the callback)") from error

    def _run(self) -> None:
        begin = time.perf_counter()
        arrays: Any = self._tensors.arrays()
        if self._more:
            arrays = dict(zip(self.model_inputs, arrays, strict=True)) | self._more
        results = self._runner.infer(arrays)
        self._latency = (time.perf_counter() - begin) * 1e3
        self._tensors.fill(results)

    def _check_idle(self) -> None:
        if self._running:
            raise RuntimeError(_BUSY)

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise RuntimeError("[ INFER_CANCELLED ] the inference was cancelled")

    # Tensors

    @property
    def model_inputs(self) -> list[Value]:
        """The inputs of the model."""
        return self._compiled.inputs

    @property
    def model_outputs(self) -> list[Value]:
        """The outputs of the model."""
        return self._compiled.outputs

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors of the inputs, in order."""
        self._check_idle()
        return [self._tensors.input(index) for index in range(len(self.model_inputs))]

    @property
    def output_tensors(self) -> list[Tensor]:
        """The tensors of the outputs, in order."""
        self._check_idle()
        return [self._tensors.output(index) for index in range(len(self.model_outputs))]

    def get_input_tensor(self, index: int | None = None) -> Tensor:
        """Return the tensor of an input by its position, by default the tensor of the only input."""
        self._check_idle()
        return self._tensors.input(only(self.model_inputs, index))

    def get_output_tensor(self, index: int | None = None) -> Tensor:
        """Return the tensor of an output by its position, by default the tensor of the only output."""
        self._check_idle()
        return self._tensors.output(only(self.model_outputs, index))

    def get_tensor(self, name: str | Value | None = None, *, port: Value | None = None) -> Tensor:
        """Return the tensor of an input or output, by name or port. Raises RuntimeError if there is none."""
        self._check_idle()
        is_input, index = self._tensors.find(name if port is None else port)
        return self._tensors.input(index) if is_input else self._tensors.output(index)

    def set_tensor(
        self, name: str | Value | None = None, tensor: Tensor | None = None, *, port: Value | None = None
    ) -> None:
        """Set the tensor with this name or port: that of an input, or that of an output, which each inference fills."""
        self._check_idle()
        is_input, index = self._tensors.find(name if port is None else port)
        expected(tensor, Tensor, "set_tensor()")
        (self._tensors.set_input if is_input else self._tensors.set_output)(index, tensor)

    def set_tensors(
        self,
        inputs: Mapping[PortKey, Tensor] | str | Value | None = None,
        tensors: Sequence[Tensor] | None = None,
        *,
        tensor_name: str | None = None,
        port: Value | None = None,
    ) -> None:
        """Set several tensors by name or port, or those of single samples of one input: see `set_input_tensors`."""
        if tensors is not None:
            one = next((key for key in (inputs, tensor_name, port) if key is not None), None)
            self._tensors.set_batch(self._tensors.find(one)[1], tensors)
            return
        for key, tensor in expected(inputs, Mapping, "set_tensors()").items():
            if isinstance(key, int):
                self.set_input_tensor(key, tensor)
            else:
                self.set_tensor(key, tensor)

    def set_input_tensor(self, index: int | Tensor | None = None, tensor: Tensor | None = None) -> None:
        """Set the tensor of an input, by default that of the only input."""
        self._check_idle()
        index, tensor = (None, index) if isinstance(index, Tensor) else (index, tensor)
        self._tensors.set_input(only(self.model_inputs, index), expected(tensor, Tensor, "set_input_tensor()"))

    def set_output_tensor(self, index: int | Tensor | None = None, tensor: Tensor | None = None) -> None:
        """Set the tensor that each inference fills for an output, by default for the only output."""
        self._check_idle()
        index, tensor = (None, index) if isinstance(index, Tensor) else (index, tensor)
        self._tensors.set_output(only(self.model_outputs, index), expected(tensor, Tensor, "set_output_tensor()"))

    def set_input_tensors(
        self,
        inputs: Mapping[PortKey, Tensor] | Sequence[Tensor] | int | None = None,
        tensors: Sequence[Tensor] | None = None,
        *,
        idx: int | None = None,
    ) -> None:
        """Set tensors of inputs: `{name | position | port: tensor}`, or tensors of single samples, which are joined
        along the axis N of the layout of the only input, or of the input at a position.

        Raises RuntimeError if the layout of the input has no N, or its extent is not the number of samples.
        """
        if not isinstance(inputs, Mapping):
            position: Any
            position, samples = (idx, inputs) if tensors is None else (idx if inputs is None else inputs, tensors)
            samples = expected(samples, Sequence, "set_input_tensors()")
            self._tensors.set_batch(only(self.model_inputs, position), samples)
            return
        for index, tensor in by_position(inputs, self.model_inputs):
            self._tensors.set_input(index, tensor)

    def set_output_tensors(self, outputs: Mapping[PortKey, Tensor]) -> None:
        """Set tensors of outputs: `{name | position | port: tensor}`."""
        for index, tensor in by_position(outputs, self.model_outputs):
            self._tensors.set_output(index, tensor)

    def query_state(self) -> list[VariableState]:
        """Return the model's variables."""
        from irexec.api.openvino.variable_state import VariableState

        self._check_idle()
        readers = (node for node in self._compiled.model.walk() if node.type == READ_VALUE)
        kinds = {node.attributes["variable_id"]: node.outputs[0].type for node in readers}
        return [VariableState(state, kinds[state.name]) for state in self._runner.query_state()]

    def reset_state(self) -> None:
        """Reset every variable to its value before the first Assign."""
        self._check_idle()
        self._runner.reset_state()

    def get_compiled_model(self) -> Compiled:
        """Return the compiled model of this request."""
        return self._compiled

    def _split(self, inputs: Any) -> Any:
        """Return the inputs of a call without the optional ones, which are kept for this inference only."""
        inputs, more = self._runner.split(inputs)
        self._more = as_arrays(more)
        return inputs

    def __repr__(self) -> str:
        inputs, outputs = (",\n".join(map(repr, ports)) for ports in (self.model_inputs, self.model_outputs))
        return f"<InferRequest:\ninputs[\n{inputs}\n]\noutputs[\n{outputs}\n]>"
