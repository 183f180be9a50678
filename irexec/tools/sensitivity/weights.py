"""Units of a float model whose weights are stored in int8 or int4: each constant that a matrix product reads."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.types import I4, I8, Array, PartialShape, TensorType
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.ops.arithmetic.binary import multiply_1
from irexec.ops.shape.reshape import reshape_1
from irexec.ops.spec.traits import Convolution, MatrixProduct, Selection, TransposedConvolution
from irexec.ops.type.convert import convert_1
from irexec.tools.sensitivity.constants import Constants, computed
from irexec.tools.sensitivity.statistics import Range
from irexec.tools.sensitivity.switches import Board, Site, Unit

GROUP = 128
"""The number of weights that share a scale in int4, if this number divides the axis."""
_LEAST = 64


def weights_board(model: Model, bits: int) -> tuple[Board, dict[Unit, Range]]:
    """Return the model with compressed weights: int8 with a scale per output channel, or int4 with one per group."""
    made, _ = copy_with_map(model)
    constant = constant_nodes(made)
    uses: dict[Value, list[tuple[Node, int]]] = {}
    for node in made.nodes:
        for place in _ports(node) if node not in constant else ():
            value = node.inputs[place]
            if value is not None and value.node in constant and value.element_type.is_real:
                uses.setdefault(value, []).append((node, place))
    units: list[Unit] = []
    ranges: dict[Unit, Range] = {}
    array_of = Constants()
    for value, readers in uses.items():
        array = array_of(value)
        if array.ndim < 2 or array.size < _LEAST:
            continue
        node, place = readers[0]
        coarse, codes, step = _compressed(value, array, _reduced_axes(node, place, array.ndim), bits)
        name = value.node.friendly_name
        sites = [Site(n, p, coarse, value, frozenset([n.friendly_name])) for n, p in readers]
        unit = Unit(name, "weights", node, sites)
        units.append(unit)
        axis = next((place for place, extent in enumerate(step.shape) if extent > 1), 0)
        ranges[unit] = Range(1 << bits, codes=codes, step=np.broadcast_to(step, codes.shape), axis=axis)
    for unit in units:
        for site in unit.sites:
            site.node.replace_input_with(site.port, site.coarse)
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    return Board(made, units), ranges


def _ports(node: Node) -> tuple[int, ...]:
    """Return the positions of the inputs that may be weights."""
    if MatrixProduct in node.traits:
        return (0, 1)
    if Convolution in node.traits or _spreads(node):
        return (1,)
    return (0,) if Selection in node.traits else ()


def _spreads(node: Node) -> bool:
    spreading = node.traits.find(TransposedConvolution)
    return spreading is not None and not spreading.grouped


def _reduced_axes(node: Node, place: int, rank: int) -> tuple[int, ...]:
    """Return the axes over which a layer sums: weights along them share a scale."""
    if MatrixProduct in node.traits:
        transposed = bool(node.attributes.get("transpose_b" if place else "transpose_a", False))
        last = transposed if place else not transposed
        return (rank - 1,) if last else (rank - 2,)
    if Selection in node.traits:
        return (rank - 1,)
    if (kind := node.traits.find(Convolution)) is not None:
        return tuple(range(1 + kind.grouped, rank))
    return (0, *range(2, rank))


def _compressed(value: Value, array: Array, axes: tuple[int, ...], bits: int) -> tuple[Value, Array, Array]:
    """Return the result of a Const of integers, a Convert and a Multiply with the scale, and a Reshape if there
    are groups. Also return the integers, and the step of each weight.
    """
    shape = array.shape
    wide = array.astype(np.float32)
    axis = axes[0]
    grouped = bits == 4 and len(axes) == 1 and shape[axis] % GROUP == 0 and shape[axis] > GROUP
    if grouped:
        wide = wide.reshape(*shape[:axis], shape[axis] // GROUP, GROUP, *shape[axis + 1 :])
        axes = (axis + 1,)
    most = (1 << (bits - 1)) - 1
    scale = np.maximum(np.abs(wide).max(axis=axes, keepdims=True), np.float32(1e-30)) / np.float32(most)
    codes = np.clip(np.rint(wide / scale), -most - 1, most)
    kind, node_class, name = (I8 if bits == 8 else I4), type(value.node), value.node.friendly_name
    held: Array = codes.astype(np.int8 if bits == 8 else ml_dtypes.int4)
    made = constant_node(node_class, held, element_type=kind, name=f"{name}/compressed").outputs[0]
    type_ = TensorType(value.element_type, PartialShape(wide.shape))
    made = computed(node_class, convert_1, [made], {"destination_type": value.element_type}, type_, f"{name}/convert")
    stored = scale.astype(value.element_type.dtype)
    scales = constant_node(node_class, stored, element_type=value.element_type, name=f"{name}/scale")
    made = computed(node_class, multiply_1, [made, scales.outputs[0]], {}, type_, f"{name}/dequantized")
    if grouped:
        target = constant_node(node_class, np.array(shape, np.int64), name=f"{name}/shape").outputs[0]
        whole = TensorType(value.element_type, PartialShape(shape))
        made = computed(node_class, reshape_1, [made, target], {"special_zero": False}, whole, f"{name}/grouped")
    return made, held, scale
