"""OpenVINO as a judged runtime, in any of its releases; needs openvino and NumPy alone."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from typing import Any

import numpy as np


def module() -> Any:
    """Return OpenVINO's Python API, which is in openvino.runtime in the releases of 2023."""
    try:
        import openvino

        openvino.Core  # noqa: B018
    except (ImportError, AttributeError):
        import openvino.runtime as openvino
    return openvino


OV = module()


class OpenVINO:
    """One device of OpenVINO with a set of properties. `overwriting`: whether writing into an input is refused or
    ignored."""

    forks = True

    def __init__(self, device: str = "CPU", overwriting: str = "refused", **properties: str) -> None:
        self.refuses = overwriting == "refused"
        self.ov = OV
        self.core: Any = self.ov.Core()
        # Releases without these properties behave as the properties request.
        known = self.core.get_property(device.split(":")[0], "SUPPORTED_PROPERTIES")
        for name in ("DYNAMIC_QUANTIZATION_GROUP_SIZE", "KV_CACHE_PRECISION", "INFERENCE_NUM_THREADS"):
            if name not in known:
                properties.pop(name, None)
        self.device, self.properties = device, properties
        self.compiled: Any = None
        self.request: Any = None

    def describe(self) -> dict[str, str]:
        return {
            "name": "OpenVINO {} {}".format(self.ov.get_version().split("-")[0], self.device),
            "processor": ", ".join(self.core.get_property(name, "FULL_DEVICE_NAME") for name in self._devices()),
            "f64": "f32",
            "i64": "i32",
            "together": "yes",
        }

    def _devices(self) -> list[str]:
        """Return the devices that compute: those of `AUTO:CPU,GPU.1` are CPU and GPU.1."""
        return self.device.split(":", 1)[-1].split(",")

    def load(self, path: str, cache: bool) -> None:
        self.compiled = self.request = None
        if cache:
            folder = tempfile.mkdtemp(prefix="irexec-cache-")
            try:
                properties = dict(self.properties, CACHE_DIR=folder)
                self.core.compile_model(path, self.device, properties)
                self.compiled = self.core.compile_model(path, self.device, properties)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        else:
            self.compiled = self.core.compile_model(self.core.read_model(path), self.device, self.properties)
        self.request = self.compiled.create_infer_request()

    def infer(self, inputs: list[Any]) -> list[Any]:
        given = self._give(self.request, inputs)
        self.request.infer()
        if self.refuses:
            unchanged(given, inputs)
        return self._results(self.request)

    def infer_at_once(self, inputs: list[Any], count: int) -> list[Any]:
        requests = [self.compiled.create_infer_request() for _ in range(count)]
        given = [self._give(request, inputs) for request in requests]
        for request in requests:
            request.start_async()
        for request in requests:
            request.wait()
        for tensors in given:
            unchanged(tensors, inputs)
        return [self._results(request) for request in requests]

    def reset(self) -> None:
        for state in self.request.query_state():
            state.reset()

    def about(self) -> dict[str, Any]:
        """Return the precision in which the model runs, and the groups of layers that run as one."""
        found: dict[str, Any] = {"precision": "", "fused": []}
        with contextlib.suppress(RuntimeError, AttributeError):  # The device has no such property.
            found["precision"] = self.compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        for op in self.compiled.get_runtime_model().get_ordered_ops():
            info = op.get_rt_info()
            if "originalLayersNames" in info:
                found["fused"].append(str(info["originalLayersNames"].astype(str)).split(","))
        return found

    def _give(self, request: Any, inputs: list[Any]) -> list[Any]:
        pairs = zip(self.compiled.inputs, inputs)  # noqa: B905 (Python 3.8)
        given = [tensor(self.ov, array, port.get_element_type()) for port, array in pairs]
        for index, made in enumerate(given):
            request.set_input_tensor(index, made)
        return given

    def _results(self, request: Any) -> list[Any]:
        return [values(request.get_output_tensor(index)) for index in range(len(self.compiled.outputs))]


def tensor(ov: Any, array: Any, kind: Any) -> Any:
    """Return a tensor of an element type whose bits are those of the array."""
    if array.dtype.kind == "U":
        return ov.Tensor(array)
    if kind.get_type_name() in ("bf16", "f8e4m3", "f8e5m2", "f8e8m0"):
        made = ov.Tensor(kind, ov.Shape(list(array.shape)))
        made.data.view(array.dtype)[...] = array
        return made
    return ov.Tensor(np.array(array, order="C"))


def unchanged(given: list[Any], inputs: list[Any]) -> None:
    """Raise RuntimeError if a runtime has written into one of its inputs."""
    for index, (made, array) in enumerate(zip(given, inputs)):  # noqa: B905 (Python 3.8)
        if array.dtype.kind != "U" and np.array(made.data).tobytes() != array.tobytes():
            raise RuntimeError(f"the tensor of input {index} was overwritten")


def values(made: Any) -> Any:
    """Return a copy of a tensor's values."""
    if made.get_element_type().get_type_name() == "string":
        return np.array(made.str_data, dtype=np.str_)
    array = np.array(made.data)
    if made.get_element_type().get_type_name() == "bf16":
        return array.view(np.uint16)
    return array
