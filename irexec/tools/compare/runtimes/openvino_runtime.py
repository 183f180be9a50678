"""OpenVINO as a runtime for comparisons: with any device and any properties, in a separate process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from irexec.core.environment import installing
from irexec.core.structure import RESULT
from irexec.core.types import STRING, Array, ElementType, is_numpys
from irexec.model.arrays.brief import abridged
from irexec.model.graph.model import Model, Value
from irexec.tools.compare.runtimes.process import LIMIT
from irexec.tools.compare.runtimes.runtime import CannotRun, Steps
from irexec.tools.compare.runtimes.separate import Apart, Remote, Shown

_PRECISION = "INFERENCE_PRECISION_HINT"
_PROPERTIES = ["EXECUTION_DEVICES", "FULL_DEVICE_NAME", "DEVICE_ARCHITECTURE", "GPU_DRIVER_VERSION"]
_PROPERTIES += [_PRECISION, "KV_CACHE_PRECISION", "DYNAMIC_QUANTIZATION_GROUP_SIZE", "EXECUTION_MODE_HINT"]
TRACING = "OV_ENABLE_SERIALIZE_TRACING"
"""The variable of the environment that lets OpenVINO write the graph after each pass to the current folder."""
_SETS = re.compile(r"sse\d*|avx\w*?(?=_|\b)|amx|neon|sve|asimd|acl|ref")
"""Instruction sets in the names of primitives, such as `brgemm_avx512_f32`."""
_ONNX_NODE = re.compile(r"ONNX node .<Node\((\w{1,99})\): ([^>]{0,200})>")


class OpenVINO(Apart):
    """One device of OpenVINO. `config` is passed unchanged. `original` is the model that it reads from its own
    file; every other model is written to a file for it. Raises CannotRun."""

    def __init__(
        self,
        device: str = "CPU",
        config: dict[str, str] | None = None,
        original: Model | None = None,
        *,
        limit: float | None = LIMIT,
    ) -> None:
        self.device, self.config = device, config or {}
        super().__init__(f"{__name__}:Server", (device, self.config), title="OpenVINO", original=original, limit=limit)

    @property
    def remote(self) -> type[Remote]:
        return _Loaded


class Traced(OpenVINO):
    """OpenVINO, which writes the graph after each pass of a compilation to a folder."""

    def __init__(
        self,
        folder: str,
        device: str,
        config: dict[str, str] | None,
        original: Model | None = None,
        *,
        limit: float | None = LIMIT,
    ) -> None:
        self.device, self.config = device, config or {}
        arguments, server = (device, self.config, folder), f"{__name__}:TracedServer"
        Apart.__init__(self, server, arguments, title="OpenVINO", original=original, limit=limit)


class _Loaded(Remote):
    """A model loaded in OpenVINO, whose results can be exposed together with the values that they read."""

    def observe_with_results(
        self, steps: Steps, values: Sequence[Value | None]
    ) -> list[list[tuple[Array, Array | None]]]:
        shown = [None if value is None else self.shown(value) for value in values]
        found: list[list[tuple[Array, Array | None]]] = self._call("observe_with_results", steps, shown)
        return found


class Server:
    """OpenVINO itself, in the other process."""

    def __init__(self, device: str, config: dict[str, str]) -> None:
        try:
            import openvino
        except ImportError:
            raise CannotRun(f"OpenVINO is not installed: {installing('compare')}", "F001") from None
        self._ov: Any = openvino
        self._core: Any = openvino.Core()
        self._device, self._config = device, config
        self._read: Any = None
        self._compiled: Any = None
        there = self._core.available_devices
        if device.split(".")[0].split(":")[0] not in (*there, "AUTO", "HETERO", "MULTI", "BATCH"):
            raise CannotRun(f"OpenVINO has no device {device}; available devices: {', '.join(there)}")

    def describe(self) -> str:
        settings = ", ".join(f"{key}={value}" for key, value in self._config.items())
        version = self._ov.__version__.split("-")[0]
        return f"OpenVINO {version} {self._device}" + (f" ({settings})" if settings else "")

    def load(self, file: str) -> str:
        self._read = self._compiled = None
        try:
            self._read = self._core.read_model(file)
        except RuntimeError as error:
            raise CannotRun(f"OpenVINO cannot read the model: {_brief(error)}") from None
        try:
            return str(self._plain().get_property(_PRECISION).get_type_name())
        except (RuntimeError, AttributeError):  # The device has no such property.
            return ""

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._run(self._plain(), steps)

    def observe(self, steps: Steps, values: Sequence[Shown]) -> list[dict[int, Array]]:
        # Exposed values require another compilation: only one copy of the weights is kept at a time.
        self._compiled = None
        shown = self._read.clone()
        ports = _Ports(shown)
        found = {index: port for index, value in enumerate(values) if (port := ports.of(value)) is not None}
        # A port that is an output already is not added a second time.
        outputs = shown.add_outputs(list(found.values())) if found else []
        places = [shown.get_result_index(output) for output in outputs]
        runs = self._run(self._compile(shown), steps, places)
        return [dict(zip(found, step, strict=True)) for step in runs]

    def observe_with_results(
        self, steps: Steps, values: Sequence[Shown | None]
    ) -> list[list[tuple[Array, Array | None]]]:
        """Return for each step the results and the values that they read, from one run; None for unknown values."""
        self._compiled = None
        shown = self._read.clone()
        ports, count = _Ports(shown), len(shown.outputs)
        found = {i: port for i, v in enumerate(values) if v is not None and (port := ports.of(v)) is not None}
        outputs = shown.add_outputs(list(found.values())) if found else []
        places = dict(zip(found, map(shown.get_result_index, outputs), strict=True))
        runs = self._run(self._compile(shown), steps)
        return [[(run[i], run[places[i]] if i in places else None) for i in range(count)] for run in runs]

    def states(self, steps: Steps) -> list[dict[str, Array]]:
        request = self._plain().create_infer_request()
        found = []
        for _ in self._outputs_of(request, self._plain(), steps):
            found.append({state.name: np.array(state.state.data) for state in request.query_state()})
        return found

    def about(self) -> dict[str, str]:
        compiled = self._plain()
        found = {}
        for name in _PROPERTIES:
            for source in (compiled, self._core):
                with suppress(RuntimeError, AttributeError, TypeError):
                    given = (name,) if source is compiled else (self._device, name)
                    found[name] = _shown(source.get_property(*given))
                    break
        kinds = [op.get_rt_info() for op in compiled.get_runtime_model().get_ordered_ops()]
        texts = " ".join(str(kind["primitiveType"].astype(str)) for kind in kinds if "primitiveType" in kind)
        if sets := sorted(set(_SETS.findall(texts.lower()))):
            found["ISA"] = " ".join(sets)
        return found

    def fused(self) -> list[list[str]]:
        groups = []
        for op in self._plain().get_runtime_model().get_ordered_ops():
            info = op.get_rt_info()
            names = str(info["originalLayersNames"].astype(str)).split(",") if "originalLayersNames" in info else []
            if len(names) > 1:
                groups.append(names)
        return groups

    def _plain(self) -> Any:
        if self._compiled is None:
            self._compiled = self._compile(self._read)
        return self._compiled

    def _compile(self, model: Any) -> Any:
        try:
            return self._core.compile_model(model, self._device, self._config)
        except RuntimeError as error:
            raise CannotRun(f"OpenVINO cannot compile the model: {_brief(error)}") from None

    def _run(self, compiled: Any, steps: Steps, places: Sequence[int] | None = None) -> list[list[Array]]:
        """Return the outputs (at these places, or all) of steps on one new request."""
        request = compiled.create_infer_request()
        found = []
        for _ in self._outputs_of(request, compiled, steps):
            wanted = range(len(compiled.outputs)) if places is None else places
            found.append([_array(request.get_output_tensor(i)) for i in wanted])
        return found

    def _outputs_of(self, request: Any, compiled: Any, steps: Steps) -> Iterator[None]:
        """Run steps, one after the other; afterwards the request holds the values of the last step."""
        types = [port.get_element_type() for port in compiled.inputs]
        for step in steps:
            given = {i: self._tensor(a, t) for i, (a, t) in enumerate(zip(step, types, strict=True))}
            try:
                request.infer(given)
            except RuntimeError as error:
                raise CannotRun(f"OpenVINO cannot run the model: {_brief(error)}") from None
            yield

    def _tensor(self, array: Array, type: Any) -> Any:
        if array.dtype.kind in "TUO":
            return self._ov.Tensor(np.asarray(array.tolist(), dtype=np.str_).reshape(array.shape))
        array = np.array(array, order="C")
        if array.dtype == np.float16 and type == self._ov.Type.f32:
            # OpenVINO reads an IR of version 10 with the types of its API before 2022: its inputs of f16 are f32.
            array = array.astype(np.float32)
        if is_numpys(array.dtype):
            return self._ov.Tensor(array)
        kind = ElementType.of(array.dtype)
        if kind.is_packed:
            raise CannotRun(f"an input of type {kind} cannot be passed to OpenVINO")
        tensor = self._ov.Tensor(type, self._ov.Shape(list(array.shape)))
        tensor.data[...] = array.view(tensor.data.dtype)
        return tensor


class TracedServer(Server):
    """OpenVINO in a process whose current folder receives the graph after each pass of a compilation."""

    def __init__(self, device: str, config: dict[str, str], folder: str) -> None:
        os.chdir(folder)
        os.environ[TRACING] = "true"
        super().__init__(device, config)


class _Ports:
    """Finds the outputs of OpenVINO's layers: by the layer's name, or by a tensor name where layers were renamed."""

    def __init__(self, model: Any) -> None:
        self._layers: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        for op in model.get_ops():
            if op.get_type_name() == RESULT:
                continue
            name = op.get_friendly_name()
            self._layers[name] = None if name in self._layers else op
            for port in op.outputs():
                self._tensors |= dict.fromkeys(port.get_names(), port)

    def of(self, value: Shown) -> Any:
        op = self._layers.get(value.layer)
        if op is not None and value.index < len(op.outputs()):
            return op.output(value.index)
        return next((self._tensors[name] for name in value.names if name in self._tensors), None)


def _array(tensor: Any) -> Array:
    """Return a copy of a tensor in irexec's dtypes: ml_dtypes for types that NumPy lacks."""
    kind = ElementType.by_name.get(tensor.get_element_type().get_type_name())
    if kind is STRING:
        return np.array(tensor.str_data.tolist(), dtype=np.str_).reshape(tensor.str_data.shape)
    data: Array = np.array(tensor.data)
    if kind is None or kind.dtype is None or data.dtype == kind.dtype:
        return data
    if kind.is_packed:
        raise CannotRun(f"an output of type {kind} cannot be read from OpenVINO")
    return data.view(kind.dtype)


def _shown(value: Any) -> str:
    """Return a property as a text: the name of a type, a list without brackets."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_shown, value))
    return str(value.get_type_name() if hasattr(value, "get_type_name") else getattr(value, "name", value))


def _brief(error: Exception) -> str:
    """Return the reason at the end of OpenVINO's message, after the node of an ONNX file that it names.

    A summary of the nodes that were not converted, which gives no reasons, follows the reason.
    """
    text = str(error).split("\nSummary:")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    nodes = _ONNX_NODE.findall(text)
    return abridged("".join(f"{type_} {name}: " for type_, name in nodes[-1:]) + (lines or [type(error).__name__])[-1])
