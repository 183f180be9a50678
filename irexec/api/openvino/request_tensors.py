"""The tensors of an inference request: those that it reads for its inputs, and those that it fills for its outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, ValuesView
from typing import Any

import numpy as np

from irexec.api.openvino.given import (
    as_arrays,
    as_tensor_for,
    assigned,
    blank,
    check_type,
    from_bits,
    sharing,
    shows_bits,
)
from irexec.api.openvino.layout import layout_of
from irexec.api.openvino.tensor import Tensor
from irexec.core.arguments import expected
from irexec.model.graph import ports as graph_ports
from irexec.model.graph.model import Value
from irexec.runtime.engine.arguments import arrange
from irexec.runtime.engine.results import Results


class RequestTensors:
    """The tensors by the position of their port. `as_openvino`: arrays may hold the bits of a type that NumPy lacks."""

    def __init__(self, inputs: list[Value], outputs: list[Value], *, as_openvino: bool) -> None:
        self.inputs, self.outputs, self._as_openvino = inputs, outputs, as_openvino
        self._given: dict[int, Tensor] = {}
        # Inputs that were set as tensors of single samples, and their axis.
        self._batches: dict[int, tuple[list[Tensor], int]] = {}
        self._wanted: dict[int, Tensor] = {}
        self.results: Results | None = None

    def find(self, key: Any) -> tuple[bool, int]:
        """Return whether a name or port is an input, and its position. Raises RuntimeError if there is no such port."""
        if not isinstance(key, (str, Value)):
            raise TypeError(f"get_tensor(): incompatible function arguments: {key!r} is not a name or port")
        for ports in (self.inputs, self.outputs):
            if (index := graph_ports.find(ports, key)) is not None:
                return ports is self.inputs, index
        name = key if isinstance(key, str) else repr(key)
        raise RuntimeError(f"Port for tensor name {name} was not found.")

    # Inputs

    def give(self, inputs: Any, share: bool) -> None:
        """Keep the inputs of a call for this inference and later ones; unless shared, arrays are copied."""
        for index, given in assigned(inputs, self.inputs):
            self.set_input(index, given.copy() if isinstance(given, np.ndarray) and not share else given)

    def give_all(self, inputs: Any) -> None:
        """Keep the inputs of a call, which must be complete. Raises IRError if one is missing."""
        ports = self.inputs
        if _has_tensors(inputs):
            for index, given in assigned(inputs, ports):
                if isinstance(given, Tensor) and index < len(ports):
                    check_type(given, ports[index].element_type)
        arrays = as_arrays(inputs)
        if self._as_openvino and any(shows_bits(port.element_type) for port in ports):
            arrays = {index: from_bits(array, ports[index]) for index, array in assigned(arrays, ports)}
        for index, array in enumerate(arrange(arrays, ports)):
            self._given[index] = sharing(array, ports[index])
            self._batches.pop(index, None)

    def set_input(self, index: int, given: Any) -> None:
        port = self.inputs[index]
        self._given[index] = as_tensor_for(from_bits(given, port) if self._as_openvino else given, port)
        self._batches.pop(index, None)

    def set_batch(self, index: int, samples: Sequence[Tensor]) -> None:
        """Set an input to tensors of single samples. Raises RuntimeError if they do not fit."""
        port = self.inputs[index]
        layout = layout_of(port.node)
        if not layout.has_name("N"):
            raise RuntimeError(f"input {index} has no layout with N, along which tensors of samples could be joined")
        axis = layout.get_index_by_name("N")
        tensors = [expected(sample, Tensor, "set_input_tensors()") for sample in samples]
        as_tensor_for(_joined(tensors, axis), port)
        self._batches[index] = tensors, axis

    def input(self, index: int) -> Tensor:
        if index in self._batches:
            raise RuntimeError("get_tensor shall not be used together with batched set_tensors/set_input_tensors")
        if index not in self._given:
            self._given[index] = blank(self.inputs[index])
        return self._given[index]

    def arrays(self) -> list[Any]:
        """Return, for each input, the array that an inference reads."""
        found = []
        for index in range(len(self.inputs)):
            tensors, axis = self._batches.get(index, ([], 0))
            found.append((_joined(tensors, axis) if tensors else self.input(index)).values())
        return found

    # Outputs

    def fill(self, results: Results) -> None:
        """Keep the results of an inference; copy them to the output tensors that the caller has set or requested."""
        for index, tensor in self._wanted.items():
            tensor.copy_from(Tensor.of_values(results[index], self.outputs[index].element_type))
        self.results = results

    def set_output(self, index: int, tensor: Any) -> None:
        port = self.outputs[index]
        if expected(tensor, Tensor, "set_output_tensor()").element_type is not port.element_type:
            raise RuntimeError(f"output {index} is {port.element_type}; the tensor is {tensor.element_type}")
        if tensor.size and not port.type.shape.accepts(tuple(tensor.shape)):
            raise RuntimeError(f"output {index} has shape {port.type.shape}; the tensor has {tensor.shape}")
        self._wanted[index] = tensor

    def output(self, index: int) -> Tensor:
        if index not in self._wanted:
            port = self.outputs[index]
            # Later inferences fill the same tensor.
            self._wanted[index] = blank(port) if self.results is None else sharing(self.results[index], port)
        return self._wanted[index]


def _has_tensors(inputs: Any) -> bool:
    values = inputs.values() if isinstance(inputs, Mapping) else inputs
    return any(
        isinstance(each, Tensor) for each in (values if isinstance(values, (Sequence, ValuesView)) else [values])
    )


def _joined(tensors: list[Tensor], axis: int) -> Tensor:
    """Return the tensors of single samples as one, along an axis."""
    return Tensor.of_values(np.concatenate([tensor.values() for tensor in tensors], axis), tensors[0].element_type)
