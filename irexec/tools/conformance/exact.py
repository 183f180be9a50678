"""Evaluation in more bits: a model whose floats are f64 or f32, and whose results are rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from irexec.api.opsets.nodes import constant_node
from irexec.core.diagnostics import IRError
from irexec.core.structure import PARAMETER
from irexec.core.types import BF16, F16, F32, F64, Array, ElementType, TensorType
from irexec.model.graph.copies import copied
from irexec.model.graph.model import Model
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types
from irexec.ops.spec.operator import Tolerance
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.culprit import function_of
from irexec.tools.compare.variants import judge_model

_NARROWER = {F32: (F16, BF16), F64: (F16, BF16, F32)}


def exact_results(model: Model, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results computed in f64 and rounded to the model's types; None if an operator does not support f64."""
    results = exact_values(model, inputs)
    return None if results is None else _rounded(model, results)


def exact_values(model: Model, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results of the model computed in f64; None if an operator does not support f64."""
    made = computed_in(F64, model)
    try:
        return None if made is None else list(function_of(made)(_wide(F64, model, inputs)))
    except (IRError, TypeError, ValueError):
        return None


def agrees_if_rounded_once(model: Model, inputs: Sequence[Array], found: Sequence[Array], tolerance: Tolerance) -> bool:
    """Return whether results agree with those of a model with f16 or bf16 layers that is computed in f32 and rounded
    at the end: a runtime that fuses layers does not round the values between them.
    """
    rounds = any(value.element_type in _NARROWER[F32] for node in model.nodes for value in node.outputs)
    if not rounds or (made := computed_in(F32, model)) is None:
        return False

    def rounding(variant: Model, moves: Moves) -> Callable[[Sequence[Array]], list[Array]]:
        run = function_of(variant, moves)
        return lambda given: _rounded(model, run(given))

    try:
        return judge_model(made, rounding, _wide(F32, model, inputs), list(found), tolerance)[1]
    except IRError:
        return False


def computed_in(kind: ElementType, model: Model) -> Model | None:
    """Return the model, inputs and results included, with floats of fewer bits replaced by floats of `kind`; None if an
    operator does not support this.
    """
    narrow, made = _NARROWER[kind], copied(model)
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


def _rounded(model: Model, results: Sequence[Array]) -> list[Array]:
    """Return results in the model's types. The largest finite number, which a layer returns for the limit of a type
    (SegmentMax and ReduceMax of no elements), becomes that of the narrower type.
    """
    found = []
    for value, wide in zip(model.outputs, results, strict=True):
        with np.errstate(all="ignore"):
            narrow = wide.astype(value.element_type.dtype)
        if value.element_type in _NARROWER[F64] and wide.dtype != narrow.dtype:
            is_limit = np.abs(wide) == np.finfo(wide.dtype).max
            limit = ml_dtypes.finfo(narrow.dtype).max  # type: ignore[no-untyped-call]
            narrow = np.where(is_limit, np.copysign(limit, wide).astype(narrow.dtype), narrow)
        found.append(narrow)
    return found


def _wide(kind: ElementType, model: Model, inputs: Sequence[Array]) -> list[Array]:
    """Return the inputs of a model for the model computed in `kind`."""
    narrow = _NARROWER[kind]
    return [a.astype(kind.dtype) if v.element_type in narrow else a for v, a in zip(model.inputs, inputs, strict=True)]
