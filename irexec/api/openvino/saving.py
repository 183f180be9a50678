"""Writing models: `save_model`, with f32 constants compressed to f16 as OpenVINO does, and `serialize`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from irexec.api.openvino.arguments import PathLike
from irexec.api.openvino.construction import check_parameters
from irexec.api.openvino.editing import checked_model, current, order
from irexec.api.openvino.opsets import opset
from irexec.core.diagnostics import IRError, Place
from irexec.core.diagnostics.findings import Findings
from irexec.core.structure import CONVERT, RESULT
from irexec.core.types import F16, F32
from irexec.model.graph.copies import copied
from irexec.model.graph.model import Model, Node
from irexec.model.graph.runtime_info import RuntimeAttribute
from irexec.model.graph.write import write_model
from irexec.ops.spec.traits import Quantization

# The range of f16, and the share of elements outside it from which a constant is not compressed.
_LARGEST = np.float32(np.finfo(np.float16).max)
_SMALLEST = np.float32(np.finfo(np.float16).smallest_subnormal)
_LOST = 0.75

# The IR versions that `serialize` writes.
_VERSIONS = {"UNSPECIFIED": 11, "IR_V10": 10, "IR_V11": 11}


def save_model(model: Model, output_model: PathLike, compress_to_fp16: bool = False) -> None:
    """Write a model as IR v11: the `.xml` and the `.bin` beside it. OpenVINO reads it as an equal model.

    `compress_to_fp16`: constants of f32 are written as f16 and converted when the model runs. (OpenVINO's default is
    True; irexec writes the model unchanged.) The files from which the model was read may be replaced: both are written
    or neither, and the model keeps its values. Raises IRError for anything that IR cannot represent, and
    for files that cannot be written.
    """
    model = _complete(model)
    with _output(output_model):
        write_model(_compressed(model) if compress_to_fp16 else model, output_model)


def serialize(model: Model, xml_path: PathLike, bin_path: PathLike = "", version: str = "UNSPECIFIED") -> None:
    """Write a model, optionally with a separate path for the weights. Raises IRError.

    `version`: IR_V11, the default, or IR_V10, which has no runtime information and no names of results. Raises
    RuntimeError for any other version.
    """
    number = ir_version(version)
    written = _complete(model)
    if number == 10:
        written = copied(written)
        _drop_what_ir_10_lacks(written)
    with _output(xml_path, bin_path):
        write_model(written, xml_path, weights=bin_path or None, version=number)


@contextmanager
def _output(*paths: PathLike) -> Iterator[None]:
    """Raise IRError (U007) in place of an OSError about the files of a model; empty paths are not used."""
    try:
        yield
    except OSError as error:
        path = next((each for each in paths if os.fspath(each) == error.filename), paths[0])
        message = f"the file cannot be written: {error.strerror or error}"
        for other in paths:
            folder = os.path.dirname(os.fspath(other))
            if folder and not os.path.exists(folder):
                path, message = other, f"there is no folder {folder!r}"
        raise IRError(Findings().add("U007", message, place=Place(file=os.fspath(path)))) from None


def _complete(model: Model) -> Model:
    """Return the model with its changes applied. Raises RuntimeError if a node takes a Parameter that was removed."""
    check_parameters(current(checked_model(model)))
    return model


def ir_version(name: str) -> int:
    """Return the number of an IR version by its name. Raises RuntimeError for a version that irexec cannot write."""
    if name not in _VERSIONS:
        raise RuntimeError(
            f"Invoked with wrong version argument: {name!r}! The supported versions are: "
            "'UNSPECIFIED'(default), 'IR_V10', 'IR_V11'."
        )
    return _VERSIONS[name]


def _drop_what_ir_10_lacks(model: Model) -> None:
    """Remove the runtime information of layers and the names of results, as OpenVINO does."""
    for node in model.walk():
        node.rt_info, node.input_rt_info = {}, {}
        for value in node.outputs:
            value.rt_info = {}
            value.names = set() if node.type == RESULT else value.names


def _compressed(model: Model) -> Model:
    copy = copied(model)
    compress(copy)
    return copy


def compress(model: Model) -> None:
    """Convert f32 constants to f16; they are converted back when the model runs. Constants that would lose too much are
    kept."""
    for part in (model, *(body.model for node in model.walk() for body in node.bodies)):
        for node in list(part.nodes):
            for index, value in enumerate(node.inputs):
                if value is not None and _is_compressible(value.node, node):
                    node.replace_input_with(index, _as_f16(value.node).outputs[0])
        order(part)


def _is_compressible(constant: Node, taker: Node) -> bool:
    """Return whether a constant can be compressed: less than three quarters of its elements are outside the range of
    f16."""
    array = constant.constant
    if (
        array is None
        or array.dtype != F32.dtype
        or array.size == 0
        or taker.type == CONVERT
        or Quantization in taker.traits
    ):
        return False
    size = np.abs(array)
    with np.errstate(invalid="ignore"):
        lost = np.count_nonzero((size > _LARGEST) | ((size < _SMALLEST) & (size > 0)))
    return bool(lost / array.size < _LOST)


def _as_f16(constant: Node) -> Node:
    array = constant.constant
    assert array is not None
    name = constant.friendly_name
    with np.errstate(over="ignore"):
        half = np.clip(array, -_LARGEST, _LARGEST).astype(F16.dtype)
    small = opset("opset1").constant(half, name=f"{name}_compressed")
    wide: Node = opset("opset1").convert(small, F32, name)
    wide.outputs[0].names = set(constant.outputs[0].names)
    wide.rt_info["decompression_0"] = RuntimeAttribute("decompression", "0", {})
    return wide
