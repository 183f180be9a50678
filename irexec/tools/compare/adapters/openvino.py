"""OpenVINO in its own process, in any of its releases; needs openvino and NumPy alone."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

_PRECISION = "INFERENCE_PRECISION_HINT"
_PROPERTIES = ["EXECUTION_DEVICES", "FULL_DEVICE_NAME", "DEVICE_ARCHITECTURE", "GPU_DRIVER_VERSION"]
_PROPERTIES += [_PRECISION, "KV_CACHE_PRECISION", "DYNAMIC_QUANTIZATION_GROUP_SIZE", "EXECUTION_MODE_HINT"]
_OPTIONAL = ("DYNAMIC_QUANTIZATION_GROUP_SIZE", "KV_CACHE_PRECISION", "INFERENCE_NUM_THREADS")
"""Properties that releases without them need not be given: they behave as a comparison requests."""
_TRACING = "OV_ENABLE_SERIALIZE_TRACING"
"""The variable of the environment that lets OpenVINO write the graph after each pass to the current folder."""
_SETS = re.compile(r"sse\d*|avx\w*?(?=_|\b)|amx|neon|sve|asimd|acl|ref")
"""Instruction sets in the names of primitives, such as `brgemm_avx512_f32`."""
_BITS = ("bf16", "f8e4m3", "f8e5m2", "f8e8m0")
_NUMPYS = ("boolean", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "string")


def module() -> Any:
    """Return OpenVINO's Python API, which is in openvino.runtime in the releases of 2023."""
    try:
        import openvino

        openvino.Core  # noqa: B018
    except (ImportError, AttributeError):
        import openvino.runtime as openvino
    return openvino


OV = module()


class NoDevice(Exception):
    """Raised for a device that OpenVINO does not have. `code`: of the finding that a command reports."""

    code = "U010"


