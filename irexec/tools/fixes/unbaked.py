"""Removing baked sizes: constants of shape arithmetic with which an exporter fixed a dynamic dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.api.opsets.nodes import constant_node, make_node
from irexec.core.diagnostics.findings import Findings
from irexec.core.records import record
from irexec.core.structure import CONST
from irexec.core.types import Array, Stored, TensorType
from irexec.model.arrays.given import Given
from irexec.model.graph.copies import copied
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.graph.ports import port_name
from irexec.model.inference import infer, infer_types
from irexec.model.inference.inference import Inference
from irexec.ops.arithmetic.binary import multiply_1
from irexec.ops.movement.concat import concat_1
from irexec.ops.movement.gather import gather_8
from irexec.ops.shape.shape_of import shape_of_3
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.traits import Reshaping
from irexec.runtime.engine.compiled import CompiledModel
from irexec.tools.run.run import complete
from irexec.tools.shapes.answer import Shapes
from irexec.tools.shapes.baked import Baked, SizeConstant, size_constants
from irexec.tools.shapes.probe import OpenDim, Prober, Sizes


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
    """Replace constants by the extent of an input, starting at the layers that refuse other sizes and moving towards
    the input.

    `prober` tests sizes of the model; at `sizes` the dimension differs from the size in the constants.
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
    """Layers that compute the extent of an axis of an input; they are created once."""

    def __init__(self, model: Model, dim: OpenDim) -> None:
        self._parameter, self._axis = model.parameters[dim.input], dim.axis
        self._made: dict[tuple[str, int], Value] = {}

    def replace(self, found: SizeConstant) -> None:
        """Replace by the extent one element of a constant that a layer reads."""
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
        made = parts[0] if len(parts) == 1 else self._node(concat_1, parts, name, axis=0)
        found.node.replace_input_with(found.index, made)

    def _value(self, kind: str, times: int) -> Value:
        if (kind, times) not in self._made:
            name = f"{self._parameter.friendly_name}/extent_{self._axis}"
            shape = self._node(shape_of_3, [self._parameter.outputs[0]], f"{name}/shape", output_type=kind)
            axes = [np.array([self._axis], np.int64), np.int64(0)]
            extent = self._node(gather_8, [shape, *axes], name)
            if times > 1:
                dtype = extent.element_type.dtype
                extent = self._node(multiply_1, [extent, np.array([times], dtype)], f"{name}/times_{times}")
            self._made[kind, times] = extent
        return self._made[kind, times]

    def _node(self, operator: Operator, inputs: Sequence[object], name: str, **attributes: object) -> Value:
        return make_node(type(self._parameter), operator, inputs, attributes, name).outputs[0]


def _times(symbol: str, times: int) -> str:
    return symbol if times == 1 else f"{times}*{symbol}"


def _listed(values: tuple[int | str, ...]) -> str:
    return ",".join(map(str, values))


# The sizes at which a dimension without its baked constant must be accepted.
_SIZES = (2, 3, 5)
# The largest relative difference between the results of a batch and the results of its elements.
_TOLERANCE = 1e-4


@record(frozen=True)
class Unbaked:
    """A model whose baked dimensions are dynamic, with the changes, the verified properties, and the reasons why other
    dimensions are still fixed.
    """

    model: Model
    changes: list[Change]
    verified: list[str]
    kept: list[str]


class CannotUnbake(ValueError):
    """Raised if the constants cannot be replaced, or the changed model computes other results.

    The message states the reason.
    """


def unbaked(shapes: Shapes) -> Unbaked:
    """Return a copy of the model in which constants of shape arithmetic no longer fix a dimension.

    The copy must accept other sizes, give the same results bit for bit at the baked size, and, for a batch, give each
    element the results of the original model for this element alone. Raises CannotUnbake.
    """
    if not shapes.baked:
        raise CannotUnbake("no dynamic dimension is fixed by a constant")
    made = Unbaked(shapes.model, [], [], [])
    for baked in shapes.baked:
        model = copied(made.model)
        try:
            changes, verified = _opened(model, shapes, baked)
        except CannotUnbake as error:
            made.kept.append(str(error))
        else:
            made = Unbaked(model, [*made.changes, *changes], [*made.verified, *verified], made.kept)
    if not made.changes:
        raise CannotUnbake("; ".join(made.kept))
    return made


def _opened(model: Model, shapes: Shapes, baked: Baked) -> tuple[list[Change], list[str]]:
    """Make one dimension of a model dynamic; return the changes and the verified properties."""
    dim, symbol, base = baked.dim, shapes.symbols[baked.dim], shapes.base_sizes
    numbers = [number for number, name in enumerate(shapes.symbols) if name == symbol]
    base = tuple(baked.size if number in numbers else own for number, own in enumerate(base))
    declared = [value.type.shape for value in shapes.model.inputs]
    others = [size for size in _SIZES if size != baked.size]
    tried = [tuple(size if number in numbers else own for number, own in enumerate(base)) for size in others]
    changes = _replaced(model, shapes, base, dim, baked.size)
    changes += computed_sizes(model, Prober(model, declared), tried[0], shapes.dims[dim], baked.size, symbol)
    if not changes:
        raise CannotUnbake(f"no constant {baked.size} that fixes {symbol} was found in the computation of shapes")
    _infer_again(model)
    prober = Prober(model, declared)
    for size, sizes in zip(others, tried, strict=True):
        refusal = prober.at(sizes).refusal
        if refusal is not None:
            layer = refusal.node.friendly_name if refusal.node is not None else "the variables"
            raise CannotUnbake(f"{symbol} = {size} is still refused by {layer!r}: {refusal.finding.message}")
    verified = [f"{symbol} = {', '.join(map(str, others))} are accepted"]
    return changes, verified + _verified(shapes, model, prober, base, numbers, symbol, baked.size)


