"""Variants of a model that are equally correct: other ways in which a runtime may compute its results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.diagnostics import IRError
from irexec.core.structure import CONVERT, PARAMETER
from irexec.core.types import BF16, F16, F32, F64, Array, ElementType, TensorType
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types

_HALVES = (F16, BF16)
NARROWER = {F32: (F16, BF16), F64: (F16, BF16, F32)}


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


def narrowed(wide: Array, kind: Any) -> Array:
    """Return a result in this type. The largest finite number, which a layer returns for the limit of a type
    (SegmentMax and ReduceMax of no elements), becomes that of the narrower type.
    """
    if wide.dtype == kind or not ElementType.of(wide.dtype).is_real or not ElementType.of(np.dtype(kind)).is_real:
        return wide  # Integers in another type are not rounded: their values have to be equal.
    with np.errstate(all="ignore"):
        narrow = wide.astype(kind, copy=False)
    limit = ml_dtypes.finfo(narrow.dtype).max  # type: ignore[no-untyped-call]
    is_limit = np.abs(wide) == np.finfo(wide.dtype).max
    return np.where(is_limit, np.copysign(limit, wide).astype(narrow.dtype), narrow)


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
