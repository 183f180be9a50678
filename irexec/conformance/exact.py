"""Exact evaluation: a model whose floats are f64, and whose results are rounded once at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.debug.comparison.culprit import function_of
from irexec.diagnostics import IRError
from irexec.graph.copies import copied
from irexec.graph.model import Model
from irexec.inference import infer_types
from irexec.opsets.nodes import constant_node
from irexec.types import BF16, F16, F32, F64, Array, TensorType

_NARROW = (F16, BF16, F32)


def exact_results(model: Model, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results computed in f64 and rounded to the model's types; None if an operator does not support f64."""
    results = exact_values(model, inputs)
    with np.errstate(all="ignore"):
        own = [value.element_type.dtype for value in model.outputs]
        return None if results is None else [a.astype(dtype) for a, dtype in zip(results, own, strict=True)]


def exact_values(model: Model, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results of the model computed in f64; None if an operator does not support f64."""
    made = copied(model)
    try:
        for node in made.nodes:
            if node.bodies:
                return None
            if node.type == "Parameter" and node.outputs[0].element_type in _NARROW:
                node._attributes = node.attributes | {"element_type": F64}
                node.set_outputs([TensorType(F64, node.outputs[0].type.shape)])
            elif node.constant is not None and node.outputs[0].element_type in _NARROW:
                wide = constant_node(made.node_class, node.constant.astype(np.float64), element_type=F64)
                node.outputs[0].replace_uses(wide.outputs[0])
            elif node.attributes.get("destination_type") in _NARROW or node.attributes.get("output_type") in _NARROW:
                return None
        from irexec.graph.order import ordered

        made.nodes = ordered([*made.parameters, *made.sinks, *made.results])
        infer_types(made)
        wide_inputs = [
            a.astype(np.float64) if v.element_type in _NARROW else a for v, a in zip(model.inputs, inputs, strict=True)
        ]
        return list(function_of(made)(wide_inputs))
    except (IRError, TypeError, ValueError):
        return None