def _replaced(model: Model, shapes: Shapes, base: Sizes, dim: int, size: int) -> list[Change]:
    """Replace the size in the targets of all Reshapes that depend on the dimension's input."""
    place = shapes.dims[dim]
    given = [TensorType(v.element_type, s) for v, s in zip(model.inputs, shapes.inputs_at(base), strict=True)]
    inference = infer(model, given)
    reached = {node.number for node in shapes.reached(place.input)}
    changes: list[Change] = []
    for node in model.nodes:
        if Reshaping in node.traits and node.number in reached:
            change = _changed(node, inference, place.axis, size)
            if change is not None:
                changes.append(change)
    model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
    return changes


def _infer_again(model: Model) -> None:
    """Infer the types of a model whose file declares the types at the baked size."""
    for node in model.walk():
        node.layer = None
        for value in node.outputs:
            value.declared = None
    infer_types(model)


def _changed(node: Node, inference: Inference, axis: int, size: int) -> Change | None:
    """Change the baked size in the target of a Reshape, so that the extent is copied from its data or inferred."""
    data, target = node.inputs[:2]
    held = None if target is None or target.node.type != CONST else target.node.held
    if data is None or target is None or held is None or held.size > 16:
        return None
    before = tuple(int(v) for v in (held.values if isinstance(held, Stored) else held.ravel()))
    special = bool(node.all_attributes["special_zero"])
    if axis >= len(before) or before[axis] != size or (0 in before and not special):
        return None
    shape = inference[data].shape
    if shape.rank is not None and axis < shape.rank and shape[axis] == size:
        new = 0
    elif -1 not in before:
        new = -1
    else:
        return None
    after = (*before[:axis], new, *before[axis + 1 :])
    kind = target.element_type
    constant = constant_node(type(node), np.array(after, kind.dtype), name=f"{node.friendly_name}/target")
    node.replace_input_with(1, constant.outputs[0])
    node._attributes = node.attributes | {"special_zero": True}
    return Change(node.type, node.friendly_name, before, after)


def _verified(
    shapes: Shapes, model: Model, prober: Prober, base: Sizes, numbers: list[int], symbol: str, size: int
) -> list[str]:
    """Compare the results at the baked size, and the results of a batch with the results of its elements."""
    original, changed = CompiledModel(shapes.model), CompiledModel(model)
    first, second = (_inputs(shapes.model, prober, base, seed) for seed in (0, 1))
    expected, found = _results(original, first), _results(changed, first)
    if not all(_same_bits(one, other) for one, other in zip(expected, found, strict=True)):
        raise CannotUnbake(f"the results at {symbol} = {size} differ from those of the original model")
    verified = [f"the results at {symbol} = {size} are those of the original model bit for bit"]
    if size != 1 or all(axis for number in numbers for _, axis in shapes.dims[number].places):
        return verified
    places = {place for number in numbers for place in shapes.dims[number].places}
    joined = []
    for number, (one, other) in enumerate(zip(first, second, strict=True)):
        axes = [axis for input, axis in places if input == number]
        joined.append(np.concatenate([one, other], axes[0]) if axes else one)
    inputs = {input for input, _ in places}
    second = [other if n in inputs else one for n, (one, other) in enumerate(zip(first, second, strict=True))]
    expected_second = _results(original, second)
    for one, other, both in zip(expected, expected_second, _results(changed, joined), strict=True):
        whole = np.concatenate([one, other], 0) if one.ndim and both.shape[0] == 2 * one.shape[0] else None
        if whole is None or whole.shape != both.shape or not _are_close(whole, both):
            raise CannotUnbake(
                f"the results of a batch of two elements differ from the results of each element: "
                f"other layers also depend on {symbol}"
            )
    verified.append("the results of a batch of two elements are those of each element alone")
    return verified


def _inputs(model: Model, prober: Prober, sizes: Sizes, seed: int) -> list[Array]:
    names = [port_name(value) for value in model.inputs]
    shapes = {name: shape.to_shape() for name, shape in zip(names, prober.inputs_at(sizes), strict=True)}
    findings = Findings()
    entries = complete(model, Given(shapes=shapes, seed=seed), findings)
    if not findings.report.ok or any(entry.array is None for entry in entries):
        raise CannotUnbake(f"no inputs can be drawn: {findings.report.errors[0].message}")
    return [entry.array for entry in entries if entry.array is not None]


def _results(compiled: CompiledModel, inputs: list[Array]) -> list[Array]:
    results = compiled.create_infer_request().infer(inputs)
    return [np.array(array) for array in results.to_dict().values()]


def _same_bits(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()


def _are_close(one: Array, other: Array) -> bool:
    if one.dtype.kind not in "fcV":
        return bool(np.array_equal(one, other))
    wide, same = one.astype(np.float64), other.astype(np.float64)
    unit = float(np.abs(wide[np.isfinite(wide)]).max(initial=0)) or 1.0
    return bool(np.allclose(wide, same, rtol=_TOLERANCE, atol=_TOLERANCE * unit, equal_nan=True))
