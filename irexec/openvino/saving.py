"""Writing models: `save_model`, with f32 constants compressed to f16 as OpenVINO does, and `serialize`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from irexec.graph.consumers import note_inputs
from irexec.graph.model import Model, Node
from irexec.graph.runtime_info import RuntimeAttribute
from irexec.graph.write import write_model
from irexec.openvino.cloning import clone
from irexec.openvino.editing import checked_model, current, order
from irexec.opsets import nodes
from irexec.opsets.namespace import namespace
from irexec.types import F16, F32

# Beyond what f16 can hold, and of values that it would lose, a constant stays as it is.
_LARGEST = np.float32(np.finfo(np.float16).max)
_SMALLEST = np.float32(np.finfo(np.float16).smallest_subnormal)
_LOST = 0.75


def save_model(model: Model, output_model: Any, compress_to_fp16: bool = False) -> None:
    """Write a model as IR v11: the `.xml` and the `.bin` beside it. OpenVINO reads it back to an equal model.

    `compress_to_fp16`: constants of f32 are written as f16 and converted when the model runs. (OpenVINO does so unless
    told otherwise; irexec writes what the model is.) Raises IRError for what IR cannot say, OSError.
    """
    model = current(checked_model(model))
    write_model(_compressed(model) if compress_to_fp16 else model, output_model)


def serialize(model: Model, xml_path: Any, bin_path: Any = "", version: str = "UNSPECIFIED") -> None:
    """Write a model as IR v11, the weights at a path of their own where one is given. Raises IRError, OSError."""
    if version not in ("UNSPECIFIED", "IR_V11"):
        raise RuntimeError(f"irexec writes IR_V11, not {version}")
    checked_model(model)
    xml = Path(xml_path)
    weights = Path(bin_path) if bin_path else xml.with_suffix(".bin")
    if weights == xml.with_suffix(".bin"):
        write_model(current(model), xml)
        return
    with tempfile.TemporaryDirectory(dir=weights.parent) as folder:
        written = Path(folder, "model.xml")
        write_model(current(model), written)
        os.replace(written.with_suffix(".bin"), weights)
        xml.write_bytes(written.read_bytes())


def _compressed(model: Model) -> Model:
    copy = clone(model)
    compress(copy)
    return copy


def compress(model: Model) -> None:
    """Make constants of f32 constants of f16, which are converted when the model runs; such as would lose much stay."""
    for part in (model, *(body.model for node in model.walk() for body in node.bodies)):
        for node in list(part.nodes):
            for index, value in enumerate(node.inputs):
                if value is not None and _is_compressible(value.node, node):
                    node.inputs[index] = _as_f16(value.node).outputs[0]
                    note_inputs(node)
        order(part)


def _is_compressible(constant: Node, taker: Node) -> bool:
    """Whether a constant loses nothing that matters: few of its elements are beyond f16."""
    array = constant.constant
    if array is None or array.dtype != F32.dtype or array.size == 0 or taker.type in ("Convert", "FakeQuantize"):
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
    small = nodes.constant_node(half, name=f"{name}_compressed")
    wide: Node = namespace("opset1").convert(small, F32, name)
    wide.outputs[0].names = set(constant.outputs[0].names)
    wide.rt_info["decompression_0"] = RuntimeAttribute("decompression", "0", {})
    return wide
