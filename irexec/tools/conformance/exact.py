"""Evaluation in more bits: the results of a model whose floats are f64, rounded once at the end."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics import IRError
from irexec.core.types import F64, Array
from irexec.model.graph.model import Model
from irexec.tools.compare.culprit import function_of
from irexec.tools.compare.variants import computed_in, fitting, narrowed


def exact_results(model: Model, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results computed in f64 and rounded to the model's types; None if an operator does not support f64."""
    results = exact_values(model, inputs)
    if results is None:
        return None
    return [narrowed(wide, value.element_type.dtype) for wide, value in zip(results, model.outputs, strict=True)]


def exact_values(model: Model, inputs: Sequence[Array]) -> list[Array] | None:
    """Return the results of the model computed in f64; None if an operator does not support f64."""
    made = computed_in(F64, model)
    try:
        return None if made is None else list(function_of(made)(fitting(made, inputs)))
    except (IRError, TypeError, ValueError):
        return None
