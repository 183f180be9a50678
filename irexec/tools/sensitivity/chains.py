"""The quantizers of a quantized model: single layers, or chains of layers from the value read to the value returned."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from irexec.core.structure import CONVERT
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.traits import (
    ClampingTo,
    ConversionTo,
    Dequantization,
    Difference,
    Product,
    Quantization,
    Quantizer,
    Quotient,
    Rounding,
    Sum,
)
from irexec.tools.sensitivity.constants import Constants
from irexec.tools.sensitivity.statistics import Range

# The layers that compute the real numbers that a quantizer returns from the integers that it stores.
_DEQUANTIZING = frozenset((ConversionTo, Difference, Product, Dequantization))
# The layers of ONNX's QuantizeLinear between a Divide by the scale and a Convert to integers.
_ROUNDING = frozenset((ClampingTo, Sum, Rounding))
_MOST_BITS = 16


@dataclass(slots=True)
class Chain:
    """A quantizer. `node` gives it a name, `read` is the value that it quantizes, `given` the real numbers it returns,
    and `inside` are its layers.
    """

    node: Node
    read: Value
    given: Value
    inside: list[Node] = field(default_factory=list)

    def range(self, array_of: Constants, constant: Collection[Node]) -> Range | None:
        """Return the range of the quantizer and its levels; None if they are unknown."""
        if Quantization in self.node.traits:
            return range_of(self.node, array_of, constant)
        parts = {trait: node for node in self.inside for trait in node.traits}
        scale = parts[Quotient].inputs[1] if Quotient in parts else None
        clamp, shift = parts.get(ClampingTo), parts[Sum].inputs[1] if Sum in parts else None
        if scale is None or clamp is None or scale.node not in constant:
            return None
        if shift is not None and shift.node not in constant:
            return None
        low, high = float(clamp.attributes["min"]), float(clamp.attributes["max"])
        step, zero = array_of(scale), 0.0 if shift is None else array_of(shift)
        least, most = (np.asarray((end - zero) * step, np.float32) for end in (low, high))
        return Range(int(high - low) + 1, least, most)


def range_of(node: Node, array_of: Constants, constant: Collection[Node]) -> Range | None:
    """Return the range of a FakeQuantize; None if its limits are not constants."""
    ends = [node.inputs[port] for port in (1, 2)]
    low, high = (array_of(v) if v is not None and v.node in constant else None for v in ends)
    return None if low is None or high is None else Range(int(node.attributes["levels"]), low, high)


def chains(model: Model, constant: Collection[Node]) -> Iterator[Chain]:
    """Yield the quantizers of values that depend on the inputs."""
    for node in model.nodes:
        if node in constant:
            continue
        read = node.inputs[0] if node.inputs else None
        if read is None:
            continue
        if Quantizer in node.traits and read.element_type.is_real:
            given, after = _given(node)
            yield Chain(node, read, given, [node, *after])
        elif node.type == CONVERT and read.element_type.is_real and _is_whole(node):
            before = _rounding(node)
            if before and before[-1].inputs[0] is not None:
                given, after = _given(node)
                if given.element_type.is_real:
                    yield Chain(node, before[-1].inputs[0], given, [*before, node, *after])


def _is_whole(node: Node) -> bool:
    kind = node.outputs[0].element_type
    return bool(kind.is_integral) and kind.bitwidth <= _MOST_BITS


def _rounding(node: Node) -> list[Node]:
    """Return the layers from a Convert to integers back to the Divide by the scale; an empty list if these layers do
    not form a quantizer.
    """
    found: list[Node] = []
    while node.inputs and (value := node.inputs[0]) is not None and len(value.users) == 1:
        node = value.node
        found.append(node)
        if Quotient in node.traits:
            return found if any(Rounding in layer.traits for layer in found) else []
        if _ROUNDING.isdisjoint(node.traits):
            return []
    return []


def _given(node: Node) -> tuple[Value, list[Node]]:
    """Return the real numbers that a quantizer returns: after the Converts to integers and back, if any."""
    value, after = node.outputs[0], list[Node]()
    whole = not value.element_type.is_real
    while (
        len(users := value.users) == 1 and not _DEQUANTIZING.isdisjoint(users[0].traits) and users[0].inputs[0] is value
    ):
        following = users[0]
        if not whole and (following.type != CONVERT or following.outputs[0].element_type.is_real):
            break
        whole, value = True, following.outputs[0]
        after.append(following)
        if Product in following.traits or Dequantization in following.traits:
            return value, after
    return (value, after) if value.element_type.is_real else (node.outputs[0], [])
