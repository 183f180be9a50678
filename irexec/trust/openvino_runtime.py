"""OpenVINO as a runtime to compare with: any of its devices, with any of its settings."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irexec.diagnostics import IRError
from irexec.graph.model import Model, Value
from irexec.graph.write import write_model
from irexec.trust.runtimes import CannotRun, Loaded, Steps
from irexec.types import STRING, Array, ElementType


class OpenVINO:
    """One device of OpenVINO. `config` is handed to it as it is. `original` is the model that it reads from its own
    file; every other one is written for it."""

    runs_parts = True

    def __init__(
        self, device: str = "CPU", config: dict[str, str] | None = None, original: Model | None = None
    ) -> None:
        try:
            import openvino
        except ImportError:
            raise CannotRun("OpenVINO is not installed: pip install 'irexec[compare]'") from None
        self._ov: Any = openvino
        self._core: Any = openvino.Core()
        self.device, self.config, self.original = device, config or {}, original
        there = self._core.available_devices
        if device.split(".")[0].split(":")[0] not in (*there, "AUTO", "HETERO", "MULTI", "BATCH"):
            raise CannotRun(f"OpenVINO has no device {device}; there are {', '.join(there)}")
        settings = ", ".join(f"{key}={value}" for key, value in self.config.items())
        version = openvino.__version__.split("-")[0]
        self.name = f"OpenVINO {version} {device}" + (f" ({settings})" if settings else "")

    def load(self, model: Model) -> Loaded:
        return _Loaded(self, model)

    def read(self, model: Model) -> Any:
        """The model in OpenVINO: from its own file, where it is as the file says, or written anew."""
        try:
            if model is self.original and model.file is not None and Path(model.file).is_file():
                return self._core.read_model(model.file)
            with tempfile.TemporaryDirectory(prefix="irexec-") as folder:
                file = Path(folder) / "model.xml"
                write_model(model, file)
                # With the weights in memory nothing needs the folder any more.
                return self._core.read_model(file.read_bytes(), _bytes(self._ov, file.with_suffix(".bin")))
        except IRError as error:
            raise CannotRun(f"the model cannot be written for OpenVINO: {error.report.errors[0]}") from None
        except RuntimeError as error:
            raise CannotRun(f"OpenVINO does not read the model: {_brief(error)}") from None

    def compile(self, model: Any) -> Any:
        try:
            return self._core.compile_model(model, self.device, self.config)
        except RuntimeError as error:
            raise CannotRun(f"OpenVINO does not compile the model: {_brief(error)}") from None

    def run(self, compiled: Any, steps: Steps, kinds: Sequence[ElementType]) -> list[list[Array]]:
        """The outputs of steps on one new request."""
        request = compiled.create_infer_request()
        found = []
        for step in steps:
            given = {i: self._tensor(a, k) for i, (a, k) in enumerate(zip(step, kinds, strict=True))}
            try:
                request.infer(given)
            except RuntimeError as error:
                raise CannotRun(f"OpenVINO does not run the model: {_brief(error)}") from None
            found.append([_array(request.get_output_tensor(i)) for i in range(len(compiled.outputs))])
        return found

    def _tensor(self, array: Array, kind: ElementType) -> Any:
        if array.dtype.kind in "TUO":
            return self._ov.Tensor(np.asarray(array.tolist(), dtype=np.str_).reshape(array.shape))
        array = np.array(array, order="C")
        if array.dtype.isbuiltin == 1:
            return self._ov.Tensor(array)
        type = getattr(self._ov.Type, kind.name)
        tensor = self._ov.Tensor(type, self._ov.Shape(list(array.shape)))
        if kind.is_packed:
            raise CannotRun(f"an input of type {kind} cannot be handed to OpenVINO")
        tensor.data[...] = array.view(tensor.data.dtype)
        return tensor


class _Loaded:
    """A model in OpenVINO, compiled for each question anew: what is shown is part of what is compiled."""

    def __init__(self, runtime: OpenVINO, model: Model) -> None:
        self._runtime, self._model = runtime, model
        self._read = runtime.read(model)
        self._kinds = [port.element_type for port in model.inputs]
        self._compiled: Any = None

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._runtime.run(self._plain(), steps, self._kinds)

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        shown = self._read.clone()
        ports = _Ports(shown)
        found = {value: port for value in values if (port := ports.of(value)) is not None}
        # A port that is an output already is not added a second time.
        outputs = shown.add_outputs(list(found.values())) if found else []
        places = [shown.get_result_index(output) for output in outputs]
        runs = self._runtime.run(self._runtime.compile(shown), steps, self._kinds)
        return [{value: step[place] for value, place in zip(found, places, strict=True)} for step in runs]

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
            self._compiled = self._runtime.compile(self._read)
        return self._compiled


class _Ports:
    """Finds the outputs of OpenVINO's layers: by the layer's name, or by a tensor name where layers are named anew."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._layers: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        for op in model.get_ops():
            if op.get_type_name() == "Result":
                continue
            name = op.get_friendly_name()
            self._layers[name] = None if name in self._layers else op
            for port in op.outputs():
                self._tensors |= dict.fromkeys(port.get_names(), port)

    def of(self, value: Value) -> Any:
        op = self._layers.get(value.node.friendly_name)
        if op is not None and value.index < len(op.outputs()):
            return op.output(value.index)
        return next((self._tensors[name] for name in sorted(value.names) if name in self._tensors), None)


def _bytes(ov: Any, path: Path) -> Any:
    data = np.fromfile(path, np.uint8)
    return ov.Tensor(data if data.size else np.zeros(1, np.uint8))


def _array(tensor: Any) -> Array:
    """A copy of a tensor as irexec has it: types that NumPy lacks as ml_dtypes."""
    kind = ElementType.by_name.get(tensor.get_element_type().get_type_name())
    if kind is STRING:
        return np.array(tensor.str_data.tolist(), dtype=np.str_).reshape(tensor.str_data.shape)
    data: Array = np.array(tensor.data)
    if kind is None or kind.dtype is None or data.dtype == kind.dtype:
        return data
    if kind.is_packed:
        raise CannotRun(f"an output of type {kind} cannot be read from OpenVINO")
    return data.view(kind.dtype)


def _brief(error: Exception) -> str:
    """The last telling line of OpenVINO's message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
