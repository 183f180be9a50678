"""Compression of quantized weights: FakeQuantize and FakeConvert of constants become integers, a Convert and a scale.

A FakeQuantize of a constant is replaced by `(Convert(codes) - zero_point) * scale`, which has the same value. Source:
OpenVINO, the transformation CompressQuantizeWeights; levels are computed in the type of the weights, scales in f32.
"""

from __future__ import annotations

import numpy as np

from irexec.api.openvino.editing import changed, order, replace
from irexec.api.openvino.node import Node
from irexec.api.openvino.opsets import opset
from irexec.api.opsets.nodes import constant_node
from irexec.core.structure import CONST, CONVERT
from irexec.core.types import BF16, F16, F32, I4, I8, U4, U8, Array, ElementType
from irexec.model.graph import model as graph
from irexec.model.graph.model import Model, Value
from irexec.model.graph.runtime_info import RuntimeAttribute
from irexec.ops.compute.casting import narrowed
from irexec.ops.spec.traits import Float8Rounding, Quantization

_FLOATS = (F32, F16, BF16)
# The range in which OpenVINO stores codes minus their zero point; it stores no negative codes as i4.
_BOUNDS = {I8: (-128, 127), U8: (0, 255), I4: (0, 7), U4: (0, 15)}
# Marks nodes that constant folding must not turn back into constants of full size.
_KEPT = RuntimeAttribute("DisableConstantFolding", "0", {})


def compress_quantized_weights(model: Model) -> bool:
    """Replace every FakeQuantize (3 to 256 levels) and FakeConvert of a constant; return whether there was one."""
    found = False
    for node in list(model.nodes):
        for body in node.bodies:
            found |= compress_quantized_weights(body.model)
        if Quantization in node.traits:
            found |= _compress_fake_quantize(node)
        elif Float8Rounding in node.traits:
            found |= _compress_fake_convert(node)
    if found:
        changed(model)
        order(model)
    return found


def _compress_fake_quantize(node: graph.Node) -> bool:
    arrays = [_weights(node.inputs[0]), *(_constant(value) for value in node.inputs[1:])]
    levels, kind = int(node.attributes["levels"]), node.outputs[0].element_type
    if any(array is None for array in arrays) or not 2 < levels <= 256 or kind not in _FLOATS:
        return False
    weights, input_low, input_high, output_low, output_high = (np.asarray(array, np.float32) for array in arrays)
    unsigned = bool((output_low >= 0).all() and (output_high >= 0).all())
    first = np.float32(0 if unsigned else -(levels // 2))
    limits = input_low.astype(kind.dtype), input_high.astype(kind.dtype)
    codes = _codes(weights.astype(kind.dtype), *limits, levels).astype(np.float32) + first
    scale = np.asarray((output_high - output_low) / np.float32(levels - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        zero_point = (
            np.where(scale != 0, first - output_low / scale, np.float32(0)).astype(kind.dtype).astype(np.float32)
        )
    low = _low_type(levels, unsigned)
    shift: Array | None = None
    if (np.abs(zero_point) >= 1e-4).any():
        shifted = codes - zero_point
        whole = np.rint(shifted)
        least, most = _BOUNDS[low]
        if (np.abs(whole - shifted) < 1e-4).all() and least <= whole.min() and whole.max() <= most:
            codes = whole
        else:
            shift = zero_point
    _replace(node, codes.astype(low.dtype), low, scale, shift)
    return True


def _codes(weights: Array, low: Array, high: Array, levels: int) -> Array:
    """Return the number of the level that each weight is rounded to, from 0."""
    most = weights.dtype.type(levels - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inner = np.rint((weights - low) / (high - low) * most)
    return np.where(
        weights <= np.minimum(low, high), np.float32(0), np.where(weights > np.maximum(low, high), most, inner)
    )


def _low_type(levels: int, unsigned: bool) -> ElementType:
    if levels <= 16:
        return U4 if unsigned else I4
    return U8 if unsigned else I8


def _compress_fake_convert(node: graph.Node) -> bool:
    arrays = [_weights(node.inputs[0]), *(_constant(value) for value in node.inputs[1:])]
    if any(array is None for array in arrays) or node.outputs[0].element_type not in _FLOATS:
        return False
    weights, scale, *rest = (np.asarray(array, np.float32) for array in arrays)
    shift = rest[0] if rest and rest[0].any() else None
    low = ElementType.by_name[str(node.all_attributes["destination_type"])]
    scaled = weights * scale if shift is None else weights * scale - shift
    _replace(node, narrowed(scaled, low), low, np.asarray(1 / scale), None if shift is None else -shift)
    return True


def _replace(node: graph.Node, codes: Array, low: ElementType, scale: Array, zero_point: Array | None) -> None:
    """Replace a node by `(Convert(codes) - zero_point) * scale`, which gets the node's name and runtime information."""
    ops, kind = opset("opset13"), node.outputs[0].element_type
    value = ops.convert(constant_node(Node, codes, element_type=low), kind)
    value.rt_info = dict(node.rt_info) | {_KEPT.key: _KEPT}
    if zero_point is not None:
        value = ops.subtract(value, constant_node(Node, zero_point.astype(kind.dtype), element_type=kind))
        value.rt_info = dict(node.rt_info)
    value = ops.multiply(value, constant_node(Node, np.asarray(scale).astype(kind.dtype), element_type=kind))
    value.rt_info, value.given_name = dict(node.rt_info), node.given_name
    replace(node.outputs[0], value.outputs[0])


def _constant(value: Value | None) -> Array | None:
    return value.node.constant if value is not None and value.node.type == CONST else None


def _weights(value: Value | None) -> Array | None:
    """Return the contents of a constant, or of a constant that a Convert converts to a floating-point type."""
    if value is not None and value.node.type == CONVERT and value.element_type in _FLOATS:
        held = _constant(value.node.inputs[0])
        return None if held is None else held.astype(value.element_type.dtype)
    return _constant(value) if value is not None and value.element_type in _FLOATS else None