class OpenVINO:
    """One device of OpenVINO with a set of properties. `judged="yes"`: writing into an input is an error, and
    properties that a release lacks are left out. `cached="yes"`: models are loaded from a cache. `tracing`: a folder
    that receives the graph after each pass.
    """

    forks = True

    def __init__(
        self, device: str = "CPU", judged: str = "yes", cached: str = "", tracing: str = "", **properties: str
    ) -> None:
        if tracing:
            os.chdir(tracing)
            os.environ[_TRACING] = "true"
        self.judged, self.cached = judged == "yes", cached == "yes"
        self.core: Any = OV.Core()
        self.device, self.properties = device, properties
        there = self.core.available_devices
        if re.split("[.:]", device)[0] not in (*there, "AUTO", "HETERO", "MULTI", "BATCH"):
            raise NoDevice(f"OpenVINO has no device {device}; available devices: {', '.join(there)}")
        if self.judged:
            known = self.core.get_property(device.split(":")[0], "SUPPORTED_PROPERTIES")
            self.properties = {k: v for k, v in properties.items() if k in known or k not in _OPTIONAL}
        self.read: Any = None
        self.compiled: Any = None
        self.request: Any = None

    def describe(self) -> dict[str, str]:
        return {
            "name": "OpenVINO {} {}".format(OV.get_version().split("-")[0], self.device),
            "processor": ", ".join(self.core.get_property(name, "FULL_DEVICE_NAME") for name in self._devices()),
            "f64": "f32",
            "i64": "i32",
            "together": "yes",
        }

    def _devices(self) -> list[str]:
        """Return the devices that compute: those of `AUTO:CPU,GPU.1` are CPU and GPU.1."""
        return self.device.split(":", 1)[-1].split(",")

    def load(self, path: str, cache: bool) -> str:
        self.read = self.compiled = self.request = None
        if cache or self.cached:
            folder = tempfile.mkdtemp(prefix="irexec-cache-")
            try:
                properties = dict(self.properties, CACHE_DIR=folder)
                self.core.compile_model(path, self.device, properties)
                self.compiled = self.core.compile_model(path, self.device, properties)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        self.read = self.core.read_model(path)
        with contextlib.suppress(AttributeError):  # The device has no such property.
            return str(self._property(self._plain(), _PRECISION).get_type_name())
        return ""

    def infer(self, inputs: list[Any]) -> Any:
        if self.request is None:
            self.request = self._plain().create_infer_request()
        given = self._give(self.request, inputs)
        self.request.infer()
        if self.judged:
            unchanged(given, inputs)
        return self._values(self.request)

    def infer_at_once(self, inputs: list[Any], count: int) -> list[Any]:
        requests = [self._plain().create_infer_request() for _ in range(count)]
        given = [self._give(request, inputs) for request in requests]
        for request in requests:
            request.start_async()
        for request in requests:
            request.wait()
        for tensors in given:
            unchanged(tensors, inputs)
        return [self._values(request) for request in requests]

    def reset(self) -> None:
        for state in self.request.query_state():
            state.reset()

    def results(self, steps: list[Any]) -> list[Any]:
        return self._run(self._plain(), steps)

    def observe(self, steps: list[Any], values: list[Any]) -> list[Any]:
        """Return for each step the values, each given by its layer, output and names; None for unknown values."""
        shown, places = self._with(values)
        runs = self._run(self._compile(shown), steps, sorted({place for place in places if place is not None}))
        return [[None if place is None else run[place] for place in places] for run in runs]

    def observe_with_results(self, steps: list[Any], values: list[Any]) -> list[Any]:
        """Return for each step the results and the values that they read, from one run; None for unknown values."""
        count = len(self.read.outputs)
        shown, places = self._with(values)
        runs = self._run(self._compile(shown), steps)
        return [[(run[i], None if places[i] is None else run[places[i]]) for i in range(count)] for run in runs]

    def states(self, steps: list[Any]) -> list[Any]:
        """Return the variables after each step, by name."""
        request = self._plain().create_infer_request()
        return [
            {state.name: np.array(state.state.data) for state in request.query_state()}
            for _ in self._steps(request, steps)
        ]

    def about(self) -> dict[str, str]:
        """Return how the loaded model runs: devices, instruction sets, precisions."""
        compiled, found = self._plain(), {}
        for name in _PROPERTIES:
            for given in ((compiled, name), (self.core, self.device, name)):
                value = self._property(*given)
                if value is not None:
                    found[name] = _shown(value)
                    break
        kinds = [op.get_rt_info() for op in compiled.get_runtime_model().get_ordered_ops()]
        texts = " ".join(str(kind["primitiveType"].astype(str)) for kind in kinds if "primitiveType" in kind)
        sets = sorted(set(_SETS.findall(texts.lower())))
        return dict(found, ISA=" ".join(sets)) if sets else found

    def fused(self) -> list[list[str]]:
        """Return groups of names: the layers of each group run as one."""
        infos = [op.get_rt_info() for op in self._plain().get_runtime_model().get_ordered_ops()]
        texts = [str(info["originalLayersNames"].astype(str)) for info in infos if "originalLayersNames" in info]
        return [text.split(",") for text in texts if "," in text]

    def _property(self, source: Any, *name: str) -> Any:
        with contextlib.suppress(RuntimeError, AttributeError, TypeError):
            return source.get_property(*name)
        return None

    def _plain(self) -> Any:
        if self.compiled is None:
            self.compiled = self._compile(self.read)
        return self.compiled

    def _compile(self, model: Any) -> Any:
        return self.core.compile_model(model, self.device, self.properties)

    def _with(self, values: list[Any]) -> Any:
        """Return a copy of the model with further outputs, and their places."""
        # They require another compilation: only one copy of the weights is kept at a time.
        self.compiled = self.request = None
        shown = self.read.clone()
        ports = _Ports(shown)
        found = [None if value is None else ports.of(*value) for value in values]
        # A port that is an output already is not added a second time.
        outputs = iter(shown.add_outputs([port for port in found if port is not None]))
        return shown, [None if port is None else shown.get_result_index(next(outputs)) for port in found]

    def _run(self, compiled: Any, steps: list[Any], places: Any = None) -> list[Any]:
        """Return the outputs (at these places, or all) of steps on one new request."""
        request = compiled.create_infer_request()
        return [self._values(request, places) for _ in self._steps(request, steps)]

    def _steps(self, request: Any, steps: list[Any]) -> Iterator[None]:
        """Run steps, one after the other; afterwards the request holds the values of the last step."""
        for step in steps:
            self._give(request, step)
            request.infer()
            yield

    def _give(self, request: Any, inputs: list[Any]) -> list[Any]:
        pairs = zip(request.model_inputs, inputs)  # noqa: B905 (Python 3.8)
        given = [tensor(array, port.get_element_type()) for port, array in pairs]
        for index, made in enumerate(given):
            request.set_input_tensor(index, made)
        return given

    def _values(self, request: Any, places: Any = None) -> Any:
        if places is None:
            return [values(request.get_output_tensor(index)) for index in range(len(request.model_outputs))]
        return {index: values(request.get_output_tensor(index)) for index in places}


