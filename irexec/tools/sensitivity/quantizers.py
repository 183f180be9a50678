"""Units of a quantized model: its quantizers, paired with the values of the float model that was quantized."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.diagnostics import WrongArgument
from irexec.core.structure import CONVERT, RESULT
from irexec.core.types import BOOLEAN, Array, ElementType, TensorType
from irexec.model.graph.copies import copy_with_map, like
from irexec.model.graph.cut import constant_nodes, needed_by
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.ops.arithmetic.binary import divide_1
from irexec.ops.spec.traits import (
    Clamping,
    KeepsGrid,
    MatrixProduct,
    Moving,
    Product,
    Quantization,
    Quantizer,
    Reshaping,
    ShapeReading,
)
from irexec.ops.type.convert import convert_1
from irexec.tools.compare.align import Alignment, align
from irexec.tools.sensitivity.chains import chains, range_of
from irexec.tools.sensitivity.constants import Constants, computed, copied
from irexec.tools.sensitivity.onnx_names import in_whole_numbers
from irexec.tools.sensitivity.statistics import Range
from irexec.tools.sensitivity.switches import Board, Site, Unit

_FEW_BITS = 8


class NoPair(WrongArgument):
    """Raised for two models of which neither is the quantized form of the other."""


def quantized_board(float_model: Model, quantized: Model) -> tuple[Board, dict[Unit, Range]]:
    """Return the quantized model with its quantizers as units. Raises NoPair.

    The fine value of a unit is the value that a quantizer reads, or for weights the constant of the float model.
    """
    if len(float_model.inputs) != len(quantized.inputs) or len(float_model.outputs) != len(quantized.outputs):
        raise NoPair("the models have different numbers of inputs or results")
    if whole := in_whole_numbers(quantized):
        raise NoPair(
            f"the second model computes {', '.join(whole)} with integers, so that no quantizer can be left out "
            "alone; quantize the float model with quant_format=QuantFormat.QDQ, which writes QuantizeLinear and "
            "DequantizeLinear around each layer instead"
        )
    made, _ = copy_with_map(quantized)
    pairing = _Pairing(float_model, made)
    units = [*pairing.activations(), *pairing.weights()]
    pairing.adjusted(units)
    if not units or (all(unit.kind == "constant" for unit in units) and pairing.float_is_quantized):
        if pairing.float_is_quantized:
            raise NoPair("the first model has quantizers and the second has none: the float model comes first")
        raise NoPair("the second model has no quantizer: no FakeQuantize, and no weights of at most 8 bits")
    for unit in units:
        pairing.name_layers(unit)
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    board = Board(made, units)
    board.notes += pairing.notes
    return board, {unit: found for unit in units if (found := pairing.range_of(unit)) is not None}


class _Pairing:
    """The quantized model, the float model, and the pairs of corresponding layers."""

    def __init__(self, float_model: Model, quantized: Model) -> None:
        self.float, self.model = float_model, quantized
        self.notes: list[str] = []
        self.constant, self._float_constant = constant_nodes(quantized), constant_nodes(float_model)
        self._array = Constants()
        self._chains = [*chains(quantized, self.constant)]
        self._inside = {node for chain in self._chains for node in chain.inside}
        here, mine = _plain(quantized, self.constant, {chain.given: chain.read for chain in self._chains})
        there, theirs = _plain(float_model, self._float_constant, {})
        alignment = align(here, there)
        self._other = _translated(alignment, mine, theirs)
        self._paired = {*self._other.values()}
        self._cut: dict[tuple[Value, Node], Value] = {}

    def activations(self) -> list[Unit]:
        """Return the quantizers of values that depend on the inputs."""
        already = {node.friendly_name for node in self.float.nodes if Quantizer in node.traits}
        found = []
        for chain in self._chains:
            if chain.node.friendly_name in already:
                continue
            uses = [use for use in chain.given.uses() if use[0] not in chain.inside]
            sites = [Site(user, port, chain.given, self._cut_off(chain.read, user, port)) for user, port in uses]
            if sites:
                found.append(Unit(chain.node.friendly_name, "activations", chain.node, sites))
        return found

    def _cut_off(self, fine: Value, user: Node, port: int) -> Value:
        """Return the fine value of a quantizer's reader: after a ReLU or Clamp that has no counterpart here,
        because the quantizer clamps the values.
        """
        other = self._other.get(user)
        theirs = other.inputs[port] if other is not None and port < len(other.inputs) else None
        if theirs is None or Clamping not in theirs.node.traits or theirs.node in self._paired:
            return fine
        before = theirs.node.inputs[0]
        if before is None or self._other.get(fine.node) is not before.node:
            return fine
        key = fine, theirs.node
        if key not in self._cut:
            self._cut[key] = like(theirs.node, [fine]).outputs[0]
        return self._cut[key]

    @property
    def float_is_quantized(self) -> bool:
        """Whether the model that is given as the float model has quantizers, as if the models were swapped."""
        constants = [value for node in self._float_constant for value in node.outputs]
        return any(chains(self.float, self._float_constant)) or any(map(_is_coarse, constants))

    def weights(self) -> list[Unit]:
        """Return the quantizers of constants whose counterpart is in the float model."""
        found = []
        for value in self._read_constants():
            if not _is_coarse(value):
                continue
            fine = self._fine(value)
            reader = value.users[0]
            if fine is None:
                self.notes.append(
                    f"{value.node.friendly_name} stays quantized: the float model has no counterpart of this constant"
                )
                continue
            sites = [Site(user, port, value, fine) for user, port in value.uses() if user not in self.constant]
            found.append(Unit(value.node.friendly_name, "weights", reader, sites))
        return found

    def adjusted(self, units: list[Unit]) -> None:
        """Add constants that were adjusted to the quantization, such as biases, to the units of the weights before
        them, or as units of their own."""
        owners = {site.node: unit for unit in units if unit.kind == "weights" for site in unit.sites}
        taken = {site.coarse for unit in units for site in unit.sites}
        for value in self._read_constants():
            if value in taken or not value.element_type.is_real or (fine := self._fine(value)) is None:
                continue
            if np.array_equal(self._array(fine), self._array(value)):
                continue
            sites = [Site(user, port, value, fine) for user, port in value.uses() if user not in self.constant]
            before = [v.node for v in sites[0].node.inputs if v is not None]
            owner = next((owners[node] for node in before if node in owners), None)
            if owner is None:
                units.append(Unit(value.node.friendly_name, "constant", sites[0].node, sites))
            else:
                owner.sites += sites

    def name_layers(self, unit: Unit) -> None:
        """Give each `Site` of a unit the names, in the float model, of the layers that compute with its value.

        Sites of a constant that was adjusted to the quantization get the names of all other sites of the unit.
        """
        own = [site for site in unit.sites if site.coarse is unit.sites[0].coarse]
        for site in own:
            names = self._readers(site.node) if unit.kind == "activations" else {self._name(site.node)}
            # A value that only results read is quantized with the layer that computes it.
            site.layers = frozenset(names or {self._name(site.fine.node)})
        for site in unit.sites:
            site.layers = site.layers or frozenset[str]().union(*(other.layers for other in own))

    def _readers(self, node: Node) -> set[str]:
        found: set[str] = set()
        stack, seen = [node], set[Node]()
        while stack:
            node = stack.pop()
            if node in seen or node.type == RESULT or ShapeReading in node.traits:
                continue
            seen.add(node)
            if _moves(node):
                stack += [user for value in node.outputs for user in value.users]
            elif Quantizer not in node.traits:
                found.add(self._name(node))
        return found

    def _name(self, node: Node) -> str:
        return self._other.get(node, node).friendly_name

    def range_of(self, unit: Unit) -> Range | None:
        """Return the range of a quantizer and its levels; None if they are unknown."""
        node = unit.node
        if unit.kind == "weights":
            return self._range_of_weights(unit.sites[0].coarse)
        chain = next((chain for chain in self._chains if chain.node is node), None)
        return None if chain is None else chain.range(self._array, self.constant)

    # Constants

    def _read_constants(self) -> list[Value]:
        return [v for n in self.model.nodes if n in self.constant for v in n.outputs if self._is_read(v)]

    def _is_read(self, value: Value) -> bool:
        return any(user not in self.constant and user not in self._inside for user in value.users)

    def _fine(self, value: Value) -> Value | None:
        """Return the constant of the float model that is read at the same place, as a constant of this model."""
        for user, port in value.uses():
            other = self._other.get(user)
            if other is None or port >= len(other.inputs):
                continue
            theirs = other.inputs[port]
            if theirs is None or theirs.node not in self._float_constant:
                continue
            if theirs.type.shape != value.type.shape or not theirs.element_type.is_real:
                continue
            return self._smoothed(user, port, self._as_type(copied(theirs), value.element_type))
        return None

    def _as_type(self, value: Value, kind: ElementType) -> Value:
        if value.element_type is kind:
            return value
        type_, name = TensorType(kind, value.type.shape), value.node.friendly_name
        return computed(type(value.node), convert_1, [value], {"destination_type": kind}, type_, name)

    def _smoothed(self, node: Node, port: int, weights: Value) -> Value:
        """Return weights for a value that a layer without counterpart divides by a scale per channel (SmoothQuant)."""
        if MatrixProduct not in node.traits or port != 1 or (value := node.inputs[0]) is None:
            return weights
        while Quantizer in value.node.traits and value.node.inputs[0] is not None:
            value = value.node.inputs[0]
        scaling = value.node
        if Product not in scaling.traits or scaling in self._other:
            return weights
        scale = next((s for v in scaling.inputs if (s := self._known(v)) is not None), None)
        extents = weights.type.shape.to_shape()
        axis = len(extents) - (1 if node.attributes.get("transpose_b", False) else 2)
        if scale is None or scale.size != extents[axis]:
            return weights
        shape = [1] * len(extents)
        shape[axis] = scale.size
        divisor = constant_node(type(node), scale.reshape(shape)).outputs[0]
        return computed(type(node), divide_1, [weights, divisor], {}, weights.type, weights.node.friendly_name)

    def _known(self, value: Value | None) -> Array | None:
        return None if value is None or value.node not in self.constant else self._array(value)

    def _range_of_weights(self, value: Value) -> Range | None:
        """Return the range of the stored codes, and the step between them."""
        node: Node | None = value.node
        while node is not None and (Reshaping in node.traits or node.type == CONVERT) and node.inputs:
            node = node.inputs[0].node if node.inputs[0] is not None else None
        if node is not None and Quantization in node.traits:
            return range_of(node, self._array, self.constant)
        if node is None or Product not in node.traits:
            return None
        centred, scale = node.inputs
        size = math.prod(value.type.shape.to_shape())
        codes_of = (n for n in needed_by([node]) if _is_code(n) and n.constant is not None and n.constant.size == size)
        held = next(codes_of, None)
        if held is None or held.constant is None or centred is None or scale is None:
            return None
        codes, step = held.constant, self._known(scale)
        if step is None:
            return None
        wide = np.broadcast_to(step.astype(np.float32), codes.shape)
        extents = [1] * (codes.ndim - step.ndim) + [*step.shape]
        axis = next((place for place, extent in enumerate(extents) if extent > 1), 0)
        return Range(1 << held.outputs[0].element_type.bitwidth, codes=codes, step=wide, axis=axis)


def _is_coarse(value: Value) -> bool:
    """Return whether a constant is computed from integers of few bits, or goes through a quantizer."""
    if not value.element_type.is_real or value.node.held is not None:
        return False
    for node in needed_by([value.node]):
        if Quantizer in node.traits:
            return True
        kind = node.outputs[0].element_type
        if node.held is not None and 0 < kind.bitwidth <= _FEW_BITS and kind is not BOOLEAN:
            return True
    return False


def _is_code(node: Node) -> bool:
    array = node.constant
    if array is None:
        return False
    kind = node.outputs[0].element_type
    return bool(kind.is_integral) and kind.bitwidth <= _FEW_BITS and array.ndim >= 1


def _plain(model: Model, constant: set[Node], passed: Mapping[Value, Value | None]) -> tuple[Model, dict[Node, Node]]:
    """Return a copy without quantizers, whose constants only state their shapes, and the originals of its layers."""
    made, copies = copy_with_map(model)
    shapes: dict[Value, Value] = {}
    for node in model.nodes:
        if node in constant:
            continue
        inputs: list[Value | None] = []
        for value in node.inputs:
            while value is not None and value in passed:
                value = passed[value]
            if value is None or value.node not in constant:
                inputs.append(None if value is None else copies[value.node].outputs[value.index])
                continue
            if value not in shapes:
                text = f"{value.type.shape.to_string()} {value.element_type.is_real}"
                shapes[value] = constant_node(model.node_class, np.frombuffer(text.encode(), np.uint8)).outputs[0]
            inputs.append(shapes[value])
        copies[node].inputs = inputs
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    return made, {copy: node for node, copy in copies.items()}


def _translated(alignment: Alignment, mine: dict[Node, Node], theirs: dict[Node, Node]) -> dict[Node, Node]:
    pairs = alignment.forward.items()
    return {mine[one]: theirs[other] for one, other in pairs if one in mine and other in theirs}


def _moves(node: Node) -> bool:
    """Return whether a layer only moves values: a quantizer before such a layer belongs to the layers after it."""
    return Moving in node.traits or KeepsGrid in node.traits or node.type == CONVERT
