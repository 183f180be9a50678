"""Constants that hold the size with which a model was exported, replaced by the extent of the model's input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.graph.model import Model, Value
from irexec.graph.order import ordered
from irexec.ops.declare.contents import load
from irexec.opsets.nodes import constant_node, make_node
from irexec.records import record
from irexec.sizes.baked import SizeConstant, size_constants
from irexec.sizes.probe import OpenDim, Prober, Sizes


@record(frozen=True)
class Change:
    """One constant of a layer, with its old and its new elements; a computed size is named by its symbol."""

    type: str
    name: str
    before: tuple[int, ...]
    after: tuple[int | str, ...]

    def __str__(self) -> str:
        return f"{self.type} {self.name!r}: [{_listed(self.before)}] became [{_listed(self.after)}]"


def computed_sizes(model: Model, prober: Prober, sizes: Sizes, dim: OpenDim, size: int, symbol: str) -> list[Change]:
    """Replace constants by the extent of an input, from the layers that refuse other sizes backwards.

    `prober`: of the model, at whose `sizes` the dimension has another size than the one that constants hold.
    """
    changes: list[Change] = []
    extent = _Extent(model, dim)
    while (refusal := prober.at(sizes).refusal) is not None:
        found = next(size_constants(prober, refusal.node, dim, size), None)
        if found is None:
            break
        extent.replace(found)
        after: tuple[int | str, ...] = (
            *found.values[: found.position],
            _times(symbol, found.times),
            *found.values[found.position + 1 :],
        )
        changes.append(Change(found.node.type, found.node.friendly_name, found.values, after))
        model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
        prober = Prober(model, prober.shapes)
    return changes


class _Extent:
    """The extent of an axis of an input, as layers that are made once."""

    def __init__(self, model: Model, dim: OpenDim) -> None:
        self._parameter, self._axis = model.parameters[dim.input], dim.axis
        self._made: dict[tuple[str, int], Value] = {}

    def replace(self, found: SizeConstant) -> None:
        """Let an input of a layer have the extent in the place of one element of its constant."""
        target = found.node.inputs[found.index]
        assert target is not None
        constant, kind = target.node, str(target.element_type)
        parts: list[Value] = []
        for values in (found.values[: found.position], None, found.values[found.position + 1 :]):
            if values is None:
                parts.append(self._value(kind, found.times))
            elif values:
                array = np.array(values, target.element_type.dtype)
                parts.append(constant_node(type(constant), array, element_type=target.element_type).outputs[0])
        name = f"{found.node.friendly_name}/sizes"
        made = parts[0] if len(parts) == 1 else self._node("Concat", 1, parts, name, axis=0)
        found.node.replace_input_with(found.index, made)

    def _value(self, kind: str, times: int) -> Value:
        if (kind, times) not in self._made:
            name = f"{self._parameter.friendly_name}/extent_{self._axis}"
            shape = self._node("ShapeOf", 3, [self._parameter.outputs[0]], f"{name}/shape", output_type=kind)
            axes = [np.array([self._axis], np.int64), np.int64(0)]
            extent = self._node("Gather", 8, [shape, *axes], name)
            if times > 1:
                dtype = extent.element_type.dtype
                extent = self._node("Multiply", 1, [extent, np.array([times], dtype)], f"{name}/times_{times}")
            self._made[kind, times] = extent
        return self._made[kind, times]

    def _node(self, type_: str, opset: int, inputs: Sequence[object], name: str, **attributes: object) -> Value:
        operator, node_class = load(type_, opset), type(self._parameter)
        assert operator is not None
        return make_node(node_class, operator, inputs, attributes, name).outputs[0]


def _times(symbol: str, times: int) -> str:
    return symbol if times == 1 else f"{times}*{symbol}"


def _listed(values: tuple[int | str, ...]) -> str:
    return ",".join(map(str, values))
