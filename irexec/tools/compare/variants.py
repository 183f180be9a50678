"""Variants of a model that are equally correct: other ways in which a runtime may compute its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.diagnostics import IRError
from irexec.core.structure import CONVERT, PARAMETER
from irexec.core.types import BF16, F16, F32, F64, Array, ElementType, TensorType
from irexec.model.arrays.units import widened
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types
from irexec.ops.spec.operator import Tolerance
from irexec.ops.spec.traits import Quantization
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.errors import Bounds, Error, Run, judge

_HALVES = (F16, BF16)
NARROWER = {F32: (F16, BF16), F64: (F16, BF16, F32)}
_NUDGES = {
    kind: units * float(ml_dtypes.finfo(kind.dtype).eps)  # type: ignore[no-untyped-call]
    for kind, units in ((F32, 4), (F16, 1), (BF16, 1))
}
"""The distances by which values between layers are perturbed: in f32 the same as for inputs, in 16 bits one unit, by
which another order of operations changes a value."""
_FEW = 8
"""The number of values between layers up to which each is also perturbed by itself."""


def judge_model(
    model: Model,
    make: Callable[[Model, Moves], Run],
    inputs: Sequence[Array],
    other: Sequence[Array | None],
    tolerance: Tolerance,
    bounds: Bounds | None = None,
) -> tuple[Error, bool]:
    """Judge the result of `make` for a model, as `judge` does. The other side may also agree with a variant of
    the model, and values between its layers may be rounded differently.
    """

    def wavering() -> Iterator[Run]:
        return (make(model, moves) for moves in moved_inside(model))

    found = judge(make(model, {}), inputs, other, tolerance, bounds, wavering)
    if not found[1] and (wide := decompressed(model)) is not None:
        again = judge(make(wide, {}), inputs, other, tolerance, bounds)
        return again if again[1] else found
    return found


def decompressed(model: Model) -> Model | None:
    """Return the model with f16 and bf16 weights decompressed in f32, as in OpenVINO; None without such weights."""
    if not _halves(model):
        return None
    made = copied(model)
    wide: dict[Value, Value] = {}
    for node in _halves(made):
        given = node.inputs[0]
        assert given is not None
        node.replace_input_with(0, _wide(given, wide, made.node_class))
    made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
    infer_types(made)
    return made


def variants(model: Model) -> Iterator[Model]:
    """Yield the model; with f16 and bf16 weights decompressed in f32; with f16 and bf16 layers that are computed in f32
    and rounded at the end, as by a runtime that fuses them.
    """
    yield model
    if (wide := decompressed(model)) is not None:
        yield wide
    rounds = any(value.element_type in _HALVES for node in model.nodes for value in node.outputs)
    if rounds and (wide := computed_in(F32, model)) is not None:
        yield wide


def computed_in(kind: ElementType, model: Model) -> Model | None:
    """Return the model, inputs and results included, with floats of fewer bits replaced by floats of `kind`; None if an
    operator does not support this.
    """
    narrow, made = NARROWER[kind], copied(model)
    try:
        for node in made.nodes:
            if node.bodies:
                return None
            if node.type == PARAMETER and node.outputs[0].element_type in narrow:
                node._attributes = node.attributes | {"element_type": kind}
                node.set_outputs([TensorType(kind, node.outputs[0].type.shape)])
            elif node.constant is not None and node.outputs[0].element_type in narrow:
                wide = constant_node(made.node_class, node.constant.astype(kind.dtype), element_type=kind)
                node.outputs[0].replace_uses(wide.outputs[0])
            elif node.attributes.get("destination_type") in narrow or node.attributes.get("output_type") in narrow:
                return None
        made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
        infer_types(made)
    except (IRError, TypeError, ValueError):
        return None
    return made


def fitting(model: Model, inputs: Sequence[Array]) -> list[Array]:
    """Return the inputs in the types of a variant."""
    return [a.astype(v.element_type.dtype, copy=False) for v, a in zip(model.inputs, inputs, strict=True)]


def narrowed(results: Sequence[Array], kinds: Sequence[Any]) -> list[Array]:
    """Return results in these types. The largest finite number, which a layer returns for the limit of a type
    (SegmentMax and ReduceMax of no elements), becomes that of the narrower type.
    """
    found = []
    for wide, kind in zip(results, kinds, strict=True):
        with np.errstate(all="ignore"):
            narrow = wide.astype(kind, copy=False)
        if wide.dtype != narrow.dtype and ElementType.of(narrow.dtype).is_real:
            is_limit = np.abs(wide) == np.finfo(wide.dtype).max
            limit = ml_dtypes.finfo(narrow.dtype).max  # type: ignore[no-untyped-call]
            narrow = np.where(is_limit, np.copysign(limit, wide).astype(narrow.dtype), narrow)
        found.append(narrow)
    return found


def _halves(model: Model) -> list[Node]:
    """Return the layers that convert constants computed in f16 or bf16 to f32."""
    constant = constant_nodes(model)
    converts = (node for node in model.nodes if node.type == CONVERT and node in constant)
    return [
        node
        for node in converts
        if node.outputs[0].element_type is F32
        and (given := node.inputs[0]) is not None
        and given.element_type in _HALVES
        and given.node.constant is None
    ]


def _wide(value: Value, known: dict[Value, Value], node_class: type[Node]) -> Value:
    """Return the same value, computed in f32."""
    if value.element_type not in _HALVES:
        return value
    if value not in known:
        node = value.node
        if node.constant is not None:
            array = node.constant.astype(np.float32)
            made = constant_node(node_class, array, element_type=F32, name=node.friendly_name)
        else:
            inputs = [None if given is None else _wide(given, known, node_class) for given in node.inputs]
            changed = {"destination_type": F32} if node.type == CONVERT else {}
            made = node_class(node.operator, inputs, node.attributes | changed, name=node.friendly_name)
            made.set_outputs([TensorType(F32, output.type.shape) for output in node.outputs])
        known[value] = made.outputs[value.index]
    return known[value]


def moved_inside(model: Model, nudges: Mapping[ElementType, float] = _NUDGES) -> Iterator[Moves]:
    """Yield changes that make floats between layers some units larger or smaller: all of them, and in a small model
    also each by itself; nothing for a single layer. `nudges`: the relative changes.
    """
    inner = _inner(model)
    groups = [inner] * bool(inner) + [[value] for value in inner if 1 < len(inner) <= _FEW]
    for group, sign in product(groups, (1, -1)):
        yield {
            value: partial(_moved, factor=1 + sign * nudges[value.element_type], more=sign * _limit_of_levels(value))
            for value in group
        }


def _moved(array: Array, factor: float, more: float) -> Array:
    with np.errstate(all="ignore"):
        moved: Array = (widened(array) * factor + more).astype(array.dtype)
    return moved


def _limit_of_levels(value: Value) -> float:
    """Return by how much a level of a FakeQuantize, 0 for instance, may be off: by a rounding error of the largest."""
    if Quantization not in value.node.traits:
        return 0.0
    limits = [given.node.constant for given in value.node.inputs[3:] if given is not None]
    known = [float(np.abs(limit.astype(np.float64)).max(initial=0)) for limit in limits if limit is not None]
    return _NUDGES[F32] * max(known, default=0.0)


def _inner(model: Model) -> list[Value]:
    """Return the floats between the layers of a model."""
    constant = constant_nodes(model)
    ends = {value for result in model.results for value in result.inputs}
    computing = (node for node in model.nodes if node not in constant and node.type != PARAMETER)
    values = (value for node in computing for value in node.outputs)
    # A value may also have users that contribute to no result, and are not copied with the model.
    nodes = set(model.nodes)
    return [v for v in values if not nodes.isdisjoint(v.users) and v.element_type in _NUDGES and v not in ends]
