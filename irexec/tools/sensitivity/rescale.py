"""Rescaling: a model that computes the same results with smaller values, so that f16 does not overflow.

A value that overflows is computed from an input that is divided by a power of two. The layers that read it take the
factor into account: products absorb it in their constants, sums divide their other inputs as well, and other layers
read the value after a multiplication that restores it. Raises CannotRescale if the restored value would overflow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.structure import ENDS
from irexec.core.types import F32, TensorType
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.ops.arithmetic.binary import multiply_1
from irexec.ops.spec.traits import Bilinear, Exponentiation, Homogeneous, HomogeneousTogether, Quotient, SquareRoot

# Additional powers of two, because sums that are computed in another order may be larger.
_MARGIN = 1


class CannotRescale(ValueError):
    """Raised if a value that overflows is read by a layer through which no power of two can be moved."""


def rescaled(model: Model, largest: Mapping[Node, float], limit: float) -> tuple[Model, dict[str, int]]:
    """Return the model in which no value exceeds `limit`, and the power of two by which each layer's result is divided.

    `largest`: the largest magnitude of each layer's result. Raises CannotRescale.
    """
    made, copies = copy_with_map(model)
    sizes = {copies[node]: size for node, size in largest.items() if node in copies}
    rescaling = _Rescaling(made, sizes, limit)
    for node in list(made.nodes):
        rescaling.visit(node)
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    return made, {node.friendly_name: power for node, power in rescaling.exponents.items()}


class _Rescaling:
    """The powers of two by which values are divided so far; values that are not in `powers` are not divided."""

    def __init__(self, model: Model, largest: Mapping[Node, float], limit: float) -> None:
        self.powers: dict[Value, int] = {}
        self.exponents: dict[Node, int] = {}
        self._largest, self._limit = largest, limit
        self._constant = constant_nodes(model)
        self._class = model.node_class
        self._made: dict[tuple[Value, int], Value] = {}

    def visit(self, node: Node) -> None:
        """Divide the inputs of a node so that its result does not overflow."""
        if node in self._constant or not node.inputs:
            return
        wanted = self._needed(node)
        power = 0
        floats = node.outputs and node.outputs[0].element_type is F32 and len(node.outputs) == 1
        if not floats or not (wanted or any(self._power(node, port) for port in range(len(node.inputs)))):
            self._plain(node, wanted)
        elif Homogeneous in node.traits:
            power = max(wanted, self._power(node, 0))
            self._divide(node, 0, power - self._power(node, 0))
        elif HomogeneousTogether in node.traits:
            ports = range(len(node.inputs))
            power = max(wanted, *(self._power(node, port) for port in ports))
            for port in ports:
                self._divide(node, port, power - self._power(node, port))
        elif Bilinear in node.traits:
            power = self._product(node, wanted, self._power(node, 0) + self._power(node, 1), 1)
        elif Quotient in node.traits:
            power = self._product(node, wanted, self._power(node, 0) - self._power(node, 1), -1)
        elif SquareRoot in node.traits:
            own = self._power(node, 0)
            self._divide(node, 0, own % 2)
            power = (own + own % 2) // 2
        elif Exponentiation in node.traits and (exponent := self._exponent(node)):
            own = max(self._power(node, 0), -(-wanted // exponent))
            self._divide(node, 0, own - self._power(node, 0))
            power = own * exponent
        else:
            self._plain(node, wanted)
        if power:
            self.exponents[node] = power
            self.powers[node.outputs[0]] = power

    def _needed(self, node: Node) -> int:
        size = self._largest.get(node, 0.0)
        return 0 if size <= self._limit else math.ceil(math.log2(size / self._limit)) + _MARGIN

    def _power(self, node: Node, port: int) -> int:
        value = node.inputs[port]
        return 0 if value is None else self.powers.get(value, 0)

    def _plain(self, node: Node, wanted: int) -> None:
        """Undo the division of the inputs of a layer through which no factor can be moved."""
        if wanted and node.type not in ENDS:
            raise CannotRescale(f"{node.friendly_name} ({node.type}) overflows and is not linear")
        for port, value in enumerate(node.inputs):
            if value is None or not (power := self._power(node, port)):
                continue
            if self._needed(value.node):
                name = value.node.friendly_name
                message = f"{node.friendly_name} ({node.type}) is not linear, and its input {name} overflows"
                raise CannotRescale(message)
            self._divide(node, port, -power)

    def _product(self, node: Node, wanted: int, power: int, sign: int) -> int:
        """Divide an input so that the result is divided by `wanted`; return the power of two that is reached."""
        if power == wanted:
            return power
        constant = next((p for p in (1, 0) if (v := node.inputs[p]) is not None and v.node in self._constant), None)
        if constant is not None:
            self._divide(node, constant, (wanted - power) * (sign if constant == 1 else 1))
            return wanted
        if power < wanted:
            self._divide(node, 0, wanted - power)
            return wanted
        return power

    def _exponent(self, node: Node) -> int:
        """Return the constant exponent of a Power, if it is an integer above 0; otherwise 0."""
        held = node.inputs[1].node.constant if node.inputs[1] is not None else None
        if held is None or held.size != 1:
            return 0
        exponent = float(held.reshape(-1)[0])
        return int(exponent) if exponent > 0 and exponent == int(exponent) else 0

    def _divide(self, node: Node, port: int, power: int) -> None:
        """Divide the value that an input reads by this power of two."""
        value = node.inputs[port]
        if power and value is not None and value.element_type is F32:
            node.replace_input_with(port, self._divided(value, power))

    def _divided(self, value: Value, power: int) -> Value:
        if (value, power) not in self._made:
            factor = np.float32(2.0**-power)
            source = value.node
            if source.constant is not None:
                array = (source.constant * factor).astype(np.float32)
                made = constant_node(self._class, array, name=source.friendly_name)
                self._constant.add(made)
            else:
                scale = constant_node(self._class, factor)
                name = f"{source.friendly_name}/{f'divided_by_2^{power}' if power > 0 else 'restored'}"
                made = self._class(multiply_1, [value, scale.outputs[0]], {}, name=name)
                made.set_outputs([TensorType(F32, value.type.shape)])
            self._made[(value, power)] = made.outputs[0]
        return self._made[(value, power)]