class _Ports:
    """Finds the outputs of OpenVINO's layers: by the layer's name, or by a tensor name where layers were renamed."""

    def __init__(self, model: Any) -> None:
        self._layers: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        results = {op.get_name() for op in model.get_results()}
        for op in model.get_ops():
            if op.get_name() in results:
                continue
            name = op.get_friendly_name()
            self._layers[name] = None if name in self._layers else op
            for port in op.outputs():
                self._tensors.update(dict.fromkeys(port.get_names(), port))

    def of(self, layer: str, index: int, names: list[str]) -> Any:
        op = self._layers.get(layer)
        if op is not None and index < len(op.outputs()):
            return op.output(index)
        return next((self._tensors[name] for name in names if name in self._tensors), None)


def tensor(array: Any, kind: Any) -> Any:
    """Return a tensor of an element type whose bits are those of the array."""
    name = kind.get_type_name()
    if array.dtype.kind == "U":
        return OV.Tensor(array)
    if array.dtype == np.float16 and name == "f32":
        # OpenVINO reads an IR of version 10 with the types of its API before 2022: its inputs of f16 are f32.
        array = array.astype(np.float32)
    if name in _BITS:
        made = OV.Tensor(kind, OV.Shape(list(array.shape)))
        made.data.view(array.dtype)[...] = array
        return made
    if (array.dtype.metadata or {}).get("type", name) != name and name not in _NUMPYS:
        raise TypeError(f"an input of type {name} cannot be passed to OpenVINO")
    return OV.Tensor(np.array(array, order="C"))


def unchanged(given: list[Any], inputs: list[Any]) -> None:
    """Raise RuntimeError if a runtime has written into one of its inputs."""
    for index, (made, array) in enumerate(zip(given, inputs)):  # noqa: B905 (Python 3.8)
        if array.dtype.kind != "U" and np.array(made.data).tobytes() != array.tobytes():
            raise RuntimeError(f"the tensor of input {index} was overwritten")


def values(made: Any) -> Any:
    """Return a copy of a tensor's values; types that NumPy lacks as bits with the name of the type."""
    name = made.get_element_type().get_type_name()
    if name == "string":
        return np.array(made.str_data, dtype=np.str_)
    array = np.array(made.data)
    if name in _BITS:
        bits = np.dtype(f"u{array.dtype.itemsize}")
        return array.view(np.dtype(bits, metadata={"type": name}))
    if name not in _NUMPYS:
        raise TypeError(f"an output of type {name} cannot be read from OpenVINO")
    return array


def _shown(value: Any) -> str:
    """Return a property as a text: the name of a type, a list without brackets."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_shown, value))
    return str(value.get_type_name() if hasattr(value, "get_type_name") else getattr(value, "name", value))
