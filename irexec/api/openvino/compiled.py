"""CompiledModel: a model ready to run, with its properties."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from irexec.api.openvino.construction import check_parameters
from irexec.api.openvino.editing import current
from irexec.api.openvino.infer_request import InferRequest
from irexec.api.openvino.named_ports import port_named
from irexec.api.openvino.settings import Settings
from irexec.core.arguments import expected
from irexec.model.graph.model import Model, Value
from irexec.runtime import engine
from irexec.runtime.engine.results import Results
from irexec.runtime.lowering.backend import Backend, Mode

if TYPE_CHECKING:
    from irexec.api.openvino.arguments import Inputs
    from irexec.api.openvino.variable_state import VariableState
    from irexec.runtime.engine import Listener


# The engine's mode for each value of EXECUTION_MODE_HINT; None: the program has not set it.
_MODES = {None: Mode.OFTEN_USED, "PERFORMANCE": Mode.AT_ONCE, "ACCURACY": Mode.KERNELS}

# Properties that a compiled model of OpenVINO returns as texts.
_TEXTS = {"PERF_COUNT", "PERFORMANCE_HINT", "PERFORMANCE_HINT_NUM_REQUESTS"}


class CompiledModel(engine.CompiledModel):
    """A model ready to run; later changes of the model do not affect it.

    Calling it runs it on a request of its own, which keeps the model's variables from call to call. `as_openvino`:
    arrays of bf16, 8-bit floats and packed types have the form of OpenVINO's tensors (float16, uint8, packed bytes) and
    not that of ml_dtypes.
    """

    def __init__(
        self, model: Model | CompiledModel, settings: Settings | None = None, as_openvino: bool | None = None
    ) -> None:
        other = model if isinstance(model, CompiledModel) else None
        graph = expected(other.model if other is not None else model, Model, "CompiledModel()")
        check_parameters(current(graph))
        if settings is None:
            settings = other._settings if other is not None else Settings()
        self._settings: Settings = expected(settings, Settings, "CompiledModel()")
        self.as_openvino: bool = (other is not None and other.as_openvino) if as_openvino is None else as_openvino
        self._lowering = Backend(_MODES[self._settings.execution_mode])
        super().__init__(current(graph), self._lowering)
        self._inputs, self._outputs = model.inputs, model.outputs
        # The request of the last call, as in OpenVINO.
        self._infer_request: InferRequest | None = None

    @property
    def is_lowered(self) -> bool:
        """Whether all further inferences run compiled code (extra `fast`) instead of the kernels, for layers that have
        a compiled form.

        The property EXECUTION_MODE_HINT decides. ACCURACY: never. PERFORMANCE: always. If it is not set: from the third
        inference on, or a later one, as soon as compiling takes less time than it saves. With either hint, every call
        with the same inputs returns the same bits. Requests that measure the time of each layer (PERF_COUNT) run the
        kernels.
        """
        return self._lowering.is_lowered

    @property
    def profiles(self) -> bool:
        """Whether requests measure the time of each layer (PERF_COUNT)."""
        return self._settings.profiles

    @property
    def inputs(self) -> list[Value]:
        """The inputs of the model."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Value]:
        """The outputs of the model."""
        return list(self._outputs)

    def input(self, tensor_name: str | int | None = None, *, index: int | None = None) -> Value:
        """Return the only input, or one by its position or tensor name. Raises RuntimeError or IndexError."""
        return port_named(self.inputs, tensor_name if index is None else index, "Input")

    def output(self, tensor_name: str | int | None = None, *, index: int | None = None) -> Value:
        """Return the only output, or one by its position or tensor name. Raises RuntimeError or IndexError."""
        return port_named(self.outputs, tensor_name if index is None else index, "Output")

    def create_infer_request(self, listeners: Sequence[Listener] = ()) -> InferRequest:  # type: ignore[override]
        """Create a request with its own tensors and variables. `listeners` are notified of every layer."""
        return InferRequest(self, super().create_infer_request(listeners))

    def _own_request(self) -> InferRequest:  # type: ignore[override]
        return InferRequest(weakref.proxy(self), super().create_infer_request())

    def __call__(  # type: ignore[override]
        self,
        inputs: Inputs | None = None,
        share_inputs: bool = True,
        share_outputs: bool = False,
        *,
        decode_strings: bool = True,
    ) -> Results:
        """Run on arrays by position, `{name | position | port: array}`, or one array. Raises IRError.

        `share_outputs`: the next call overwrites the results. `decode_strings=False`: strings are returned as bytes.
        """
        with self._borrowed() as request:
            self._infer_request = _ours(request)
            return self._infer_request.infer_whole(inputs, share_outputs, decode_strings=decode_strings)

    def infer_new_request(self, inputs: Inputs | None = None) -> Results:
        """Run on a new request: no variable is carried over."""
        return self.create_infer_request().infer_whole(inputs)

    def query_state(self) -> list[VariableState]:
        """Return the variables of the request on which calls run."""
        with self._borrowed() as request:
            return _ours(request).query_state()

    def reset_state(self) -> None:
        """Reset the variables of the request on which calls run to their values before the first Assign."""
        with self._borrowed() as request:
            request.reset_state()

    def get_runtime_model(self) -> Model:
        """Return the model as it runs: a copy of the model, because irexec runs the layers of the file."""
        from irexec.model.graph.copies import copied

        return copied(self.model)

    def export_model(self, model_stream: IO[bytes] | None = None) -> BytesIO | None:
        """Return a stream of the model with its weights, which `Core.import_model` reads; if a stream is given, write
        them to it."""
        from irexec.api.openvino.exporting import exported

        data = exported(self.model)
        if model_stream is None:
            return BytesIO(data)
        if not hasattr(model_stream, "write"):
            raise TypeError(f"CompiledModel.export_model(model_stream) needs a stream, not {type(model_stream)}")
        model_stream.write(data)
        return None

    def release_memory(self) -> None:
        """Do nothing: irexec frees memory when a request is no longer used."""

    def get_property(self, property: str) -> Any:
        """Return a property by its name. Raises RuntimeError for an unknown property."""
        if str(property) == "NETWORK_NAME":
            return getattr(self.model, "friendly_name", self.model.name)
        value = self._settings.read(property, compiled=True)
        return _text(value) if str(property) in _TEXTS else value

    def set_property(
        self,
        property: Mapping[str, object] | tuple[str, object] | None = None,
        *,
        properties: Mapping[str, object] | None = None,
    ) -> None:
        """Raise RuntimeError: only `Core.compile_model` sets properties. TypeError unless given a mapping or tuple."""
        expected(property if properties is None else properties, (Mapping, tuple), "set_property()")
        raise RuntimeError(
            "It's not possible to set property of an already compiled model. "
            "Set property to Core::compile_model during compilation"
        )

    def __repr__(self) -> str:
        inputs, outputs = (",\n".join(map(repr, ports)) for ports in (self.inputs, self.outputs))
        return f"<CompiledModel:\ninputs[\n{inputs}\n]\noutputs[\n{outputs}\n]>"


def _text(value: Any) -> str:
    return ("YES" if value else "NO") if isinstance(value, bool) else str(getattr(value, "name", value))


def _ours(request: engine.InferRequest | InferRequest) -> InferRequest:
    """Return the request as an InferRequest of OpenVINO's API, which `create_infer_request` has created."""
    assert isinstance(request, InferRequest)
    return request
